// Rational: int64 parts while they fit, otherwise a Boost.Multiprecision fraction over GMP.
//
// Inline operations work on int128 intermediates, which hold every sum and product of int64 parts (|a d + c b| <= 2^63
// 2^63 + 2^63 2^63 = 2^127, and < because denominators are <= 2^63 - 1). So only the width of the result is checked.
// The form is canonical: equal values have equal representations.
// Source of the sum and product with few gcds: D. E. Knuth, The Art of Computer Programming 2, 4.5.1.
#include "semantics/numbers/rational.h"

#include <mpfr.h>

#include <boost/multiprecision/gmp.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>

#include "semantics/demand.h"
#include "semantics/numbers/exact_work.h"
#include "semantics/numbers/rational_access.h"

namespace assay {

using boost::multiprecision::mpq_rational;
using boost::multiprecision::mpz_int;

struct Rational::Big {
  mpq_rational value;
};

namespace {

thread_local double exact_work = std::numeric_limits<double>::infinity();  // work that is left

std::size_t words(mpq_srcptr value) { return mpz_size(mpq_numref(value)) + mpz_size(mpq_denref(value)); }

// A product and its reduction are quadratic in the number of words; a copy is linear.
void spend(const mpq_rational& value) {
  const auto size = static_cast<double>(words(value.backend().data()));
  exact_work -= 4 * size * size + 16 * size;
  if (exact_work < 0) throw std::bad_alloc();
}

const mpfr_exp_t kLeastExponent = mpfr_get_emin(), kMostExponent = mpfr_get_emax();

// Without this, GMP would end the program if it finds no memory. The exception may leave a function of MPFR in the
// middle. A constant that MPFR keeps for this thread is then half computed, and the exponent range is that of inner
// steps, so that later functions would give wrong numbers. Both are reset.
void* allocated(void* bytes) {
  if (bytes != nullptr) return bytes;
  mpfr_free_cache();
  mpfr_set_emin(kLeastExponent);
  mpfr_set_emax(kMostExponent);
  throw std::bad_alloc();
}
[[maybe_unused]] const bool kGmpThrows = [] {
  mp_set_memory_functions([](std::size_t size) { return allocated(std::malloc(size)); },
                          [](void* old, std::size_t, std::size_t size) { return allocated(std::realloc(old, size)); }, nullptr);
  return true;
}();

}  // namespace

bool within_exact_work(double work, const std::function<void()>& body) try {
  const struct Restored {
    ~Restored() { exact_work = std::numeric_limits<double>::infinity(); }
  } restored;
  exact_work = work;
  body();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// clang's analyzer destroys the operand of a conditional copy twice.
void Rational::BigDelete::operator()(Big* big) const noexcept { delete big; }  // NOLINT(clang-analyzer-cplusplus.NewDelete)
Rational::BigPointer Rational::clone(const Big& big) {
  spend(big.value);
  return BigPointer(new Big(big));
}

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr long kMaxPowerBits = long{1} << 20;  // of the result of an exact power

bool fits(Int128 value) { return kMin <= value && value <= kMax; }
bool fits(mpz_srcptr value) { return mpz_fits_slong_p(value) != 0; }
static_assert(sizeof(long) == sizeof(std::int64_t), "GMP's long conversions are used for int64");

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

void set_int128(mpz_ptr result, Int128 value) {
  mpz_set_si(result, static_cast<long>(value >> 64));
  mpz_mul_2exp(result, result, 64);
  mpz_add_ui(result, result, static_cast<unsigned long>(value));
}

}  // namespace

void RationalAccess::init_set(mpq_t result, const Rational& value) {
  if (value.big_) spend(value.big_->value);
  mpq_init(result);
  if (value.big_) {
    mpq_set(result, value.big_->value.backend().data());
  } else {
    mpz_set_si(mpq_numref(result), value.numerator_);
    mpz_set_si(mpq_denref(result), value.denominator_);
  }
}

Rational RationalAccess::from_canonical(mpq_srcptr value) {
  Rational result;
  if (fits(mpq_numref(value)) && fits(mpq_denref(value))) {
    result.numerator_ = mpz_get_si(mpq_numref(value));
    result.denominator_ = mpz_get_si(mpq_denref(value));
  } else {
    result.big_ = Rational::BigPointer(new Rational::Big);
    mpq_set(result.big_->value.backend().data(), value);
  }
  return result;
}

Rational RationalAccess::from_lowest(Int128 numerator, Int128 denominator) {
  Rational result;
  if (fits(numerator) && fits(denominator)) {
    result.numerator_ = static_cast<std::int64_t>(numerator);
    result.denominator_ = static_cast<std::int64_t>(denominator);
  } else {
    result.big_ = Rational::BigPointer(new Rational::Big);
    set_int128(mpq_numref(result.big_->value.backend().data()), numerator);
    set_int128(mpq_denref(result.big_->value.backend().data()), denominator);
  }
  return result;
}

namespace {

// The operation on the wide path; GMP's results are canonical. If a product's result is too small, GMP frees its memory
// before it requests more; if the request fails, the result would free it again. So the result gets enough memory from
// the start.
template <class Operation>
Rational widely(const Rational& a, const Rational& b, Operation operation) {
  const ExactFraction x(a);
  const ExactFraction y(b);
  ExactFraction result;
  const std::size_t enough = words(x.value) + words(y.value) + 1;
  for (const mpz_ptr part : {mpq_numref(result.value), mpq_denref(result.value)}) mpz_realloc2(part, enough * GMP_NUMB_BITS);
  operation(result.value, x.value, y.value);
  return RationalAccess::from_canonical(result.value);
}

// a/b + c/d with b, d > 0, both in lowest terms.
Rational inline_sum(std::int64_t a, std::int64_t b, Int128 c, std::int64_t d) {
  if (b == d && b == 1) {
    return RationalAccess::from_lowest(a + c, 1);
  }
  const std::int64_t g = std::gcd(b, d);
  if (g == 1) {
    return RationalAccess::from_lowest(Int128{a} * d + c * b, Int128{b} * d);
  }
  const Int128 t = a * Int128{d / g} + c * (b / g);
  const auto t_mod_g = static_cast<std::int64_t>(t % g);
  const std::int64_t g2 = std::gcd(t_mod_g, g);
  return RationalAccess::from_lowest(t / g2, Int128{b / g} * (d / g2));
}

// a/b * c/d with b, d > 0, both in lowest terms. c and d may come from a swapped fraction, hence their width.
Rational inline_product(std::int64_t a, std::int64_t b, Int128 c, Int128 d) {
  const std::uint64_t g1 = std::gcd(magnitude(a), static_cast<std::uint64_t>(d));
  const auto size_c = static_cast<std::uint64_t>(c < 0 ? -c : c);
  const std::uint64_t g2 = std::gcd(size_c, static_cast<std::uint64_t>(b));
  return RationalAccess::from_lowest((a / static_cast<Int128>(g1)) * (c / static_cast<Int128>(g2)),
                                     (b / static_cast<Int128>(g2)) * (d / static_cast<Int128>(g1)));
}

}  // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  demand(denominator != 0, "Rational: denominator 0");
  const auto divisor = static_cast<Int128>(std::gcd(magnitude(numerator), magnitude(denominator)));
  const Int128 signed_divisor = denominator < 0 ? -divisor : divisor;
  *this = RationalAccess::from_lowest(numerator / signed_divisor, denominator / signed_divisor);
}

