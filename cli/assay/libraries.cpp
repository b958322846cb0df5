// The versions of what only `assay` links: the runtime's libraries and the search's.
#include "cli/assay/libraries.h"

#include <ClpConfig.h>
#include <hwy/highway.h>
#include <oneapi/dnnl/dnnl.h>

namespace assay::cli {

Libraries libraries() {
  const dnnl_version_t* dnnl = dnnl_version();
  const auto dotted = [](int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  };
  return {{"oneDNN", dotted(dnnl->major, dnnl->minor, dnnl->patch)},
          {"Highway", dotted(HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
          {"CLP", CLP_VERSION}};
}

}  // namespace assay::cli
