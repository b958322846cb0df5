// The rules of running error analysis, one per operation.
//
// a^ = a (1 + r) + e denotes the computed value of a, with |r| <= a.relative and |e| <= a.absolute. All bounds are
// rounded up.

#include "kernel/floats/computed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernel/floats/rounding.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/dual.h"

namespace assay::floats {
namespace {

double grown(double by) { return add_up(1, by); }
// (1 + a)(1 + b) - 1, rounded up.
double compounded(double a, double b) { return add_up(add_up(a, b), mul_up(a, b)); }
// The least |x| of the interval.
double mignitude(const Interval& x) { return x.lo() > 0 ? x.lo() : x.hi() < 0 ? -x.hi() : 0; }
bool defined(const Interval& x) { return !x.is_undefined() && x.magnitude() < kInfinity; }

// For exp: |f(x^) - f(x)| <= e^E - 1 times f(x), or at most the greater of the two values if that factor is above 1, as
// for the masks of attention. For any other f: |f(x^) - f(x)| <= L E with L >= |f'| between them.
double lipschitz(Function f, const Interval& x) {
  const Dual<Interval> y = apply(f, Dual<Interval>(x, Interval(1.0)));
  return y.tangent().is_undefined() ? kInfinity : y.tangent().magnitude();
}

}  // namespace

double Computed::error() const {
  const double of_size = relative == 0 ? 0 : mul_up(relative, size());
  return exact.is_undefined() ? kInfinity : add_up(of_size, absolute);
}

Interval Computed::computed() const {
  const double e = error();
  return e < kInfinity ? exact + Interval(-e, e) : Interval::whole();
}

void Computed::include(const Computed& other) {
  if (other.empty) return;
  if (empty) {
    *this = other;
    return;
  }
  exact = assay::hull(exact, other.exact);
  relative = std::fmax(relative, other.relative);
  absolute = std::fmax(absolute, other.absolute);
}

Computed unknown() { return {Interval::whole(), 0, kInfinity}; }

Computed hull(Computed a, const Computed& b) {
  a.include(b);
  return a;
}

Computed part_of(const Computed& x, double lo, double hi) {
  const Interval part = intersect(x.exact, Interval(lo, hi));
  Computed result{part, x.relative, x.absolute};
  result.empty = x.exact.hi() < lo || x.exact.lo() > hi;
  return result;
}

bool ErrorArithmetic::has_rows(std::string_view name) const {
  return table_ != nullptr &&
         std::ranges::any_of(table_->rows, [&](const MathRow& row) { return row.function == name && row.format == format_; });
}

Computed ErrorArithmetic::operand(const Interval& x) const { return {x, 0, model_->flush_operands ? smallest_normal(format_) : 0}; }

Computed ErrorArithmetic::number(const Rational& value) const {
  const Interval around(value);
  if (model_->storage != ExecutionModel::Storage::same) return stored_number(around);
  if (around.is_point() && nearest(format_, around.lo()) == around.lo()) return {around};
  return {around, mul_up(2, unit_roundoff(format_)), smallest_number(format_)};
}
// A program may hold the number in the storage format.
Computed ErrorArithmetic::stored_number(const Interval& value) const {
  const Precision format = stored_precision(*model_);
  if (value.is_point() && number_above(format, value.lo()) == value.lo()) return {value};
  return {value, mul_up(2, format.unit), format.smallest};
}
Computed ErrorArithmetic::number(double value) const {
  if (model_->storage != ExecutionModel::Storage::same) return stored_number(Interval(value));
  if (nearest(format_, value) == value) return {Interval(value)};
  return {Interval(value), 2 * unit_roundoff(format_), smallest_number(format_)};
}
Computed ErrorArithmetic::constant(const Interval& value) const { return {value, 2 * unit_roundoff(format_), smallest_number(format_)}; }

// z (1 + u) + eta / 2; for sums without the second term, since subnormal sums are exact. With a table row instead: a
// number of steps of the format from the nearest number, each at most 2 u of the number it starts at, or eta; or a
// number of units in the last place of the exact value; or an absolute distance.
Computed ErrorArithmetic::rounded(Computed z, std::string_view name, const Interval& argument, bool underflows) const {
  constexpr double kMostSteps = 0x1p20;
  if (!defined(z.exact) || !(z.error() < kInfinity)) return refuse([] { return "a value that may be undefined or infinite"; });
  const double u = unit_roundoff(format_), eta = smallest_number(format_);
  double relative = u, absolute = underflows ? eta : 0;
  if (has_rows(name)) {
    bool covered = false;
    for (const MathRow& row : table_->rows) {
      if (row.function != name || row.format != format_ || row.hi < argument.lo() || row.lo > argument.hi()) continue;
      const double bound = row.slope == 0 ? row.bound : add_up(row.bound, mul_up(row.slope, argument.magnitude()));
      if (!(bound <= kMostSteps))
        return refuse(
            [&] { return "arguments of " + std::string(name) + " in " + shown(argument) + ", where the table's bound says nothing"; });
      // (1 + u)(1 + 2 u)^n - 1 <= (2 n + 1) u (1 + 2^-2), since n u <= 2^-4.
      if (row.unit == MathRow::Unit::steps) {
        relative = std::fmax(relative, mul_up(add_up(mul_up(2, bound), 1), mul_up(u, 1.25)));
        absolute = std::fmax(absolute, mul_up(add_up(bound, 2), eta));
      } else if (row.unit == MathRow::Unit::ulps) {
        relative = std::fmax(relative, mul_up(bound, 2 * u));
        absolute = std::fmax(absolute, mul_up(add_up(bound, 1), eta));
      } else {
        absolute = std::fmax(absolute, add_up(bound, eta));
      }
      if (row.or_zero) relative = std::fmax(relative, 1);
      covered = covered || (row.lo <= argument.lo() && argument.hi() <= row.hi);
    }
    if (!covered)
      return refuse([&] {
        return "arguments of " + std::string(name) + " in " + shown(argument) + ", which its rows in the table '" + model_->math_table +
               "' do not cover";
      });
  }
  if (model_->flush_results) absolute = add_up(absolute, smallest_normal(format_));
  const double size = mul_up(z.computed().magnitude(), grown(relative));
  if (!(add_up(size, absolute) < largest(format_))) return refuse([&] { return "a result that may overflow, in " + shown(z.computed()); });
  z.absolute = add_up(mul_up(z.absolute, grown(relative)), absolute);
  z.relative = compounded(z.relative, relative);
  return z;
}

Computed ErrorArithmetic::neg(const Computed& x) const {
  Computed y = x;
  y.exact = -x.exact;
  return y;
}

// ||x^| - |x|| <= |x^ - x|.
Computed ErrorArithmetic::abs(const Computed& x) const {
  Computed y = x;
  y.exact = assay::abs(x.exact);
  return y;
}

// |max(a^, b^) - max(a, b)| <= the larger of |a^ - a| and |b^ - b|. If both are at least 0, the error stays relative.
Computed ErrorArithmetic::max(const Computed& a, const Computed& b) const {
  const Interval exact = assay::max(a.exact, b.exact);
  if (a.exact.lo() >= 0 && b.exact.lo() >= 0) return {exact, std::fmax(a.relative, b.relative), std::fmax(a.absolute, b.absolute)};
  return {exact, 0, std::fmax(a.error(), b.error())};
}

// If a and b have the same sign, |r_a a + r_b b| <= max(r_a, r_b) |a + b|.
Computed ErrorArithmetic::add(const Computed& left, const Computed& right) const {
  const Computed a = read(left), b = read(right);
  const Interval exact = a.exact + b.exact;
  const bool one_sign = (a.exact.lo() >= 0 && b.exact.lo() >= 0) || (a.exact.hi() <= 0 && b.exact.hi() <= 0);
  const Computed before = one_sign ? Computed{exact, std::fmax(a.relative, b.relative), add_up(a.absolute, b.absolute)}
                                   : Computed{exact, 0, add_up(a.error(), b.error())};
  return rounded(before, "", exact, false);
}

// a^ b^ = a b (1 + r_a)(1 + r_b) + e_a b (1 + r_b) + e_b a (1 + r_a) + e_a e_b.
Computed ErrorArithmetic::mul(const Computed& left, const Computed& right) const {
  const Computed a = read(left), b = read(right);
  const double a_size = mul_up(a.size(), grown(a.relative)), b_size = mul_up(b.size(), grown(b.relative));
  const double absolute = add_up(add_up(mul_up(a.absolute, b_size), mul_up(b.absolute, a_size)), mul_up(a.absolute, b.absolute));
  return rounded({a.exact * b.exact, compounded(a.relative, b.relative), absolute}, "", {}, true);
}

// b^ = b (1 + s) with |s| <= s' = r_b + e_b / |b| < 1. So 1 / b^ = (1 / b)(1 + t) with |t| <= s' / (1 - s'). Then the
// rule of products applies.
Computed ErrorArithmetic::div(const Computed& left, const Computed& right) const {
  const Computed a = read(left), b = read(right);
  const double least = mignitude(b.exact);
  const auto divisor = [&] { return "a divisor in " + shown(b.computed()) + ", which may be 0"; };
  if (!(least > 0)) return refuse(divisor);
  const double s = add_up(b.relative, div_up(b.absolute, least));
  if (!(s <= 0.5)) return refuse(divisor);
  const double t = div_up(s, sub_down(1, s)), inverse = div_up(grown(t), least);
  return rounded({a.exact / b.exact, compounded(a.relative, t), mul_up(a.absolute, inverse)}, "div", b.computed(), true);
}

// sqrt(x (1 + s)) = sqrt(x)(1 + t), |t| <= |s| for s >= -1. If x may be too small for its error, |sqrt(x^) -
// sqrt(x)| <= sqrt(|x^ - x|).
Computed ErrorArithmetic::sqrt(const Computed& of) const {
  const Computed x = read(of);
  const double least = x.exact.lo();
  const Interval exact = assay::sqrt(x.exact);
  const bool never_negative = x.computed().lo() >= 0 || (x.absolute == 0 && x.relative <= 0.5);
  if (!(least >= 0) || !never_negative)
    return refuse([&] { return "a root of a number in " + shown(x.computed()) + ", which may be negative"; });
  const double s = least > 0 ? add_up(x.relative, div_up(x.absolute, least)) : kInfinity;
  Computed before{exact, s, 0};
  // 0 (1 + s) is 0.
  if (x.absolute == 0) before.relative = x.relative;
  if (!(before.relative <= 0.5)) before = {exact, 0, sqrt_up(x.error())};
  return rounded(before, "sqrt", x.computed(), false);
}

Computed ErrorArithmetic::read(Computed x) const {
  if (model_->flush_operands) x.absolute = add_up(x.absolute, smallest_normal(format_));
  return x;
}

// Also by the table's row for rsqrt: then x^(-1) changes by at most s / (1 - s) relative to its value, for a relative
// change s of the root.
Computed ErrorArithmetic::inverse_of_root(const Computed& root) const {
  const double least = mignitude(root.exact);
  Computed y = reciprocal(root);
  if (!has_rows("rsqrt")) return y;
  const double s = least > 0 ? add_up(root.relative, div_up(root.absolute, least)) : kInfinity;
  if (!(s <= 0.5)) return unknown();
  y.include(rounded({Interval(1.0) / root.exact, div_up(s, sub_down(1, s)), 0}, "rsqrt", square(root.computed()), true));
  return y;
}

Computed ErrorArithmetic::reciprocal(const Computed& x) const {
  const Computed one{Interval(1.0)};
  const Computed y = div(one, x);
  if (!has_rows("reciprocal")) return y;
  const double least = mignitude(x.exact);
  if (!(least > 0)) return unknown();
  const double s = add_up(x.relative, div_up(x.absolute, least));
  if (!(s <= 0.5)) return unknown();
  return hull(y, rounded({one.exact / x.exact, div_up(s, sub_down(1, s)), 0}, "reciprocal", x.computed(), true));
}

// A root and a division, or the table's row for rsqrt: then x^(-1/2) changes by at most s' / (1 - s') relatively.
Computed ErrorArithmetic::reciprocal_sqrt(const Computed& x) const {
  Computed y = div({Interval(1.0)}, sqrt(x));
  if (!has_rows("rsqrt")) return y;
  const double least = x.exact.lo();
  if (!(least > 0)) return unknown();
  const double s = add_up(x.relative, div_up(x.absolute, least));
  if (!(s <= 0.5)) return unknown();
  y.include(rounded({Interval(1.0) / assay::sqrt(x.exact), div_up(s, sub_down(1, s)), 0}, "rsqrt", x.computed(), true));
  return y;
}

Computed ErrorArithmetic::over_count(const Computed& s, std::int64_t n) const {
  const Computed count = number(Rational(n));
  Computed y = div(s, count);
  if (model_->reciprocal_of_count) y.include(mul(s, div({Interval(1.0)}, count)));
  return y;
}

Computed ErrorArithmetic::no_rows(std::string_view name) const {
  return refuse([&] {
    const std::string of = " for " + std::string(name) + (format_ == Format::binary64 ? " in float64" : " in float32");
    return table_ == nullptr ? "a model without a table of functions (math=none), so without a row" + of
                             : "no row" + of + " in the table '" + model_->math_table + "'";
  });
}

Computed ErrorArithmetic::function(Function f, const Computed& argument) const {
  const std::string_view name = name_of(f);
  if (!has_rows(name) || argument.empty) return argument.empty ? argument : no_rows(name);
  const Computed x = read(argument);
  const double e = x.error();
  const Interval exact = apply(f, x.exact), all = x.computed();
  if (!(e < kInfinity) || exact.is_undefined() || apply(f, all).is_undefined())
    return refuse([&] { return "arguments of " + std::string(name) + " in " + shown(all) + ", beyond its domain"; });
  Computed before{exact};
  if (e > 0 && f == Function::exp) {
    before.relative = apply(Function::expm1, Interval(e)).hi();
    // Both exponentials lie between 0 and this value.
    if (!(before.relative <= 1)) before = {exact, 0, assay::exp(Interval(all.hi())).hi()};
  } else if (e > 0) {
    before.absolute = mul_up(lipschitz(f, all), e);
  }
  return rounded(before, name, all, true);
}

// x^r by the table's row, or by products if r is an integer.
Computed ErrorArithmetic::pow(const Computed& x, const Rational& r) const {
  constexpr std::int64_t kMostFactors = 64;  // no known algorithm multiplies more factors repeatedly
  if (r == Rational(0)) return {Interval(1.0)};
  if (r == Rational(1)) return x;
  Computed y;
  y.empty = true;
  if (r == Rational(1, 2)) y = sqrt(x);
  if (r == Rational(-1)) y = reciprocal(x);
  const std::optional<std::int64_t> n = r.to_int64();
  if (n && *n >= -kMostFactors && *n <= kMostFactors) {
    const Computed product = product_of(std::vector<Computed>(static_cast<std::size_t>(*n < 0 ? -*n : *n), x));
    y.include(*n < 0 ? reciprocal(product) : product);
  }
  if (has_rows("pow")) {
    const Interval exact = assay::pow(x.exact, r), all = assay::pow(x.computed(), r);
    if (!defined(exact) || !defined(all)) return unknown();
    const double error = std::fmax(sub_up(all.hi(), exact.lo()), sub_up(exact.hi(), all.lo()));
    const Computed before = x.error() == 0 ? Computed{exact} : Computed{exact, 0, error};
    y.include(rounded(before, "pow", x.computed(), true));
  }
  return y.empty ? no_rows("pow") : y;
}

// n - 1 roundings of products in any order. S1: no product of some of the factors overflows, and none underflows unless
// it is 0.
Computed ErrorArithmetic::product_of(std::span<const Computed> factors) const {
  if (factors.empty()) return {Interval(1.0)};
  Interval exact(1.0);
  double greatest = 1, least = 1, relative = 0;
  for (const Computed& x : factors) {
    if (!(x.absolute == 0) || !defined(x.exact))
      return refuse([&] { return "a factor in " + shown(x.computed()) + " that is no exact number"; });
    exact *= x.exact;
    relative = compounded(relative, x.relative);
    greatest = mul_up(greatest, std::fmax(1, mul_up(x.size(), grown(x.relative))));
    if (mignitude(x.exact) < 1) least = mul_down(least, mul_down(mignitude(x.exact), sub_down(1, x.relative)));
  }
  if (factors.size() == 1) return factors[0];
  const double u = unit_roundoff(format_), n = static_cast<double>(factors.size());
  if (!(greatest * 2 < largest(format_)) || !(n * u <= 0x1p-10)) return refuse([] { return "a product of factors that may overflow"; });
  const double spread = mul_up(n, mul_up(u, 1 + 0x1p-8));
  // Below the normal numbers each product loses at most eta (or the smallest normal number), which later
  // factors enlarge.
  const double lost = least > 2 * smallest_normal(format_) ? 0
                      : model_->flush_results              ? smallest_normal(format_)
                                                           : smallest_number(format_);
  return {exact, compounded(relative, spread), mul_up(mul_up(2 * n, greatest), lost)};
}

// The errors of the terms add up, and S is the sum of the computed magnitudes. If no term is negative, S is the sum
// itself, and errors stay relative.
Computed ErrorArithmetic::sum(std::span<const Computed> terms, bool products) const {
  Interval exact;
  double size = 0, relative = 0, absolute = 0, errors = 0, count = 0;
  bool one_sign = true;
  for (const Computed& term : terms) {
    if (!defined(term.exact) || !(term.error() < kInfinity)) return unknown();
    exact += term.exact;
    size = add_up(size, add_up(term.size(), term.error()));
    relative = std::fmax(relative, term.relative);
    absolute = add_up(absolute, term.absolute);
    errors = add_up(errors, term.error());
    one_sign = one_sign && term.exact.lo() >= 0;
    ++count;
  }
  if (terms.size() == 1 && !products) return terms[0];
  const std::optional<SumErrors> rounding = sum_errors(*model_, format_, count, {products});
  if (!rounding || !(mul_up(rounding->growth, size) < largest(format_)))
    return refuse(
        [&] { return rounding ? "a sum whose partial sums may overflow" : "a sum of so many terms that its error is not small"; });
  const double of_terms = add_up(rounding->to_terms, rounding->to_sum);
  if (one_sign) return {exact, compounded(relative, of_terms), add_up(mul_up(absolute, grown(of_terms)), rounding->absolute)};
  return {exact, 0, add_up(errors, add_up(mul_up(of_terms, size), rounding->absolute))};
}
Computed ErrorArithmetic::sum(std::span<const Computed> terms) const { return sum(terms, false); }

// The products are exact here, since sum() counts their rounding.
Computed ErrorArithmetic::sum_of_squares(std::span<const Computed> x) const {
  std::vector<Computed> squares;
  for (const Computed& value : x) {
    const double size = mul_up(value.size(), grown(value.relative));
    const double absolute = add_up(mul_up(2, mul_up(value.absolute, size)), mul_up(value.absolute, value.absolute));
    squares.push_back({square(value.exact), compounded(value.relative, value.relative), absolute});
  }
  return sum(squares, true);
}

// Let L = 80 (700 in binary64). If z^ < -L, then exp(-z^) > 2^115 (2^1009). A library with a row for exp computes as
// much, up to a fraction within its bound, or an infinity. So exact and computed values are at most |x| 2^-110
// (2^-1000), rounded.
Computed ErrorArithmetic::over_one_plus_exp(const Computed* x, const Computed& z) const {
  const bool single = format_ == Format::binary32;
  const double limit = single ? 80 : 700, error = z.error();
  const Computed one{Interval(1.0)};
  Computed near{intersect(z.exact, Interval(sub_down(-limit, error), kInfinity)), z.relative, z.absolute}, y;
  y.empty = true;
  if (!(error <= 1)) return refuse([&] { return "an argument of exp in " + shown(z.computed()) + ", whose own error is large"; });
  if (z.exact.hi() >= sub_down(-limit, error)) {
    const Computed below = add(one, exp(neg(near)));
    y = x == nullptr ? reciprocal(below) : div(*x, below);
  }
  if (z.exact.lo() >= -limit) return y;
  const double size = x == nullptr ? 1 : add_up(x->size(), x->error());
  const double most = add_up(mul_up(size, single ? 0x1p-110 : 0x1p-1000), smallest_normal(format_));
  if (!has_rows("exp")) return no_rows("exp");
  if (!(size < kInfinity)) return unknown();
  y.include({Interval(-most, most), 0, mul_up(2, most)});
  return y;
}

Computed ErrorArithmetic::with_nearest(const Computed& y, Function f, const Computed& x) const {
  const double e = x.error(), moved = e > 0 ? mul_up(lipschitz(f, x.computed()), e) : 0, u = unit_roundoff(format_);
  return hull(y, {apply(f, x.exact), u, add_up(mul_up(moved, grown(u)), smallest_number(format_))});
}

}  // namespace assay::floats
