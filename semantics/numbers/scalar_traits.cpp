// Conversions of numbers to scalars.

#include "semantics/numbers/scalar_traits.h"

#include <cmath>

#include "semantics/demand.h"
#include "semantics/numbers/mpfr_functions.h"
#include "semantics/numbers/rational_access.h"

namespace assay {
namespace {

// With this many bits, truncation with a sticky last bit lets the next rounding to nearest be correct, in double and
// float alike.
constexpr mpfr_prec_t kStickyBits = 64;

// Rounds to kStickyBits, with the last bit set if anything was cut off ("round to odd", Boldo and Melquiond 2008). So
// the second rounding, to the format and its subnormal grid, treats every tie correctly.
void round_to_odd(mpfr_ptr out, const Rational& value) {
  const ExactFraction exact(value);
  mpfr_prec_round(out, kStickyBits, MPFR_RNDZ);
  const int inexact = mpfr_set_q(out, exact.value, MPFR_RNDZ);
  if (inexact != 0) {
    mpfr::Number away(kStickyBits);
    mpfr_set_q(away.value, exact.value, MPFR_RNDA);
    mpfr::Number shorter(kStickyBits - 1);
    if (mpfr_set(shorter.value, out, MPFR_RNDZ) == 0) {
      mpfr_set(out, away.value, MPFR_RNDZ);  // `out` was even, so its neighbour is odd
    }
  }
}

}  // namespace

bool ScalarTraits<Rational>::can_hold(double value) { return std::isfinite(value); }
Rational ScalarTraits<Rational>::from_double(double value) {
  const std::optional<Rational> exact = Rational::from_double(value);
  demand(exact.has_value(), "ScalarTraits<Rational>::from_double: not finite");
  return *exact;
}

bool ScalarTraits<Interval>::can_hold(double value) { return !std::isnan(value); }
bool ScalarTraits<WideInterval>::can_hold(double value) { return !std::isnan(value); }

double ScalarTraits<double>::from_rational(const Rational& value) {
  mpfr::Number odd(kStickyBits);
  round_to_odd(odd.value, value);
  return mpfr_get_d(odd.value, MPFR_RNDN);
}

float ScalarTraits<float>::from_double(double value) { return static_cast<float>(value); }
float ScalarTraits<float>::from_rational(const Rational& value) {
  mpfr::Number odd(kStickyBits);
  round_to_odd(odd.value, value);
  return mpfr_get_flt(odd.value, MPFR_RNDN);
}

}  // namespace assay
