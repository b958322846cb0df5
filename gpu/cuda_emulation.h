// The functions behind gpu/cuda/cuda_runtime.h: launches, memory, barriers, exchanges and atomic operations of kernels in CUDA's
// own words.
//
// The emulation is one device of the whole program, and runs one launch at a time, at once: a stream is a number that is checked,
// no queue. The first fault ends its launch, and every call of CUDA gives an error from then on, until take_fault().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "gpu/emulation.h"
#include "semantics/outcome.h"

namespace assay::gpu::cuda {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};

// Set the schedule of the following launches, and the stream that they have to be in (null: any). A launch in another one is a
// fault, "gpu.stream".
void set_schedule(const Schedule& schedule);
void expect_stream(std::optional<std::uintptr_t> stream);

// Of the kernel whose function this is. False where the launch was refused or had a fault.
bool launch(const void* function, Extent grid, Extent block, std::size_t dynamic_shared, std::uintptr_t stream, emulation::Body body,
            const void* arguments, std::size_t argument_bytes);
void allow_shared(std::size_t bytes);  // dynamic shared memory of a launch beyond 48 KiB

// The first fault since it was last asked for.
[[nodiscard]] std::optional<Rejection> take_fault();
[[nodiscard]] bool has_fault();
void report(Rejection fault);  // of what is wrong outside of a launch

// Memory of the device: as it comes, it holds nothing that may be read.
[[nodiscard]] void* allocate(std::size_t bytes);
bool release(void* memory);
bool copy(void* to, const void* from, std::size_t bytes);
bool fill(void* to, int byte, std::size_t bytes);
// Only these bytes of an allocation belong to the name; a kernel that touches others is named as well. `read_only`: an operand.
void name_part(const void* memory, std::size_t first, std::size_t bytes, const std::string& name, bool read_only);
void forget_content(const void* memory);  // as if nothing had been written to it

int barrier(int vote, int line);
void fence();
struct Heard {
  std::uint64_t received = 0;
  std::uint32_t ballot = 0;
};
// `source`: a lane; 32 and more: no value is wanted.
Heard exchange(std::uint32_t mask, std::uint64_t offered, unsigned source, int line);
[[nodiscard]] unsigned lane();
// Before an atomic operation on these bytes.
void touch_atomically(const void* address, std::size_t bytes, const void* pc);
[[nodiscard]] void* dynamic_shared();

template <class... Parameters>
struct Bound {
  void (*kernel)(Parameters...);
  Extent grid, block;
  std::size_t shared;
  std::uintptr_t stream;

  template <class... Arguments>
  bool operator()(Arguments&&... arguments) const {
    using All = std::tuple<void (*)(Parameters...), std::tuple<Parameters...>>;
    const All all{kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)};
    const emulation::Body body = [](const void* what, emulation::Thread&) {
      const auto& [function, values] = *static_cast<const All*>(what);
      std::apply(function, values);  // each thread has its own copies
    };
    return launch(reinterpret_cast<const void*>(kernel), grid, block, shared, stream, body, &all, sizeof(all));
  }
};

}  // namespace assay::gpu::cuda
