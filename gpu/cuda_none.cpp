// What a build without CUDA says.
#include "gpu/cuda.h"

namespace assay::gpu {

Outcome<std::shared_ptr<runtime::Device>> cuda_device() {
  return Rejection{
      Rejection::Kind::declined,       "gpu.build",       "device cuda",
      "a build with the CUDA backend", "a build without", "install the CUDA toolkit and configure with the preset cuda (-DASSAY_CUDA=ON)"};
}

}  // namespace assay::gpu
