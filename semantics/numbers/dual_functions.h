// The derivative table: f(v + t d) = f(v) + f'(v) t d, one line per primitive.
//
// On an interval v, f'(v) is an enclosure of the derivative over v, so the tangent encloses f'(x) t for all x in v. An
// enclosure of f' that contains a pole is undefined. tests/semantics/numbers/dual_test.cpp proves every line:
// f(b) - f(a) in (b - a) f'([a, b]) on subdivisions.
//
// A scalar outside this folder defines its own surely_below, joined, at_jump, may_be_integer and two_over_root_pi.
#pragma once

#include "semantics/numbers/dual.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/numbers/selection.h"

namespace assay {

template <class S>
S number(std::int64_t value) {
  return ScalarTraits<S>::from_rational(Rational(value));
}

template <class S>
S half() {
  return ScalarTraits<S>::from_rational(Rational(1, 2));
}

inline bool surely_below(const Interval& a, const Interval& b) { return a.hi() < b.lo(); }
inline bool surely_below(const WideInterval& a, const WideInterval& b) { return certainly_less(a, b); }
inline bool surely_below(const Rational& a, const Rational& b) { return a < b; }

// The derivative where two smooth pieces meet: all one-sided derivatives (enclosures), or their mean (Rational).
inline Interval joined(const Interval& a, const Interval& b) { return hull(a, b); }
inline WideInterval joined(const WideInterval& a, const WideInterval& b) { return hull(a, b); }
inline Rational joined(const Rational& a, const Rational& b) { return (a + b) * Rational(1, 2); }

// The tangent at a jump, and at a possible one.
inline Rational at_jump(const Rational&) { return {}; }
inline Interval at_jump(const Interval&) { return Interval::undefined(); }
inline WideInterval at_jump(const WideInterval&) { return WideInterval::undefined(); }

// Whether v may contain an integer, that is, whether its floor is not below it everywhere.
template <class S>
inline bool may_be_integer(const S& v, const S& floor_of_v) {
  return !surely_below(floor_of_v, v) || v.is_undefined();
}
inline bool may_be_integer(const Rational& v, const Rational&) { return v.is_integer(); }

// A number that is infinite here is infinite nearby, too: it and its functions are constant. Most scalars have none.
template <class S>
inline bool is_infinite(const S&) {
  return false;
}

template <class S>
S two_over_root_pi();
template <>
inline WideInterval two_over_root_pi() {
  return WideInterval(2.0) / sqrt(WideInterval::pi());
}
template <>
inline Interval two_over_root_pi() {
  static const Interval value = two_over_root_pi<WideInterval>().to_interval();
  return value;
}

template <class S>
Dual<S> Dual<S>::operator-() const {
  return {-value_, -tangent_};
}

template <class S>
Dual<S>& Dual<S>::operator+=(const Dual& other) {
  value_ += other.value_;
  tangent_ += other.tangent_;
  return *this;
}

template <class S>
Dual<S>& Dual<S>::operator-=(const Dual& other) {
  value_ -= other.value_;
  tangent_ -= other.tangent_;
  return *this;
}

// (v w)' = v' w + v w'
template <class S>
Dual<S>& Dual<S>::operator*=(const Dual& other) {
  tangent_ = tangent_ * other.value_ + value_ * other.tangent_;
  value_ *= other.value_;
  if (is_infinite(value_)) tangent_ = S{};
  return *this;
}

// (v / w)' = (v' - (v / w) w') / w
template <class S>
Dual<S>& Dual<S>::operator/=(const Dual& other) {
  const Dual divisor(other);  // `other` may be *this
  value_ = value_ / divisor.value_;
  tangent_ = (tangent_ - value_ * divisor.tangent_) / divisor.value_;
  if (is_infinite(value_)) tangent_ = S{};
  return *this;
}

// (x^2)' = 2 x
template <class S>
Dual<S> square(const Dual<S>& x) {
  return {square(x.value()), number<S>(2) * x.value() * x.tangent()};
}

// (x^n)' = n x^(n-1); 0 for n = 0, where x^0 = 1
template <class S>
Dual<S> pow(const Dual<S>& x, std::int64_t n) {
  if (n == 0) {
    return {pow(x.value(), 0), number<S>(0) * x.tangent()};
  }
  const bool has_predecessor = n > INT64_MIN;
  const S slope = has_predecessor ? pow(x.value(), n - 1) : pow(x.value(), n) / x.value();
  return {pow(x.value(), n), number<S>(n) * slope * x.tangent()};
}

// |x|' = sign(x), and both -1 and 1 at 0
template <class S>
Dual<S> abs(const Dual<S>& x) {
  const S zero = number<S>(0);
  if (surely_below(zero, x.value())) {
    return x;
  }
  if (surely_below(x.value(), zero)) {
    return -x;
  }
  return {abs(x.value()), joined(number<S>(-1), number<S>(1)) * x.tangent()};
}

template <class S>
Dual<S> min(const Dual<S>& a, const Dual<S>& b) {
  if (surely_below(a.value(), b.value())) {
    return a;
  }
  if (surely_below(b.value(), a.value())) {
    return b;
  }
  return {min(a.value(), b.value()), joined(a.tangent(), b.tangent())};
}

template <class S>
Dual<S> max(const Dual<S>& a, const Dual<S>& b) {
  return -min(-a, -b);
}

template <class S>
Dual<S> sign(const Dual<S>& x) {
  const S zero = number<S>(0);
  const bool constant = surely_below(zero, x.value()) || surely_below(x.value(), zero);
  return {sign(x.value()), constant ? zero : at_jump(x.value())};
}

template <class S>
Dual<S> floor(const Dual<S>& x) {
  const S below = floor(x.value());
  return {below, may_be_integer(x.value(), below) ? at_jump(x.value()) : number<S>(0)};
}

// The jumps of round are those of floor(x + 1/2).
template <class S>
Dual<S> round(const Dual<S>& x) {
  return {round(x.value()), floor(Dual<S>(x.value() + half<S>(), x.tangent())).tangent()};
}

// sqrt' = 1 / (2 sqrt)
template <class S>
Dual<S> sqrt(const Dual<S>& x) {
  const S root = sqrt(x.value());
  return {root, x.tangent() / (number<S>(2) * root)};
}

// f'(v), given f(v). The roots and quotients are undefined where f' is (asin at 1).
template <class S>
S slope(Function f, const S& v, const S& f_of_v) {
  const S one = number<S>(1);
  switch (f) {
    case Function::exp:
      return f_of_v;
    case Function::log:
      return one / v;
    case Function::tanh:
      return one - square(f_of_v);
    case Function::sigmoid:
      return square(half<S>()) - square(f_of_v - half<S>());  // s (1 - s)
    case Function::erf:
      return two_over_root_pi<S>() * exp(-square(v));
    case Function::sin:
      return cos(v);
    case Function::cos:
      return -sin(v);
    case Function::tan:
      return one + square(f_of_v);
    case Function::asin:
      return one / sqrt(one - square(v));
    case Function::acos:
      return -(one / sqrt(one - square(v)));
    case Function::atan:
      return one / (one + square(v));
    case Function::sinh:
      return apply(Function::cosh, v);
    case Function::cosh:
      return apply(Function::sinh, v);
    case Function::asinh:
      return one / sqrt(one + square(v));
    case Function::acosh:
      return one / sqrt(square(v) - one);
    case Function::atanh:
      return one / (one - square(v));
    case Function::expm1:
      return exp(v);
    case Function::log1p:
      return one / (one + v);
    case Function::erfc:
      return -(two_over_root_pi<S>() * exp(-square(v)));
    case Function::softplus:
      return sigmoid(v);
  }
  return S::undefined();
}

template <class S>
Dual<S> apply(Function f, const Dual<S>& x) {
  const S value = apply(f, x.value());
  if (is_infinite(x.value())) return value;
  // Computed first, because it may need the guide of an Opaque value.
  S tangent = slope(f, x.value(), value) * x.tangent();
  return {value, std::move(tangent)};
}

template <class S>
Dual<S> exp(const Dual<S>& x) {
  return apply(Function::exp, x);
}
template <class S>
Dual<S> log(const Dual<S>& x) {
  return apply(Function::log, x);
}
template <class S>
Dual<S> tanh(const Dual<S>& x) {
  return apply(Function::tanh, x);
}
template <class S>
Dual<S> sigmoid(const Dual<S>& x) {
  return apply(Function::sigmoid, x);
}
template <class S>
Dual<S> erf(const Dual<S>& x) {
  return apply(Function::erf, x);
}
template <class S>
Dual<S> sin(const Dual<S>& x) {
  return apply(Function::sin, x);
}
template <class S>
Dual<S> cos(const Dual<S>& x) {
  return apply(Function::cos, x);
}

// (x^r)' = r x^(r-1)
template <class S>
Dual<S> pow(const Dual<S>& x, const Rational& r) {
  if (const auto n = r.to_int64()) {
    return pow(x, *n);
  }
  return {pow(x.value(), r), ScalarTraits<S>::from_rational(r) * pow(x.value(), r - Rational(1)) * x.tangent()};
}

}  // namespace assay

