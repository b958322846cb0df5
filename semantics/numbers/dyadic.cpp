// Dyadic: int128 mantissas while they fit, checked at every operation; otherwise an mpz of Boost.Multiprecision.
//
// Form. Every value is 0 * 2^0 or (odd m) * 2^e. It is stored inline iff |m| < 2^127, so equal values have equal
// representations. Widths: a product of odd mantissas of p and q bits has at most p + q bits; a sum of numbers below
// 2^p in magnitude is below 2^(p+1).
#include "semantics/numbers/dyadic.h"

#include <boost/multiprecision/gmp.hpp>
#include <cfloat>
#include <cmath>
#include <cstdlib>

#include "semantics/demand.h"
#include "semantics/numbers/rational_access.h"

namespace assay {

__extension__ using UInt128 = unsigned __int128;

struct Dyadic::Big {
  boost::multiprecision::mpz_int mantissa;
  std::int32_t exponent = 0;
};

void Dyadic::BigDelete::operator()(Big* big) const noexcept { delete big; }
Dyadic::BigPointer Dyadic::clone(const Big& big) { return BigPointer(new Big(big)); }

namespace {

constexpr int kMantissaBits = 127;              // of an inline |mantissa|
constexpr std::int32_t kMaxExponent = 1 << 26;  // keeps alignment shifts below 2^28 bits; doubles reach 2^11

UInt128 magnitude(Int128 value) { return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value); }

int trailing_zeros(UInt128 value) {  // value != 0
  const auto low = static_cast<std::uint64_t>(value);
  return low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll(static_cast<std::uint64_t>(value >> 64));
}

int bit_length(UInt128 value) {  // 0 for 0
  const auto high = static_cast<std::uint64_t>(value >> 64);
  if (high != 0) {
    return 128 - __builtin_clzll(high);
  }
  const auto low = static_cast<std::uint64_t>(value);
  return low != 0 ? 64 - __builtin_clzll(low) : 0;
}

std::int32_t checked_exponent(std::int64_t exponent) {
  demand(-kMaxExponent <= exponent && exponent <= kMaxExponent, "Dyadic: exponent out of range");
  return static_cast<std::int32_t>(exponent);
}

// A GMP integer that lives for one operation.
struct Integer {
  mpz_t value;
  Integer() { mpz_init(value); }
  explicit Integer(Int128 source) {
    mpz_init_set_si(value, static_cast<long>(source >> 64));
    mpz_mul_2exp(value, value, 64);
    mpz_add_ui(value, value, static_cast<unsigned long>(source));
  }
  Integer(const Integer&) = delete;
  Integer& operator=(const Integer&) = delete;
  ~Integer() { mpz_clear(value); }
};

Int128 to_int128(mpz_srcptr value) {  // |value| < 2^127
  const UInt128 size = (mpz_size(value) > 1 ? static_cast<UInt128>(mpz_getlimbn(value, 1)) << 64 : 0) + mpz_getlimbn(value, 0);
  return mpz_sgn(value) < 0 ? -static_cast<Int128>(size) : static_cast<Int128>(size);
}
static_assert(sizeof(mp_limb_t) == 8, "limbs of 64 bits");

// m 2^e rounded to a double, towards -infinity or +infinity, for an integer of `bits` bits with the given floor and
// ceiling of m / 2^shift. The grid is 2^(bits+e-53), and 2^-1074 near 0.
template <class Shifted>
double rounded(std::int64_t bits, std::int64_t exponent, bool down, int sign, Shifted shifted) {
  const std::int64_t top = bits + exponent;  // 2^(top-1) <= |value| < 2^top
  if (top > 1024) {
    if (sign > 0) {
      return down ? DBL_MAX : HUGE_VAL;
    }
    return down ? -HUGE_VAL : -DBL_MAX;
  }
  std::int64_t grid = top - 53;
  if (grid < -1074) {
    grid = -1074;
  }
  if (grid < exponent) {
    grid = exponent;  // the value itself is on the grid
  }
  return std::ldexp(shifted(grid - exponent), static_cast<int>(grid));
}

}  // namespace

