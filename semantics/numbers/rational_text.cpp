// Conversions of Rational from and to text and double: exact, or rounded in the stated direction.
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "semantics/numbers/directed.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/rational_access.h"

namespace assay {
namespace {

constexpr std::size_t kMaxCharacters = 20000;
constexpr std::int64_t kMaxExponent = 10000;
constexpr std::size_t kInlineDigits = 18;         // 10^18 < 2^63
constexpr std::int64_t kExactDouble = 1LL << 53;  // integers up to here are doubles

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes digits from the front of `text` and returns them.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) {
    ++count;
  }
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// An optional sign; true for minus.
bool take_minus(std::string_view& text) { return take(text, '-') || (take(text, '+') && false); }

std::int64_t small_integer(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) {
    value = value * 10 + (c - '0');
  }
  return value;
}

std::string_view without_leading_zeros(std::string_view digits) {
  while (!digits.empty() && digits.front() == '0') {
    digits.remove_prefix(1);
  }
  return digits;
}

std::int64_t power_of_ten(std::size_t n) {
  std::int64_t value = 1;
  for (std::size_t i = 0; i < n; ++i) {
    value *= 10;
  }
  return value;
}

void set_digits(mpz_ptr result, const std::string& digits) { mpz_set_str(result, digits.empty() ? "0" : digits.c_str(), 10); }

// digits * 10^exponent, negated if `negative`.
Rational scaled(std::string_view digits, std::int64_t exponent, bool negative) {
  digits = without_leading_zeros(digits);
  if (digits.size() <= kInlineDigits && exponent <= 0 && exponent >= -static_cast<std::int64_t>(kInlineDigits)) {
    const std::int64_t value = small_integer(digits);
    return Rational(negative ? -value : value, power_of_ten(static_cast<std::size_t>(-exponent)));
  }
  ExactFraction result;
  mpq_ptr value = result.value;
  set_digits(mpq_numref(value), std::string(digits));
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, 10, static_cast<unsigned long>(exponent < 0 ? -exponent : exponent));
  if (exponent < 0) {
    mpz_set(mpq_denref(value), power);
  } else {
    mpz_mul(mpq_numref(value), mpq_numref(value), power);
  }
  mpz_clear(power);
  mpq_canonicalize(value);
  if (negative) {
    mpq_neg(value, value);
  }
  return RationalAccess::from_canonical(value);
}

// [eE] sign? digits, to the end of the text; nullopt if malformed or beyond kMaxExponent.
std::optional<std::int64_t> take_exponent(std::string_view& text) {
  if (!take(text, 'e') && !take(text, 'E')) {
    return 0;
  }
  const bool negative = take_minus(text);
  const std::string_view digits = take_digits(text);
  const std::string_view significant = without_leading_zeros(digits);
  if (digits.empty() || significant.size() > 5 || small_integer(significant) > kMaxExponent) {
    return std::nullopt;
  }
  return negative ? -small_integer(significant) : small_integer(significant);
}

// The value rounded by MPFR in one direction. The double grid is coarser than 53 bits near 0; rounding twice in one
// direction equals rounding once.
double to_double(const Rational& value, mpfr_rnd_t direction) {
  const ExactFraction exact(value);
  mpfr_t rounded;
  mpfr_init2(rounded, 53);
  mpfr_set_q(rounded, exact.value, direction);
  const double result = mpfr_get_d(rounded, direction);
  mpfr_clear(rounded);
  return result;
}

bool has_double_parts(const Rational& value) {
  const auto small = [](std::int64_t part) { return -kExactDouble <= part && part <= kExactDouble; };
  return RationalAccess::is_inline(value) && small(RationalAccess::numerator(value)) && small(RationalAccess::denominator(value));
}

std::string integer_text(mpz_srcptr value) {
  std::string text(mpz_sizeinbase(value, 10) + 2, '\0');
  mpz_get_str(text.data(), 10, value);
  text.resize(text.find('\0'));
  return text;
}

// Divides all factors `prime` out of `value` and returns their number.
std::size_t take_factors(mpz_ptr value, unsigned long prime) {
  mpz_t factor;
  mpz_init_set_ui(factor, prime);
  const std::size_t count = mpz_remove(value, value, factor);
  mpz_clear(factor);
  return count;
}

}  // namespace

std::optional<Rational> Rational::parse(std::string_view text) {
  if (text.size() > kMaxCharacters) {
    return std::nullopt;
  }
  const bool negative = take_minus(text);
  const std::string_view whole = take_digits(text);
  if (!whole.empty() && take(text, '/')) {
    const std::string_view below = take_digits(text);
    if (!text.empty() || without_leading_zeros(below).empty()) {
      return std::nullopt;
    }
    return scaled(whole, 0, negative) / scaled(below, 0, false);
  }
  const std::string_view part = take(text, '.') ? take_digits(text) : std::string_view();
  const std::optional<std::int64_t> exponent = take_exponent(text);
  if (!text.empty() || !exponent || (whole.empty() && part.empty())) {
    return std::nullopt;
  }
  std::string digits(whole);
  digits += part;
  return scaled(digits, *exponent - static_cast<std::int64_t>(part.size()), negative);
}

double Rational::double_down() const {
  if (has_double_parts(*this)) {
    return div_down(static_cast<double>(numerator_), static_cast<double>(denominator_));
  }
  return to_double(*this, MPFR_RNDD);
}

double Rational::double_up() const {
  if (has_double_parts(*this)) {
    return div_up(static_cast<double>(numerator_), static_cast<double>(denominator_));
  }
  return to_double(*this, MPFR_RNDU);
}

bool Rational::is_double() const { return double_down() == double_up(); }

std::string Rational::to_string() const {
  if (big_ == nullptr) return std::to_string(numerator_) + (denominator_ == 1 ? "" : "/" + std::to_string(denominator_));
  const ExactFraction exact(*this);
  std::string text = integer_text(mpq_numref(exact.value));
  if (!is_integer()) {
    text += "/" + integer_text(mpq_denref(exact.value));
  }
  return text;
}

// n / (2^i 5^j) has max(i, j) decimals.
std::string Rational::to_decimal() const {
  ExactFraction exact(*this);
  mpq_ptr value = exact.value;
  const std::size_t twos = take_factors(mpq_denref(value), 2);
  const std::size_t fives = take_factors(mpq_denref(value), 5);
  const std::size_t decimals = twos > fives ? twos : fives;
  const bool finite = mpz_cmp_ui(mpq_denref(value), 1) == 0;
  mpz_ptr digits = mpq_numref(value);
  mpz_abs(digits, digits);
  mpz_ui_pow_ui(mpq_denref(value), 2, decimals - twos);
  mpz_mul(digits, digits, mpq_denref(value));
  mpz_ui_pow_ui(mpq_denref(value), 5, decimals - fives);
  mpz_mul(digits, digits, mpq_denref(value));
  std::string text = integer_text(digits);
  if (!finite) {
    return to_string();
  }
  if (decimals > 0) {
    if (text.size() <= decimals) {
      text.insert(0, decimals + 1 - text.size(), '0');
    }
    text.insert(text.size() - decimals, ".");
  }
  return sign() < 0 ? "-" + text : text;
}

}  // namespace assay
