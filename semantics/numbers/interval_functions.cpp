// The functions of Interval that MPFR computes: 53-bit ends with MPFR's exponent range, then outward to double.
#include "semantics/numbers/interval.h"
#include "semantics/numbers/mpfr_functions.h"
#include "semantics/numbers/rational_access.h"

namespace assay {
namespace {

// `compute(out_lo, out_hi, lo, hi)` is one of mpfr's image functions with its parameters bound.
template <class Image>
Interval outward(const Interval& x, Image compute) {
  constexpr mpfr_prec_t kBits = 53;
  if (x.is_undefined()) {
    return x;
  }
  mpfr::Number lo(kBits);
  mpfr::Number hi(kBits);
  mpfr::Number out_lo(kBits);
  mpfr::Number out_hi(kBits);
  mpfr_set_d(lo.value, x.lo(), MPFR_RNDN);  // exact
  mpfr_set_d(hi.value, x.hi(), MPFR_RNDN);
  if (!compute(out_lo.value, out_hi.value, lo.value, hi.value)) {
    return Interval::undefined();
  }
  return {mpfr_get_d(out_lo.value, MPFR_RNDD), mpfr_get_d(out_hi.value, MPFR_RNDU)};
}

}  // namespace

Interval apply(Function f, const Interval& x) {
  return outward(x,
                 [f](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) { return mpfr::image(f, out_lo, out_hi, lo, hi); });
}

Interval exp(const Interval& x) {
  return apply(Function::exp, x);
}
Interval log(const Interval& x) {
  return apply(Function::log, x);
}
Interval tanh(const Interval& x) {
  return apply(Function::tanh, x);
}
Interval sigmoid(const Interval& x) {
  return apply(Function::sigmoid, x);
}
Interval erf(const Interval& x) {
  return apply(Function::erf, x);
}
Interval sin(const Interval& x) {
  return apply(Function::sin, x);
}
Interval cos(const Interval& x) {
  return apply(Function::cos, x);
}

Interval pow(const Interval& x, std::int64_t n) {
  if (n == 1) {
    return x;
  }
  if (n == 2) {
    return square(x);
  }
  return outward(
      x, [n](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) { return mpfr::image_of_power(out_lo, out_hi, lo, hi, n); });
}

Interval pow(const Interval& x, const Rational& r) {
  if (const auto n = r.to_int64()) {
    return pow(x, *n);
  }
  const ExactFraction exponent(r);
  return outward(x, [&](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) {
    return mpfr::image_of_power(out_lo, out_hi, lo, hi, exponent.value);
  });
}

}  // namespace assay
