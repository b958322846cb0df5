// The steps of a replay. Private to this folder.
#pragma once

#include <memory>
#include <vector>

#include "runtime/compiled/items.h"
#include "runtime/compiled/pass.h"

namespace assay::runtime::compiled {

struct Step {
  enum class Kind : std::uint8_t { op, pass, alias, weight_gradient, greatest_of_windows, sum_of_pads } kind = Kind::op;
  std::vector<ItemId> operands, results;
  ItemId item = 0;                   // op, alias, sum_of_pads; weight_gradient: its conv; greatest_of_windows: the gather of the windows
  std::shared_ptr<const Pass> pass;  // pass
};

// In an order in which every operand stands before its reader; only what the outputs need.
[[nodiscard]] std::vector<Step> scheduled(const Items& items);

}  // namespace assay::runtime::compiled
