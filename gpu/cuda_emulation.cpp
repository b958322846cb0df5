#include "gpu/cuda_emulation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "gpu/machine.h"
#include "gpu/program.h"
#include "semantics/demand.h"

// CUDA's built-in variables of the thread that runs; gpu/cuda/cuda_runtime.h gives them their names.
extern "C" {
assay::gpu::cuda::Extent assay_cuda_thread_index{0, 0, 0}, assay_cuda_block_index{0, 0, 0}, assay_cuda_block_extent, assay_cuda_grid_extent;
}

namespace assay::gpu::cuda {

namespace {

using emulation::device_memory;
using emulation::running;

constexpr std::size_t kMostDynamic = 227 * 1024, kPlainDynamic = 48 * 1024, kAlignment = 256;
constexpr unsigned kMostZ = 64;

alignas(1024) std::array<std::byte, kMostDynamic> dynamic_memory;

struct Device {
  Schedule schedule;
  std::optional<std::uintptr_t> stream;
  std::size_t allowed_shared = kPlainDynamic;
  std::optional<Rejection> fault;
  std::map<const void*, std::unique_ptr<std::byte[]>> allocations;
  std::size_t numbered = 0;  // buffers
};

Device& device() {
  static Device one;
  return one;
}

Extent at(unsigned number, Extent extent) { return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y}; }

void enter_thread(unsigned thread) { assay_cuda_thread_index = at(thread, assay_cuda_block_extent); }

void begin_block(std::size_t block) {
  const std::size_t x = assay_cuda_grid_extent.x, y = assay_cuda_grid_extent.y;
  assay_cuda_block_index = {static_cast<unsigned>(block % x), static_cast<unsigned>(block / x % y), static_cast<unsigned>(block / x / y)};
}

Rejection refusal(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::rejected, code,
          std::move(place),          std::move(required),
          std::move(found),          "docs/how-to/cuda-testing.md lists the faults"};
}

std::string text_of(Extent extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " + std::to_string(extent.z);
}

}  // namespace

void set_schedule(const Schedule& schedule) { device().schedule = schedule; }
void expect_stream(std::optional<std::uintptr_t> stream) { device().stream = stream; }
void allow_shared(std::size_t bytes) { device().allowed_shared = std::min(bytes, kMostDynamic); }

bool has_fault() { return device().fault.has_value(); }
std::optional<Rejection> take_fault() { return std::exchange(device().fault, std::nullopt); }
void report(Rejection fault) {
  if (!device().fault) device().fault = std::move(fault);
}

bool launch(const void* function, Extent grid, Extent block, std::size_t dynamic_shared, std::uintptr_t stream, emulation::Body body,
            const void* arguments, std::size_t argument_bytes) {
  if (has_fault()) return false;
  std::string name = program::function_at(function);
  if (name.empty()) name = "without a name";
  const std::string place = "kernel " + name;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z, threads = std::size_t{block.x} * block.y * block.z;
  if (blocks == 0 || threads == 0 || threads > 1024 || block.z > kMostZ || grid.y > 65535 || grid.z > 65535) {
    report(refusal("gpu.launch", place, "a launch that devices accept: 1 to 1024 threads, no extent of 0",
                   text_of(grid) + " blocks of " + text_of(block) + " threads"));
    return false;
  }
  if (dynamic_shared > device().allowed_shared) {
    report(refusal("gpu.launch", place,
                   "at most " + std::to_string(device().allowed_shared) + " bytes of dynamic shared memory, or cudaFuncSetAttribute",
                   std::to_string(dynamic_shared)));
    return false;
  }
  if (device().stream && *device().stream != stream) {
    report(refusal("gpu.stream", place, "a launch in the stream that the launcher was given",
                   stream == 0 ? "the default stream" : "another stream"));
    return false;
  }
  assay_cuda_block_extent = block;
  assay_cuda_grid_extent = grid;
  std::ranges::fill(dynamic_memory, std::byte{0xff});
  device_memory().set_shared(reinterpret_cast<std::uintptr_t>(dynamic_memory.data()), dynamic_shared, kMostDynamic);
  const auto done =
      emulation::run({name.c_str(), blocks, static_cast<unsigned>(threads), 0, dynamic_shared, argument_bytes, enter_thread, begin_block},
                     device().schedule, body, arguments);
  device_memory().set_shared(0, 0, 0);
  if (!done) report(done.rejection());
  return done.ok();
}

