// Opaque: a real number whose functions have random values, for exact identity tests of formulas with exp, roots, erf
// and the like.
//
// Meaning. The value is known modulo the prime p = 2q + 1, where sums, products and quotients are exact. q is prime,
// too, so the squares modulo p are a group of prime order, in which every element has exactly one root of each order.
// They represent the positive numbers. A second residue, the twin, is the same formula modulo q, and exp is a
// homomorphism: exp(x) = gamma^twin(x) modulo p. So exp(a + b) = exp(a) exp(b), exp(r a) = exp(a)^r and exp(log x) = x
// hold for all a, b, x and rational r, and a root is a power. Of log 2^k = k log 2 the twin is known, so that 2^x is
// exp(x log 2). All other functions have pseudo-random values, fixed once for each argument, that satisfy these
// identities:
// - sigmoid, tanh, sinh, cosh, expm1, softplus as formulas in exp, the last one with log; log1p(x) = log(1 + x);
// - erfc = 1 - erf; erf, sin, tan, asin, atan, asinh, atanh are odd;
// - sin^2 + cos^2 = 1; sin 2x = 2 sin x cos x; cos 2x = cos^2 x - sin^2 x; tan = sin / cos;
// - asin + acos = pi / 2; acos(-x) = pi - acos(x).
//
// All identities are true for real numbers. So formulas that agree at random residues are equal by these identities
// and algebra, except for a coincidence modulo p. Formulas that differ may still be equal, by an identity that is
// not listed.
// Branches are decided by the guide, an interval that encloses the real value at some point of the domain. At a tie the
// side decides: the guide of the derivative in the direction of an infinitesimal displacement. Residues at a kink are
// then one-sided values. A number that depends on an undecided branch has no residue.
// Infinities. A constant may be infinite, such as the fill of a masked softmax. Sums, products, quotients, comparisons
// and f give the value that f has for all finite numbers beside the infinity (x - inf = -inf, 1 / inf = 0), or its limit
// (exp(-inf) = 0), and nan() where there is none. Neither has a residue.
// Domain. Outside f's domain the guide is undefined. The residue is undefined for a quotient by 0, and for a root of a
// number that is no square modulo p (half of all numbers); then another point has to be drawn.
#pragma once

#include <cstdint>
#include <optional>

#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/selection.h"

namespace assay {

class Opaque {
 public:
  // 2^62 - 96545 = 2q + 1; 2, 3, 5, 7, 11 and 13 are squares.
  static constexpr std::uint64_t kPrime = 4611686018427291359;
  static constexpr std::uint64_t kTwinPrime = 2305843009213645679;  // q

  Opaque() = default;                                       // 0
  explicit Opaque(const Rational& value, double side = 0);  // exactly; displaced to that side by an infinitesimal
  // Random residues: a square if the guide is positive, otherwise minus a square. `draw` chooses x such that roots
  // exist. sine: of 1 - x^2 for |guide| < 1, and of x^2 - 1, x - 1 and x + 1 for other guides. sinh: of 1 + x^2. These
  // x are all points of the curves.
  enum class Draw : std::uint8_t { any, sine, sinh };
  static Opaque drawn(double guide, std::uint64_t seed, Draw draw = Draw::any);
  static Opaque pi();
  static Opaque undefined();         // no residue; the guide is the whole line
  static Opaque infinite(int sign);  // the same, with a known sign
  static Opaque nan();               // no number: inf - inf, 0 inf, 0 / 0 and what follows from them

  [[nodiscard]] bool has_residue() const { return residues_.value < kPrime; }
  [[nodiscard]] std::uint64_t residue() const { return residues_.value; }
  [[nodiscard]] int infinity() const;  // 1 or -1; 0 for all others
  [[nodiscard]] bool is_nan() const;
  [[nodiscard]] const Interval& guide() const {
    if (pending_) settle();
    return guide_;
  }
  [[nodiscard]] const Interval& side() const { return side_; }
  // Whether the residues are equal; false if one is missing.
  friend bool operator==(const Opaque& a, const Opaque& b) { return a.has_residue() && a.residues_.value == b.residues_.value; }

