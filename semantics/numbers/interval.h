// Interval: closed intervals with double ends; every operation contains the exact image (inclusion principle).
//
// Arithmetic is directed by error-free transforms (directed.h), so exact results stay points.
// Transcendental functions are MPFR with directed rounding.
#pragma once

#include <cstdint>

#include "semantics/numbers/function.h"
#include "semantics/numbers/rational.h"

namespace assay {

class Interval {
 public:
  Interval() = default;                      // [0, 0]
  Interval(double point);                    // NOLINT; NaN gives undefined()
  Interval(double lo, double hi);            // NaN or lo > hi gives undefined()
  explicit Interval(const Rational& value);  // tightest enclosure
  static Interval whole();                   // [-inf, +inf]
  // The result of an op that may have left its domain (log of a negative number, division by zero). Every operation
  // with it gives it again.
  static Interval undefined();

  [[nodiscard]] double lo() const { return lo_; }
  [[nodiscard]] double hi() const { return hi_; }
  [[nodiscard]] bool is_undefined() const;
  [[nodiscard]] bool is_point() const;
  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] bool contains(const Rational& value) const;
  [[nodiscard]] bool contains(const Interval& other) const;
  [[nodiscard]] double width_up() const;   // hi - lo, rounded up
  [[nodiscard]] double magnitude() const;  // max |x|
  [[nodiscard]] double midpoint() const;   // a double in the interval; not rigorous otherwise

  Interval operator-() const;
  friend Interval operator+(const Interval&, const Interval&);
  friend Interval operator-(const Interval&, const Interval&);
  friend Interval operator*(const Interval&, const Interval&);
  friend Interval operator/(const Interval&, const Interval&);  // undefined() if the divisor contains 0
  Interval& operator+=(const Interval& other) { return *this = *this + other; }
  Interval& operator-=(const Interval& other) { return *this = *this - other; }
  Interval& operator*=(const Interval& other) { return *this = *this * other; }
  friend bool operator==(const Interval&, const Interval&);  // same ends

 private:
  double lo_ = 0;
  double hi_ = 0;
};

[[nodiscard]] Interval hull(const Interval&, const Interval&);
// An empty intersection gives undefined(); the kernel's rule `empty` compares the ends itself.
[[nodiscard]] Interval intersect(const Interval&, const Interval&);

// These names exist for every scalar (the overloads for Rational, WideInterval, Dual, ... are in their own headers).
// Arguments outside the domain give undefined().
[[nodiscard]] Interval square(const Interval&);
[[nodiscard]] Interval abs(const Interval&);
[[nodiscard]] Interval sign(const Interval&);
[[nodiscard]] Interval floor(const Interval&);
[[nodiscard]] Interval round(const Interval&);  // to the nearest integer, ties to even
[[nodiscard]] Interval min(const Interval&, const Interval&);
[[nodiscard]] Interval max(const Interval&, const Interval&);
[[nodiscard]] Interval sqrt(const Interval&);
[[nodiscard]] Interval exp(const Interval&);
[[nodiscard]] Interval log(const Interval&);
[[nodiscard]] Interval tanh(const Interval&);
[[nodiscard]] Interval sigmoid(const Interval&);
[[nodiscard]] Interval erf(const Interval&);
[[nodiscard]] Interval sin(const Interval&);
[[nodiscard]] Interval cos(const Interval&);
// x^n for an integer n; x^r for a rational r is defined for x > 0 (x >= 0 if r > 0) by MPFR.
[[nodiscard]] Interval pow(const Interval&, std::int64_t n);
[[nodiscard]] Interval pow(const Interval&, const Rational& r);

}  // namespace assay
