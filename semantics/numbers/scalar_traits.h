// ScalarTraits<S>: the properties of a scalar S on which templates depend. There is one specialisation per scalar.
//
//   is_ordered          < is a total order on values (branching on them is meaningful)
//   has_piecewise       abs, sign, floor, min, max exist
//   has_residues        values are residues: without width, sign or digits
//   has_transcendental  sqrt, exp, log, tanh, sigmoid, erf, sin, cos, pow with a rational exponent exist
//   is_exact            + - * / give the exact value
//   is_enclosure        values are sets that contain the exact value
//   can_hold(x)         from_double(x) has a meaning (no NaN; no infinity if S has none)
//   may_divide_by(x)    x / y is defined or gives S's own undefined value; if false, the caller returns a rejection
//   may_raise(x, n)     the same for pow(x, n); also false if the exact power would be unreasonably large
// square and pow(x, n) exist for every S. Including this file gives all overloads of all functions.
#pragma once

#include <cstdint>

#include "semantics/numbers/dual.h"
#include "semantics/numbers/floating.h"
#include "semantics/numbers/interval.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/symbolic.h"
#include "semantics/numbers/wide_interval.h"

namespace assay {

template <class S>
struct ScalarTraits;

template <>
struct ScalarTraits<Rational> {
  static constexpr const char* name = "Rational";
  static constexpr bool is_ordered = true, has_piecewise = true, has_residues = false, has_transcendental = false;
  static constexpr bool is_exact = true, is_enclosure = false;
  static bool can_hold(double value);
  static Rational from_double(double value);  // demands can_hold(value)
  static Rational from_rational(const Rational& value) { return value; }
  static bool may_divide_by(const Rational& value) { return value.sign() != 0; }
  static bool may_raise(const Rational& value, std::int64_t n) { return may_raise_exactly(value, n); }
};

template <>
struct ScalarTraits<Interval> {
  static constexpr const char* name = "Interval";
  static constexpr bool is_ordered = false, has_piecewise = true, has_residues = false, has_transcendental = true;
  static constexpr bool is_exact = false, is_enclosure = true;
  static bool can_hold(double value);
  static Interval from_double(double value) { return Interval(value); }
  static Interval from_rational(const Rational& value) { return Interval(value); }
  static bool may_divide_by(const Interval&) { return true; }
  static bool may_raise(const Interval&, std::int64_t) { return true; }
};

template <>
struct ScalarTraits<WideInterval> {
  static constexpr const char* name = "WideInterval";
  static constexpr bool is_ordered = false, has_piecewise = true, has_residues = false, has_transcendental = true;
  static constexpr bool is_exact = false, is_enclosure = true;
  static bool can_hold(double value);
  static WideInterval from_double(double value) { return WideInterval(value); }
  static WideInterval from_rational(const Rational& value) { return WideInterval(value); }
  static bool may_divide_by(const WideInterval&) { return true; }
  static bool may_raise(const WideInterval&, std::int64_t) { return true; }
};

template <>
struct ScalarTraits<double> {
  static constexpr const char* name = "double";
  static constexpr bool is_ordered = true, has_piecewise = true, has_residues = false, has_transcendental = true;
  static constexpr bool is_exact = false, is_enclosure = false;
  static bool can_hold(double) { return true; }
  static double from_double(double value) { return value; }
  static double from_rational(const Rational& value);  // nearest, ties to even
  static bool may_divide_by(double) { return true; }
  static bool may_raise(double, std::int64_t) { return true; }
};

template <>
struct ScalarTraits<float> {
  static constexpr const char* name = "float";
  static constexpr bool is_ordered = true, has_piecewise = true, has_residues = false, has_transcendental = true;
  static constexpr bool is_exact = false, is_enclosure = false;
  static bool can_hold(double) { return true; }
  static float from_double(double value);             // nearest, ties to even
  static float from_rational(const Rational& value);  // nearest, ties to even
  static bool may_divide_by(float) { return true; }
  static bool may_raise(float, std::int64_t) { return true; }
};

// A function of a form that depends on a variable gives a form with is_linear() == false.
template <>
struct ScalarTraits<Symbolic> {
  static constexpr const char* name = "Symbolic";
  static constexpr bool is_ordered = false, has_piecewise = true, has_residues = false, has_transcendental = true;
  static constexpr bool is_exact = false, is_enclosure = true;
  static bool can_hold(double value) { return ScalarTraits<Interval>::can_hold(value); }
  static Symbolic from_double(double value) { return Symbolic(value); }
  static Symbolic from_rational(const Rational& value) { return Symbolic(Interval(value)); }
  static bool may_divide_by(const Symbolic&) { return true; }
  static bool may_raise(const Symbolic&, std::int64_t) { return true; }
};

template <class S>
struct ScalarTraits<Dual<S>> {
  using Base = ScalarTraits<S>;
  static constexpr const char* name = "Dual";
  static constexpr bool is_ordered = false;  // if S is ordered, compare value()
  static constexpr bool has_piecewise = Base::has_piecewise, has_residues = Base::has_residues,
                        has_transcendental = Base::has_transcendental;
  static constexpr bool is_exact = Base::is_exact, is_enclosure = Base::is_enclosure;
  static bool can_hold(double value) { return Base::can_hold(value); }
  static Dual<S> from_double(double value) { return Dual<S>(Base::from_double(value)); }
  static Dual<S> from_rational(const Rational& value) { return Dual<S>(Base::from_rational(value)); }
  static bool may_divide_by(const Dual<S>& value) { return Base::may_divide_by(value.value()); }
  static bool may_raise(const Dual<S>& value, std::int64_t n) { return Base::may_raise(value.value(), n); }
};

}  // namespace assay
