// Emulation: runs a kernel's threads on the CPU, one after the other, and finds what a device would only show now and then.
//
// Each thread is a fiber that runs until it waits: at a barrier for its block, at a shuffle for its warp. Which thread goes next is the
// schedule's choice; blocks follow each other in its order, too. A launch ends with a fault, which names kernel, block and thread, when
//   * an index lies outside the memory it belongs to, of the device or shared;
//   * a word of shared memory is read that no thread of the block has written;
//   * two threads touch a word of shared memory between two barriers, one of them writing (a barrier is missing);
//   * some threads of a block wait at a barrier, or of a warp at a shuffle, that others never reach;
//   * a launch is one that no device accepts: no block or thread, more than 1024 threads, 2^31 blocks or 48 KiB of shared memory.
// Not found: races in the device's memory (kernels here write each element from one thread), and what warps do without a shuffle.
//
// Kernels in CUDA's own words (gpu/cuda/cuda_runtime.h) run on the same machine. Each of their accesses is seen, and what is found is more:
// gpu/shadow.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "semantics/outcome.h"

namespace assay::gpu {

inline constexpr unsigned kWarp = 32;  // threads that shuffle together

struct Schedule {
  enum class Order : std::uint8_t { forward, reverse, random } order = Order::forward;
  std::uint64_t seed = 0;    // random: of the choice of the next thread
  bool detect_races = true;  // false: races are not faults, and show in the results under one schedule or another
};

struct Launch {
  const char* kernel = "";  // for messages
  std::size_t blocks = 0;
  unsigned threads = 0;                  // of each block
  std::size_t shared = 0;                // words of shared memory, one float each
  std::size_t dynamic = 0;               // bytes of it, of kernels in CUDA's own words (gpu/cuda/cuda_runtime.h)
  std::size_t arguments = 0;             // bytes of them behind the kernel's address, which every thread may read
  void (*enter)(unsigned) = nullptr;     // gets the number of each thread that resumes
  void (*begin)(std::size_t) = nullptr;  // sees the number of each block that begins
};

namespace emulation {

// Ends the launch that runs. Called by a kernel's accesses; outside a launch it stops the program.
[[noreturn]] void fault(const char* what, std::size_t index, std::size_t size);

// The interface of a kernel to its thread; gpu/cuda_driver.cuh has the same on a device.
class Thread {
 public:
  Thread(unsigned index, unsigned count, std::size_t block, std::size_t blocks)
      : index_(index), count_(count), block_(block), blocks_(blocks) {}
  [[nodiscard]] unsigned index() const { return index_; }
  [[nodiscard]] unsigned count() const { return count_; }  // threads of the block
  [[nodiscard]] std::size_t block() const { return block_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  void barrier();                                               // every thread of the block waits here for all others
  [[nodiscard]] float shuffle_xor(float value, unsigned mask);  // the value of the thread of this warp whose number differs by mask
  [[nodiscard]] float get(std::size_t word) const;              // shared memory of the block
  void put(std::size_t word, float value);

 private:
  unsigned index_, count_;
  std::size_t block_, blocks_;
};

using Body = void (*)(const void* kernel, Thread& thread);

// Runs all blocks; the first fault is a rejection gpu.launch.
[[nodiscard]] Outcome<Done> run(const Launch& launch, const Schedule& schedule, Body body, const void* kernel);

}  // namespace emulation
}  // namespace assay::gpu
