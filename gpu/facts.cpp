#include "gpu/facts.h"

namespace assay::gpu {

namespace {

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

Rejection too_old(const DeviceFacts& facts, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::unsupported, "gpu.device", facts.name, std::move(required), std::move(found), std::move(advice)};
}

}  // namespace

std::optional<Rejection> refusal_of(const DeviceFacts& facts) {
  if (facts.major < kLeastCapability) {
    return too_old(facts, "compute capability " + std::to_string(kLeastCapability) + ".0 or later",
                   std::to_string(facts.major) + "." + std::to_string(facts.minor), "use another device, or run on the CPU");
  }
  if (facts.driver < facts.toolkit && facts.driver / 1000 < facts.toolkit / 1000) {
    return too_old(facts, "a driver for CUDA " + version(facts.toolkit), "one for CUDA " + version(facts.driver),
                   "install a newer driver, or build with the toolkit of the driver");
  }
  if (!facts.pools) return too_old(facts, "memory pools", "none", "install a newer driver");
  return std::nullopt;
}

std::string to_text(const DeviceFacts& facts) {
  return facts.name + ", compute capability " + std::to_string(facts.major) + "." + std::to_string(facts.minor) + ", driver " +
         version(facts.driver) + ", toolkit " + version(facts.toolkit);
}

}  // namespace assay::gpu