// The value m * 2^e in normal form.
struct DyadicAccess {
  static Dyadic make(Int128 mantissa, std::int64_t exponent) {
    Dyadic result;
    if (mantissa != 0) {
      const int zeros = trailing_zeros(magnitude(mantissa));
      result.mantissa_ = mantissa >> zeros;
      result.exponent_ = checked_exponent(exponent + zeros);
    }
    return result;
  }
  // Takes over the contents of `mantissa`.
  static Dyadic make(mpz_ptr mantissa, std::int64_t exponent) {
    if (mpz_sgn(mantissa) == 0) {
      return {};
    }
    const mp_bitcnt_t zeros = mpz_scan1(mantissa, 0);
    mpz_tdiv_q_2exp(mantissa, mantissa, zeros);
    exponent += static_cast<std::int64_t>(zeros);
    Dyadic result;
    if (mpz_sizeinbase(mantissa, 2) <= kMantissaBits) {
      result.mantissa_ = to_int128(mantissa);
      result.exponent_ = checked_exponent(exponent);
    } else {
      result.big_ = Dyadic::BigPointer(new Dyadic::Big);
      mpz_swap(result.big_->mantissa.backend().data(), mantissa);
      result.big_->exponent = checked_exponent(exponent);
    }
    return result;
  }
  static void read(const Dyadic& value, mpz_ptr mantissa, std::int64_t& exponent) {
    if (value.big_) {
      mpz_set(mantissa, value.big_->mantissa.backend().data());
      exponent = value.big_->exponent;
    } else {
      Integer copy(value.mantissa_);
      mpz_swap(mantissa, copy.value);
      exponent = value.exponent_;
    }
  }
  static std::int64_t top(const Dyadic& value) {  // |value| < 2^top, and >= 2^(top-1) unless 0
    if (value.big_) {
      return static_cast<std::int64_t>(mpz_sizeinbase(value.big_->mantissa.backend().data(), 2)) + value.big_->exponent;
    }
    return bit_length(magnitude(value.mantissa_)) + std::int64_t{value.exponent_};
  }
  static Dyadic wide_sum(const Dyadic& a, const Dyadic& b);
  static Dyadic wide_product(const Dyadic& a, const Dyadic& b);
  static double to_double(const Dyadic& value, bool down);
};

Dyadic DyadicAccess::wide_sum(const Dyadic& a, const Dyadic& b) {
  Integer x;
  Integer y;
  std::int64_t x_exponent = 0;
  std::int64_t y_exponent = 0;
  read(a, x.value, x_exponent);
  read(b, y.value, y_exponent);
  const std::int64_t exponent = x_exponent < y_exponent ? x_exponent : y_exponent;
  mpz_mul_2exp(x.value, x.value, static_cast<mp_bitcnt_t>(x_exponent - exponent));
  mpz_mul_2exp(y.value, y.value, static_cast<mp_bitcnt_t>(y_exponent - exponent));
  mpz_add(x.value, x.value, y.value);
  return make(x.value, exponent);
}

Dyadic DyadicAccess::wide_product(const Dyadic& a, const Dyadic& b) {
  Integer x;
  Integer y;
  std::int64_t x_exponent = 0;
  std::int64_t y_exponent = 0;
  read(a, x.value, x_exponent);
  read(b, y.value, y_exponent);
  mpz_mul(x.value, x.value, y.value);
  return make(x.value, x_exponent + y_exponent);
}

double DyadicAccess::to_double(const Dyadic& value, bool down) {
  if (value.big_) {
    mpz_srcptr mantissa = value.big_->mantissa.backend().data();
    const auto bits = static_cast<std::int64_t>(mpz_sizeinbase(mantissa, 2));
    return rounded(bits, value.big_->exponent, down, mpz_sgn(mantissa), [&](std::int64_t shift) {
      Integer quotient;
      (down ? mpz_fdiv_q_2exp : mpz_cdiv_q_2exp)(quotient.value, mantissa, static_cast<mp_bitcnt_t>(shift));
      return mpz_get_d(quotient.value);  // at most 2^53 in magnitude: exact
    });
  }
  const Int128 mantissa = value.mantissa_;
  return rounded(bit_length(magnitude(mantissa)), value.exponent_, down, value.sign(), [&](std::int64_t shift) {
    const int places = shift > 127 ? 127 : static_cast<int>(shift);  // |mantissa| < 2^127: nothing is left beyond
    const Int128 quotient = down ? mantissa >> places : -(-mantissa >> places);
    return static_cast<double>(static_cast<std::int64_t>(quotient));  // at most 2^53 in magnitude: exact
  });
}

Dyadic::Dyadic(std::int64_t value) : Dyadic(DyadicAccess::make(Int128{value}, 0)) {}
Dyadic::Dyadic(Int128 mantissa, std::int32_t exponent) : Dyadic(DyadicAccess::make(mantissa, exponent)) {}

