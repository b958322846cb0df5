// Devices by the names that command lines take.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/device.h"

namespace assay::gpu {

// cpu, emulated or cuda; of a device also what the factors of products are rounded to, as emulated:tf32, cuda:bfloat16,
// cuda:float16. Null for cpu: a session without a device. Rejections: gpu.name, another word; for cuda those of cuda_device().
[[nodiscard]] Outcome<std::shared_ptr<runtime::Device>> device_named(std::string_view name);
[[nodiscard]] bool is_device_name(std::string_view name);

}  // namespace assay::gpu
