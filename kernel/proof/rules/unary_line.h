// The intercept of rule unary_line, for the steps of formulas too. Private to kernel/proof/rules.
#pragma once

#include <span>

#include "kernel/policy/policy.h"
#include "kernel/proof/rules/relaxation.h"

namespace assay::kernel {

// f(z) >= (lower) or <= line.slope z + t over the pieces; t is NaN where there is none.
[[nodiscard]] double unary_intercept(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const ChosenLine& line);

}  // namespace assay::kernel
