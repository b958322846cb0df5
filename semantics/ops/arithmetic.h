// Arithmetic: add, sub, mul, div on broadcasting operands, neg, scale and reciprocal on one.
//
// Meaning.     add: a + b.  sub: a - b.  mul: a * b.  div: a / b, between integers rounded towards zero.  neg: -x.
//              scale: factor * x, the factor as the exact number that the double denotes.  reciprocal: 1 / x. Element
//              by element. Along an axis that an operand lacks, or has with extent 1, it is read at index 0.
// Shapes.      S_a, S_b -> their broadcast (ONNX multidirectional); neg, scale, reciprocal: S -> S
// Domain.      All reals; div where b != 0, reciprocal where x != 0: over exact scalars a zero divisor is the rejection
//              "div.domain" ("reciprocal.domain"), over intervals a divisor that contains 0 gives the undefined value.
//              NaN and infinities: IEEE 754 over float and double.
// Side conditions. add, sub, mul, div: S1 the shapes broadcast, S2 the result is possible. scale: S1 the factor
//              is finite.
// Derivative.  a_dot + b_dot; a_dot - b_dot; a_dot*b + a*b_dot; (a_dot - (a/b)*b_dot)/b; -x_dot;
//              factor*x_dot; -x_dot/x^2
// Rounding.    One operation of the scalar per element.
// Segments.    reciprocal: concave left of its pole, convex right of it. mul(x, x): convex.
// Source.      ONNX Add, Sub, Mul, Div, Neg, Reciprocal
#pragma once

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::arithmetic {

template <class S, class F>
Array<S> combine(const Node& node, const Array<S>& a, const Array<S>& b, const F& f) {
  Array<S> y{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  y.values.reserve(count);
  Walk at_a = Walk::over(a.shape, node.shape), at_b = Walk::over(b.shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, at_a.next(), at_b.next()) y.values.push_back(f(a.values[at_a.offset()], b.values[at_b.offset()]));
  return y;
}

template <class S>
Outcome<Done> check_divisor(const Node& node, const Array<S>& b) {
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    if (!ScalarTraits<S>::may_divide_by(b.values[i])) return domain_fault(node, i, "divisor != 0", "0");
  }
  return Done{};
}

template <class S>
Outcome<Array<S>> divide(const Node& node, const Array<S>& a, const Array<S>& b) {
  if (Outcome<Done> done = check_divisor(node, b); !done) return done.rejection();
  if constexpr (ScalarTraits<S>::has_piecewise) {
    if (!is_float(node.dtype)) return combine(node, a, b, [](const S& p, const S& q) { return truncate(S(p / q)); });
  }
  return combine(node, a, b, [](const S& p, const S& q) { return S(p / q); });
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& a = *operands[0];
  if (node.op == Op::add) return combine(node, a, *operands[1], [](const S& p, const S& q) { return S(p + q); });
  if (node.op == Op::sub) return combine(node, a, *operands[1], [](const S& p, const S& q) { return S(p - q); });
  if (node.op == Op::mul) {
    // A node times itself: each value is multiplied with itself only, so the image is that of a square.
    if constexpr (ScalarTraits<S>::is_enclosure) {
      if (node.operands.size() == 2 && node.operands[0] == node.operands[1]) return map(a, [](const S& x) { return S(square(x)); });
    }
    return combine(node, a, *operands[1], [](const S& p, const S& q) { return S(p * q); });
  }
  if (node.op == Op::div) return divide(node, a, *operands[1]);
  if (node.op == Op::reciprocal) {
    if (Outcome<Done> done = check_divisor(node, a); !done) return done.rejection();
    return map(a, [one = ScalarTraits<S>::from_double(1)](const S& x) { return S(one / x); });
  }
  if (node.op == Op::neg) return map(a, [](const S& x) { return S(-x); });
  demand(node.op == Op::scale, "denote_arithmetic: not an arithmetic op");
  const S factor = ScalarTraits<S>::from_double(std::get<ScaleAttributes>(node.attributes).factor);
  return map(a, [&factor](const S& x) { return S(factor * x); });
}

static inline Segments segments_of(Op op) {
  if (op == Op::reciprocal) return {{-kEverywhere, -kLeast, Curve::concave}, {kLeast, kEverywhere, Curve::convex}};
  demand(op == Op::mul, "segments_of: no arithmetic of one variable");
  return {{-kEverywhere, kEverywhere, Curve::convex}};  // a square
}

}  // namespace assay::ops::arithmetic
