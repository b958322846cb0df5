// The scalar functions by MPFR, rounded outward, and functions that MPFR lacks.

#include "semantics/numbers/mpfr_functions.h"

#include <cmath>

#include "semantics/demand.h"
#include "semantics/interrupt.h"

namespace assay::mpfr {
namespace {

// Added to the result's precision for intermediate values.
constexpr mpfr_prec_t kGuardBits = 64;
// Reducing an angle of e bits takes e more bits; for larger angles the result is [-1, 1].
constexpr mpfr_exp_t kMaxAngleBits = 4096;

static_assert(sizeof(long) == sizeof(std::int64_t), "mpfr_pow_si takes every int64");

constexpr std::size_t kCost = 3000;  // approximate nanoseconds per function value

// MPFR keeps constants (pi, log 2) per thread; this frees them when the thread ends.
struct ThreadCache {
  ThreadCache() = default;
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;
  ~ThreadCache() { mpfr_free_cache(); }
};
void enter() {
  poll(kCost);
  thread_local const ThreadCache cache;
  static_cast<void>(cache);
}

mpfr_rnd_t opposite(mpfr_rnd_t direction) { return direction == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD; }

// 1 / (1 + exp(-x)) decreases in exp(-x), so exp(-x) is rounded in the opposite direction.
int evaluate_sigmoid(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  Number minus_x(mpfr_get_prec(x));
  mpfr_neg(minus_x.value, x, MPFR_RNDN);  // exact
  Number denominator(mpfr_get_prec(out) + kGuardBits);
  const int first = mpfr_exp(denominator.value, minus_x.value, opposite(direction));
  const int second = mpfr_add_ui(denominator.value, denominator.value, 1, opposite(direction));
  const int third = mpfr_ui_div(out, 1, denominator.value, direction);
  return first != 0 || second != 0 || third != 0 ? 1 : 0;
}

// log(1 + exp(x)), for x > 0 as x + log(1 + exp(-x)); each step increases in the previous one.
int evaluate_softplus(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  Number argument(mpfr_get_prec(x));
  const bool positive = mpfr_sgn(x) > 0;
  positive ? mpfr_neg(argument.value, x, MPFR_RNDN) : mpfr_set(argument.value, x, MPFR_RNDN);  // exact
  Number power(mpfr_get_prec(out) + kGuardBits);
  Number rest(mpfr_get_prec(out) + kGuardBits);
  mpfr_exp(power.value, argument.value, direction);
  mpfr_log1p(rest.value, power.value, direction);
  positive ? mpfr_add(out, x, rest.value, direction) : mpfr_set(out, rest.value, direction);
  return 1;
}

// From here on the fraction below is cheaper than MPFR's erfc, which takes up to 11 ms for 257 bits.
constexpr double kTail = 4;

// A bound of erfc(x) in the given direction, for kTail <= x < infinity, in time that decreases with x. Laplace's
// continued fraction:
//   erfc(x) = exp(-x^2) / (sqrt(pi) t_0),   t_(k-1) = x + k / (2 t_k),   t_k >= x for all k
// Each t_(k-1) decreases in t_k. So from the lower bound x of t_n on, lower and upper bounds alternate: an odd n gives
// an upper bound of t_0, an even one a lower bound. Any n is sound; each step reduces the remaining error by a factor
// of about (s + 1) / (s - 1), s = sqrt(1 + 2 k / x^2).
// Source: Abramowitz and Stegun 7.1.14; the alternation of the convergents of a fraction with positive terms.
unsigned long steps_of_fraction(double x, mpfr_prec_t bits) {
  unsigned long n = 1;
  for (double known = 0; known < static_cast<double>(bits); ++n) {
    const double s = std::sqrt(1 + 2 * static_cast<double>(n) / x / x);
    known += std::log2((s + 1) / (s - 1));
  }
  return n;
}

void evaluate_erfc_tail(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  const mpfr_prec_t bits = mpfr_get_prec(out) + kGuardBits;
  const mpfr_rnd_t other = opposite(direction);
  unsigned long n = steps_of_fraction(mpfr_get_d(x, MPFR_RNDZ), bits);
  if ((n % 2 != 0) != (direction == MPFR_RNDD)) ++n;
  Number t(bits), power(bits), square(2 * mpfr_get_prec(x));
  mpfr_set(t.value, x, MPFR_RNDD);
  for (bool upper = true; n > 0; --n, upper = !upper) {
    const mpfr_rnd_t outward = upper ? MPFR_RNDU : MPFR_RNDD;
    mpfr_ui_div(t.value, n, t.value, outward);
    mpfr_div_2ui(t.value, t.value, 1, outward);
    mpfr_add(t.value, t.value, x, outward);
  }
  mpfr_const_pi(power.value, other);
  mpfr_sqrt(power.value, power.value, other);
  mpfr_mul(t.value, t.value, power.value, other);
  // Exact, or beyond MPFR's exponents; a finite square keeps an upper bound above 0.
  mpfr_sqr(square.value, x, other);
  mpfr_neg(square.value, square.value, MPFR_RNDN);
  mpfr_exp(power.value, square.value, direction);
  mpfr_div(out, power.value, t.value, direction);
}

// whole - erfc(|x|), for |x| >= kTail, with as many bits of erfc as matter for the difference.
void evaluate_less_erfc_tail(mpfr_ptr out, unsigned long whole, mpfr_srcptr x, mpfr_rnd_t direction) {
  const double lost = 1.44 * mpfr_get_d(x, MPFR_RNDZ) * mpfr_get_d(x, MPFR_RNDZ);  // erfc(x) < exp(-x^2)
  const double kept = static_cast<double>(mpfr_get_prec(out) + kGuardBits) - lost;
  Number tail(kept > 2 ? static_cast<mpfr_prec_t>(kept) : 2), size(mpfr_get_prec(x));
  mpfr_abs(size.value, x, MPFR_RNDN);  // exact
  evaluate_erfc_tail(tail.value, size.value, opposite(direction));
  mpfr_ui_sub(out, whole, tail.value, direction);
}

bool in_tail(mpfr_srcptr x) { return mpfr_number_p(x) != 0 && !(mpfr_get_d(x, MPFR_RNDZ) < kTail && mpfr_get_d(x, MPFR_RNDZ) > -kTail); }

int evaluate_erfc(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  if (!in_tail(x)) return mpfr_erfc(out, x, direction);
  mpfr_sgn(x) > 0 ? evaluate_erfc_tail(out, x, direction) : evaluate_less_erfc_tail(out, 2, x, direction);
  return 1;
}

// erf is odd: erf(x) = 1 - erfc(x) = -(1 - erfc(-x)).
int evaluate_erf(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  if (!in_tail(x)) return mpfr_erf(out, x, direction);
  evaluate_less_erfc_tail(out, 1, x, mpfr_sgn(x) > 0 ? direction : opposite(direction));
  if (mpfr_sgn(x) < 0) mpfr_neg(out, out, MPFR_RNDN);  // exact
  return 1;
}

// Whether f increases (1) or decreases (-1) at x. MPFR's sign is the exact one: no dyadic x is a critical point of sin,
// and only 0 is one of cos, which gives 0.
int slope_sign(Function f, mpfr_srcptr x) {
  Number slope(53);
  if (f == Function::sin) {
    mpfr_cos(slope.value, x, MPFR_RNDN);
    return mpfr_sgn(slope.value);
  }
  mpfr_sin(slope.value, x, MPFR_RNDN);
  return -mpfr_sgn(slope.value);
}

void hull_with_point(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr x) {
  Number end(mpfr_get_prec(out_lo));
  evaluate(f, end.value, x, MPFR_RNDD);
  mpfr_min(out_lo, out_lo, end.value, MPFR_RNDD);
  evaluate(f, end.value, x, MPFR_RNDU);
  mpfr_max(out_hi, out_hi, end.value, MPFR_RNDU);
}

// Joins f([lo, hi]) to [out_lo, out_hi], for hi - lo <= 3 < pi and f = sin or cos. Critical points are pi apart, so
// at most one lies inside. One does iff the slopes at the two ends differ, and it is a maximum iff the first slope
// is positive.
void join_short_wave(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) {
  hull_with_point(f, out_lo, out_hi, lo);
  if (mpfr_equal_p(lo, hi) != 0) {
    return;
  }
  hull_with_point(f, out_lo, out_hi, hi);
  if (f == Function::cos && mpfr_sgn(lo) <= 0 && mpfr_sgn(hi) >= 0) {
    mpfr_set_si(out_hi, 1, MPFR_RNDU);  // the maximum at 0; |ends| <= 3 < pi, so there is no other critical point
    return;
  }
  const int first = slope_sign(f, lo);
  if (first != slope_sign(f, hi)) {
    if (first > 0) {
      mpfr_set_si(out_hi, 1, MPFR_RNDU);
    } else {
      mpfr_set_si(out_lo, -1, MPFR_RNDD);
    }
  }
}

// Splits [lo, hi] into four parts of at most 1.7 < 3 if its width is at most 6.5; a wider interval contains a
// period (< 6.5).
void wave_image(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) {
  Number width(mpfr_get_prec(lo));
  mpfr_sub(width.value, hi, lo, MPFR_RNDU);
  const auto is_large = [](mpfr_srcptr x) { return mpfr_regular_p(x) != 0 && mpfr_get_exp(x) > kMaxAngleBits; };
  if (!(mpfr_cmp_d(width.value, 6.5) <= 0) || mpfr_nan_p(width.value) != 0 || is_large(lo) || is_large(hi)) {
    mpfr_set_si(out_lo, -1, MPFR_RNDD);
    mpfr_set_si(out_hi, 1, MPFR_RNDU);
    return;
  }
  mpfr_set_si(out_lo, 1, MPFR_RNDD);
  mpfr_set_si(out_hi, -1, MPFR_RNDU);
  if (mpfr_cmp_d(width.value, 3.0) <= 0) {
    join_short_wave(f, out_lo, out_hi, lo, hi);
    return;
  }
  // Cut points lo + k width / 4. Any increasing points are valid if no part is longer than 3.
  Number from(mpfr_get_prec(lo) + kGuardBits);
  Number to(mpfr_get_prec(lo) + kGuardBits);
  mpfr_div_ui(width.value, width.value, 4, MPFR_RNDN);
  mpfr_set(from.value, lo, MPFR_RNDN);
  for (int part = 0; part < 3; ++part) {
    mpfr_add(to.value, from.value, width.value, MPFR_RNDN);
    mpfr_min(to.value, to.value, hi, MPFR_RNDN);
    join_short_wave(f, out_lo, out_hi, from.value, to.value);
    mpfr_swap(from.value, to.value);
  }
  join_short_wave(f, out_lo, out_hi, from.value, hi);
}

// Whether tan has no pole in [lo, hi]. Poles are the zeros of cos, pi apart. A set shorter than 3 < pi contains at most
// one, and contains one iff cos has opposite signs at the ends. MPFR's sign is exact; cos is not 0 at any dyadic point.
bool is_free_of_poles(mpfr_srcptr lo, mpfr_srcptr hi) {
  Number width(mpfr_get_prec(lo));
  mpfr_sub(width.value, hi, lo, MPFR_RNDU);
  const auto is_large = [](mpfr_srcptr x) { return mpfr_regular_p(x) != 0 && mpfr_get_exp(x) > kMaxAngleBits; };
  if (!(mpfr_cmp_d(width.value, 3.0) <= 0) || mpfr_nan_p(width.value) != 0 || is_large(lo) || is_large(hi)) {
    return false;
  }
  Number at_lo(53);
  Number at_hi(53);
  mpfr_cos(at_lo.value, lo, MPFR_RNDN);
  mpfr_cos(at_hi.value, hi, MPFR_RNDN);
  return mpfr_sgn(at_lo.value) * mpfr_sgn(at_hi.value) > 0;
}

// Whether f is defined on all of [lo, hi]. Comparisons with NaN are false.
bool in_domain(Function f, mpfr_srcptr lo, mpfr_srcptr hi) {
  if (mpfr_nan_p(lo) != 0 || mpfr_nan_p(hi) != 0) {
    return false;
  }
  switch (f) {
    case Function::log:
      return mpfr_sgn(lo) > 0;
    case Function::log1p:
      return mpfr_cmp_si(lo, -1) > 0;
    case Function::asin:
    case Function::acos:
      return mpfr_cmp_si(lo, -1) >= 0 && mpfr_cmp_si(hi, 1) <= 0;
    case Function::acosh:
      return mpfr_cmp_si(lo, 1) >= 0;
    case Function::atanh:
      return mpfr_cmp_si(lo, -1) > 0 && mpfr_cmp_si(hi, 1) < 0;
    case Function::tan:
      return is_free_of_poles(lo, hi);
    case Function::exp:
    case Function::tanh:
    case Function::sigmoid:
    case Function::erf:
    case Function::sin:
    case Function::cos:
    case Function::atan:
    case Function::sinh:
    case Function::cosh:
    case Function::asinh:
    case Function::expm1:
    case Function::erfc:
    case Function::softplus:
      return true;
  }
  return false;
}

// For an even function that increases for x >= 0.
void even_image(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) {
  const bool lo_is_nearer = mpfr_cmpabs(lo, hi) <= 0;
  Number zero(53);
  mpfr_set_zero(zero.value, 1);
  const bool has_zero = mpfr_sgn(lo) <= 0 && mpfr_sgn(hi) >= 0;
  evaluate(f, out_lo, has_zero ? static_cast<mpfr_srcptr>(zero.value) : (lo_is_nearer ? lo : hi), MPFR_RNDD);
  evaluate(f, out_hi, lo_is_nearer ? hi : lo, MPFR_RNDU);
}

}  // namespace

int evaluate(Function f, mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {  // NOLINT(readability-function-size)
  enter();
  switch (f) {
    case Function::exp:
      return mpfr_exp(out, x, direction);
    case Function::log:
      return mpfr_log(out, x, direction);
    case Function::tanh:
      return mpfr_tanh(out, x, direction);
    case Function::sigmoid:
      return evaluate_sigmoid(out, x, direction);
    case Function::erf:
      return evaluate_erf(out, x, direction);
    case Function::sin:
      return mpfr_sin(out, x, direction);
    case Function::cos:
      return mpfr_cos(out, x, direction);
    case Function::tan:
      return mpfr_tan(out, x, direction);
    case Function::asin:
      return mpfr_asin(out, x, direction);
    case Function::acos:
      return mpfr_acos(out, x, direction);
    case Function::atan:
      return mpfr_atan(out, x, direction);
    case Function::sinh:
      return mpfr_sinh(out, x, direction);
    case Function::cosh:
      return mpfr_cosh(out, x, direction);
    case Function::asinh:
      return mpfr_asinh(out, x, direction);
    case Function::acosh:
      return mpfr_acosh(out, x, direction);
    case Function::atanh:
      return mpfr_atanh(out, x, direction);
    case Function::expm1:
      return mpfr_expm1(out, x, direction);
    case Function::log1p:
      return mpfr_log1p(out, x, direction);
    case Function::erfc:
      return evaluate_erfc(out, x, direction);
    case Function::softplus:
      return evaluate_softplus(out, x, direction);
  }
  demand_failed("mpfr::evaluate: unknown function");
}

void evaluate_power(mpfr_ptr out, mpfr_srcptr x, std::int64_t n, mpfr_rnd_t direction) {
  enter();
  mpfr_pow_si(out, x, static_cast<long>(n), direction);
}

// x^y increases in y iff x >= 1, which decides the direction in which r is rounded.
void evaluate_power(mpfr_ptr out, mpfr_srcptr x, mpq_srcptr r, mpfr_rnd_t direction) {
  enter();
  Number exponent(mpfr_get_prec(out) + kGuardBits);
  mpfr_set_q(exponent.value, r, mpfr_cmp_ui(x, 1) >= 0 ? direction : opposite(direction));
  mpfr_pow(out, x, exponent.value, direction);
}

bool image(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) {
  enter();
  if (!in_domain(f, lo, hi)) {
    return false;
  }
  if (f == Function::sin || f == Function::cos) {
    wave_image(f, out_lo, out_hi, lo, hi);
    return true;
  }
  if (f == Function::acos || f == Function::erfc) {  // these decrease
    evaluate(f, out_lo, hi, MPFR_RNDD);
    evaluate(f, out_hi, lo, MPFR_RNDU);
    return true;
  }
  if (f == Function::cosh) {
    even_image(f, out_lo, out_hi, lo, hi);
    return true;
  }
  // The others increase. At a point one correctly rounded evaluation suffices: the upper end is its neighbour.
  const bool correctly_rounded = f != Function::sigmoid && f != Function::softplus && f != Function::erf;
  const int inexact = evaluate(f, out_lo, lo, MPFR_RNDD);
  if (correctly_rounded && mpfr_equal_p(lo, hi) != 0) {
    mpfr_set(out_hi, out_lo, MPFR_RNDU);
    if (inexact != 0) {
      mpfr_nextabove(out_hi);
    }
    return true;
  }
  evaluate(f, out_hi, hi, MPFR_RNDU);
  return true;
}

bool image_of_power(mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi, std::int64_t n) {
  const bool inner_zero = mpfr_sgn(lo) <= 0 && mpfr_sgn(hi) >= 0;
  if (n < 0 && inner_zero) {
    return false;
  }
  if (n > 0 && n % 2 == 0 && inner_zero) {
    Number other(mpfr_get_prec(out_hi));
    evaluate_power(out_hi, lo, n, MPFR_RNDU);
    evaluate_power(other.value, hi, n, MPFR_RNDU);
    mpfr_max(out_hi, out_hi, other.value, MPFR_RNDU);
    mpfr_set_zero(out_lo, 1);
    return true;
  }
  // Monotone on [lo, hi], since d/dx x^n = n x^(n-1); for n = 0 both ends are 1.
  const bool increasing = (n > 0) == (n % 2 != 0 || mpfr_sgn(lo) >= 0);
  evaluate_power(out_lo, increasing ? lo : hi, n, MPFR_RNDD);
  evaluate_power(out_hi, increasing ? hi : lo, n, MPFR_RNDU);
  return true;
}

bool image_of_power(mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi, mpq_srcptr r) {
  const bool increasing = mpq_sgn(r) > 0;
  if (!(increasing ? mpfr_sgn(lo) >= 0 : mpfr_sgn(lo) > 0)) {
    return false;
  }
  evaluate_power(out_lo, increasing ? lo : hi, r, MPFR_RNDD);
  evaluate_power(out_hi, increasing ? hi : lo, r, MPFR_RNDU);
  return true;
}

}  // namespace assay::mpfr
