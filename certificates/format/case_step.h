// CaseStep: one entry of a tree of splits in preorder. All leaves of the tree bound the same elements.
#pragma once

#include <optional>

#include "kernel/logic/api.h"

namespace assay::certificate {

// A split is given by its <= half; the steps of that half follow, then those of the other half. An entry without split
// is a leaf, with the hints for its bounds.
struct CaseStep {
  std::optional<logic::Literal> split;
  logic::Hints hints;
};

}  // namespace assay::certificate
