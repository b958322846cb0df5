// The factors of a matrix product or convolution, if the model rounds them.
#pragma once

#include "kernel/contracts/float_set.h"
#include "semantics/graph/execution_model.h"

namespace assay::contracts {

// The factor as the model rounds it; for tf32 both towards zero and to the nearest number. Exact values are those of
// the rounded factors, too: the rounding is part of the computation that the model describes, not an error.
[[nodiscard]] FloatSet as_factor(const ExecutionModel& model, const FloatSet& x);

}  // namespace assay::contracts
