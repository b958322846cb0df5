// What a graph costs to evaluate on any scalar, estimated from its shapes. No verdict rests on it but that something
// was not looked at. Private to this folder, but for the budgets of gates.
#pragma once

#include "semantics/graph/graph.h"

namespace assay::audit {

// Terms of sums and products, pairs of elements that are compared, and elements, of all nodes together.
[[nodiscard]] double work_of(const Graph& graph);
// The same of a recorded region: an op that ran alone along an axis is judged in a few passes over what was recorded, however long the
// axis is.
[[nodiscard]] double work_of_region(const Graph& graph);
// Elements of all nodes that are no inputs.
[[nodiscard]] double elements_of(const Graph& graph);

}  // namespace assay::audit
