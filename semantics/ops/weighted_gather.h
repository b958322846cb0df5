// weighted_gather: each position of one axis becomes a weighted sum of positions of that axis; resampling and
// scattered sums.
//
// Meaning.     y[o, j, r] = sum over k in starts[j] .. starts[j+1]-1 of weights[k] * x[o, indices[k], r], o before
//              axis, r behind it.
// Shapes.      S -> S with extent starts.size() - 1 along axis
// Domain.      All reals. A position without terms is 0. NaN and infinities: IEEE 754 over float and double.
// Side conditions. S1 0 <= axis < rank. S2 starts begin at 0, ascend, and end at the number of indices, which is that
//              of the weights. S3 every index lies in the axis.
// Derivative.  The same sums of x_dot; the adjoint adds weights[k] times the result's cotangent to each element read.
// Rounding.    Weights are exact fractions. Terms in order; over intervals at 257 bits, then outward once.
// Source.      ONNX Resize, Upsample, Col2Im, GridSample (constant grid), ScatterND and ScatterElements (add), all by
//              constant indices. It is a separate op because the weights of most scales are no floats, and dense
//              matrices would be mostly 0.
#pragma once

#include <type_traits>

#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/wide.h"

namespace assay::ops::weighted_gather {

template <class S>
Array<S> weighted_gather(const Node& node, const Array<S>& x) {
  const auto& [axis, starts, indices, weights] = std::get<WeightedGatherAttributes>(node.attributes);
  const std::size_t outer = element_count(Shape(x.shape.begin(), x.shape.begin() + axis));
  const std::size_t inner = element_count(Shape(x.shape.begin() + axis + 1, x.shape.end()));
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  std::vector<S> factors;
  factors.reserve(weights.size());
  for (const Rational& weight : weights) factors.push_back(ScalarTraits<S>::from_rational(weight));
  Array<S> y{node.shape, {}};
  y.values.reserve(element_count(node.shape));
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
      for (std::size_t r = 0; r < inner; ++r) {
        S sum{};
        for (auto k = static_cast<std::size_t>(starts[j]); k < static_cast<std::size_t>(starts[j + 1]); ++k) {
          sum += factors[k] * x.values[(o * extent + static_cast<std::size_t>(indices[k])) * inner + r];
        }
        y.values.push_back(std::move(sum));
      }
    }
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (std::is_same_v<S, Interval> || std::is_same_v<S, Dual<Interval>>) {
    return at_257_bits(*operands[0], [&](const auto& wide) { return weighted_gather(node, wide); });
  } else {
    return weighted_gather(node, *operands[0]);
  }
}

}  // namespace assay::ops::weighted_gather