std::optional<Dyadic> Dyadic::from_double(double value) {
  if (!std::isfinite(value)) {
    return std::nullopt;
  }
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return DyadicAccess::make(Int128{static_cast<std::int64_t>(std::ldexp(fraction, 53))}, std::int64_t{exponent} - 53);
}

int Dyadic::sign() const { return big_ ? big_->mantissa.sign() : (mantissa_ > 0) - (mantissa_ < 0); }
double Dyadic::double_down() const { return DyadicAccess::to_double(*this, true); }
double Dyadic::double_up() const { return DyadicAccess::to_double(*this, false); }

Rational Dyadic::to_rational() const {
  if (!big_ && exponent_ <= 0 && exponent_ >= -62) {
    return RationalAccess::from_lowest(mantissa_, Int128{1} << -exponent_);
  }
  ExactFraction result;
  mpq_ptr value = result.value;
  std::int64_t exponent = 0;
  DyadicAccess::read(*this, mpq_numref(value), exponent);
  if (exponent >= 0) {
    mpq_mul_2exp(value, value, static_cast<mp_bitcnt_t>(exponent));
  } else {
    mpq_div_2exp(value, value, static_cast<mp_bitcnt_t>(-exponent));
  }
  return RationalAccess::from_canonical(value);
}

Dyadic Dyadic::operator-() const {
  Dyadic result(*this);
  result.mantissa_ = -result.mantissa_;
  if (result.big_) {
    result.big_->mantissa = -result.big_->mantissa;
  }
  return result;
}

Dyadic& Dyadic::operator+=(const Dyadic& other) {
  if (!big_ && !other.big_) {
    if (other.mantissa_ == 0) {
      return *this;
    }
    if (mantissa_ == 0) {
      mantissa_ = other.mantissa_;
      exponent_ = other.exponent_;
      return *this;
    }
    const bool lower = exponent_ <= other.exponent_;
    const Int128 near = lower ? mantissa_ : other.mantissa_;
    const Int128 far = lower ? other.mantissa_ : mantissa_;
    const std::int32_t base = lower ? exponent_ : other.exponent_;
    const std::int64_t shift = std::int64_t{lower ? other.exponent_ : exponent_} - base;
    // Both summands below 2^126, so the sum is below 2^127.
    if (bit_length(magnitude(far)) + shift < kMantissaBits && bit_length(magnitude(near)) < kMantissaBits) {
      const Int128 sum = (far * (Int128{1} << shift)) + near;
      const int zeros = sum == 0 ? 0 : trailing_zeros(magnitude(sum));
      mantissa_ = sum >> zeros;
      exponent_ = sum == 0 ? 0 : checked_exponent(std::int64_t{base} + zeros);
      return *this;
    }
  }
  return *this = DyadicAccess::wide_sum(*this, other);
}

Dyadic& Dyadic::operator-=(const Dyadic& other) { return *this += -other; }

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  Dyadic result(a);
  return result += b;
}

Dyadic operator-(const Dyadic& a, const Dyadic& b) {
  Dyadic result(-b);
  return result += a;
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  if (!a.big_ && !b.big_ && bit_length(magnitude(a.mantissa_)) + bit_length(magnitude(b.mantissa_)) <= kMantissaBits) {
    Dyadic result;
    result.mantissa_ = a.mantissa_ * b.mantissa_;  // odd times odd is odd
    result.exponent_ = result.mantissa_ == 0 ? 0 : checked_exponent(std::int64_t{a.exponent_} + b.exponent_);
    return result;
  }
  return DyadicAccess::wide_product(a, b);
}

bool operator==(const Dyadic& a, const Dyadic& b) {
  if (a.big_ || b.big_) {
    return a.big_ && b.big_ && a.big_->exponent == b.big_->exponent && a.big_->mantissa == b.big_->mantissa;
  }
  return a.mantissa_ == b.mantissa_ && a.exponent_ == b.exponent_;
}

std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b) {
  if (a.sign() != b.sign() || a.sign() == 0) {
    return a.sign() <=> b.sign();
  }
  const std::int64_t a_top = DyadicAccess::top(a);
  const std::int64_t b_top = DyadicAccess::top(b);
  if (a_top != b_top) {
    return a.sign() > 0 ? a_top <=> b_top : b_top <=> a_top;
  }
  return (a - b).sign() <=> 0;
}

std::strong_ordering compare(const Dyadic& a, const Rational& b) {
  if (a.sign() != b.sign()) {
    return a.sign() <=> b.sign();
  }
  return a.to_rational() <=> b;
}

}  // namespace assay
