// Which elements ops over several of them join, as lists. Integers only.
#pragma once

#include <cstdint>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::ops {

// The elements of x that agree off the axes, row-major: those of each element of a reduction.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> reduction_groups(const Shape& x, const std::vector<std::int64_t>& axes);

// The element of an operand of shape `from` that broadcasting pairs with each element of a result of shape `to`.
[[nodiscard]] std::vector<std::uint32_t> broadcast_elements(const Shape& from, const Shape& to);

}  // namespace assay::ops
