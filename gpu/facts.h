// The facts that a driver reports of a device, and whether our kernels run there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "semantics/outcome.h"

namespace assay::gpu {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;     // compute capability
  bool pools = false;           // memory that streams take and give back
  int driver = 0, toolkit = 0;  // 1000 major + 10 minor
  std::size_t memory = 0;       // bytes
  int multiprocessors = 0;
};

inline constexpr int kLeastCapability = 8;  // major: machine code of later ones exists (gpu/CMakeLists.txt)

// Rejection gpu.device with what to do; none for a device that is good enough.
[[nodiscard]] std::optional<Rejection> refusal_of(const DeviceFacts& facts);
// "NVIDIA H100, compute capability 9.0, driver 13.0, toolkit 13.0"
[[nodiscard]] std::string to_text(const DeviceFacts& facts);

}  // namespace assay::gpu
