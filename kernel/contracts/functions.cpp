// Functions by the mathematics table: the exact value, rounded, widened by the error of the library's row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernel/contracts/arithmetic.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/floating.h"

namespace assay::contracts {

namespace {

// The domain of f. At an open end f tends to the infinity `limit`.
struct Domain {
  double lo = -floats::kInfinity, hi = floats::kInfinity;
  double limit_lo = 0, limit_hi = 0;
};
Domain domain_of(Function f) {
  if (f == Function::log) return {0, floats::kInfinity, -floats::kInfinity, 0};
  if (f == Function::log1p) return {-1, floats::kInfinity, -floats::kInfinity, 0};
  if (f == Function::asin || f == Function::acos) return {-1, 1};
  if (f == Function::acosh) return {1, floats::kInfinity};
  if (f == Function::atanh) return {-1, 1, -floats::kInfinity, floats::kInfinity};
  return {};
}

double ulp_of(floats::Format format, double magnitude) {
  const int precision = format == floats::Format::binary32 ? 24 : 53, least = format == floats::Format::binary32 ? -126 : -1022;
  return std::ldexp(1.0, std::max(magnitude > 0 ? std::ilogb(magnitude) : least, least) - precision + 1);
}

double steps_of_row(const floats::MathRow& row, double argument) {
  return row.slope == 0 ? row.bound : row.bound + std::floor(mul_up(row.slope, argument));
}

// The sign of a library's result is never wrong.
FloatSet sign_kept(FloatSet set, const Interval& exact) {
  if (exact.is_undefined() || !set.has_finite()) return set;
  if (exact.lo() >= 0 && set.lo < 0) set.lo = -0.0;
  if (exact.hi() <= 0 && set.hi > 0) set.hi = 0.0;
  return set.lo <= set.hi ? set : with_both_zeros(point(floats::Format::real, 0));
}

FloatSet in_units(const floats::MathRow& row, floats::Format format, const Interval& exact) {
  if (exact.is_undefined()) return anything(format);
  const double magnitude = exact.magnitude(), most = largest(format);
  const double distance =
      row.unit == floats::MathRow::Unit::ulps ? mul_up(row.bound, ulp_of(format, std::fmin(magnitude, most))) : row.bound;
  const Interval near = exact + Interval(-distance, distance);
  FloatSet set = numbers_in(format, near);
  // sinh and cosh overflow early by exp(x) / 2; the factor covers the error of exp.
  const bool is_half = row.function == "sinh" || row.function == "cosh";
  const double overflow = is_half ? most / 2 * (1 - 0x1p-20) : most;
  set.plus_infinity = near.hi() > overflow;
  set.minus_infinity = near.lo() < -overflow;
  return set;
}

FloatSet by_row(const floats::MathRow& row, floats::Format format, double argument, const Interval& exact, const FloatSet& rounded) {
  constexpr double kMostSteps = 0x1p31;  // with more, a row says nothing
  const bool is_sigmoidal = row.function == "tanh" || row.function == "erf";
  if (is_sigmoidal && floats::is_saturated(format, exact)) return rounded;
  FloatSet set;
  if (row.unit == floats::MathRow::Unit::steps) {
    const double steps = steps_of_row(row, argument);
    set = steps < kMostSteps ? widened(format, rounded, static_cast<std::int64_t>(steps)) : anything(format);
  } else {
    set = in_units(row, format, exact);
  }
  if (is_sigmoidal && row.unit != floats::MathRow::Unit::absolute) set = part_of(set, -1, 1);
  if (row.or_zero) set.include(format, -0.0, 0.0);
  return sign_kept(set, exact);
}

FloatSet nearest_values(Function f, floats::Format format, const FloatSet& x, const Interval& exact) {
  const bool decided = nearest(format, exact.lo()) == nearest(format, exact.hi()) && exact.lo() != 0;
  if (x.is_point() && !decided) {
    return point(format, format == floats::Format::binary32 ? static_cast<double>(apply(f, static_cast<float>(x.lo))) : apply(f, x.lo));
  }
  FloatSet set;
  set.include(format, nearest(format, exact.lo()), nearest(format, exact.hi()));
  return set;
}

}  // namespace

bool Arithmetic::has_rows(std::string_view name) const {
  return table_ != nullptr && std::any_of(table_->rows.begin(), table_->rows.end(),
                                          [&](const floats::MathRow& row) { return row.function == name && row.format == format_; });
}

double Arithmetic::steps_of(std::string_view name, double magnitude) const {
  double most = has_rows(name) ? 0 : floats::kInfinity;
  for (const floats::MathRow& row : table_ == nullptr ? std::span<const floats::MathRow>() : table_->rows) {
    if (row.function != name || row.format != format_) continue;
    // A result within B units of the last place of the exact value is at most B + 1/2 steps from the nearest number.
    const double steps = row.unit == floats::MathRow::Unit::absolute ? floats::kInfinity : steps_of_row(row, magnitude);
    most = std::fmax(most, steps);
  }
  return most;
}

FloatSet Arithmetic::by_table(std::string_view name, const FloatSet& x, const Interval& exact, const FloatSet& rounded) const {
  if (table_ == nullptr || !x.has_finite()) return rounded;
  FloatSet set;
  for (const floats::MathRow& row : table_->rows) {
    if (row.function != name || row.format != format_ || row.hi < x.lo || row.lo > x.hi) continue;
    set.include(by_row(row, format_, x.magnitude(), exact, rounded));
    set.nan = set.nan || rounded.nan;
    if (row.lo <= x.lo && x.hi <= row.hi) return with_both_zeros(set);
  }
  return anything(format_);  // some argument has no row
}

Interval Arithmetic::exact(Function f, const FloatSet& x) const { return apply(f, Interval(x.lo, x.hi)); }

FloatSet Arithmetic::function(Function f, const FloatSet& argument) const {
  const std::string_view name = floats::name_of(f);
  const Domain domain = domain_of(f);
  FloatSet x = operand(argument), y;
  y.nan = x.nan;
  if (!is_real() && !has_rows(name)) return anything(format_);
  for (const double end : {-floats::kInfinity, floats::kInfinity}) {
    if (!x.contains(end)) continue;
    // The rounded limit. C's Annex F requires integers and infinities exactly.
    const double value = apply(f, end);
    const Interval around = std::isfinite(value) ? Interval(value) + Interval(-0x1p-52, 0x1p-52) : Interval::undefined();
    const bool exact = !std::isfinite(value) || value == std::floor(value) || is_real();
    const FloatSet limit = point(nearest(format_, value));
    y.include(exact ? limit : by_table(name, point(std::copysign(largest(format_), end)), around, limit));
  }
  if (!x.has_finite()) return y;
  y.nan = y.nan || x.lo < domain.lo || x.hi > domain.hi;
  if (x.hi < domain.lo || x.lo > domain.hi) return y;
  x.lo = x.lo < domain.lo ? domain.lo : x.lo;
  x.hi = x.hi > domain.hi ? domain.hi : x.hi;
  const bool touches_lo = domain.limit_lo != 0 && x.lo == domain.lo, touches_hi = domain.limit_hi != 0 && x.hi == domain.hi;
  if (touches_lo || touches_hi) {  // the limit alone, or every value on the way to it
    const double limit = touches_lo ? domain.limit_lo : domain.limit_hi;
    y.include(format_, x.is_point() ? limit : -floats::kInfinity, x.is_point() ? limit : floats::kInfinity);
    return y;
  }
  const Interval exact = this->exact(f, x);
  if (exact.is_undefined()) return anything(format_);  // a pole lies inside
  if (is_real()) {
    y.include(format_, exact.lo(), exact.hi());
    return y;
  }
  y.include(result(by_table(name, x, exact, nearest_values(f, format_, x, exact))));
  return y;
}

FloatSet Arithmetic::over_one_plus_exp(const FloatSet* x, const FloatSet& z) const {
  const FloatSet below = add(point(1), exp(neg(z)));
  return x == nullptr ? reciprocal(below) : div(*x, below);
}

FloatSet Arithmetic::with_nearest(FloatSet y, Function f, const FloatSet& x) const {
  if (!x.is_finite()) return y;
  const Interval exact = this->exact(f, x);
  y.include(format_, nearest(format_, exact.lo()), nearest(format_, exact.hi()));
  return y;
}

FloatSet Arithmetic::pow(const FloatSet& base, const Rational& exponent) const {
  const FloatSet x = operand(base);
  if (exponent == Rational(0)) return point(1);
  if (exponent == Rational(1)) return x;
  FloatSet y;
  if (exponent == Rational(2)) y = mul(abs(x), abs(x));
  if (exponent == Rational(1, 2)) {
    y = sqrt(x);
    y.plus_infinity = y.plus_infinity || x.minus_infinity;  // C's pow(-inf, 1/2) is +infinity
  }
  if (exponent == Rational(-1)) y = reciprocal(x);
  if (!x.is_finite()) return y == FloatSet() ? anything(format_) : y;
  Interval exact = assay::pow(Interval(x.lo, x.hi), exponent);
  if (exact.is_undefined()) return y == FloatSet() ? anything(format_) : y;
  // An exponent that is no number of the format may be replaced by its nearest number.
  for (const double end : {exponent.double_down(), exponent.double_up()}) {
    if (!is_real()) exact = hull(exact, assay::pow(Interval(x.lo, x.hi), Rational::from_double(nearest(format_, end)).value_or(exponent)));
  }
  FloatSet rounded;
  rounded.include(format_, nearest(format_, exact.lo()), nearest(format_, exact.hi()));
  if (is_real()) return rounded;
  if (has_rows("pow")) y.include(by_table("pow", x, exact, rounded));
  constexpr std::int64_t kMostFactors = 64;  // no known algorithm multiplies more factors repeatedly
  const std::optional<std::int64_t> n = exponent.to_int64();
  if (n && *n >= -kMostFactors && *n <= kMostFactors) {
    const FloatSet product = product_of(std::vector<FloatSet>(static_cast<std::size_t>(*n < 0 ? -*n : *n), x));
    y.include(*n < 0 ? reciprocal(product) : product);
  }
  return y == FloatSet() ? anything(format_) : result(y);
}

FloatSet Arithmetic::pow(const FloatSet& base, const FloatSet& exponent) const {
  const std::optional<Rational> least = Rational::from_double(exponent.lo), most = Rational::from_double(exponent.hi);
  if (exponent.is_point() && least) return pow(base, *least);
  const FloatSet x = operand(base);
  const bool is_plain = x.is_finite() && exponent.is_finite() && (x.lo > 0 || (x.lo >= 0 && exponent.lo > 0));
  if (!is_plain || !least || !most || !(is_real() || has_rows("pow"))) return anything(format_);
  const Interval exact = hull(assay::pow(Interval(x.lo, x.hi), *least), assay::pow(Interval(x.lo, x.hi), *most));
  if (exact.is_undefined()) return anything(format_);
  FloatSet y;
  y.include(format_, nearest(format_, exact.lo()), nearest(format_, exact.hi()));
  if (is_real()) return y;
  y = result(by_table("pow", x, exact, y));
  // Exponents with algorithms of their own: multiples of 1/2.
  if (sub_up(exponent.hi, exponent.lo) >= 1) return anything(format_);
  for (double twice = std::ceil(2 * exponent.lo); twice <= 2 * exponent.hi; ++twice) {
    if (const std::optional<Rational> one = Rational::from_double(twice / 2)) y.include(pow(x, *one));
  }
  return y;
}

}  // namespace assay::contracts
