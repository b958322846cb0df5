// What a product of matrices or a convolution reads for its factors, where the model rounds them.
#pragma once

#include "kernel/contracts/float_set.h"
#include "semantics/graph/execution_model.h"

namespace assay::contracts {

// The factor as the model rounds it: for tf32 towards zero as well as to the nearest number. Exact values, too, are those of the rounded
// factors: rounding them is what the model says to compute, not an error.
[[nodiscard]] FloatSet as_factor(const ExecutionModel& model, const FloatSet& x);

}  // namespace assay::contracts
