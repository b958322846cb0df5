// Dyadic: m * 2^e, exact; the numbers of the kernel's exact path.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>

#include "semantics/numbers/rational.h"

namespace assay {

__extension__ using Int128 = __int128;

// In the fast path the mantissa is an int128, and every operation checks at run time that the result fits. Otherwise
// the mantissa moves to an arbitrary-precision integer. Values are normalised (odd mantissa or zero).
class Dyadic {
 public:
  Dyadic() = default;
  Dyadic(std::int64_t value);                      // NOLINT(google-explicit-constructor)
  Dyadic(Int128 mantissa, std::int32_t exponent);  // demands exponents within +-2^26, here and in results
  Dyadic(const Dyadic& other) : mantissa_(other.mantissa_), exponent_(other.exponent_), big_(other.big_ ? clone(*other.big_) : nullptr) {}
  Dyadic(Dyadic&&) noexcept = default;  // leaves an unspecified valid value
  Dyadic& operator=(const Dyadic& other) { return *this = Dyadic(other); }
  Dyadic& operator=(Dyadic&&) noexcept = default;
  ~Dyadic() = default;

  static std::optional<Dyadic> from_double(double value);  // nullopt for NaN and infinities

  [[nodiscard]] int sign() const;
  [[nodiscard]] double double_down() const;
  [[nodiscard]] double double_up() const;
  [[nodiscard]] Rational to_rational() const;

  Dyadic operator-() const;
  friend Dyadic operator+(const Dyadic&, const Dyadic&);
  friend Dyadic operator-(const Dyadic&, const Dyadic&);
  friend Dyadic operator*(const Dyadic&, const Dyadic&);
  Dyadic& operator+=(const Dyadic& other);
  Dyadic& operator-=(const Dyadic& other);
  friend bool operator==(const Dyadic&, const Dyadic&);
  friend std::strong_ordering operator<=>(const Dyadic&, const Dyadic&);
  friend std::strong_ordering compare(const Dyadic&, const Rational&);

 private:
  friend struct DyadicAccess;
  struct Big;
  struct BigDelete {
    void operator()(Big* big) const noexcept;
  };
  using BigPointer = std::unique_ptr<Big, BigDelete>;
  static BigPointer clone(const Big& big);

  Int128 mantissa_ = 0;
  std::int32_t exponent_ = 0;
  BigPointer big_;  // set iff the mantissa does not fit; the two fields above are then 0
};

std::strong_ordering compare(const Dyadic&, const Rational&);

}  // namespace assay
