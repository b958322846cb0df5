// Sums, products, quotients and roots of sets: the values at the ends, computed as the processor rounds them.
#include "kernel/contracts/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/floating.h"

namespace assay::contracts {

namespace {

// The lower and upper end of one operation on two numbers: in a format both are the nearest value; over the reals they
// are directed.
struct Ends {
  double down, up;
};
Ends same(double value) { return {value, value}; }

float single(double x) { return static_cast<float>(x); }
double wide(float x) { return static_cast<double>(x); }

Ends ends_of_sum(floats::Format format, double a, double b) {
  if (format == floats::Format::binary32) return same(wide(single(a) + single(b)));
  return format == floats::Format::binary64 ? same(a + b) : Ends{add_down(a, b), add_up(a, b)};
}
Ends ends_of_product(floats::Format format, double a, double b) {
  if (format == floats::Format::binary32) return same(wide(single(a) * single(b)));
  return format == floats::Format::binary64 ? same(a * b) : Ends{mul_down(a, b), mul_up(a, b)};
}
Ends ends_of_quotient(floats::Format format, double a, double b) {
  if (format == floats::Format::binary32) return same(wide(single(a) / single(b)));
  return format == floats::Format::binary64 ? same(a / b) : Ends{div_down(a, b), div_up(a, b)};
}
Ends ends_of_root(floats::Format format, double x) {
  if (format == floats::Format::binary32) return same(wide(std::sqrt(single(x))));
  return format == floats::Format::binary64 ? same(std::sqrt(x)) : Ends{sqrt_down(x), sqrt_up(x)};
}
double fused_of(floats::Format format, double a, double b, double c) {
  return format == floats::Format::binary32 ? wide(std::fma(single(a), single(b), single(c))) : std::fma(a, b, c);
}

// Adds the hull of the values at the corners of the operands' ends.
void include_corners(FloatSet& set, floats::Format format, std::span<const Ends> corners) {
  double lo = floats::kInfinity, hi = -floats::kInfinity;
  for (const Ends& corner : corners) {
    if (std::isnan(corner.down) || std::isnan(corner.up)) {
      set.nan = true;
      continue;
    }
    if (before(corner.down, lo)) lo = corner.down;
    if (before(hi, corner.up)) hi = corner.up;
  }
  set.include(format, lo, hi);
}

// Adds infinity * x for x in the set, with its sign.
void include_infinity_times(FloatSet& result, bool positive, const FloatSet& x) {
  const bool to_plus = x.plus_infinity || (x.has_finite() && x.hi > 0), to_minus = x.minus_infinity || (x.has_finite() && x.lo < 0);
  result.plus_infinity = result.plus_infinity || (positive ? to_plus : to_minus);
  result.minus_infinity = result.minus_infinity || (positive ? to_minus : to_plus);
  result.nan = result.nan || x.contains_zero();
}

// The finite numbers of the set with the sign bit set (clear); empty if there are none.
FloatSet signed_part(const FloatSet& x, bool negative) {
  FloatSet part;
  if (!x.has_finite() || std::signbit(negative ? x.lo : x.hi) != negative) return part;
  part.lo = !negative && std::signbit(x.lo) ? 0.0 : x.lo;
  part.hi = negative && !std::signbit(x.hi) ? -0.0 : x.hi;
  return part;
}

}  // namespace

FloatSet Arithmetic::number(const Rational& value) const {
  const Interval enclosing(value);
  const bool narrow = format_ == floats::Format::binary32;
  FloatSet set;
  set.include(format_, narrow ? wide(float_down(enclosing.lo())) : enclosing.lo(),
              narrow ? wide(float_up(enclosing.hi())) : enclosing.hi());
  return set;
}
FloatSet Arithmetic::number(double value) const {
  if (is_real() || nearest(format_, value) == value) return point(value);
  FloatSet set;
  set.include(format_, wide(float_down(value)), wide(float_up(value)));
  return set;
}

FloatSet Arithmetic::neg(const FloatSet& x) const {
  FloatSet y;
  if (x.has_finite()) y.include(format_, -x.hi, -x.lo);
  y.minus_infinity = x.plus_infinity;
  y.plus_infinity = x.minus_infinity;
  y.nan = x.nan;
  return y;
}

FloatSet Arithmetic::add(const FloatSet& left, const FloatSet& right) const {
  const FloatSet a = operand(left), b = operand(right);
  FloatSet y;
  if (a.has_finite() && b.has_finite()) {
    include_corners(y, format_, std::array{ends_of_sum(format_, a.lo, b.lo), ends_of_sum(format_, a.hi, b.hi)});
  }
  const bool a_plain = a.has_finite(), b_plain = b.has_finite();
  y.plus_infinity = y.plus_infinity || (a.plus_infinity && (b_plain || b.plus_infinity)) || (a_plain && b.plus_infinity);
  y.minus_infinity = y.minus_infinity || (a.minus_infinity && (b_plain || b.minus_infinity)) || (a_plain && b.minus_infinity);
  y.nan = y.nan || a.nan || b.nan || (a.plus_infinity && b.minus_infinity) || (a.minus_infinity && b.plus_infinity);
  return result(y);
}

FloatSet Arithmetic::mul(const FloatSet& left, const FloatSet& right) const {
  const FloatSet a = operand(left), b = operand(right);
  FloatSet y;
  if (a.has_finite() && b.has_finite()) {
    include_corners(y, format_,
                    std::array{ends_of_product(format_, a.lo, b.lo), ends_of_product(format_, a.lo, b.hi),
                               ends_of_product(format_, a.hi, b.lo), ends_of_product(format_, a.hi, b.hi)});
  }
  if (a.plus_infinity) include_infinity_times(y, true, b);
  if (a.minus_infinity) include_infinity_times(y, false, b);
  if (b.plus_infinity) include_infinity_times(y, true, a);
  if (b.minus_infinity) include_infinity_times(y, false, a);
  y.nan = y.nan || a.nan || b.nan;
  return result(y);
}

FloatSet Arithmetic::div(const FloatSet& left, const FloatSet& right) const {
  const FloatSet a = operand(left), b = operand(right);
  if (is_real() && (!a.is_finite() || !b.is_finite() || b.contains_zero())) return anything(format_);
  FloatSet y;
  for (const bool negative : {true, false}) {
    const FloatSet part = signed_part(b, negative);
    if (!part.has_finite()) continue;
    if (a.has_finite()) {
      include_corners(y, format_,
                      std::array{ends_of_quotient(format_, a.lo, part.lo), ends_of_quotient(format_, a.lo, part.hi),
                                 ends_of_quotient(format_, a.hi, part.lo), ends_of_quotient(format_, a.hi, part.hi)});
    }
    y.plus_infinity = y.plus_infinity || (negative ? a.minus_infinity : a.plus_infinity);
    y.minus_infinity = y.minus_infinity || (negative ? a.plus_infinity : a.minus_infinity);
  }
  const bool b_infinite = b.plus_infinity || b.minus_infinity;
  if (b_infinite && a.has_finite()) y.include(format_, -0.0, 0.0);
  y.nan = y.nan || a.nan || b.nan || (b_infinite && (a.plus_infinity || a.minus_infinity)) || (a.contains_zero() && b.contains_zero());
  return result(has_rows("div") ? by_table("div", b, Interval::undefined(), y) : y);
}

FloatSet Arithmetic::sqrt(const FloatSet& of) const {
  const FloatSet x = operand(of);
  FloatSet y;
  y.nan = x.nan || x.minus_infinity || (x.has_finite() && x.lo < 0);
  y.plus_infinity = x.plus_infinity;
  if (x.has_finite() && x.hi >= 0) {
    include_corners(y, format_, std::array{ends_of_root(format_, x.lo < 0 ? -0.0 : x.lo), ends_of_root(format_, x.hi)});
  }
  return result(has_rows("sqrt") ? by_table("sqrt", x, Interval::undefined(), y) : y);
}

FloatSet Arithmetic::fused(const FloatSet& left, const FloatSet& right, const FloatSet& addend) const {
  const FloatSet a = operand(left), b = operand(right), c = operand(addend);
  FloatSet y;
  if (!a.has_finite() || !b.has_finite()) return y;
  y.plus_infinity = c.plus_infinity;  // even if the product alone would overflow
  y.minus_infinity = c.minus_infinity;
  if (!c.has_finite()) return y;
  std::array<Ends, 4> corners{};
  std::size_t k = 0;
  for (const double p : {a.lo, a.hi}) {
    for (const double q : {b.lo, b.hi}) corners[k++] = {fused_of(format_, p, q, c.lo), fused_of(format_, p, q, c.hi)};
  }
  include_corners(y, format_, corners);
  return result(y);
}

FloatSet Arithmetic::mul_add(const FloatSet& a, const FloatSet& b, const FloatSet& c) const {
  FloatSet y = add(mul(a, b), c);
  if (!is_real() && model_->fused_multiply_add) y.include(fused(a, b, c));
  return y;
}

FloatSet Arithmetic::abs(const FloatSet& x) const {
  FloatSet y;
  for (const bool negative : {true, false}) {
    const FloatSet part = signed_part(x, negative);
    if (part.has_finite()) y.include(format_, negative ? -part.hi : part.lo, negative ? -part.lo : part.hi);
  }
  y.plus_infinity = x.plus_infinity || x.minus_infinity;
  y.nan = x.nan;
  return y;
}

FloatSet Arithmetic::max(const FloatSet& a, const FloatSet& b) const {
  const auto low = [](const FloatSet& x) { return x.minus_infinity ? -floats::kInfinity : x.has_finite() ? x.lo : floats::kInfinity; };
  const auto high = [](const FloatSet& x) { return x.plus_infinity ? floats::kInfinity : x.has_finite() ? x.hi : -floats::kInfinity; };
  const auto is_number = [&](const FloatSet& x) { return x.has_finite() || x.minus_infinity || x.plus_infinity; };
  FloatSet y;
  if (is_number(a) && is_number(b))
    y.include(format_, before(low(a), low(b)) ? low(b) : low(a), before(high(a), high(b)) ? high(b) : high(a));
  if (a.nan) y.include(b);
  if (b.nan) y.include(a);
  y.nan = a.nan || b.nan;
  return with_both_zeros(y);
}

FloatSet Arithmetic::reciprocal(const FloatSet& x) const {
  const FloatSet y = div(point(1), x);
  return has_rows("reciprocal") ? result(by_table("reciprocal", operand(x), Interval::undefined(), y)) : y;
}

FloatSet Arithmetic::over_count(const FloatSet& s, std::int64_t n) const {
  const FloatSet count = number(Rational(n));
  FloatSet y = div(s, count);
  if (!is_real() && model_->reciprocal_of_count) y.include(mul(s, div(point(1), count)));
  return y;
}

FloatSet Arithmetic::reciprocal_sqrt(const FloatSet& x) const {
  const FloatSet one = point(1);
  FloatSet y = div(one, sqrt(x));
  if (is_real() || !has_rows("rsqrt") || !x.has_finite() || x.hi <= 0) return y;
  FloatSet positive = operand(x);
  positive.lo = std::fmax(positive.lo, smallest_number(format_));
  const Interval exact = Interval(1.0) / assay::sqrt(Interval(positive.lo, positive.hi));
  FloatSet rounded;
  rounded.include(format_, nearest(format_, exact.lo()), nearest(format_, exact.hi()));
  y.include(result(by_table("rsqrt", positive, exact, rounded)));
  return y;
}

FloatSet Arithmetic::product_of(std::span<const FloatSet> factors) const {
  if (factors.empty()) return point(1);
  const Arithmetic reals(*model_, floats::Format::real);
  FloatSet exact = contracts::point(floats::Format::real, 1);
  double greatest = 1, least = 1;  // bounds of |every product of some of the factors|
  for (const FloatSet& x : factors) {
    const FloatSet factor = operand(x);
    if (!factor.is_finite()) return anything(format_);
    exact = reals.mul(exact, factor);
    greatest = mul_up(greatest, std::fmax(1, factor.magnitude()));
    const double nearest_zero = factor.contains_zero() ? 0 : std::fmin(std::fabs(factor.lo), std::fabs(factor.hi));
    if (nearest_zero < 1) least = mul_down(least, nearest_zero);
  }
  if (factors.size() == 1 || is_real()) return factors.size() == 1 ? operand(factors[0]) : exact;
  const double n = static_cast<double>(factors.size()), u = unit_roundoff(format_), spread = mul_up(n, mul_up(u, 1 + 0x1p-10));
  const bool may_overflow = !(mul_up(greatest, 1 + 0x1p-9) < largest(format_)), may_underflow = !(least > 2 * smallest_normal(format_));
  if ((may_overflow && may_underflow) || !(spread <= 0x1p-10) || !exact.has_finite()) return anything(format_);
  if (exact.lo == 0 && exact.hi == 0) return with_both_zeros(point(0));
  double error = mul_up(spread, std::fmax(std::fabs(exact.lo), std::fabs(exact.hi)));
  // Each product may lose `lost` more, which the others multiply by at most `greatest`.
  if (may_underflow) {
    if (model_->storage != Storage::same) return anything(format_);
    const double lost = model_->flush_operands || model_->flush_results ? smallest_normal(format_) : smallest_number(format_);
    error = add_up(error, mul_up(mul_up(n, lost), mul_up(greatest, 1 + 0x1p-9)));
  }
  // No product changes its sign.
  const double lo = sub_down(exact.lo, error), hi = add_up(exact.hi, error);
  FloatSet y = numbers_in(format_, Interval(exact.lo >= 0 ? std::fmax(lo, 0) : lo, exact.hi <= 0 ? std::fmin(hi, 0) : hi));
  // Without underflow no factor is 0. So an infinity stays one, and has the sign of the exact product.
  y.plus_infinity = exact.plus_infinity || (may_overflow && exact.hi > 0);
  y.minus_infinity = exact.minus_infinity || (may_overflow && exact.lo < 0);
  return with_both_zeros(result(y));
}

}  // namespace assay::contracts
