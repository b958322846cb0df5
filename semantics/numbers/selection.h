// Comparison and choice on every ordered or enclosing scalar. Truth values are 0 and 1.
//
//   less(a, b), less_equal(a, b), equal(a, b)   1 if the relation holds, 0 if it does not; sets: {0}, {1} or [0, 1]
//   select(c, a, b)                             a where c = 1, b where c = 0; sets: the hull of the possible ones
// Over double and float every comparison with NaN is false. A set that may be undefined gives the undefined value.
// Dual: the tangent of the branch taken; if the choice is undecided, it is undefined (a jump may lie there). Symbolic:
// constants only.
#pragma once

#include "semantics/numbers/scalar_traits.h"

namespace assay {

// The order relations that two values may have; none at all for NaN and undefined sets.
struct Order {
  bool may_be_less = false, may_be_equal = false, may_be_greater = false;
};

[[nodiscard]] Order compare(const Rational& a, const Rational& b);
[[nodiscard]] Order compare(double a, double b);
[[nodiscard]] Order compare(float a, float b);
[[nodiscard]] Order compare(const Interval& a, const Interval& b);
[[nodiscard]] Order compare(const WideInterval& a, const WideInterval& b);
[[nodiscard]] Order compare(const Symbolic& a, const Symbolic& b);
template <class S>
[[nodiscard]] Order compare(const Dual<S>& a, const Dual<S>& b) {
  return compare(a.value(), b.value());
}

[[nodiscard]] Rational select(const Rational& condition, const Rational& a, const Rational& b);
[[nodiscard]] double select(double condition, double a, double b);
[[nodiscard]] float select(float condition, float a, float b);
[[nodiscard]] Interval select(const Interval& condition, const Interval& a, const Interval& b);
[[nodiscard]] WideInterval select(const WideInterval& condition, const WideInterval& a, const WideInterval& b);
[[nodiscard]] Symbolic select(const Symbolic& condition, const Symbolic& a, const Symbolic& b);

// 0 or 1 if the answer is known; otherwise S's set [0, 1], or its undefined value if neither is possible.
[[nodiscard]] Rational truth(bool may_hold, bool may_fail, const Rational*);
[[nodiscard]] double truth(bool may_hold, bool may_fail, const double*);
[[nodiscard]] float truth(bool may_hold, bool may_fail, const float*);
[[nodiscard]] Interval truth(bool may_hold, bool may_fail, const Interval*);
[[nodiscard]] WideInterval truth(bool may_hold, bool may_fail, const WideInterval*);
[[nodiscard]] Symbolic truth(bool may_hold, bool may_fail, const Symbolic*);
template <class S>
[[nodiscard]] Dual<S> truth(bool may_hold, bool may_fail, const Dual<S>*) {
  const S value = truth(may_hold, may_fail, static_cast<const S*>(nullptr));
  if (may_hold != may_fail) return Dual<S>(value);
  return Dual<S>(value, truth(false, false, static_cast<const S*>(nullptr)));
}

template <class S>
[[nodiscard]] S less(const S& a, const S& b) {
  const Order order = compare(a, b);
  return truth(order.may_be_less, order.may_be_equal || order.may_be_greater, static_cast<const S*>(nullptr));
}
template <class S>
[[nodiscard]] S less_equal(const S& a, const S& b) {
  const Order order = compare(a, b);
  return truth(order.may_be_less || order.may_be_equal, order.may_be_greater, static_cast<const S*>(nullptr));
}
template <class S>
[[nodiscard]] S equal(const S& a, const S& b) {
  const Order order = compare(a, b);
  return truth(order.may_be_equal, order.may_be_less || order.may_be_greater, static_cast<const S*>(nullptr));
}

// Rounded towards zero; one of the two terms is 0.
template <class S>
[[nodiscard]] S truncate(const S& x) {
  const S zero = ScalarTraits<S>::from_double(0);
  return S(max(S(floor(x)), zero) + min(S(-floor(S(-x))), zero));
}

template <class S>
[[nodiscard]] Dual<S> select(const Dual<S>& condition, const Dual<S>& a, const Dual<S>& b) {
  const S zero = ScalarTraits<S>::from_double(0);
  const Order order = compare(zero, condition.value());
  if (order.may_be_less && !order.may_be_equal) return a;
  if (order.may_be_equal && !order.may_be_less) return b;
  return Dual<S>(select(condition.value(), a.value(), b.value()), truth(false, false, static_cast<const S*>(nullptr)));
}

}  // namespace assay
