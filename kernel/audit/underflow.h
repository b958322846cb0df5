// Underflow: numbers that every float execution rounds away, as in a softmax that masks with -1e30. Private to this folder.
//
// Claim. exp(-105) < 2^-151 and exp(-750) < 2^-1081: less than half of the least positive float32, and of the least
// float64. So where exp has a lower argument at the recorded point, a float execution of that type gives 0. The exact
// number is not 0, so a product that multiplies by it is not the derivative over the reals, though no run shows that.
// Here each function has its limit at these elements, at every point. At all other elements it stays as it is.
//
// The sum of exponentials of a line, in log_sum_exp and softmax, is at least that of its greatest element. A share below
// exp(-105), or exp(-750), is less than half a unit in the last place of it, so no float shows it: such an element is
// left out, as one of -infinity is.
//
// The elements are those of the run's mask. So a real tensor of two numbers without a cotangent, which may be a mask,
// keeps its recorded numbers at every point: the product is judged for this mask.
//
// The product is right if the limited product is the adjoint of the derivative of the limited function. Elements are
// chosen by bounds at the recorded point. No verdict without limits is changed: only a product that was rejected, or
// undecided, is judged so.
#pragma once

#include <optional>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

struct Limited {
  Graph graph;
  std::vector<NodeId> at;  // for each node of the original graph, the node with its values
};

// nullopt if no element reaches a limit at the point, which has one array per input.
[[nodiscard]] std::optional<Limited> with_limits(const Graph& graph, const std::vector<Array<Interval>>& point);

}  // namespace assay::audit
