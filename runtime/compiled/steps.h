// The steps of a replay. Private to this folder.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/compiled/items.h"
#include "runtime/compiled/pass.h"

namespace assay::runtime::compiled {

struct Step {
  enum class Kind : std::uint8_t { op, pass, alias, weight_gradient, greatest_of_windows, sum_of_pads, sum_of_products } kind = Kind::op;
  std::vector<ItemId> operands, results;
  ItemId item = 0;                   // op, alias, sums; weight_gradient: its conv; greatest_of_windows: the gather of the windows
  std::shared_ptr<const Pass> pass;  // pass
};

// Where the elements of an alias begin in its operand: 0 for a reshape; for a slice, if they lie there side by side and aligned.
[[nodiscard]] std::optional<std::size_t> first_in_operand(const Items& items, ItemId id);

// An alias on any processor. A slice is one on the CPU; on a device it is an op, with memory of its own.
[[nodiscard]] inline bool is_reshape(const Items& items, const Step& step) {
  return step.kind == Step::Kind::alias && items.items[step.item].op == Op::reshape;
}

// In an order in which every operand stands before its reader; only what the outputs need. `in_place`: passes read and write
// parts of tensors where they lie, which those of a device do not.
[[nodiscard]] std::vector<Step> scheduled(const Items& items, bool in_place);

}  // namespace assay::runtime::compiled
