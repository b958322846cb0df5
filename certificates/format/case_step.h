// CaseStep: a tree of splits in preorder, in whose leaves the same elements are bounded.
#pragma once

#include <optional>

#include "kernel/kernel.h"

namespace assay::kernel {

// A split (its <= half) has both halves behind it, that one first; else a leaf has the hints for its bounds.
struct CaseStep {
  std::optional<Literal> split;
  Hints hints;
};

}  // namespace assay::kernel