std::optional<Rational> Rational::from_double(double value) {
  if (!std::isfinite(value)) {
    return std::nullopt;
  }
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));  // an integer below 2^53, exactly
  exponent -= 53;
  if (mantissa == 0) {
    return Rational();
  }
  const int zeros = __builtin_ctzll(magnitude(mantissa));
  mantissa >>= zeros;
  exponent += zeros;
  if (exponent >= 0 && exponent <= 10) {
    return Rational(mantissa << exponent);
  }
  if (exponent < 0 && exponent >= -62) {
    return RationalAccess::from_lowest(mantissa, Int128{1} << -exponent);
  }
  ExactFraction result;
  mpq_set_si(result.value, mantissa, 1);
  if (exponent > 0) {
    mpq_mul_2exp(result.value, result.value, static_cast<mp_bitcnt_t>(exponent));
  } else {
    mpq_div_2exp(result.value, result.value, static_cast<mp_bitcnt_t>(-exponent));
  }
  return RationalAccess::from_canonical(result.value);
}

int Rational::sign() const { return big_ ? big_->value.sign() : (numerator_ > 0) - (numerator_ < 0); }

bool Rational::is_integer() const { return big_ ? mpz_cmp_ui(mpq_denref(big_->value.backend().data()), 1) == 0 : denominator_ == 1; }

