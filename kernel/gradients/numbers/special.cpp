// Infinities and NaN among Opaque numbers: a value for all numbers beside an infinity, a limit, or nothing. Choices by order.

#include "kernel/gradients/numbers/special.h"

namespace assay {

Opaque ScalarTraits<Opaque>::from_double(double value) {
  return std::isinf(value) ? Opaque::infinite(value < 0 ? -1 : 1) : Opaque(ScalarTraits<Rational>::from_double(value));
}

namespace opaque {

Opaque special_sum(const Opaque& a, const Opaque& b) {
  const int s = a.infinity(), t = b.infinity();
  if (is_any_nan(a, b) || s * t < 0) return Opaque::nan();
  const bool is_one = (s != 0 || has_value(a)) && (t != 0 || has_value(b));
  return is_one ? Opaque::infinite(s == 0 ? t : s) : Opaque::undefined();
}
Opaque special_product(const Opaque& a, const Opaque& b) {
  const Order s = compare(a, Opaque()), t = compare(b, Opaque());
  if (is_any_nan(a, b) || s.may_be_equal || t.may_be_equal) return Opaque::nan();
  return is_known(s) && is_known(t) ? Opaque::infinite(s.may_be_less == t.may_be_less ? 1 : -1) : Opaque::undefined();
}
Opaque special_quotient(const Opaque& a, const Opaque& b) {
  if (is_any_nan(a, b) || (a.infinity() != 0 && b.infinity() != 0)) return Opaque::nan();
  if (b.infinity() != 0) return has_value(a) ? Opaque() : Opaque::undefined();
  return compare(b, Opaque()).may_be_equal ? Opaque::undefined() : special_product(a, b);
}
Opaque special_function(Function f, const Opaque& x) {
  if (x.is_nan()) return x;
  const int sign = x.infinity();
  switch (f) {
    case Function::exp:
    case Function::softplus:
      return sign < 0 ? Opaque() : Opaque::infinite(1);
    case Function::expm1:
      return sign < 0 ? Opaque(Rational(-1)) : Opaque::infinite(1);
    case Function::sigmoid:
      return Opaque(Rational(sign < 0 ? 0 : 1));
    case Function::tanh:
    case Function::erf:
      return Opaque(Rational(sign));
    case Function::log:
    case Function::log1p:
      return sign < 0 ? Opaque::undefined() : Opaque::infinite(1);
    default:
      return Opaque::undefined();
  }
}

}  // namespace opaque

Opaque abs(const Opaque& x) {
  const Order order = compare(x, Opaque());
  return !opaque::is_known(order) ? Opaque::undefined() : order.may_be_less ? -x : x;
}
Opaque sign(const Opaque& x) {
  const Order order = compare(x, Opaque());
  return !opaque::is_known(order) ? Opaque::undefined() : Opaque(Rational(order.may_be_less ? -1 : order.may_be_greater ? 1 : 0));
}

Opaque select(const Opaque& condition, const Opaque& a, const Opaque& b) {
  const Order order = compare(condition, Opaque());
  if (order.may_be_equal) return b;
  return order.may_be_less || order.may_be_greater ? a : Opaque::undefined();
}
Opaque truth(bool may_hold, bool may_fail, const Opaque*) {
  return may_hold == may_fail ? Opaque::undefined() : Opaque(Rational(may_hold ? 1 : 0));
}

}  // namespace assay
