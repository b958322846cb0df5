// WideInterval: Boost.Interval over MPFR numbers of 257 bits.
//
// Rounding. `DirectedMpfr` below is the rounding policy: every end is computed by one mpfr_* call, with RNDD for the
// lower end and RNDU for the upper, so the interval contains the exact end. The default policy for this number type
// (rounded_arith_exact) computes both ends to nearest; it must never be instantiated.
#include "semantics/numbers/wide_interval.h"

#include <boost/multiprecision/mpfr.hpp>
#include <boost/numeric/interval.hpp>
#include <limits>
#include <new>
#include <utility>

#include "semantics/interrupt.h"
#include "semantics/numbers/mpfr_functions.h"
#include "semantics/numbers/rational_access.h"

namespace assay {
namespace {

using Wide = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<77, boost::multiprecision::allocate_stack>,
                                           boost::multiprecision::et_off>;

mpfr_ptr raw(Wide& x) { return x.backend().data(); }
mpfr_srcptr raw(const Wide& x) { return x.backend().data(); }

using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
template <Binary operation>
Wide directed(const Wide& x, const Wide& y, mpfr_rnd_t direction) {
  poll(100);
  Wide result;
  operation(raw(result), raw(x), raw(y), direction);
  return result;
}

// 0 * inf = 0, since an infinite end represents arbitrarily large finite numbers.
Wide product(const Wide& x, const Wide& y, mpfr_rnd_t direction) {
  if (mpfr_zero_p(raw(x)) != 0 || mpfr_zero_p(raw(y)) != 0) {
    return Wide(0);
  }
  return directed<mpfr_mul>(x, y, direction);
}

struct DirectedMpfr {
  using unprotected_rounding = DirectedMpfr;
  static Wide add_down(const Wide& x, const Wide& y) { return directed<mpfr_add>(x, y, MPFR_RNDD); }
  static Wide add_up(const Wide& x, const Wide& y) { return directed<mpfr_add>(x, y, MPFR_RNDU); }
  static Wide sub_down(const Wide& x, const Wide& y) { return directed<mpfr_sub>(x, y, MPFR_RNDD); }
  static Wide sub_up(const Wide& x, const Wide& y) { return directed<mpfr_sub>(x, y, MPFR_RNDU); }
  static Wide mul_down(const Wide& x, const Wide& y) { return product(x, y, MPFR_RNDD); }
  static Wide mul_up(const Wide& x, const Wide& y) { return product(x, y, MPFR_RNDU); }
  static Wide div_down(const Wide& x, const Wide& y) { return directed<mpfr_div>(x, y, MPFR_RNDD); }
  static Wide div_up(const Wide& x, const Wide& y) { return directed<mpfr_div>(x, y, MPFR_RNDU); }
  static Wide sqrt_down(const Wide& x) { return root(x, MPFR_RNDD); }
  static Wide sqrt_up(const Wide& x) { return root(x, MPFR_RNDU); }

 private:
  static Wide root(const Wide& x, mpfr_rnd_t direction) {
    Wide result;
    mpfr_sqrt(raw(result), raw(x), direction);
    return result;
  }
};

using Ends =
    boost::numeric::interval<Wide,
                             boost::numeric::interval_lib::policies<DirectedMpfr, boost::numeric::interval_lib::checking_strict<Wide>>>;

constexpr mpfr_exp_t kMaxExactExponent = 1 << 20;  // ends beyond 2^+-(2^20) are not converted to fractions

}  // namespace

struct WideAccess {
  static_assert(sizeof(Ends) == WideInterval::kBytes && alignof(Ends) <= 8, "WideInterval's storage holds the ends");
  static const Ends& ends(const WideInterval& x) { return *std::launder(reinterpret_cast<const Ends*>(x.storage_)); }
  static Ends& ends(WideInterval& x) { return *std::launder(reinterpret_cast<Ends*>(x.storage_)); }
  static mpfr_srcptr lo(const WideInterval& x) { return raw(ends(x).lower()); }
  static mpfr_srcptr hi(const WideInterval& x) { return raw(ends(x).upper()); }

