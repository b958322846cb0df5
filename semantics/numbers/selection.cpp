// Comparison and choice, scalar by scalar.

#include "semantics/numbers/selection.h"

#include "semantics/demand.h"

namespace assay {
namespace {

template <class S>
Order order_of_points(const S& a, const S& b) {
  return {a<b, a == b, a> b};
}

template <class S>
S choice(const S& condition, const S& a, const S& b) {
  const Order order = compare(ScalarTraits<S>::from_double(0), condition);
  if (order.may_be_less) {
    return order.may_be_equal ? hull(a, b) : a;
  }
  return order.may_be_equal ? b : S::undefined();
}

template <class S>
S set_of_truths(bool may_hold, bool may_fail) {
  if (!may_hold && !may_fail) {
    return S::undefined();
  }
  return S(may_fail ? 0.0 : 1.0, may_hold ? 1.0 : 0.0);
}

}  // namespace

Order compare(const Rational& a, const Rational& b) { return order_of_points(a, b); }
Order compare(double a, double b) { return order_of_points(a, b); }
Order compare(float a, float b) { return order_of_points(a, b); }
// Undefined sets have NaN ends, so every comparison is false.
Order compare(const Interval& a, const Interval& b) { return {a.lo() < b.hi(), a.lo() <= b.hi() && b.lo() <= a.hi(), b.lo() < a.hi()}; }
Order compare(const WideInterval& a, const WideInterval& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return {};
  }
  return {!certainly_less_equal(b, a), !certainly_less(a, b) && !certainly_less(b, a), !certainly_less_equal(a, b)};
}
Order compare(const Symbolic& a, const Symbolic& b) {
  if (!a.is_constant() || !b.is_constant()) {
    return {true, true, true};
  }
  return compare(a.constant(), b.constant());
}

Rational select(const Rational& condition, const Rational& a, const Rational& b) { return condition.sign() != 0 ? a : b; }
double select(double condition, double a, double b) { return condition != 0 ? a : b; }
float select(float condition, float a, float b) { return condition != 0 ? a : b; }
Interval select(const Interval& condition, const Interval& a, const Interval& b) { return choice(condition, a, b); }
WideInterval select(const WideInterval& condition, const WideInterval& a, const WideInterval& b) { return choice(condition, a, b); }
Symbolic select(const Symbolic& condition, const Symbolic& a, const Symbolic& b) {
  const Order order = compare(Symbolic(0.0), condition);
  if (order.may_be_less && !order.may_be_equal) {
    return a;
  }
  if (order.may_be_equal && !order.may_be_less) {
    return b;
  }
  const bool constants = condition.is_constant() && a.is_constant() && b.is_constant();
  return constants ? Symbolic(choice(condition.constant(), a.constant(), b.constant())) : Symbolic::nonlinear();
}

Rational truth(bool may_hold, bool may_fail, const Rational*) {
  demand(may_hold != may_fail || !may_hold, "truth: an exact comparison has one answer");
  return Rational(may_hold ? 1 : 0);
}
double truth(bool may_hold, bool, const double*) { return may_hold ? 1 : 0; }
float truth(bool may_hold, bool, const float*) { return may_hold ? 1 : 0; }
Interval truth(bool may_hold, bool may_fail, const Interval*) { return set_of_truths<Interval>(may_hold, may_fail); }
WideInterval truth(bool may_hold, bool may_fail, const WideInterval*) { return set_of_truths<WideInterval>(may_hold, may_fail); }
Symbolic truth(bool may_hold, bool may_fail, const Symbolic*) {
  return may_hold && may_fail ? Symbolic::nonlinear() : Symbolic(set_of_truths<Interval>(may_hold, may_fail));
}

}  // namespace assay
