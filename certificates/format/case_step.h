// CaseStep: a tree of splits in preorder, in whose leaves the same elements are bounded.
#pragma once

#include <optional>

#include "kernel/logic/api.h"

namespace assay::certificate {

// A split (its <= half) has both halves behind it, that one first; else a leaf has the hints for its bounds.
struct CaseStep {
  std::optional<logic::Literal> split;
  logic::Hints hints;
};

}  // namespace assay::certificate
