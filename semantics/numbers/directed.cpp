// Directed rounding of single operations. error_free.h has the fast paths and their proof. The other cases are here:
// zeros, infinities, NaN, overflow, and results so small that an error could itself underflow.
#include "semantics/numbers/directed.h"

#include "semantics/numbers/error_free.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay {
namespace directed {
namespace {

constexpr double kInfinity = HUGE_VAL;

// For a finite exact value whose nearest double overflowed: the largest double on the inner side.
double overflowed(double rounded, Direction direction) {
  if (direction == Direction::down) {
    return rounded > 0 ? DBL_MAX : -kInfinity;
  }
  return rounded < 0 ? -DBL_MAX : kInfinity;
}

double stepped_cold(double s, double error, Direction direction) {
  return direction == Direction::down ? stepped<Direction::down>(s, error) : stepped<Direction::up>(s, error);
}

// x = fraction * 2^exponent with 1/2 <= |fraction| < 1, for finite x != 0, including subnormal numbers.
struct Split {
  double fraction;
  int exponent;
};
Split split(double x) {
  Split result{};
  result.fraction = std::frexp(x, &result.exponent);
  return result;
}

}  // namespace

double cold_sum(double a, double b, double sum, Direction direction) {
  if (std::isfinite(a) && std::isfinite(b)) {
    return overflowed(sum, direction);
  }
  return sum;  // an infinity of the extended reals, or NaN
}

// Underflow: with a = fa 2^ea and b = fb 2^eb, the product of the fractions and its error e are exact and far from
// underflow, and p 2^-(ea+eb) is a double since p is the nearest multiple of 2^-1074 (0, or within a factor 2 of the
// product). By Sterbenz their difference is exact, so the sign of its sum with e is that of a b - p.
double cold_product(double a, double b, double product, Direction direction) {
  if (std::isnan(a) || std::isnan(b)) {
    return product;
  }
  if (a == 0 || b == 0) {
    return 0;  // 0 * inf = 0: the interval convention
  }
  if (std::isinf(a) || std::isinf(b)) {
    return product;
  }
  if (std::isinf(product)) {
    return overflowed(product, direction);
  }
  const Split x = split(a);
  const Split y = split(b);
  const double p = x.fraction * y.fraction;
  const double e = std::fma(x.fraction, y.fraction, -p);
  const double rounded = std::ldexp(product, -(x.exponent + y.exponent));
  return stepped_cold(product, (p - rounded) + e, direction);
}

// Underflow: the remainder fa - q' fb of the scaled quotient q' = q 2^(eb-ea) is a double, for the same reasons.
double cold_quotient(double a, double b, double quotient, Direction direction) {
  if (!std::isfinite(a) || !std::isfinite(b) || b == 0 || a == 0) {
    return quotient;
  }
  if (std::isinf(quotient)) {
    return overflowed(quotient, direction);
  }
  const Split x = split(a);
  const Split y = split(b);
  const double rounded = std::ldexp(quotient, y.exponent - x.exponent);
  const double remainder = std::fma(-rounded, y.fraction, x.fraction);
  return stepped_cold(quotient, b < 0 ? -remainder : remainder, direction);
}

// Small operands: sqrt(a 2^200) = sqrt(a) 2^100 exactly, and the scaled remainder cannot underflow.
double cold_root(double a, Direction direction) {
  const double s = std::sqrt(a);
  if (!(a > 0) || std::isinf(a)) {
    return s;  // 0, infinity, or NaN for a negative or NaN operand
  }
  const double scaled = s * 0x1p100;
  return stepped_cold(s, std::fma(-scaled, scaled, a * 0x1p200), direction);
}

}  // namespace directed

using directed::Direction;

double add_down(double a, double b) { return directed::sum<Direction::down>(a, b); }
double add_up(double a, double b) { return directed::sum<Direction::up>(a, b); }
double sub_down(double a, double b) { return directed::sum<Direction::down>(a, -b); }
double sub_up(double a, double b) { return directed::sum<Direction::up>(a, -b); }
double mul_down(double a, double b) { return directed::product<Direction::down>(a, b); }
double mul_up(double a, double b) { return directed::product<Direction::up>(a, b); }
double div_down(double a, double b) { return directed::quotient<Direction::down>(a, b); }
double div_up(double a, double b) { return directed::quotient<Direction::up>(a, b); }
double sqrt_down(double a) { return directed::root<Direction::down>(a); }
double sqrt_up(double a) { return directed::root<Direction::up>(a); }

float float_down(double a) {
  const float nearest = static_cast<float>(a);
  return nearest > a ? std::nextafterf(nearest, -HUGE_VALF) : nearest;
}

float float_up(double a) {
  const float nearest = static_cast<float>(a);
  return nearest < a ? std::nextafterf(nearest, HUGE_VALF) : nearest;
}

namespace {

// Observes the effect of the mode; `volatile` keeps the compiler from computing any of it.
bool behaves_as_nearest_with_subnormals() {
  volatile double one = 1;
  volatile double quarter_ulp = 0x1p-54;
  volatile double smallest_normal = DBL_MIN;
  volatile double half = 0.5;
  volatile double smallest = 0x1p-1074;
  volatile double large = 0x1p60;
  const double above = one + quarter_ulp;          // > 1 when rounding up
  const double below = -one - quarter_ulp;         // < -1 when rounding down
  const double inside = one - quarter_ulp * half;  // < 1 when rounding down or towards zero
  const double flushed = smallest_normal * half;   // 0 when results are flushed
  const double read = smallest * large;            // 0 when subnormal operands are read as zero
  return above == 1 && below == -1 && inside == 1 && flushed == 0x1p-1023 && read == 0x1p-1014;
}

}  // namespace

// On x86-64 one register holds all modes of double arithmetic. So the behaviour with its bits clear is tested
// only once.
bool floating_point_environment_is_standard() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kRoundingControl = 0x6000;
  if ((_mm_getcsr() & (kFlushToZero | kDenormalsAreZero | kRoundingControl)) != 0) return false;
  static const bool behaves = behaves_as_nearest_with_subnormals();
  return behaves;
#else
  return behaves_as_nearest_with_subnormals();
#endif
}

}  // namespace assay
