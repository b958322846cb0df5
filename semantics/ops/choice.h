// Comparison, logic, choice and conversion: equal, less, less_equal, logical_not/and/or/xor, where, cast,
// is_nan, is_inf.
//
// Meaning.     equal: a = b.  less: a < b.  less_equal: a <= b.  logical_*: on truth values 0 and 1.  where: a where
//              the condition is 1, b where it is 0.  cast to a float type: x itself (no rounding in real arithmetic);
//              to an integer type: x rounded towards zero; to boolean: x != 0.  is_nan, is_inf: 0, since a real number
//              is neither. Scalars with infinities (double, float, Opaque) show them.
// Shapes.      broadcast of the operands; one operand: S -> S
// Domain.      All reals. cast to an integer type: the rounded value lies in the type's range (a domain fault
//              otherwise, as for all integer results, see denote.h). Over sets, where discards an undefined value that
//              is not chosen. Over float and double every comparison with NaN is false, and is_nan and is_inf examine
//              the value. Scalars without an order lack these ops ("denote.scalar").
// Side conditions. S1 the shapes broadcast, S2 the result is possible. Types: see Elements in op.h.
// Derivative.  Truth values: 0, undefined over sets that hold both; where: that of the chosen branch; cast to float: 1.
// Rounding.    None. Over sets: {0}, {1} or [0, 1]; where gives the hull of both branches if the condition
//              is undecided.
// Segments.    cast to a float type: linear. To integers: the staircase of truncation.
// Source.      ONNX Equal, Less, LessOrEqual, Greater, GreaterOrEqual, Not, And, Or, Xor, Where, Cast, IsNaN, IsInf
#pragma once

#include <cmath>
#include <type_traits>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::choice {

template <class S, class F>
Array<S> combine(const Node& node, Operands<S> operands, const F& f) {
  Array<S> y{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  y.values.reserve(count);
  Walk first = Walk::over(operands[0]->shape, node.shape);
  Walk second = Walk::over(operands[1]->shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, first.next(), second.next()) {
    y.values.push_back(f(operands[0]->values[first.offset()], operands[1]->values[second.offset()]));
  }
  return y;
}

template <class S>
Array<S> where(const Node& node, Operands<S> operands) {
  Array<S> y{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  y.values.reserve(count);
  Walk at_condition = Walk::over(operands[0]->shape, node.shape);
  Walk at_a = Walk::over(operands[1]->shape, node.shape), at_b = Walk::over(operands[2]->shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, at_condition.next(), at_a.next(), at_b.next()) {
    y.values.push_back(
        select(operands[0]->values[at_condition.offset()], operands[1]->values[at_a.offset()], operands[2]->values[at_b.offset()]));
  }
  return y;
}

template <class S>
S converted(const S& x, DType to) {
  if (is_float(to)) return x;
  if (to == DType::boolean) return S(ScalarTraits<S>::from_double(1) - equal(x, ScalarTraits<S>::from_double(0)));
  return truncate(x);
}

// 0 on every set of reals; an undefined set stays undefined.
template <class S>
S never(const S& x) {
  return truth(false, compare(x, x).may_be_equal, static_cast<const S*>(nullptr));
}

// Infinities and NaN, of scalars that have them.
template <class S>
int infinity_of(const S& x) {
  if constexpr (std::is_floating_point_v<S>) return std::isinf(x) ? (x > 0 ? 1 : -1) : 0;
  if constexpr (requires { x.infinity(); }) return x.infinity();
  if constexpr (requires { x.value().infinity(); }) return x.value().infinity();
  return 0;
}
template <class S>
bool is_no_number(const S& x) {
  if constexpr (std::is_floating_point_v<S>) return std::isnan(x);
  if constexpr (requires { x.is_nan(); }) return x.is_nan();
  if constexpr (requires { x.value().is_nan(); }) return x.value().is_nan();
  return false;
}

template <class S>
S is_special(const Node& node, const S& x) {
  const int sign = infinity_of(x);
  if (sign == 0 && !is_no_number(x)) return never(x);
  if (node.op == Op::is_nan) return ScalarTraits<S>::from_double(sign == 0 ? 1 : 0);
  const auto& [positive, negative] = std::get<IsInfAttributes>(node.attributes);
  return ScalarTraits<S>::from_double((sign > 0 && positive) || (sign < 0 && negative) ? 1 : 0);
}

template <class S>
Array<S> apply(const Node& node, Operands<S> operands) {
  if (node.op == Op::equal) return combine<S>(node, operands, [](const S& a, const S& b) { return equal(a, b); });
  if (node.op == Op::less) return combine<S>(node, operands, [](const S& a, const S& b) { return less(a, b); });
  if (node.op == Op::less_equal) return combine<S>(node, operands, [](const S& a, const S& b) { return less_equal(a, b); });
  if (node.op == Op::logical_and) return combine<S>(node, operands, [](const S& a, const S& b) { return S(min(a, b)); });
  if (node.op == Op::logical_or) return combine<S>(node, operands, [](const S& a, const S& b) { return S(max(a, b)); });
  if (node.op == Op::logical_xor) return combine<S>(node, operands, [](const S& a, const S& b) { return S(abs(S(a - b))); });
  if (node.op == Op::logical_not) return map(*operands[0], [](const S& a) { return S(ScalarTraits<S>::from_double(1) - a); });
  if (node.op == Op::where) return where<S>(node, operands);
  if (node.op == Op::cast) return map(*operands[0], [&](const S& x) { return converted(x, node.dtype); });
  demand(node.op == Op::is_nan || node.op == Op::is_inf, "denote_choice: not a comparison, choice or conversion");
  return map(*operands[0], [&](const S& x) { return is_special(node, x); });
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    return apply<S>(node, operands);
  }
}

static inline Segments segments_of_cast(const Node& node) {
  if (is_float(node.dtype)) return {{-kEverywhere, kEverywhere, Curve::linear}};
  return is_integer(node.dtype) ? Segments(Segments::Staircase::truncate) : Segments();
}

}  // namespace assay::ops::choice
