// The versions of what only `assay` links.
#pragma once

#include "cli/version.h"

namespace assay::cli {

[[nodiscard]] Libraries libraries();

}  // namespace assay::cli
