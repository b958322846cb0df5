// Private to semantics/numbers: enclosures of the scalar functions on MPFR numbers of any precision.
//
// MPFR rounds correctly in the requested direction. So a lower end is rounded down (RNDD) and an upper end up (RNDU);
// the rest of the argument is monotonicity or verified critical points.
#pragma once

#include <mpfr.h>

#include <cstdint>

#include "semantics/numbers/function.h"

namespace assay::mpfr {

struct Number {
  mpfr_t value;
  explicit Number(mpfr_prec_t bits) { mpfr_init2(value, bits); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(value); }
};

using assay::Function;

// f(x) rounded in one direction (correctly, except that sigmoid, softplus and the tails of erf and erfc may be one unit
// in the last place further out). NaN, infinities and zeros are treated as in MPFR, that is, as in IEEE 754. `out` must
// not be `x`. Returns 0 only if the result is exact.
int evaluate(Function f, mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction);
void evaluate_power(mpfr_ptr out, mpfr_srcptr x, std::int64_t n, mpfr_rnd_t direction);
void evaluate_power(mpfr_ptr out, mpfr_srcptr x, mpq_srcptr r, mpfr_rnd_t direction);

// [out_lo, out_hi] contains f([lo, hi]) for lo <= hi; false if f is not defined on all of [lo, hi]. The outputs must
// not be the inputs.
[[nodiscard]] bool image(Function f, mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi);
[[nodiscard]] bool image_of_power(mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi, std::int64_t n);
// For r that is no 64-bit integer: requires x > 0, or x >= 0 if r > 0.
[[nodiscard]] bool image_of_power(mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi, mpq_srcptr r);

}  // namespace assay::mpfr