// Instantiates all functions, for a scalar that has them.
#define ASSAY_INSTANTIATE_DUAL(S)                       \
  template class Dual<S>;                               \
  template Dual<S> square(const Dual<S>&);              \
  template Dual<S> pow(const Dual<S>&, std::int64_t);   \
  template Dual<S> abs(const Dual<S>&);                 \
  template Dual<S> sign(const Dual<S>&);                \
  template Dual<S> floor(const Dual<S>&);               \
  template Dual<S> round(const Dual<S>&);               \
  template Dual<S> min(const Dual<S>&, const Dual<S>&); \
  template Dual<S> max(const Dual<S>&, const Dual<S>&); \
  template Dual<S> sqrt(const Dual<S>&);                \
  template Dual<S> apply(Function, const Dual<S>&);     \
  template Dual<S> exp(const Dual<S>&);                 \
  template Dual<S> log(const Dual<S>&);                 \
  template Dual<S> tanh(const Dual<S>&);                \
  template Dual<S> sigmoid(const Dual<S>&);             \
  template Dual<S> erf(const Dual<S>&);                 \
  template Dual<S> sin(const Dual<S>&);                 \
  template Dual<S> cos(const Dual<S>&);                 \
  template Dual<S> pow(const Dual<S>&, const Rational&)
