// The answers of a build without CUDA.
#include "gpu/cuda.h"

namespace assay::gpu {

namespace {

Rejection no_build() {
  return {
      Rejection::Kind::unsupported,    "gpu.build",       "device cuda",
      "a build with the CUDA backend", "a build without", "install the CUDA toolkit and configure with the preset cuda (-DASSAY_CUDA=ON)"};
}

}  // namespace

Outcome<std::shared_ptr<runtime::Device>> cuda_device(ExecutionModel::InputRounding) { return no_build(); }

Outcome<DeviceFacts> cuda_facts() { return no_build(); }

}  // namespace assay::gpu
