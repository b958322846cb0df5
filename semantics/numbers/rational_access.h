// Private to semantics/numbers: access to a Rational as a GMP fraction, for number types that convert from and to it.
#pragma once

#include <gmp.h>

#include "semantics/numbers/dyadic.h"
#include "semantics/numbers/rational.h"

namespace assay {

struct RationalAccess {
  // Initialises `result` (the caller clears it) to the exact value.
  static void init_set(mpq_t result, const Rational& value);
  // The value of a fraction that GMP holds in canonical form.
  static Rational from_canonical(mpq_srcptr value);
  // The same for numerator / denominator in lowest terms with denominator > 0.
  static Rational from_lowest(Int128 numerator, Int128 denominator);
  // Whether both parts are stored inline, and these parts.
  static bool is_inline(const Rational& value) { return value.big_ == nullptr; }
  static std::int64_t numerator(const Rational& value) { return value.numerator_; }
  static std::int64_t denominator(const Rational& value) { return value.denominator_; }
};

// A GMP fraction that lives for one operation.
struct ExactFraction {
  mpq_t value;
  ExactFraction() { mpq_init(value); }
  explicit ExactFraction(const Rational& source) { RationalAccess::init_set(value, source); }
  ExactFraction(const ExactFraction&) = delete;
  ExactFraction& operator=(const ExactFraction&) = delete;
  ~ExactFraction() { mpq_clear(value); }
};

}  // namespace assay
