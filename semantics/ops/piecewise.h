// Piecewise linear functions: relu, leaky_relu, abs, sign, clip, min, max.
//
// Meaning.     relu: max(x, 0).  leaky_relu: max(x, 0) + slope * min(x, 0), the slope as the exact number of
//              the double.
//              abs: |x|.  sign: -1, 0 or 1 as x < 0, x = 0, x > 0.  clip: min(max(x, lo), hi), an infinite bound
//              has no effect.
//              min, max: the least (greatest) of the operands, element by element.
// Shapes.      S -> S; min, max: S_1, ..., S_n -> their broadcast
// Domain.      All reals. NaN over float and double gives NaN. Scalars without an order lack these
//              ops ("denote.scalar").
// Side conditions. leaky_relu: S1 the slope is finite. clip: S1 lo <= hi, lo < +inf, hi > -inf. min, max: S1 the shapes
//              broadcast, S2 the result is possible.
// Derivative.  That of the piece in which x lies. At a kink the row-wise Clarke hull over sets, its middle over
//              points (dual.h).
//              sign: 0 by convention, and refused in theorems about derivatives.
// Rounding.    leaky_relu: one product of the scalar, and a sum of which one term is 0 (over sets the exact image). All
//              others are exact.
// Segments.    Linear between 0 or the bounds; sign jumps at 0.
// Source.      ONNX Relu, LeakyRelu, Abs, Sign, Clip, Min, Max
#pragma once

#include <limits>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::piecewise {

template <class S>
Array<S> clip(const ClipAttributes& attributes, const Array<S>& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Array<S> y = x;
  if (attributes.lo > -kInfinity) {
    const S lo = ScalarTraits<S>::from_double(attributes.lo);
    for (S& value : y.values) value = max(value, lo);
  }
  if (attributes.hi < kInfinity) {
    const S hi = ScalarTraits<S>::from_double(attributes.hi);
    for (S& value : y.values) value = min(value, hi);
  }
  return y;
}

// The first operand, broadcast to the result, then combined with each further operand.
template <class S, class F>
Array<S> fold(const Node& node, Operands<S> operands, const F& f) {
  Array<S> y{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  y.values.reserve(count);
  Walk first = Walk::over(operands[0]->shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, first.next()) y.values.push_back(operands[0]->values[first.offset()]);
  for (const Array<S>* operand : operands.subspan(1)) {
    Walk at = Walk::over(operand->shape, node.shape);
    for (std::size_t i = 0; i < count; ++i, at.next()) y.values[i] = f(y.values[i], operand->values[at.offset()]);
  }
  return y;
}

// One of the two terms is 0. For slopes <= 0 neither term is negative, so the greater one is the sum. Over a set around
// 0 the maximum is the exact image, whereas the sum would add two values that no point has together.
template <class S>
S leaky(const S& x, const S& slope) {
  const S zero = ScalarTraits<S>::from_double(0), right = max(x, zero), left = slope * min(x, zero);
  if constexpr (ScalarTraits<S>::is_enclosure) {
    if (!compare(zero, slope).may_be_less) return max(right, left);
  }
  return right + left;
}

template <class S>
Array<S> apply(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  const S zero = ScalarTraits<S>::from_double(0);
  if (node.op == Op::relu) return map(x, [&](const S& value) { return S(max(value, zero)); });
  if (node.op == Op::leaky_relu) {
    const S slope = ScalarTraits<S>::from_double(std::get<LeakyReluAttributes>(node.attributes).slope);
    return map(x, [&](const S& value) { return leaky(value, slope); });
  }
  if (node.op == Op::abs) return map(x, [](const S& value) { return S(abs(value)); });
  if (node.op == Op::sign) return map(x, [](const S& value) { return S(sign(value)); });
  if (node.op == Op::clip) return clip(std::get<ClipAttributes>(node.attributes), x);
  if (node.op == Op::min) return fold(node, operands, [](const S& a, const S& b) { return S(min(a, b)); });
  demand(node.op == Op::max, "denote_piecewise: not a piecewise linear op");
  return fold(node, operands, [](const S& a, const S& b) { return S(max(a, b)); });
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (ScalarTraits<S>::has_piecewise) {
    return apply(node, operands);
  } else {
    return no_function(node, ScalarTraits<S>::name);
  }
}

static inline Segments segments_of(const Node& node) {
  using enum Curve;
  if (node.op == Op::clip) {
    const auto& [lo, hi] = std::get<ClipAttributes>(node.attributes);
    return {{-kEverywhere, lo, linear}, {lo, hi, linear}, {hi, kEverywhere, linear}};
  }
  if (node.op == Op::sign) return {{-kEverywhere, 0, affine, true, 0, -1.0}, {0, kEverywhere, affine, false, 0, 1.0}};
  return {{-kEverywhere, 0, linear}, {0, kEverywhere, linear}};  // relu, leaky_relu, abs
}

}  // namespace assay::ops::piecewise
