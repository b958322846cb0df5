// Interval arithmetic: directed end points by error-free transforms (error_free.h). Lower ends are rounded down and
// upper ends up, so the computed interval contains the exact one; exact ends stay exact.
#include "semantics/numbers/interval.h"

#include <limits>
#include <utility>

#include "semantics/numbers/directed.h"
#include "semantics/numbers/error_free.h"
#include "semantics/numbers/floating.h"

namespace assay {
namespace {

using directed::Direction;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double down_sum(double a, double b) { return directed::sum<Direction::down>(a, b); }
double up_sum(double a, double b) { return directed::sum<Direction::up>(a, b); }
[[gnu::always_inline]] inline double down(double a, double b) { return directed::product<Direction::down>(a, b); }
[[gnu::always_inline]] inline double up(double a, double b) { return directed::product<Direction::up>(a, b); }
double smaller(double a, double b) { return a < b ? a : b; }
double larger(double a, double b) { return a > b ? a : b; }

// For x >= 0: the signs of y's ends select the corners of x * y.
[[gnu::always_inline]] inline Interval nonnegative_times(double x_lo, double x_hi, double y_lo, double y_hi) {
  const double lo = down(y_lo >= 0 ? x_lo : x_hi, y_lo);
  const double hi = up(y_hi >= 0 ? x_hi : x_lo, y_hi);
  return {lo, hi};
}

}  // namespace

// `lo <= hi` is false for NaN, so a result with a NaN end becomes undefined() here, and only here.
Interval::Interval(double lo, double hi) : lo_(lo), hi_(hi) {
  if (!(lo <= hi)) [[unlikely]] {
    lo_ = hi_ = kNaN;
  }
}
Interval::Interval(double point) : lo_(point), hi_(point) {}
Interval::Interval(const Rational& value) : lo_(value.double_down()), hi_(value.double_up()) {}
Interval Interval::whole() { return {-kInfinity, kInfinity}; }
Interval Interval::undefined() { return Interval(kNaN); }

bool Interval::is_undefined() const { return lo_ != lo_; }
bool Interval::is_point() const { return lo_ == hi_; }
bool Interval::contains(double value) const { return lo_ <= value && value <= hi_; }
bool Interval::contains(const Interval& other) const { return lo_ <= other.lo_ && other.hi_ <= hi_; }
bool Interval::contains(const Rational& value) const {
  // The value lies between its neighbours, and lo_ <= value iff lo_ <= the largest double that is <= value.
  return lo_ <= value.double_down() && value.double_up() <= hi_;
}
double Interval::width_up() const { return up_sum(hi_, -lo_); }
double Interval::magnitude() const { return is_undefined() ? kNaN : larger(std::fabs(lo_), std::fabs(hi_)); }
double Interval::midpoint() const {
  const double a = larger(lo_, -DBL_MAX);
  const double b = smaller(hi_, DBL_MAX);
  if (is_undefined() || a > b) {
    return lo_;
  }
  const double middle = a / 2 + b / 2;
  return larger(a, smaller(middle, b));
}

Interval Interval::operator-() const { return {-hi_, -lo_}; }
Interval operator+(const Interval& a, const Interval& b) { return {down_sum(a.lo_, b.lo_), up_sum(a.hi_, b.hi_)}; }
Interval operator-(const Interval& a, const Interval& b) { return {down_sum(a.lo_, -b.hi_), up_sum(a.hi_, -b.lo_)}; }

Interval operator*(const Interval& a, const Interval& b) {
  const bool a_has_sign = a.lo_ >= 0 || a.hi_ <= 0;
  if (a_has_sign || b.lo_ >= 0 || b.hi_ <= 0) [[likely]] {
    const Interval& x = a_has_sign ? a : b;
    const Interval& y = a_has_sign ? b : a;
    // x <= 0: x * y = (-x) * (-y).
    const bool negative = !(x.lo_ >= 0);
    return nonnegative_times(negative ? -x.hi_ : x.lo_, negative ? -x.lo_ : x.hi_, negative ? -y.hi_ : y.lo_, negative ? -y.lo_ : y.hi_);
  }
  // Both contain 0 inside (or are undefined): the least corner is one of the two mixed ones.
  if (a.is_undefined() || b.is_undefined()) {
    return Interval::undefined();
  }
  return {smaller(down(a.lo_, b.hi_), down(a.hi_, b.lo_)), larger(up(a.lo_, b.lo_), up(a.hi_, b.hi_))};
}

Interval operator/(const Interval& a, const Interval& b) {
  if (!(b.lo_ > 0 || b.hi_ < 0)) {
    return Interval::undefined();
  }
  // b < 0: a / b = (-a) / (-b).
  const Interval x = b.lo_ > 0 ? a : -a;
  const Interval y = b.lo_ > 0 ? b : -b;
  const double lo = directed::quotient<Direction::down>(x.lo_, x.lo_ >= 0 ? y.hi_ : y.lo_);
  const double hi = directed::quotient<Direction::up>(x.hi_, x.hi_ >= 0 ? y.lo_ : y.hi_);
  return {lo, hi};
}

bool operator==(const Interval& a, const Interval& b) { return a.lo_ == b.lo_ && a.hi_ == b.hi_; }

Interval hull(const Interval& a, const Interval& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return Interval::undefined();
  }
  return {smaller(a.lo(), b.lo()), larger(a.hi(), b.hi())};
}

Interval intersect(const Interval& a, const Interval& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return Interval::undefined();
  }
  return {larger(a.lo(), b.lo()), smaller(a.hi(), b.hi())};
}

Interval square(const Interval& x) {
  const Interval size = abs(x);
  return {down(size.lo(), size.lo()), up(size.hi(), size.hi())};
}

Interval abs(const Interval& x) {
  if (x.lo() >= 0) {
    return x;
  }
  if (x.hi() <= 0) {
    return -x;
  }
  return {0.0, x.magnitude()};
}

Interval sign(const Interval& x) {
  if (x.is_undefined()) {
    return x;
  }
  return {static_cast<double>((x.lo() > 0) - (x.lo() < 0)), static_cast<double>((x.hi() > 0) - (x.hi() < 0))};
}

Interval floor(const Interval& x) { return {std::floor(x.lo()), std::floor(x.hi())}; }

Interval round(const Interval& x) {  // increasing, and exact on doubles
  return {round(x.lo()), round(x.hi())};
}

Interval min(const Interval& a, const Interval& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return Interval::undefined();
  }
  return {smaller(a.lo(), b.lo()), smaller(a.hi(), b.hi())};
}

Interval max(const Interval& a, const Interval& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return Interval::undefined();
  }
  return {larger(a.lo(), b.lo()), larger(a.hi(), b.hi())};
}

Interval sqrt(const Interval& x) {
  if (!(x.lo() >= 0)) {
    return Interval::undefined();
  }
  return {directed::root<Direction::down>(x.lo()), directed::root<Direction::up>(x.hi())};
}

}  // namespace assay
