#include "gpu/devices.h"

#include <string>

#include "gpu/cuda.h"
#include "gpu/emulated.h"

namespace assay::gpu {

Outcome<std::shared_ptr<runtime::Device>> device_named(std::string_view name) {
  if (name == "cpu") return std::shared_ptr<runtime::Device>();
  if (name == "emulated") return emulated_device();
  if (name == "cuda") return cuda_device();
  return Rejection{Rejection::Kind::malformed, "gpu.name",        "device",
                   "cpu, emulated or cuda",    std::string(name), "gpu/README.md says what each is"};
}

}  // namespace assay::gpu
