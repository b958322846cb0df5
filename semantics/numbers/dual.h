// Dual<S>: a value with its tangent. A denotation run on Dual<S> computes its Jacobian-vector product.
//
// Meaning. (v, t) is v + t d with d^2 = 0. This file and dual_functions.h hold the only derivative table written by
// hand; the tests prove it entry by entry with the mean-value theorem.
// Domain. Instantiated for Rational, Interval and WideInterval (dual.cpp), Modular and Opaque
// (kernel/gradients/numbers). Transcendental functions exist for the two interval types and Opaque, the piecewise ones
// for all types but Modular (calling an absent one does not link).
// Derivative at kinks (abs, min, max). Interval types give the hull of the one-sided derivatives (Clarke). Rational and
// Opaque (where the sides do not decide) give their mean, which lies in the hull.
// Derivative at jumps (sign, floor, round). 0 by convention. An interval that contains a jump gives an undefined
// tangent, and so does an Opaque number at a jump.
#pragma once

#include <cstdint>
#include <utility>

#include "semantics/numbers/interval.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/wide_interval.h"

namespace assay {

template <class S>
class Dual {
 public:
  Dual() = default;                            // 0, a constant
  Dual(S value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor); a constant
  Dual(S value, S tangent) : value_(std::move(value)), tangent_(std::move(tangent)) {}

  [[nodiscard]] const S& value() const { return value_; }
  [[nodiscard]] const S& tangent() const { return tangent_; }

  Dual operator-() const;
  Dual& operator+=(const Dual& other);
  Dual& operator-=(const Dual& other);
  Dual& operator*=(const Dual& other);
  Dual& operator/=(const Dual& other);
  friend Dual operator+(Dual a, const Dual& b) { return a += b; }
  friend Dual operator-(Dual a, const Dual& b) { return a -= b; }
  friend Dual operator*(Dual a, const Dual& b) { return a *= b; }
  friend Dual operator/(Dual a, const Dual& b) { return a /= b; }

 private:
  S value_{};
  S tangent_{};
};

template <class S>
[[nodiscard]] Dual<S> square(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> abs(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> sign(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> floor(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> round(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> min(const Dual<S>& a, const Dual<S>& b);
template <class S>
[[nodiscard]] Dual<S> max(const Dual<S>& a, const Dual<S>& b);
template <class S>
[[nodiscard]] Dual<S> sqrt(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> exp(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> log(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> tanh(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> sigmoid(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> erf(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> sin(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> cos(const Dual<S>& x);
template <class S>
[[nodiscard]] Dual<S> pow(const Dual<S>& x, std::int64_t n);
template <class S>
[[nodiscard]] Dual<S> pow(const Dual<S>& x, const Rational& r);

}  // namespace assay
