// reduce_sum and reduce_mean.
//
// Meaning.     reduce_sum: y[i] = sum of x[j] over the j that agree with i on every axis that is not reduced.
//              reduce_mean: that sum divided by the number of its terms. Without axes: y = x.
// Shapes.      [d_0, d_1, ...] -> the reduced axes have extent 1 (keep_dims) or are dropped
// Domain.      All reals. An empty sum is 0. NaN and infinities: IEEE 754 over float and double.
// Side conditions. S1 axes are distinct and in 0 .. rank-1. S2 a mean has at least one term.
// Derivative.  The same reduction of x_dot; the adjoint gives each element its result's cotangent (mean: divided by
//              the count).
// Rounding.    Each sum starts at 0 and takes its terms in row-major order; a mean ends with one division.
// Source.      ONNX ReduceSum, ReduceMean
#pragma once

#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops::reduce {

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  const std::vector<std::int64_t>& axes = std::get<ReduceAttributes>(node.attributes).axes;
  Array<S> y{node.shape, std::vector<S>(element_count(node.shape))};
  Walk to(x.shape, reduction_strides(x.shape, axes));
  for (std::size_t j = 0; j < x.values.size(); ++j, to.next()) y.values[to.offset()] += x.values[j];
  if (node.op == Op::reduce_sum) return y;
  std::size_t terms = 1;
  for (const std::int64_t axis : axes) terms *= static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  const S count = ScalarTraits<S>::from_double(static_cast<double>(terms));  // below 2^53: exact
  for (S& value : y.values) value = value / count;
  return y;
}

}  // namespace assay::ops::reduce