void* allocate(std::size_t bytes) {
  const std::size_t whole = std::max<std::size_t>(bytes, 1);
  // The memory behind it has no owner: an access there is found by its address, before it happens.
  std::size_t room = whole + kAlignment;
  auto memory = std::make_unique_for_overwrite<std::byte[]>(room);
  void* first = memory.get();
  demand(std::align(kAlignment, whole, first, room) != nullptr, "emulation: memory that can be aligned");
  std::memset(first, 0xff, whole);
  shadow::Region region;
  region.name = "buffer " + std::to_string(device().numbered++);
  region.first = reinterpret_cast<std::uintptr_t>(first);
  region.bytes = bytes;
  if (bytes > 0) device_memory().add(std::move(region));
  device().allocations[first] = std::move(memory);
  return first;
}

bool release(void* memory) {
  if (memory == nullptr) return true;
  if (device().allocations.erase(memory) == 0) {
    report(refusal("gpu.memory", "cudaFree", "memory that cudaMalloc gave", "another address, or memory that is free already"));
    return false;
  }
  device_memory().remove(reinterpret_cast<std::uintptr_t>(memory));
  return true;
}

// A side that lies in memory of the device has to lie there as a whole.
static bool fits(const void* memory, std::size_t bytes, const char* what) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const shadow::Region* const region = device_memory().find(address);
  if (region == nullptr || bytes == 0) return true;
  const std::size_t offset = address - region->first;
  if (offset >= region->from && offset + bytes <= region->to) return true;
  report(refusal("gpu.bounds", what, "bytes of " + region->name + ", which has " + std::to_string(region->to - region->from),
                 std::to_string(bytes) + " from " +
                     std::to_string(static_cast<std::ptrdiff_t>(offset) - static_cast<std::ptrdiff_t>(region->from)) + " on"));
  return false;
}

bool copy(void* to, const void* from, std::size_t bytes) {
  if (has_fault() || !fits(to, bytes, "cudaMemcpy") || !fits(from, bytes, "cudaMemcpy")) return false;
  if (bytes > 0) std::memmove(to, from, bytes);
  device_memory().initialise(reinterpret_cast<std::uintptr_t>(to), bytes);
  return true;
}

bool fill(void* to, int byte, std::size_t bytes) {
  if (has_fault() || !fits(to, bytes, "cudaMemset")) return false;
  if (bytes > 0) std::memset(to, byte, bytes);
  device_memory().initialise(reinterpret_cast<std::uintptr_t>(to), bytes);
  return true;
}

void name_part(const void* memory, std::size_t first, std::size_t bytes, const std::string& name, bool read_only) {
  shadow::Region* const region = device_memory().find(reinterpret_cast<std::uintptr_t>(memory));
  if (region == nullptr) return;
  region->from = first;
  region->to = first + bytes;
  region->name = name;
  region->read_only = read_only;
}

void forget_content(const void* memory) {
  shadow::Region* const region = device_memory().find(reinterpret_cast<std::uintptr_t>(memory));
  if (region == nullptr) return;
  for (shadow::Word& word : region->words) word.initialised = 0;
}

int barrier(int vote, int line) {
  demand(running() != nullptr, "emulation: a barrier outside a launch");
  return running()->barrier(vote, line);
}

void fence() {
  demand(running() != nullptr, "emulation: a fence outside a launch");
  running()->fence();
}

Heard exchange(std::uint32_t mask, std::uint64_t offered, unsigned source, int line) {
  demand(running() != nullptr, "emulation: an exchange outside a launch");
  const emulation::Exchange& heard = running()->exchange({mask, offered, source, line});
  if (source < kWarp && !heard.source_took_part)
    running()->fault("gpu.barrier", "reads lane " + std::to_string(source) + " of its warp at line " + std::to_string(line) +
                                        ", which takes no part in the exchange");
  return {heard.received, heard.ballot};
}

unsigned lane() { return running() == nullptr ? 0 : running()->current() % kWarp; }

void touch_atomically(const void* address, std::size_t bytes, const void* pc) {
  demand(running() != nullptr, "emulation: an atomic operation outside a launch");
  running()->touch({reinterpret_cast<std::uintptr_t>(address), bytes, shadow::Kind::atomic, pc});
}

void* dynamic_shared() { return dynamic_memory.data(); }

}  // namespace assay::gpu::cuda
