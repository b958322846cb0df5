// The machine that runs the blocks of one launch, thread by thread: fibers, barriers, warps. Private to this folder.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulation.h"
#include "gpu/shadow.h"

namespace assay::gpu::emulation {

// One word of shared memory of kernels that reach it by get and put, and who touched it since the last barrier.
struct Word {
  float value = 0;
  std::size_t written_in = 0, read_in = 0;  // barrier intervals, counted from 1; 0: never
  unsigned writer = 0, reader = 0;
  bool many_readers = false;
};

// The exchange between the threads of a warp: each offers a value and names the lane whose value it reads.
struct Exchange {
  std::uint32_t mask = 0;  // lanes that take part
  std::uint64_t offered = 0;
  unsigned source = 0;  // lane
  int line = 0;
  std::uint64_t received = 0;
  std::uint32_t ballot = 0;       // lanes whose offered value is not 0
  bool source_took_part = false;  // else nothing was received
};

struct Fiber {
  enum class State : std::uint8_t { ready, at_barrier, at_shuffle, at_exchange, done } state = State::ready;
  std::optional<Thread> thread;
  float offered = 0, received = 0;  // shuffle
  unsigned mask = 0;
  Exchange exchange;
  int line = 0;                     // of the barrier that it waits at; 0: not known
  int offered_vote = 0, votes = 0;  // barriers that count
  bool started = false;             // there is a context to continue with
  ucontext_t context{};
  jmp_buf place{};
  std::byte* stack = nullptr;
};

// The blocks of one launch, one after the other.
class Machine {
 public:
  Machine(const Launch& launch, const Schedule& schedule, Body body, const void* kernel);
  [[nodiscard]] Outcome<Done> run();

  [[noreturn]] void fault(const char* code, std::string what);
  void wait(Fiber::State state);
  float shuffle(float value, unsigned mask);
  float get(std::size_t index);
  void put(std::size_t index, float value);
  void enter();

  // Of kernels in CUDA's own words.
  int barrier(int vote, int line);  // how many threads of the block vote for it
  const Exchange& exchange(const Exchange& offer);
  void touch(const shadow::Access& access);
  void fence();
  [[nodiscard]] unsigned current() const { return current_; }
  [[nodiscard]] std::size_t block() const { return block_; }

 private:
  [[noreturn]] void beyond(std::size_t index);
  [[noreturn]] void race(std::size_t index, unsigned other, const char* does);
  [[nodiscard]] std::string stuck() const;
  void run_block(std::size_t block);
  void run_threads();
  void resume(unsigned thread);
  bool release_warps();
  bool release_exchanges();
  bool release_barrier();
  bool release_lanes(unsigned first, unsigned end, std::uint32_t mask);
  void report_unwritten();

  const Launch& launch_;
  const Schedule& schedule_;
  Body body_;
  const void* kernel_;
  std::mt19937_64 random_;
  std::vector<Fiber>& fibers_;
  std::vector<unsigned> order_;
  std::vector<Word> words_;
  ucontext_t scheduler_{};
  jmp_buf scheduler_place_{};
  std::vector<std::uint32_t> warp_intervals_;  // exchanges that each warp has passed
  std::uint32_t first_epoch_ = 0, epoch_ = 0;
  std::vector<bool> fenced_, handed_over_;  // blocks, in the order of the schedule
  std::size_t block_ = 0, interval_ = 1;
  unsigned current_ = 0;
  std::optional<std::string> fault_;
  const char* code_ = "gpu.launch";
  std::string place_;
  std::optional<std::string> unwritten_;  // a read of an unwritten word: a race if another thread still writes it
  unsigned unwritten_by_ = 0;
};

// The one that runs on this thread of the program; null: none.
[[nodiscard]] Machine*& running();
// The device's memory, which outlives launches.
[[nodiscard]] shadow::Memory& device_memory();

}  // namespace assay::gpu::emulation
