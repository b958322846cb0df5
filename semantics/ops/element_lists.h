// The lists of elements that an op combines into one result. Integers only.
#pragma once

#include <cstdint>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::ops {

// For each element of a reduction's result: the elements of x that agree with it on all other axes, in row-major order.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> reduction_groups(const Shape& x, const std::vector<std::int64_t>& axes);

// For each element of a result of shape `to`: the element that broadcasting reads from an operand of shape `from`.
[[nodiscard]] std::vector<std::uint32_t> broadcast_elements(const Shape& from, const Shape& to);

}  // namespace assay::ops
