#include "gpu/stream.h"

#include <utility>

namespace assay::gpu {

Rejection out_of_memory(const std::string& name, std::size_t bytes, const char* what) {
  return {Rejection::Kind::declined,
          "gpu.memory",
          name,
          std::to_string(bytes) + " bytes of " + what,
          "a device with less left",
          "use smaller tensors or batches, or clear the session; it goes on as it is"};
}

Rejection lost(const std::string& name, const Rejection& why) {
  return {Rejection::Kind::declined,
          "gpu.lost",
          name,
          "a device without failures",
          why.place + ": " + why.found,
          "what was not read from it is gone: make another device and session, and start from what was saved"};
}

Rejection not_recorded(const std::string& name, std::string found) {
  return {Rejection::Kind::declined, "gpu.graph", name, "launches that can be kept", std::move(found), "they run one by one instead"};
}

}  // namespace assay::gpu
