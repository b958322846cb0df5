// Reductions for the other kernels of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/array.h"
#include "semantics/graph/op.h"

namespace assay::runtime {

// reduce_sum, reduce_mean, reduce_max, reduce_min or reduce_prod; the result has as many elements as the axes that are left.
void reduce_array(Op op, const Array& x, const std::vector<std::int64_t>& axes, Array& result);

}  // namespace assay::runtime
