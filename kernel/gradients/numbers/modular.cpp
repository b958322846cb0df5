// Modular: products by 128-bit integers, inverses by powers.

#include "kernel/gradients/numbers/modular.h"

#include <cmath>

namespace assay {
namespace {

__extension__ using UInt128 = unsigned __int128;
constexpr std::uint64_t kPrime = Modular::kPrime;
constexpr int kPrimeBits = 61;

// x mod p for x < p + 2^61: 2^61 = 1 (mod p).
std::uint64_t folded(std::uint64_t x) { return x >= kPrime ? x - kPrime : x; }

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  const UInt128 product = static_cast<UInt128>(a) * b;  // < 2^122
  return folded(static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> kPrimeBits));
}

std::uint64_t raised(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result = times(result, base);
    }
    base = times(base, base);
  }
  return result;
}

Modular from_residue(std::uint64_t residue) { return Modular(static_cast<std::int64_t>(residue)); }

}  // namespace

Modular::Modular(std::int64_t value) {
  constexpr auto kSigned = static_cast<std::int64_t>(kPrime);
  const std::int64_t remainder = value % kSigned;
  value_ = static_cast<std::uint64_t>(remainder < 0 ? remainder + kSigned : remainder);
}

Modular Modular::undefined() {
  Modular result;
  result.value_ = kPrime;
  return result;
}

Modular Modular::from_double(double value) {
  if (!std::isfinite(value)) {
    return undefined();
  }
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const Modular mantissa(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  const int turns = ((exponent - 53) % kPrimeBits + kPrimeBits) % kPrimeBits;  // 2 has order 61 modulo p
  return mantissa * Modular(std::int64_t{1} << turns);
}

Modular Modular::from_rational(const Rational& value) {
  const FractionResidues fraction = residues_of(value, kPrime);
  return from_residue(fraction.numerator) / from_residue(fraction.denominator);
}

// a^(p-2) a = 1 for a != 0 (Fermat).
Modular Modular::inverse() const {
  if (value_ == 0 || is_undefined()) {
    return undefined();
  }
  return from_residue(raised(value_, kPrime - 2));
}

Modular Modular::operator-() const { return is_undefined() ? *this : from_residue(folded(kPrime - value_)); }

Modular operator+(Modular a, Modular b) {
  return a.is_undefined() || b.is_undefined() ? Modular::undefined() : from_residue(folded(a.value_ + b.value_));
}
Modular operator-(Modular a, Modular b) { return a + (-b); }
Modular operator*(Modular a, Modular b) {
  return a.is_undefined() || b.is_undefined() ? Modular::undefined() : from_residue(times(a.value_, b.value_));
}
Modular operator/(Modular a, Modular b) { return a * b.inverse(); }

Modular square(Modular x) { return x * x; }

Modular pow(Modular x, std::int64_t n) {
  if (x.is_undefined()) {
    return x;
  }
  const Modular base = n < 0 ? x.inverse() : x;
  if (base.is_undefined()) {
    return base;
  }
  const auto size = n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  return from_residue(raised(base.value(), size));
}

bool ScalarTraits<Modular>::can_hold(double value) { return std::isfinite(value); }

}  // namespace assay
