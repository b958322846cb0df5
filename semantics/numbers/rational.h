// Rational: exact fractions, the reference scalar of every algebraic op.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Always in lowest terms with denominator > 0. Small values (both parts fit int64) are stored inline (24 bytes); larger
// ones use a heap-allocated arbitrary-precision fraction.
class Rational {
 public:
  Rational() = default;
  Rational(std::int64_t value) : numerator_(value) {}          // NOLINT(google-explicit-constructor)
  Rational(std::int64_t numerator, std::int64_t denominator);  // denominator != 0 (demanded)
  Rational(const Rational& other)
      : numerator_(other.numerator_), denominator_(other.denominator_), big_(other.big_ ? clone(*other.big_) : nullptr) {}
  Rational(Rational&&) noexcept = default;  // leaves an unspecified valid value
  Rational& operator=(const Rational& other) { return *this = Rational(other); }
  Rational& operator=(Rational&&) noexcept = default;
  ~Rational() = default;

  // The exact value of a finite double; nullopt for NaN and infinities.
  static std::optional<Rational> from_double(double value);
  // Parses "-12.50e-3", "1/3", "7" exactly. nullopt unless the whole text is one number; exponents beyond +-10000 and
  // texts of more than 20000 characters are refused.
  static std::optional<Rational> parse(std::string_view text);

  [[nodiscard]] int sign() const;
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] std::optional<std::int64_t> to_int64() const;  // nullopt unless it is an integer that fits
  // The largest double <= value and the smallest double >= value (-inf / +inf beyond the range).
  [[nodiscard]] double double_down() const;
  [[nodiscard]] double double_up() const;
  // Whether the value is exactly a double: the two directed conversions agree.
  [[nodiscard]] bool is_double() const;
  // "3/8", "-5": exact.
  [[nodiscard]] std::string to_string() const;
  // The exact decimal expansion if it is finite (any dyadic or decimal number), otherwise to_string().
  [[nodiscard]] std::string to_decimal() const;

  Rational operator-() const;
  friend Rational operator+(const Rational&, const Rational&);
  friend Rational operator-(const Rational&, const Rational&);
  friend Rational operator*(const Rational&, const Rational&);
  friend Rational operator/(const Rational&, const Rational&);  // divisor != 0 (demanded)
  Rational& operator+=(const Rational& other) { return *this = *this + other; }
  Rational& operator-=(const Rational& other) { return *this = *this - other; }
  Rational& operator*=(const Rational& other) { return *this = *this * other; }
  friend bool operator==(const Rational&, const Rational&);
  friend std::strong_ordering operator<=>(const Rational&, const Rational&);

 private:
  struct Big;
  friend struct RationalAccess;  // rational_access.h: access for the other number types
  struct BigDelete {
    void operator()(Big* big) const noexcept;
  };
  using BigPointer = std::unique_ptr<Big, BigDelete>;
  static BigPointer clone(const Big& big);

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
  // Set iff a part does not fit int64; the two fields above are then 0 and 1.
  BigPointer big_;
};

[[nodiscard]] Rational square(const Rational&);
[[nodiscard]] Rational abs(const Rational&);
[[nodiscard]] Rational sign(const Rational&);
[[nodiscard]] Rational floor(const Rational&);
[[nodiscard]] Rational round(const Rational&);  // to the nearest integer, ties to even
[[nodiscard]] Rational min(const Rational&, const Rational&);
[[nodiscard]] Rational max(const Rational&, const Rational&);
// x^n with x^0 = 1. Demands may_raise_exactly(x, n): not 0^n for n < 0, and at most 2^20 bits in the result.
[[nodiscard]] Rational pow(const Rational& x, std::int64_t n);
[[nodiscard]] bool may_raise_exactly(const Rational& x, std::int64_t n);

// The numerator and denominator, in lowest terms with a positive denominator, modulo a number.
struct FractionResidues {
  std::uint64_t numerator, denominator;
};
[[nodiscard]] FractionResidues residues_of(const Rational& value, std::uint64_t modulus);

}  // namespace assay
