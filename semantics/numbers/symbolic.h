// Symbolic: affine forms c + sum a_j x_j over named variables, with interval coefficients. Running a linear op's
// denotation on them gives the op's sparse matrix. A product of two non-constant forms has is_linear() == false.
//
// Variables of a Steps object are different: a product or a function of them is recorded there as a step, and its value
// is a new variable. Running any op's denotation on them gives its formula. An operation without a kind in Steps has
// is_linear() == false here, too.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "semantics/numbers/interval.h"

namespace assay {

class Steps;

class Symbolic {
 public:
  Symbolic() = default;
  Symbolic(const Interval& constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor)
  Symbolic(double constant) : constant_(constant) {}           // NOLINT(google-explicit-constructor)
  static Symbolic variable(std::uint32_t index, Steps* steps = nullptr);
  static Symbolic nonlinear();  // is_linear() == false; every operation with it gives it again

  [[nodiscard]] bool is_linear() const { return linear_; }
  [[nodiscard]] bool is_constant() const { return linear_ && terms_.empty(); }
  [[nodiscard]] const Interval& constant() const { return constant_; }
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, Interval>>& terms() const { return terms_; }  // by index
  // Null: its variables have no steps.
  [[nodiscard]] Steps* steps() const { return steps_; }

  Symbolic operator-() const;
  friend Symbolic operator+(const Symbolic&, const Symbolic&);
  friend Symbolic operator-(const Symbolic&, const Symbolic&);
  friend Symbolic operator*(const Symbolic&, const Symbolic&);
  friend Symbolic operator/(const Symbolic&, const Symbolic&);
  Symbolic& operator+=(const Symbolic& other);
  Symbolic& operator-=(const Symbolic& other) { return *this += -other; }
  Symbolic& operator*=(const Symbolic& other) { return *this = *this * other; }

 private:
  Interval constant_;
  std::vector<std::pair<std::uint32_t, Interval>> terms_;
  Steps* steps_ = nullptr;
  bool linear_ = true;
};

// Functions of constants. A form that depends on a variable gives a step, or nonlinear() (except pow(x, 0) = 1 and
// pow(x, 1) = x).
[[nodiscard]] Symbolic square(const Symbolic&);
[[nodiscard]] Symbolic abs(const Symbolic&);
[[nodiscard]] Symbolic sign(const Symbolic&);
[[nodiscard]] Symbolic floor(const Symbolic&);
[[nodiscard]] Symbolic round(const Symbolic&);
[[nodiscard]] Symbolic min(const Symbolic&, const Symbolic&);
[[nodiscard]] Symbolic max(const Symbolic&, const Symbolic&);
[[nodiscard]] Symbolic sqrt(const Symbolic&);
[[nodiscard]] Symbolic exp(const Symbolic&);
[[nodiscard]] Symbolic log(const Symbolic&);
[[nodiscard]] Symbolic tanh(const Symbolic&);
[[nodiscard]] Symbolic sigmoid(const Symbolic&);
[[nodiscard]] Symbolic erf(const Symbolic&);
[[nodiscard]] Symbolic sin(const Symbolic&);
[[nodiscard]] Symbolic cos(const Symbolic&);
[[nodiscard]] Symbolic pow(const Symbolic&, std::int64_t n);
[[nodiscard]] Symbolic pow(const Symbolic&, const Rational& r);

}  // namespace assay
