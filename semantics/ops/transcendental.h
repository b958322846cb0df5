// Functions whose values are irrational: sigmoid, tanh, sqrt, pow with a constant exponent, exp, log, erf, softplus,
// the trigonometric and hyperbolic functions and their inverses.
//
// Meaning.     sigmoid: 1 / (1 + exp(-x)).  softplus: log(1 + exp(x)).  erf: 2/sqrt(pi) times the integral of exp(-t^2)
//              from 0 to x.  tanh, exp, sin, cos, tan, sinh, cosh: as usual.  sqrt: the root >= 0.  log: natural. asin
//              in [-pi/2, pi/2], acos in [0, pi], atan in (-pi/2, pi/2), acosh >= 0: the principal values.
//              pow: x^r for the exact rational r. For an integer n, x^n is the repeated product (1 / x^-n for n < 0,
//              and x^0 = 1 also at 0); for other r it is exp(r log x), with 0^r = 0 for r > 0.  power: x^y, the same
//              with a tensor y.
// Shapes.      S -> S; power: S_x, S_y -> their broadcast
// Domain.      sqrt: x >= 0. log: x > 0. tan: no odd multiple of pi/2. asin, acos: |x| <= 1. acosh: x >= 1. atanh:
//              |x| < 1.
//              pow: x != 0 if r < 0; x >= 0 unless r is an integer. Elsewhere intervals give the undefined value, float
//              and double NaN or what IEEE 754 says; an exact 0^n, n < 0, is the rejection "pow.domain", and a power of
//              more than 2^20 bits is declined ("denote.size"). Integer powers exist over every scalar; the other
//              functions exist only over scalars that have them ("denote.scalar").
// Side conditions. pow on integers: S1 an integer exponent >= 0. power: S1 the shapes broadcast, S2 the result is
//              possible; over sets of exponents x > 0; between integers exponents >= 0 (exact scalars:
//              "power.domain"; over sets with a negative exponent the undefined value).
// Derivative.  s(1-s); 1-t^2; exp; cos; -sin; 1/(2 sqrt); 1/x; r x^(r-1); softplus: sigmoid; the others in
//              numbers/dual.cpp. Singular (no derivative): sqrt at 0, asin and acos at -1 and 1, acosh at 1.
// Rounding.    One call of the scalar's function per element: over float and double the nearest value, over
//              intervals outward.
// Segments.    exp, softplus, cosh, even powers: convex. log, sqrt, acosh: concave. sigmoid, tanh, erf, atan, asinh,
//              acos: convex left of 0, concave right of it. sinh, tan (between its poles around 0), asin, atanh:
//              concave left of 0, convex right of it. Powers x^r: by the sign of r (r - 1) and of x. sin, cos: by the
//              range of their derivative.
// Source.      ONNX Sigmoid, Tanh, Sqrt, Pow, Exp, Log, Sin, Cos, Erf, Softplus, Tan, Asin, Acos, Atan, Sinh, Cosh,
//              Asinh, Acosh, Atanh
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::transcendental {

static inline Rejection too_large(const Node& node, std::int64_t n) {
  return {Rejection::Kind::declined,        "denote.size",
          "node '" + node.name + "' (pow)", "an exact power of at most 2^20 bits",
          "exponent " + std::to_string(n),  "evaluate over intervals"};
}

template <class S>
Outcome<Array<S>> power(const Node& node, const Array<S>& x) {
  const Rational& exponent = std::get<PowAttributes>(node.attributes).exponent;
  if (const std::optional<std::int64_t> n = exponent.to_int64()) {
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      if (ScalarTraits<S>::may_raise(x.values[i], *n)) continue;
      if (*n < 0 && !ScalarTraits<S>::may_divide_by(x.values[i])) return domain_fault(node, i, "base != 0 for a negative exponent", "0");
      return too_large(node, *n);
    }
    return map(x, [&](const S& value) { return S(pow(value, *n)); });
  }
  if constexpr (ScalarTraits<S>::has_transcendental) {
    return map(x, [&](const S& value) { return S(pow(value, exponent)); });
  } else {
    return no_function(node, ScalarTraits<S>::name);
  }
}

template <class Float>
Float float_power(Float x, Float y) {
  const std::optional<Rational> exponent = Rational::from_double(static_cast<double>(y));
  return exponent ? pow(x, *exponent) : std::numeric_limits<Float>::quiet_NaN();
}
static inline double raised(double x, double y) { return float_power(x, y); }
static inline float raised(float x, float y) { return float_power(x, y); }

// The exponent, if it is one number.
static inline std::optional<Rational> single(const WideInterval& y) { return y.is_point() ? y.lo() : std::nullopt; }

