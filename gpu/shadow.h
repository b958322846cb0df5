// Shadow of memory: which addresses a kernel in CUDA's own words may touch, and which threads touched each word last.
//
// Every access of such a kernel is checked here before it happens (gpu/instrumented.cpp). An access is a fault in three cases:
//   * it lies in no memory that the kernel was given;
//   * it reads an unwritten word;
//   * another thread of the same launch touched the word, and nothing orders the two.
// Accesses are ordered as follows:
//   * threads of a block are ordered by __syncthreads, those of a warp by __syncwarp and shuffles, too;
//   * blocks of a launch are not, unless the earlier one has fenced and both used an atomic operation after;
//   * two atomic operations never conflict.
// A word keeps its last write and its last two readers, which is enough for kernels whose words have one writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay::gpu::shadow {

enum class Kind : std::uint8_t { read, write, atomic };

// A thread at a moment of its launch.
struct Now {
  std::uint32_t first_epoch = 0;  // of the launch; each block of each launch is an epoch, from 1 on
  std::uint32_t epoch = 0;
  std::uint32_t interval = 0, warp_interval = 0;  // barriers of the block, of the warp, before this moment
  std::uint16_t thread = 0;
  bool detect_races = true;
};

struct Access {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  Kind kind = Kind::read;
  const void* pc = nullptr;
};

struct Fault {
  const char* code = "";  // "gpu.bounds", "gpu.uninitialised", "gpu.race", "gpu.operand"
  std::string text;
};

struct Stamp {
  std::uint32_t epoch = 0, interval = 0, warp_interval = 0;
  std::uint16_t thread = 0;
  std::uint8_t bytes = 0;  // of the word, a bit each
  bool atomic = false;
  const void* pc = nullptr;
};

struct Word {
  Stamp written, read, read_before;  // read_before: by another thread than read
  std::uint32_t epoch = 0;           // shared memory: the block that `initialised` speaks of
  std::uint8_t initialised = 0;      // a bit per byte
};

// Memory that lies in one piece.
struct Region {
  enum class Space : std::uint8_t { global, shared, variable } space = Space::global;  // variable: of the program, initialised
  std::string name;
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
  std::size_t from = 0, to = 0;  // of it may be touched
  bool read_only = false;
  std::vector<Word> words = {};
};

class Memory {
 public:
  // Buffers of the device. `first` is a multiple of 16.
  void add(Region region);
  void remove(std::uintptr_t first);
  [[nodiscard]] Region* find(std::uintptr_t address);  // a buffer that has the address; null: none
  // The host has written these bytes.
  void initialise(std::uintptr_t first, std::size_t bytes);
  // Dynamic shared memory of the launch that begins, of that much room.
  void set_shared(std::uintptr_t first, std::size_t bytes, std::size_t room);

  // An access of a thread that is outside its own stack. Empty code: no fault.
  [[nodiscard]] Fault touch(const Access& access, const Now& now, const std::vector<bool>& handed_over);

 private:
  [[nodiscard]] Region* region_of(const Access& access);
  [[nodiscard]] std::string nearest(const Access& access) const;

  std::map<std::uintptr_t, Region> buffers_, statics_;
  Region shared_;
  Region* last_ = nullptr;
};

}  // namespace assay::gpu::shadow