std::optional<std::int64_t> Rational::to_int64() const { return !big_ && denominator_ == 1 ? std::optional(numerator_) : std::nullopt; }

Rational Rational::operator-() const {
  if (!big_) {
    return RationalAccess::from_lowest(-Int128{numerator_}, denominator_);
  }
  ExactFraction result(*this);
  mpq_neg(result.value, result.value);
  return RationalAccess::from_canonical(result.value);
}

Rational operator+(const Rational& a, const Rational& b) {
  if (a.big_ || b.big_) {
    return widely(a, b, mpq_add);
  }
  return inline_sum(a.numerator_, a.denominator_, b.numerator_, b.denominator_);
}

Rational operator-(const Rational& a, const Rational& b) {
  if (a.big_ || b.big_) {
    return widely(a, b, mpq_sub);
  }
  return inline_sum(a.numerator_, a.denominator_, -Int128{b.numerator_}, b.denominator_);
}

Rational operator*(const Rational& a, const Rational& b) {
  if (a.big_ || b.big_) {
    return widely(a, b, mpq_mul);
  }
  return inline_product(a.numerator_, a.denominator_, b.numerator_, b.denominator_);
}

Rational operator/(const Rational& a, const Rational& b) {
  demand(b.sign() != 0, "Rational: division by zero");
  if (a.big_ || b.big_) {
    return widely(a, b, mpq_div);
  }
  const Int128 numerator = b.numerator_ < 0 ? -Int128{b.denominator_} : Int128{b.denominator_};
  const Int128 denominator = b.numerator_ < 0 ? -Int128{b.numerator_} : Int128{b.numerator_};
  return inline_product(a.numerator_, a.denominator_, numerator, denominator);
}

bool operator==(const Rational& a, const Rational& b) {
  if (a.big_ || b.big_) {
    return a.big_ && b.big_ && a.big_->value == b.big_->value;
  }
  return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
}

std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  if (a.big_ || b.big_) {
    const ExactFraction x(a);
    const ExactFraction y(b);
    return mpq_cmp(x.value, y.value) <=> 0;
  }
  return Int128{a.numerator_} * b.denominator_ <=> Int128{b.numerator_} * a.denominator_;
}

Rational square(const Rational& x) { return x * x; }
Rational abs(const Rational& x) { return x.sign() < 0 ? -x : x; }
Rational sign(const Rational& x) { return Rational(x.sign()); }
Rational round(const Rational& x) {
  const Rational below = floor(x);
  const Rational rest = x - below, half(1, 2);
  const bool above = rest > half || (rest == half && !(below * half).is_integer());
  return above ? below + Rational(1) : below;
}

Rational min(const Rational& a, const Rational& b) { return b < a ? b : a; }
Rational max(const Rational& a, const Rational& b) { return a < b ? b : a; }

Rational floor(const Rational& x) {
  const ExactFraction source(x);
  ExactFraction result;
  mpz_fdiv_q(mpq_numref(result.value), mpq_numref(source.value), mpq_denref(source.value));
  return RationalAccess::from_canonical(result.value);
}

bool may_raise_exactly(const Rational& x, std::int64_t n) {
  const ExactFraction source(x);
  if (n < 0 && x.sign() == 0) {
    return false;
  }
  if (x.sign() == 0 || x == Rational(1) || x == Rational(-1)) {
    return true;
  }
  const auto bits = mpz_sizeinbase(mpq_numref(source.value), 2) + mpz_sizeinbase(mpq_denref(source.value), 2);
  return magnitude(n) <= static_cast<std::uint64_t>(kMaxPowerBits) / bits;
}

Rational pow(const Rational& x, std::int64_t n) {
  demand(may_raise_exactly(x, n), "Rational: power of zero to a negative exponent, or too large a power");
  if (x.sign() == 0) {
    return Rational(n == 0 ? 1 : 0);
  }
  Rational result = 1;
  Rational factor = n < 0 ? Rational(1) / x : x;
  for (std::uint64_t rest = magnitude(n); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) {
      result *= factor;
    }
    if (rest > 1 && (x != Rational(1) && x != Rational(-1))) {
      factor *= factor;
    } else if (rest > 1) {
      factor = 1;
    }
  }
  return result;
}

FractionResidues residues_of(const Rational& value, std::uint64_t modulus) {
  const ExactFraction exact(value);
  return {mpz_fdiv_ui(mpq_numref(exact.value), modulus), mpz_fdiv_ui(mpq_denref(exact.value), modulus)};
}

}  // namespace assay
