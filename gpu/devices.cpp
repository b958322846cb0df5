#include "gpu/devices.h"

#include <optional>
#include <string>

#include "gpu/cuda.h"
#include "gpu/emulated.h"

namespace assay::gpu {

namespace {

using Factors = ExecutionModel::InputRounding;

struct Named {
  std::string_view device;
  Factors factors = Factors::none;
};

std::optional<Named> parsed(std::string_view name) {
  const std::size_t colon = name.find(':');
  Named named{name.substr(0, colon)};
  if (named.device != "cpu" && named.device != "emulated" && named.device != "cuda") return std::nullopt;
  if (colon == std::string_view::npos) return named;
  const std::string_view factors = name.substr(colon + 1);
  named.factors = factors == "tf32"       ? Factors::tf32
                  : factors == "bfloat16" ? Factors::bfloat16
                  : factors == "float16"  ? Factors::binary16
                                          : Factors::none;
  return named.device == "cpu" || named.factors == Factors::none ? std::nullopt : std::optional(named);
}

}  // namespace

bool is_device_name(std::string_view name) { return parsed(name).has_value(); }

Outcome<std::shared_ptr<runtime::Device>> device_named(std::string_view name) {
  const auto named = parsed(name);
  if (!named) {
    return Rejection{Rejection::Kind::malformed,
                     "gpu.name",
                     "device",
                     "cpu, or emulated or cuda, which :tf32, :bfloat16 or :float16 may follow",
                     std::string(name),
                     "name a device such as cpu, emulated, cuda or cuda:tf32"};
  }
  if (named->device == "emulated") return emulated_device_with({.factors = named->factors});
  if (named->device == "cuda") return cuda_device(named->factors);
  return std::shared_ptr<runtime::Device>();
}

}  // namespace assay::gpu
