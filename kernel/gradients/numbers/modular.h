// Modular: the field of integers modulo the prime p = 2^61 - 1, for exact randomised identity tests.
//
// Two different polynomials of degree <= d agree at a random point with probability <= d/p (Schwartz, Zippel).
#pragma once

#include <cstdint>

#include "semantics/numbers/scalar_traits.h"

namespace assay {

class Modular {
 public:
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

  Modular() = default;
  Modular(std::int64_t value);                          // NOLINT(google-explicit-constructor); residue class
  static Modular from_double(double value);             // exact; undefined() for NaN and infinities
  static Modular from_rational(const Rational& value);  // undefined() if p divides the denominator
  // The result of a quotient by zero. Every operation with it gives it again, and it equals nothing.
  static Modular undefined();

  [[nodiscard]] std::uint64_t value() const { return value_; }  // in [0, p); p for undefined()
  [[nodiscard]] bool is_undefined() const { return value_ == kPrime; }
  [[nodiscard]] Modular inverse() const;  // undefined() for 0

  Modular operator-() const;
  friend Modular operator+(Modular a, Modular b);
  friend Modular operator-(Modular a, Modular b);
  friend Modular operator*(Modular a, Modular b);
  friend Modular operator/(Modular a, Modular b);
  Modular& operator+=(Modular other) { return *this = *this + other; }
  Modular& operator-=(Modular other) { return *this = *this - other; }
  Modular& operator*=(Modular other) { return *this = *this * other; }
  friend bool operator==(Modular a, Modular b) { return a.value_ == b.value_ && !a.is_undefined(); }

 private:
  std::uint64_t value_ = 0;
};

[[nodiscard]] Modular square(Modular x);
[[nodiscard]] Modular pow(Modular x, std::int64_t n);  // x^0 = 1; 0^n is undefined() for n < 0

template <>
struct ScalarTraits<Modular> {
  static constexpr const char* name = "Modular";
  static constexpr bool is_ordered = false, has_piecewise = false, has_residues = true, has_transcendental = false;
  static constexpr bool is_exact = true, is_enclosure = false;
  static bool can_hold(double value);
  static Modular from_double(double value) { return Modular::from_double(value); }
  static Modular from_rational(const Rational& value) { return Modular::from_rational(value); }
  static bool may_divide_by(Modular) { return true; }
  static bool may_raise(Modular, std::int64_t) { return true; }
};

}  // namespace assay