// For x > 0, exp(y log x) contains each operand once. For other x the exponent must be one number.
static inline WideInterval raised(const WideInterval& x, const WideInterval& y) {
  if (const std::optional<Rational> exponent = single(y)) return pow(x, *exponent);
  return exp(y * log(x));
}
static inline Interval raised(const Interval& x, const Interval& y) { return raised(WideInterval(x), WideInterval(y)).to_interval(); }
static inline Symbolic raised(const Symbolic& x, const Symbolic& y) {
  if (x.is_constant() && y.is_constant()) return Symbolic(raised(x.constant(), y.constant()));
  const std::optional<Rational> exponent = y.is_constant() ? single(WideInterval(y.constant())) : std::nullopt;
  return exponent ? pow(x, *exponent) : exp(y * log(x));
}
static inline Dual<Interval> raised(const Dual<Interval>& x, const Dual<Interval>& y) {
  const std::optional<Rational> exponent = single(WideInterval(y.value()));
  const bool constant_exponent = exponent && y.tangent() == Interval(0.0);
  return {raised(x.value(), y.value()), constant_exponent ? pow(x, *exponent).tangent() : exp(y * log(x)).tangent()};
}

template <class S>
Outcome<Array<S>> general_power(const Node& node, const Array<S>& x, const Array<S>& y) {
  Array<S> result{node.shape, {}};
  const std::size_t count = element_count(node.shape);
  Walk at_x = Walk::over(x.shape, node.shape), at_y = Walk::over(y.shape, node.shape);
  for (std::size_t i = 0; i < count; ++i, at_x.next(), at_y.next()) {
    const S &base = x.values[at_x.offset()], &exponent = y.values[at_y.offset()];
    result.values.push_back(raised(base, exponent));
    if (is_float(node.dtype) || !compare(exponent, ScalarTraits<S>::from_double(0)).may_be_less) continue;
    if constexpr (!ScalarTraits<S>::is_enclosure) return domain_fault(node, i, "an exponent >= 0 between integers", "a negative one");
    result.values.back() = truth(false, false, static_cast<const S*>(nullptr));  // the undefined value
  }
  return result;
}

template <class S>
Array<S> evaluated(const Node& node, const Array<S>& x) {
  if (node.op == Op::sqrt) return map(x, [](const S& value) { return S(sqrt(value)); });
  return map(x, [f = function_of(node.op)](const S& value) { return S(apply(f, value)); });
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if (node.op == Op::pow) return power(node, *operands[0]);
  if constexpr (ScalarTraits<S>::has_transcendental) {
    if (node.op == Op::power) return general_power(node, *operands[0], *operands[1]);
    return evaluated(node, *operands[0]);
  } else {
    return no_function(node, ScalarTraits<S>::name);
  }
}

static inline Segments segments_of_power(const Rational& r) {
  const Curve positive = r * (r - Rational(1)) > Rational(0) ? Curve::convex : Curve::concave;  // of x^r on x > 0
  if (!r.is_integer()) return {{0, kEverywhere, positive}};
  if (r == Rational(1) || r == Rational(0)) return {{-kEverywhere, kEverywhere, Curve::linear}};
  const bool even = (r / Rational(2)).is_integer();
  const bool pole = r.sign() < 0;  // at 0
  return {{-kEverywhere, pole ? -kLeast : 0, even ? positive : Curve::concave}, {pole ? kLeast : 0, kEverywhere, positive}};
}

static inline Segments segments_of(const Node& node) {
  using enum Curve;
  constexpr double kBelowHalfPi = 0x1.921fb54442d18p+0;  // pi/2 is larger
  switch (node.op) {
    case Op::exp:
    case Op::softplus:
    case Op::cosh:
      return {{-kEverywhere, kEverywhere, convex}};
    case Op::log:
      return {{kLeast, kEverywhere, concave}};
    case Op::sqrt:
      return {{0, kEverywhere, concave}};
    case Op::acosh:
      return {{1, kEverywhere, concave}};
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::atan:
    case Op::asinh:
      return {{-kEverywhere, 0, convex}, {0, kEverywhere, concave}};
    case Op::acos:
      return {{-1, 0, convex}, {0, 1, concave}};
    case Op::sinh:
      return {{-kEverywhere, 0, concave}, {0, kEverywhere, convex}};
    case Op::tan:
      return {{-kBelowHalfPi, 0, concave}, {0, kBelowHalfPi, convex}};
    case Op::asin:
    case Op::atanh:
      return {{-1, 0, concave}, {0, 1, convex}};
    case Op::sin:
    case Op::cos:
      return {{-kEverywhere, kEverywhere, by_derivative}};
    default:
      demand(node.op == Op::pow, "segments_of: no function of one variable");
      return segments_of_power(std::get<PowAttributes>(node.attributes).exponent);
  }
}

}  // namespace assay::ops::transcendental