  Opaque operator-() const;
  friend Opaque operator+(const Opaque& a, const Opaque& b);
  friend Opaque operator-(const Opaque& a, const Opaque& b);
  friend Opaque operator*(const Opaque& a, const Opaque& b);
  friend Opaque operator/(const Opaque& a, const Opaque& b);
  Opaque& operator+=(const Opaque& other) { return *this = *this + other; }
  Opaque& operator-=(const Opaque& other) { return *this = *this - other; }
  Opaque& operator*=(const Opaque& other) { return *this = *this * other; }

  // exp of the number is gamma^twin power. The power is 1 except for logarithms and numbers made from them; 0 means
  // not known.
  struct Residues {
    std::uint64_t value = 0, twin = 0, power = 1;
  };

 private:
  Opaque(const Residues& residues, const Interval& guide, const Interval& side) : residues_(residues), guide_(guide), side_(side) {}
  void settle() const;
  friend Opaque apply(Function f, const Opaque& x);
  friend Opaque pow(const Opaque& x, std::int64_t n);
  friend Opaque pow(const Opaque& x, const Rational& r);
  friend Opaque floor(const Opaque& x);

  Residues residues_;
  mutable Interval guide_;                        // the guide of the argument as long as
  mutable std::optional<Function> pending_ = {};  // this function has not been applied to it
  Interval side_;
};

[[nodiscard]] Opaque apply(Function f, const Opaque& x);
[[nodiscard]] Opaque square(const Opaque&);
[[nodiscard]] Opaque abs(const Opaque&);
[[nodiscard]] Opaque sign(const Opaque&);
[[nodiscard]] Opaque floor(const Opaque&);
[[nodiscard]] Opaque round(const Opaque&);  // to the nearest integer; undefined at ties
[[nodiscard]] Opaque min(const Opaque&, const Opaque&);
[[nodiscard]] Opaque max(const Opaque&, const Opaque&);
[[nodiscard]] Opaque sqrt(const Opaque&);
[[nodiscard]] Opaque pow(const Opaque&, std::int64_t n);
[[nodiscard]] Opaque pow(const Opaque&, const Rational& r);
[[nodiscard]] inline Opaque exp(const Opaque& x) { return apply(Function::exp, x); }
[[nodiscard]] inline Opaque log(const Opaque& x) { return apply(Function::log, x); }
[[nodiscard]] inline Opaque tanh(const Opaque& x) { return apply(Function::tanh, x); }
[[nodiscard]] inline Opaque sigmoid(const Opaque& x) { return apply(Function::sigmoid, x); }
[[nodiscard]] inline Opaque erf(const Opaque& x) { return apply(Function::erf, x); }
[[nodiscard]] inline Opaque sin(const Opaque& x) { return apply(Function::sin, x); }
[[nodiscard]] inline Opaque cos(const Opaque& x) { return apply(Function::cos, x); }

// Order and choice (semantics/numbers/selection.h): decided by the guides, and at a tie (equal residues) by the sides;
// no relation if they do not decide.
[[nodiscard]] Order compare(const Opaque& a, const Opaque& b);
[[nodiscard]] Opaque select(const Opaque& condition, const Opaque& a, const Opaque& b);
[[nodiscard]] Opaque truth(bool may_hold, bool may_fail, const Opaque*);

template <>
struct ScalarTraits<Opaque> {
  static constexpr const char* name = "Opaque";
  static constexpr bool is_ordered = false, has_piecewise = true, has_residues = true, has_transcendental = true;
  static constexpr bool is_exact = true, is_enclosure = false;
  static bool can_hold(double value) { return value == value; }
  static Opaque from_double(double value);  // demands can_hold(value)
  static Opaque from_rational(const Rational& value) { return Opaque(value); }
  static bool may_divide_by(const Opaque&) { return true; }
  static bool may_raise(const Opaque&, std::int64_t) { return true; }
};

}  // namespace assay
