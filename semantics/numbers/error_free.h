// Private to semantics/numbers: the error-free transforms behind directed.cpp and interval.cpp.
//
// Meaning. Let s = RN(a o b). If the exact error (a o b) - s is < 0, the largest double <= a o b is the predecessor of
// s; otherwise it is s itself. Upward it is symmetric. Only the sign of the error is needed.
// Domain. Finite operands with a finite result away from underflow take the fast path; directed.cpp (cold_*) handles
// the other cases. Everything here has internal linkage, so no other translation unit's flags can replace it.
// Source. T. J. Dekker, Numer. Math. 18 (1971), for FastTwoSum; S. Boldo, S. Graillat, J.-M. Muller, ACM TOMS 44
// (2017), for its immunity to overflow; J.-M. Muller et al., Handbook of Floating-Point Arithmetic (2018), 4.4-4.8, for
// errors by fma.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#ifdef __FAST_MATH__
#error "the trusted layers need IEEE arithmetic: build without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "double operations must round to double");

namespace assay::directed {

// For products and dividends of at least this magnitude, errors are multiples of 2^-1074: ulp(a) ulp(b) >= 2^-106 |a
// b|, and 2^-960 2^-106 > 2^-1074. For smaller ones the fma could round a non-zero error to 0.
constexpr double kNoUnderflow = 0x1p-960;

// The other cases: zero, infinite or NaN operands, overflow and underflow.
enum class Direction : bool { down, up };
double cold_sum(double a, double b, double sum, Direction direction);
double cold_product(double a, double b, double product, Direction direction);
double cold_quotient(double a, double b, double quotient, Direction direction);
double cold_root(double a, Direction direction);

namespace {

// The neighbours of a finite double (an infinity beyond the largest magnitude).
[[gnu::always_inline]] inline double next_up(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x + 0.0);  // + 0.0 turns -0 into +0
  return std::bit_cast<double>(bits + (bits >= 0 ? 1 : -1));
}
[[gnu::always_inline]] inline double next_down(double x) { return -next_up(-x); }

// The same as `first ? a : b`, without a branch: signs of errors are those of random numbers, which no processor predicts.
[[gnu::always_inline]] inline double picked(bool first, double a, double b) {
  const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(first);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

// s, moved by one step if the sign of the error requires it.
template <Direction direction>
[[gnu::always_inline]] inline double stepped(double s, double error) {
  if constexpr (direction == Direction::down) {
    return picked(error < 0, next_down(s), s);
  } else {
    return picked(error > 0, next_up(s), s);
  }
}

template <Direction direction>
[[gnu::always_inline]] inline double sum(double a, double b) {
  const double s = a + b;
  if (!(std::fabs(s) <= DBL_MAX)) [[unlikely]] {
    return cold_sum(a, b, s, direction);
  }
  // FastTwoSum for |large| >= |small|: the error of a sum is a double, and is computed exactly.
  return stepped<direction>(s, picked(std::fabs(a) >= std::fabs(b), b - (s - a), a - (s - b)));
}

template <Direction direction>
[[gnu::always_inline]] inline double product(double a, double b) {
  const double p = a * b;
  const double size = std::fabs(p);
  if (!(size >= kNoUnderflow && size <= DBL_MAX)) [[unlikely]] {
    return cold_product(a, b, p, direction);
  }
  return stepped<direction>(p, std::fma(a, b, -p));
}

template <Direction direction>
[[gnu::always_inline]] inline double quotient(double a, double b) {
  const double q = a / b;
  if (!(std::fabs(a) >= kNoUnderflow && std::fabs(a) <= DBL_MAX && std::fabs(q) <= DBL_MAX)) [[unlikely]] {
    return cold_quotient(a, b, q, direction);
  }
  // a / b - q = remainder / b, and remainder = a - q b is a double.
  const double remainder = std::fma(-q, b, a);
  return stepped<direction>(q, b < 0 ? -remainder : remainder);
}

template <Direction direction>
[[gnu::always_inline]] inline double root(double a) {
  if (!(a >= kNoUnderflow && a <= DBL_MAX)) [[unlikely]] {
    return cold_root(a, direction);
  }
  const double s = std::sqrt(a);
  return stepped<direction>(s, std::fma(-s, s, a));
}

}  // namespace
}  // namespace assay::directed
