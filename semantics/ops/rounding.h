// Rounding to integers: floor, ceil, round, and mod.
//
// Meaning.     floor: the greatest integer <= x.  ceil: the least integer >= x.  round: the nearest integer, of two
//              equally near ones the even one.  mod: x - y q with q = floor(x / y), so that the sign is that of y;
//              truncated: q = x / y rounded towards zero, so that the sign is that of x.
// Shapes.      S -> S; mod: S_x, S_y -> their broadcast
// Domain.      All reals; mod where y != 0: over exact scalars a zero divisor is the rejection "mod.domain",
//              over intervals a divisor that contains 0 gives the undefined value. NaN and infinities over
//              float and double: floor, ceil and round keep them, mod is C's fmod. Scalars without an order
//              lack these ops ("denote.scalar").
// Side conditions. mod: S1 the shapes broadcast, S2 the result is possible.
// Derivative.  floor, ceil, round: 0 by convention, undefined over sets with a jump. mod: x_dot - q y_dot except at
//              the jumps.
// Rounding.    floor, ceil, round: exact. mod: if q is one number on the whole set, q is exact, and one product and one
//              difference follow at 257 bits. Otherwise the result lies between 0 and the modulus, and no further from
//              0 than x when truncated.
// Segments.    floor, ceil, round: their staircases.
// Source.      ONNX Floor, Ceil, Round, Mod
#pragma once

#include <cmath>
#include <type_traits>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::rounding {

template <class S>
S quotient(const S& x, const S& y, bool truncated) {
  const S exact = x / y;
  return truncated ? truncate(exact) : S(floor(exact));
}

// x - y q, for the scalars on which this is the value up to their rounding.
template <class S>
S modulo(const S& x, const S& y, bool truncated) {
  return S(x - y * quotient(x, y, truncated));
}

template <class Float>
static Float float_modulo(Float x, Float y, bool truncated) {
  const Float rest = std::fmod(x, y);  // exact
  return !truncated && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static inline double modulo(double x, double y, bool truncated) { return float_modulo(x, y, truncated); }
static inline float modulo(float x, float y, bool truncated) { return float_modulo(x, y, truncated); }

static inline WideInterval modulo(const WideInterval& x, const WideInterval& y, bool truncated) {
  const WideInterval q = quotient(x, y, truncated);
  if (q.is_undefined() || q.is_point()) return q.is_undefined() ? q : x - y * q;
  const WideInterval zero;
  if (!truncated) return hull(zero, y);             // 0 <= r < y or y < r <= 0
  const WideInterval modulus = abs(y).upper_end();  // |r| < |y|, |r| <= |x|, and r has the sign of x
  return hull(max(min(x.lower_end(), zero), -modulus), min(max(x.upper_end(), zero), modulus));
}
static inline Interval modulo(const Interval& x, const Interval& y, bool truncated) {
  return modulo(WideInterval(x), WideInterval(y), truncated).to_interval();
}
static inline Symbolic modulo(const Symbolic& x, const Symbolic& y, bool truncated) {
  const bool constants = x.is_constant() && y.is_constant();
  return constants ? Symbolic(modulo(x.constant(), y.constant(), truncated)) : modulo<Symbolic>(x, y, truncated);
}
// The value from the image above, and the tangent of the formula.
static inline Dual<Interval> modulo(const Dual<Interval>& x, const Dual<Interval>& y, bool truncated) {
  return {modulo(x.value(), y.value(), truncated), modulo<Dual<Interval>>(x, y, truncated).tangent()};
}

template <class S>
Outcome<Array<S>> remainders(const Node& node, const Array<S>& x, const Array<S>& y) {
  const bool truncated = std::get<ModAttributes>(node.attributes).truncated;
  Array<S> result{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  result.values.reserve(count);
  Walk at_x = Walk::over(x.shape, node.shape), at_y = Walk::over(y.shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, at_x.next(), at_y.next()) {
    const S& divisor = y.values[at_y.offset()];
    if (!ScalarTraits<S>::may_divide_by(divisor)) return domain_fault(node, i, "divisor != 0", "0");
    result.values.push_back(modulo(x.values[at_x.offset()], divisor, truncated));
  }
  return result;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const Array<S>& x = *operands[0];
    if (node.op == Op::floor) return map(x, [](const S& value) { return S(floor(value)); });
    if (node.op == Op::ceil) return map(x, [](const S& value) { return S(-floor(-value)); });
    if (node.op == Op::round) return map(x, [](const S& value) { return S(round(value)); });
    demand(node.op == Op::mod, "denote_rounding: not a rounding op");
    return remainders(node, x, *operands[1]);
  }
}

static inline Segments segments_of(Op op) {
  return Segments(op == Op::floor ? Segments::Staircase::floor : op == Op::ceil ? Segments::Staircase::ceil : Segments::Staircase::round);
}

}  // namespace assay::ops::rounding