  // The interval with these ends; undefined() unless lo <= hi, which is false for NaN.
  static WideInterval make(const Wide& lo, const Wide& hi) {
    WideInterval result;
    if (mpfr_lessequal_p(raw(lo), raw(hi)) != 0) {
      ends(result).assign(lo, hi);
    } else {
      result.undefined_ = true;
    }
    return result;
  }
  static WideInterval make(const Ends& ends) { return make(ends.lower(), ends.upper()); }
};

namespace {

const Ends& ends(const WideInterval& x) { return WideAccess::ends(x); }
mpfr_srcptr lo(const WideInterval& x) { return WideAccess::lo(x); }
mpfr_srcptr hi(const WideInterval& x) { return WideAccess::hi(x); }
bool either_undefined(const WideInterval& a, const WideInterval& b) { return a.is_undefined() || b.is_undefined(); }

template <class Image>
WideInterval outward(const WideInterval& x, Image compute) {
  Wide out_lo;
  Wide out_hi;
  if (x.is_undefined() || !compute(raw(out_lo), raw(out_hi), lo(x), hi(x))) {
    return WideInterval::undefined();
  }
  return WideAccess::make(out_lo, out_hi);
}

Wide exactly(double value) {  // NaN stays NaN
  Wide result;
  mpfr_set_d(raw(result), value, MPFR_RNDN);
  return result;
}

Wide rounded(const Rational& value, mpfr_rnd_t direction) {
  const ExactFraction exact(value);
  Wide result;
  mpfr_set_q(raw(result), exact.value, direction);
  return result;
}

std::optional<Rational> exact_end(bool undefined, mpfr_srcptr end) {
  const bool usable = !undefined && mpfr_number_p(end) != 0;
  if (!usable || (mpfr_zero_p(end) == 0 && (mpfr_get_exp(end) > kMaxExactExponent || mpfr_get_exp(end) < -kMaxExactExponent))) {
    return std::nullopt;
  }
  ExactFraction value;
  mpfr_get_q(value.value, end);
  return RationalAccess::from_canonical(value.value);
}

}  // namespace

WideInterval::WideInterval() { ::new (static_cast<void*>(storage_)) Ends(); }
WideInterval::WideInterval(const WideInterval& other) : undefined_(other.undefined_) {
  ::new (static_cast<void*>(storage_)) Ends(WideAccess::ends(other));
}
// MPFR copies a number to itself.
WideInterval& WideInterval::operator=(const WideInterval& other) {  // NOLINT(bugprone-unhandled-self-assignment)
  WideAccess::ends(*this) = WideAccess::ends(other);
  undefined_ = other.undefined_;
  return *this;
}
WideInterval::~WideInterval() { WideAccess::ends(*this).~Ends(); }

WideInterval::WideInterval(double point) : WideInterval(point, point) {}
WideInterval::WideInterval(const Interval& enclosed) : WideInterval(enclosed.lo(), enclosed.hi()) {}
WideInterval::WideInterval(double lo, double hi) : WideInterval(WideAccess::make(exactly(lo), exactly(hi))) {}
WideInterval::WideInterval(const Rational& value) : WideInterval(value, value) {}
WideInterval::WideInterval(const Rational& lo, const Rational& hi)
    : WideInterval(lo <= hi ? WideAccess::make(rounded(lo, MPFR_RNDD), rounded(hi, MPFR_RNDU)) : undefined()) {}

WideInterval WideInterval::whole() { return WideInterval(Interval::whole()); }
WideInterval WideInterval::undefined() {
  WideInterval result;
  result.undefined_ = true;
  return result;
}
WideInterval WideInterval::pi() {
  Wide lo;
  Wide hi;
  mpfr_const_pi(raw(lo), MPFR_RNDD);
  mpfr_const_pi(raw(hi), MPFR_RNDU);
  return WideAccess::make(lo, hi);
}

bool WideInterval::is_point() const { return !undefined_ && mpfr_equal_p(::assay::lo(*this), ::assay::hi(*this)) != 0; }
bool WideInterval::is_bounded() const {
  return !undefined_ && mpfr_number_p(::assay::lo(*this)) != 0 && mpfr_number_p(::assay::hi(*this)) != 0;
}
bool WideInterval::contains(double value) const { return contains(WideInterval(value)); }
bool WideInterval::contains(const Rational& value) const {
  const ExactFraction exact(value);
  return !undefined_ && mpfr_cmp_q(::assay::lo(*this), exact.value) <= 0 && mpfr_cmp_q(::assay::hi(*this), exact.value) >= 0;
}
bool WideInterval::contains(const WideInterval& other) const {
  return !either_undefined(*this, other) && mpfr_lessequal_p(::assay::lo(*this), ::assay::lo(other)) != 0 &&
         mpfr_lessequal_p(::assay::hi(other), ::assay::hi(*this)) != 0;
}

std::optional<Rational> WideInterval::lo() const { return exact_end(undefined_, ::assay::lo(*this)); }
std::optional<Rational> WideInterval::hi() const { return exact_end(undefined_, ::assay::hi(*this)); }
double WideInterval::lo_down() const {
  return undefined_ ? std::numeric_limits<double>::quiet_NaN() : mpfr_get_d(::assay::lo(*this), MPFR_RNDD);
}
double WideInterval::hi_up() const {
  return undefined_ ? std::numeric_limits<double>::quiet_NaN() : mpfr_get_d(::assay::hi(*this), MPFR_RNDU);
}
Interval WideInterval::to_interval() const { return {lo_down(), hi_up()}; }
WideInterval WideInterval::lower_end() const { return undefined_ ? *this : WideAccess::make(ends(*this).lower(), ends(*this).lower()); }
WideInterval WideInterval::upper_end() const { return undefined_ ? *this : WideAccess::make(ends(*this).upper(), ends(*this).upper()); }
double WideInterval::width_up() const { return (WideInterval(*this) - WideInterval(*this)).hi_up(); }
double WideInterval::magnitude_up() const { return abs(*this).hi_up(); }

bool certainly_less(const WideInterval& a, const WideInterval& b) { return !either_undefined(a, b) && mpfr_less_p(hi(a), lo(b)) != 0; }
bool certainly_less_equal(const WideInterval& a, const WideInterval& b) {
  return !either_undefined(a, b) && mpfr_lessequal_p(hi(a), lo(b)) != 0;
}

WideInterval WideInterval::operator-() const { return undefined_ ? *this : WideAccess::make(-ends(*this)); }
WideInterval operator+(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(ends(a) + ends(b));
}
WideInterval operator-(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(ends(a) - ends(b));
}
WideInterval operator*(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(ends(a) * ends(b));
}
WideInterval operator/(const WideInterval& a, const WideInterval& b) {
  const bool divisor_has_sign = !either_undefined(a, b) && (mpfr_sgn(lo(b)) > 0 || mpfr_sgn(hi(b)) < 0);
  return divisor_has_sign ? WideAccess::make(ends(a) / ends(b)) : WideInterval::undefined();
}
bool operator==(const WideInterval& a, const WideInterval& b) {
  return !either_undefined(a, b) && mpfr_equal_p(lo(a), lo(b)) != 0 && mpfr_equal_p(hi(a), hi(b)) != 0;
}

WideInterval hull(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(boost::numeric::hull(ends(a), ends(b)));
}
WideInterval intersect(const WideInterval& a, const WideInterval& b) {
  if (either_undefined(a, b)) {
    return WideInterval::undefined();
  }
  const bool a_is_higher = mpfr_less_p(lo(b), lo(a)) != 0;
  const bool a_is_lower = mpfr_less_p(hi(a), hi(b)) != 0;
  return WideAccess::make(ends(a_is_higher ? a : b).lower(), ends(a_is_lower ? a : b).upper());
}

WideInterval square(const WideInterval& x) { return x.is_undefined() ? x : WideAccess::make(boost::numeric::square(ends(x))); }
WideInterval abs(const WideInterval& x) { return x.is_undefined() ? x : WideAccess::make(boost::numeric::abs(ends(x))); }
WideInterval sign(const WideInterval& x) { return x.is_undefined() ? x : WideInterval(mpfr_sgn(lo(x)), mpfr_sgn(hi(x))); }
WideInterval floor(const WideInterval& x) {
  return outward(x, [](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr in_lo, mpfr_srcptr in_hi) {
    mpfr_floor(out_lo, in_lo);
    mpfr_floor(out_hi, in_hi);
    return true;
  });
}
WideInterval round(const WideInterval& x) {
  return outward(x, [](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr in_lo, mpfr_srcptr in_hi) {
    mpfr_rint(out_lo, in_lo, MPFR_RNDN);  // an integer of at most 257 bits, ties to even: exact
    mpfr_rint(out_hi, in_hi, MPFR_RNDN);
    return true;
  });
}
WideInterval min(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(boost::numeric::min(ends(a), ends(b)));
}
WideInterval max(const WideInterval& a, const WideInterval& b) {
  return either_undefined(a, b) ? WideInterval::undefined() : WideAccess::make(boost::numeric::max(ends(a), ends(b)));
}

WideInterval sqrt(const WideInterval& x) {
  const bool in_domain = !x.is_undefined() && mpfr_sgn(lo(x)) >= 0;
  return in_domain ? WideAccess::make(boost::numeric::sqrt(ends(x))) : WideInterval::undefined();
}
WideInterval apply(Function f, const WideInterval& x) {
  return outward(x, [f](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr in_lo, mpfr_srcptr in_hi) {
    return mpfr::image(f, out_lo, out_hi, in_lo, in_hi);
  });
}

WideInterval exp(const WideInterval& x) { return apply(Function::exp, x); }
WideInterval log(const WideInterval& x) { return apply(Function::log, x); }
WideInterval tanh(const WideInterval& x) { return apply(Function::tanh, x); }
WideInterval sigmoid(const WideInterval& x) { return apply(Function::sigmoid, x); }
WideInterval erf(const WideInterval& x) { return apply(Function::erf, x); }
WideInterval sin(const WideInterval& x) { return apply(Function::sin, x); }
WideInterval cos(const WideInterval& x) { return apply(Function::cos, x); }

WideInterval pow(const WideInterval& x, std::int64_t n) {
  return outward(x, [n](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr in_lo, mpfr_srcptr in_hi) {
    return mpfr::image_of_power(out_lo, out_hi, in_lo, in_hi, n);
  });
}

WideInterval pow(const WideInterval& x, const Rational& r) {
  if (const auto n = r.to_int64()) {
    return pow(x, *n);
  }
  const ExactFraction exponent(r);
  return outward(x, [&](mpfr_ptr out_lo, mpfr_ptr out_hi, mpfr_srcptr in_lo, mpfr_srcptr in_hi) {
    return mpfr::image_of_power(out_lo, out_hi, in_lo, in_hi, exponent.value);
  });
}

}  // namespace assay
