// Meter: whoever counts what steps take. It is told what a step is about to do, and may decline it. No fact and no verdict rests on the
// count.
#pragma once

#include <span>

#include "kernel/logic/step.h"

namespace assay::logic {

// An entry of a row: its coefficient at one element, which may differ from the true one by `error`.
struct Entry {
  std::size_t row = 0;
  NodeId node = 0;
  std::uint32_t element = 0;
  double coefficient = 0, error = 0;
};

struct Work {
  enum class Kind : std::uint8_t {
    box,       // of `node`
    elements,  // `count` numbers of boxes or cuts
    terms,     // `count` exact terms of a row of the property
    cut,       // `entries` of a sum
    rows,      // `count` rows from `node` down to the inputs, which start at `entries`
    tile,  // `count` of those have taken `multiply_adds`: asked for where they start at a feature map; `rows` are not charged for their way
    exact_row,  // one of them in integers, after `count` others of the step
  };
  Kind kind = Kind::elements;
  NodeId node = 0;
  std::size_t count = 0, multiply_adds = 0;
  bool windows = false;
  std::span<const Entry> entries = {}, terms = {};  // terms: of the cuts that have a multiplier, which every row takes on its way
  std::span<const Literal> literals = {};           // the same, of literals
  const Hints* hints = nullptr;
};

class Meter {
 public:
  virtual ~Meter() = default;
  virtual Outcome<Done> before(const Work& work) = 0;
};

}  // namespace assay::logic
