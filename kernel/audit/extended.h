// Values at a recorded point that may hold infinities, such as the fill of a masked softmax. Private to this folder.
//
// An infinite element is the interval from that infinity to itself. An op gives the value that it has for all finite
// numbers beside the infinity (x - inf = -inf), or its limit (exp(-inf) = 0). In a list of ops (extended.cpp) intervals
// give it. To every other op an infinite element is undefined, so its results say nothing.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

[[nodiscard]] inline bool is_infinite(const Interval& x) { return x.is_point() && std::isinf(x.lo()); }
// Undefined in place of infinities.
[[nodiscard]] Array<Interval> without_infinities(Array<Interval> values);
// The recorded elements. NaN and infinities, at which no derivative exists, are undefined; so are integers that no
// double holds.
[[nodiscard]] Array<Interval> enclosed(const Tensor& tensor);
// The same, with infinities.
[[nodiscard]] Array<Interval> at_point(const Tensor& tensor);
// Contracts take infinities of operands, but none of constants: makes such constants inputs.
void make_infinities_inputs(Graph& graph, std::vector<Tensor>& operands);
[[nodiscard]] Outcome<Array<Interval>> denote_at(const Node& node, std::span<const Array<Interval>* const> operands);

}  // namespace assay::audit
