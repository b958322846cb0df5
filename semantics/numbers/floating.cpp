// Functions on double and float, rounded to nearest even exactly once: by Taylor polynomials if they decide, otherwise
// by MPFR.
#include "semantics/numbers/floating.h"

#include <cmath>

#include "semantics/numbers/mpfr_functions.h"
#include "semantics/numbers/rational_access.h"
#include "semantics/numbers/taylor.h"

namespace assay {
namespace {

constexpr mpfr_prec_t kFirstBits = 80;    // decides nearly always
constexpr mpfr_prec_t kLastBits = 10240;  // an undecided value is a tie: only a rational power can be one

double to_format(mpfr_srcptr x, double) { return mpfr_get_d(x, MPFR_RNDN); }
float to_format(mpfr_srcptr x, float) { return mpfr_get_flt(x, MPFR_RNDN); }

// Ziv's method: doubles the precision until both ends of an enclosure round to the same number.
// `compute(out, x, direction)` is the function at any precision.
template <class Float, class Compute>
Float nearest(Float x, Compute compute) {
  mpfr::Number point(53);
  mpfr_set_d(point.value, static_cast<double>(x), MPFR_RNDN);  // exact
  for (mpfr_prec_t bits = kFirstBits;; bits *= 2) {
    mpfr::Number lo(bits);
    mpfr::Number hi(bits);
    compute(lo.value, point.value, MPFR_RNDD);
    compute(hi.value, point.value, MPFR_RNDU);
    const Float below = to_format(lo.value, Float{});
    const Float above = to_format(hi.value, Float{});
    if (below == above || below != below || above != above) {
      return below;
    }
    if (bits >= kLastBits) {
      mpfr_prec_round(lo.value, kFirstBits, MPFR_RNDN);  // the tie itself, which the format rounds to even
      return to_format(lo.value, Float{});
    }
  }
}

template <class Float>
Float evaluated(Function f, Float x) {
  return nearest(x, [f](mpfr_ptr out, mpfr_srcptr point, mpfr_rnd_t direction) { mpfr::evaluate(f, out, point, direction); });
}

template <class Float>
Float power(Float x, std::int64_t n) {
  return nearest(x, [n](mpfr_ptr out, mpfr_srcptr point, mpfr_rnd_t direction) { mpfr::evaluate_power(out, point, n, direction); });
}

template <class Float>
Float power(Float x, const Rational& r) {
  if (const auto n = r.to_int64()) {
    return power(x, *n);
  }
  const ExactFraction exponent(r);
  return nearest(
      x, [&](mpfr_ptr out, mpfr_srcptr point, mpfr_rnd_t direction) { mpfr::evaluate_power(out, point, exponent.value, direction); });
}

template <class Float>
Float sign_of(Float x) {
  return x > 0 ? Float{1} : (x < 0 ? Float{-1} : (x == 0 ? Float{0} : x));
}

// x - floor(x) is exact, and so is its comparison with 1/2. NaN and infinities fail both comparisons and are kept.
template <class Float>
Float nearest_integer(Float x) {
  const Float below = std::floor(x);
  const Float rest = x - below;
  const bool above = rest > Float{0.5} || (rest == Float{0.5} && std::fmod(below, Float{2}) != 0);
  return above ? below + Float{1} : below;
}

// IEEE 754-2019 minimum and maximum: NaN if either is NaN, and -0 < +0.
template <class Float>
Float minimum(Float a, Float b) {
  if (a == b) {
    return std::signbit(a) ? a : b;
  }
  return a < b || a != a ? a : b;
}
template <class Float>
Float maximum(Float a, Float b) {
  if (a == b) {
    return std::signbit(a) ? b : a;
  }
  return a > b || a != a ? a : b;
}

}  // namespace

double apply(Function f, double x) {
  const std::optional<double> fast = nearest_double(f, x);
  return fast ? *fast : evaluated(f, x);
}
float apply(Function f, float x) {
  const std::optional<Interval> fast = tight(f, static_cast<double>(x));
  const bool known = fast && static_cast<float>(fast->lo()) == static_cast<float>(fast->hi());  // rounding is monotone
  return known ? static_cast<float>(fast->lo()) : evaluated(f, x);
}

double square(double x) { return x * x; }
double abs(double x) { return std::fabs(x); }
double sign(double x) { return sign_of(x); }
double floor(double x) { return std::floor(x); }
double round(double x) { return nearest_integer(x); }
double min(double a, double b) { return minimum(a, b); }
double max(double a, double b) { return maximum(a, b); }
double sqrt(double x) { return std::sqrt(x); }
double exp(double x) { return apply(Function::exp, x); }
double log(double x) { return apply(Function::log, x); }
double tanh(double x) { return apply(Function::tanh, x); }
double sigmoid(double x) { return apply(Function::sigmoid, x); }
double erf(double x) { return apply(Function::erf, x); }
double sin(double x) { return apply(Function::sin, x); }
double cos(double x) { return apply(Function::cos, x); }
double pow(double x, std::int64_t n) { return power(x, n); }
double pow(double x, const Rational& r) { return power(x, r); }

float square(float x) { return x * x; }
float abs(float x) { return std::fabs(x); }
float sign(float x) { return sign_of(x); }
float floor(float x) { return std::floor(x); }
float round(float x) { return nearest_integer(x); }
float min(float a, float b) { return minimum(a, b); }
float max(float a, float b) { return maximum(a, b); }
float sqrt(float x) { return std::sqrt(x); }
float exp(float x) { return apply(Function::exp, x); }
float log(float x) { return apply(Function::log, x); }
float tanh(float x) { return apply(Function::tanh, x); }
float sigmoid(float x) { return apply(Function::sigmoid, x); }
float erf(float x) { return apply(Function::erf, x); }
float sin(float x) { return apply(Function::sin, x); }
float cos(float x) { return apply(Function::cos, x); }
float pow(float x, std::int64_t n) { return power(x, n); }
float pow(float x, const Rational& r) { return power(x, r); }

}  // namespace assay
