// The representative set of cases: for every op, applications that together use every alternative of its attributes and
// of its gradient rule.
#pragma once

#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"

namespace assay::gradients {

// Empty for leaves, and for ops whose results are integers or truth values, which have no derivative.
[[nodiscard]] std::vector<AdjointCase> adjoint_cases(Op op);

}  // namespace assay::gradients
