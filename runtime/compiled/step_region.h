// Steps as regions. Private to this folder.
#pragma once

#include "runtime/compiled/region.h"
#include "runtime/compiled/steps.h"

namespace assay::runtime::compiled {

[[nodiscard]] ProgramRegion region_of(const Items& items, const Step& step);
// The op that gave a folded constant.
[[nodiscard]] ProgramRegion region_of_folded(const Items& items, ItemId id);

}  // namespace assay::runtime::compiled
