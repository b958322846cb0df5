// Meter: limits the work of a check. Each step describes its work to the meter beforehand, and the meter may decline
// the step. No fact and no verdict depends on the counts.
#pragma once

#include <span>

#include "kernel/logic/step.h"

namespace assay::logic {

// One entry of a row: the coefficient of one element. The true coefficient differs from it by at most `error`.
struct Entry {
  std::size_t row = 0;
  NodeId node = 0;
  std::uint32_t element = 0;
  double coefficient = 0, error = 0;
};

struct Work {
  enum class Kind : std::uint8_t {
    box,       // the box of `node`
    elements,  // `count` numbers of boxes or cuts
    terms,     // `count` exact terms of a row of the property
    cut,       // the `entries` of a sum
    rows,      // `count` rows, back-substituted from `node` to the inputs; they start as `entries`
    // Reported after `count` rows took `multiply_adds`: in place of `rows`, for rows that start at a feature map.
    tile,
    exact_row,  // one of these rows again, in integers; `count` exact rows of this step came before it
  };
  Kind kind = Kind::elements;
  NodeId node = 0;
  std::size_t count = 0, multiply_adds = 0;
  // Terms: those of all literals and cuts with a multiplier; they are added to every row.
  std::span<const Entry> entries = {}, terms = {};
  const Hints* hints = nullptr;
};

class Meter {
 public:
  virtual ~Meter() = default;
  virtual Outcome<Done> before(const Work& work) = 0;
};

}  // namespace assay::logic
