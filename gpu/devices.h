// Devices by the names that command lines take.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "runtime/device.h"

namespace assay::gpu {

inline constexpr std::array<const char*, 3> kDeviceNames = {"cpu", "emulated", "cuda"};

// Null for cpu: a session without a device. Rejections: gpu.name, another word; for cuda those of cuda_device().
[[nodiscard]] Outcome<std::shared_ptr<runtime::Device>> device_named(std::string_view name);

}  // namespace assay::gpu
