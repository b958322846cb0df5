// The CUDA device, if this build has one.
#pragma once

#include <memory>

#include "gpu/facts.h"
#include "runtime/device.h"

namespace assay::gpu {

// The first device of the machine, in a stream of its own, whose products round their factors to this. Rejections: gpu.build,
// built without CUDA; gpu.device, no device, no driver, or one that is too old.
[[nodiscard]] Outcome<std::shared_ptr<runtime::Device>> cuda_device(
    ExecutionModel::InputRounding factors = ExecutionModel::InputRounding::none);
// The facts about that device, whether it is good enough or not.
[[nodiscard]] Outcome<DeviceFacts> cuda_facts();

}  // namespace assay::gpu
