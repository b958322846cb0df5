// The CUDA device, if this build has one.
#pragma once

#include <memory>

#include "runtime/device.h"

namespace assay::gpu {

// The first device of the machine. Rejections: gpu.build, built without CUDA; gpu.device, no device or no driver.
[[nodiscard]] Outcome<std::shared_ptr<runtime::Device>> cuda_device();

}  // namespace assay::gpu
