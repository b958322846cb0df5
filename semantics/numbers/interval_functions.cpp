// The functions of Interval: by Taylor polynomials where these are tight, otherwise by MPFR with 53-bit ends and MPFR's
// exponent range, then outward to double.
#include "semantics/numbers/interval.h"

#include <optional>

#include "semantics/numbers/mpfr_functions.h"
#include "semantics/numbers/rational_access.h"
#include "semantics/numbers/taylor.h"

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

// For an interval shorter than pi, which contains at most one critical point: it contains one iff the slopes at the
// ends differ, and the point is a maximum iff the first slope is positive. A tight enclosure at a point does not
// contain 0, so its sign is that of the slope.
std::optional<Interval> wave(Function f, const Interval& x) {
  if (!(x.width_up() <= 3)) return std::nullopt;
  const auto first = tight(f, x.lo()), last = tight(f, x.hi());
  const Function other = f == Function::sin ? Function::cos : Function::sin;
  const auto at_first = tight(other, x.lo()), at_last = tight(other, x.hi());
  if (!first || !last || !at_first || !at_last) return std::nullopt;
  const bool rises = (at_first->lo() >= 0) == (f == Function::sin), rises_still = (at_last->lo() >= 0) == (f == Function::sin);
  const Interval ends = hull(*first, *last);
  if (rises == rises_still) return ends;
  return rises ? Interval(ends.lo(), 1) : Interval(-1, ends.hi());
}

// If f is monotone, the ends decide; the domains are intervals, so f is defined between the ends.
std::optional<Interval> by_cells(Function f, const Interval& x) {
  if (x.is_point()) return tight(f, x.lo());
  if (f == Function::sin || f == Function::cos) return wave(f, x);
  if (f == Function::tan || f == Function::cosh) return std::nullopt;
  const auto at_lo = tight(f, x.lo()), at_hi = tight(f, x.hi());
  if (!at_lo || !at_hi) return std::nullopt;
  const bool falls = f == Function::acos || f == Function::erfc;
  return falls ? Interval(at_hi->lo(), at_lo->hi()) : Interval(at_lo->lo(), at_hi->hi());
}

}  // namespace

Interval apply(Function f, const Interval& x) {
  if (const std::optional<Interval> fast = by_cells(f, x)) return *fast;
  return outward(x,
                 [f](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr lo, mpfr_srcptr hi) { return mpfr::image(f, out_lo, out_hi, lo, hi); });
}

Interval exp(const Interval& x) { return apply(Function::exp, x); }
Interval log(const Interval& x) { return apply(Function::log, x); }
Interval tanh(const Interval& x) { return apply(Function::tanh, x); }
Interval sigmoid(const Interval& x) { return apply(Function::sigmoid, x); }
Interval erf(const Interval& x) { return apply(Function::erf, x); }
Interval sin(const Interval& x) { return apply(Function::sin, x); }
Interval cos(const Interval& x) { return apply(Function::cos, x); }

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
