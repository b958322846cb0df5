// Estimates the cost of evaluating a graph on any scalar, from its shapes. The only effect on verdicts is that
// expensive checks are skipped. Private to this folder, except for the budgets of gates.
#pragma once

#include "semantics/graph/graph.h"

namespace assay::audit {

// The number of terms of sums and products, of compared pairs of elements, and of elements, in all nodes together.
[[nodiscard]] double work_of(const Graph& graph);
// The same for a recorded region. An op that ran alone along an axis is judged in a few passes over the recorded
// values, whatever the length of the axis.
[[nodiscard]] double work_of_region(const Graph& graph);
// The number of elements of all nodes other than inputs.
[[nodiscard]] double elements_of(const Graph& graph);

}  // namespace assay::audit
