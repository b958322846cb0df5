// These functions check the memory accesses of kernels. A compiler calls them before each access of code that it compiles with
// -fsanitize=thread, and before an index that -fsanitize=bounds refuses. No sanitizer runs: these functions replace its own, and
// report each access to the emulation in advance. Code of the host that touches the device's memory is found in the same way.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/cuda_emulation.h"
#include "gpu/machine.h"
#include "gpu/program.h"

namespace {

using namespace assay::gpu;

void touch(const void* address, std::size_t bytes, shadow::Kind kind, const void* pc) {
  if (bytes == 0) return;
  if (emulation::Machine* const machine = emulation::running(); machine != nullptr) {
    machine->touch({reinterpret_cast<std::uintptr_t>(address), bytes, kind, pc});
    return;
  }
  const shadow::Region* const region = emulation::device_memory().find(reinterpret_cast<std::uintptr_t>(address));
  if (region == nullptr || cuda::has_fault()) return;
  const std::string line = program::line_of(pc);
  cuda::report({assay::Rejection::Kind::rejected, "gpu.bounds", line.empty() ? "the host" : line, "the host's own memory",
                "memory of the device (" + region->name + "), which the host reads or writes", "cudaMemcpy copies it"});
}

// The data of -fsanitize=bounds: the place of the index in the source, and the type that it indexes.
struct SourcePlace {
  const char* file;
  std::uint32_t line, column;
};
struct TypeName {
  std::uint16_t kind, info;
  char name[1];  // as long as it is
};
struct OutOfBounds {
  SourcePlace place;
  const TypeName* array;
  const TypeName* index;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

void __tsan_read1(void* p) { touch(p, 1, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_read2(void* p) { touch(p, 2, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_read4(void* p) { touch(p, 4, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_read8(void* p) { touch(p, 8, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_read16(void* p) { touch(p, 16, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_write1(void* p) { touch(p, 1, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_write2(void* p) { touch(p, 2, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_write4(void* p) { touch(p, 4, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_write8(void* p) { touch(p, 8, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_write16(void* p) { touch(p, 16, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_unaligned_read2(void* p) { touch(p, 2, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_unaligned_read4(void* p) { touch(p, 4, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_unaligned_read8(void* p) { touch(p, 8, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_unaligned_read16(void* p) { touch(p, 16, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_unaligned_write2(void* p) { touch(p, 2, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_unaligned_write4(void* p) { touch(p, 4, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_unaligned_write8(void* p) { touch(p, 8, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_unaligned_write16(void* p) { touch(p, 16, shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_read_range(void* p, unsigned long bytes) { touch(p, bytes, shadow::Kind::read, __builtin_return_address(0)); }
void __tsan_write_range(void* p, unsigned long bytes) { touch(p, bytes, shadow::Kind::write, __builtin_return_address(0)); }
// Clang has these called where C++ copies or fills memory.
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  touch(from, bytes, shadow::Kind::read, __builtin_return_address(0));
  touch(to, bytes, shadow::Kind::write, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  touch(from, bytes, shadow::Kind::read, __builtin_return_address(0));
  touch(to, bytes, shadow::Kind::write, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, unsigned long bytes) {
  touch(to, bytes, shadow::Kind::write, __builtin_return_address(0));
  return std::memset(to, byte, bytes);
}
void __tsan_vptr_update(void** p, void*) { touch(static_cast<void*>(p), sizeof(void*), shadow::Kind::write, __builtin_return_address(0)); }
void __tsan_vptr_read(void** p) { touch(static_cast<void*>(p), sizeof(void*), shadow::Kind::read, __builtin_return_address(0)); }

void __ubsan_handle_out_of_bounds(const OutOfBounds* data, std::intptr_t index) {
  const std::string file(data->place.file);
  const std::string at = file.substr(file.rfind('/') + 1) + ":" + std::to_string(data->place.line);
  const std::string text = "index " + std::to_string(index) + " of an array of the type " + data->array->name + " at " + at;
  if (emulation::Machine* const machine = emulation::running(); machine != nullptr) machine->fault("gpu.bounds", text);
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}
void __ubsan_handle_out_of_bounds_abort(const OutOfBounds* data, std::intptr_t index) { __ubsan_handle_out_of_bounds(data, index); }

}  // extern "C"
#pragma GCC visibility pop
