// Steps: the formula of an op, read off its denotation: the operations on its variables other than sums and multiples,
// in order.
//
// Variables 0 .. n-1 are the op's operands. Step k has the value of variable n + k, a function of earlier variables.
// Together with the results, which are affine in all variables, the steps are the op's meaning: equal to it for all
// real numbers at which it is defined.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "semantics/numbers/rational.h"
#include "semantics/numbers/symbolic.h"

namespace assay {

class Steps {
 public:
  enum class Kind : std::uint8_t {
    sum,      // sums()[a]
    product,  // a b
    power,    // a^r with r = exponents()[b]
    exp,      // of a
    log,
    abs,            // |a|
    floor,          // the greatest integer <= a
    negative_part,  // min(a, 0)
    log_sum_exp,    // log of the sum of exp(x) over the x in lists()[a]
    either,         // a, which equals b: two formulas of one number
  };
  struct Step {
    Kind kind;
    std::uint32_t a, b;
  };

  // One middle per operand variable: a number that a formula may use where any number is valid.
  explicit Steps(std::vector<double> middles) : middles_(std::move(middles)) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  [[nodiscard]] Symbolic variable(std::size_t k) { return Symbolic::variable(static_cast<std::uint32_t>(k), this); }
  Symbolic append(const Step& step);
  // A variable with the form's value: the form itself if it is one, otherwise a new step.
  std::uint32_t named(const Symbolic& form);
  Symbolic product(const Symbolic& a, const Symbolic& b);
  Symbolic power(const Symbolic& a, const Rational& exponent);
  Symbolic log_sum_exp(std::span<const Symbolic> x);
  Symbolic either(const Symbolic& a, const Symbolic& b) { return append({Kind::either, named(a), named(b)}); }
  // The approximate value of the form at the middles, if it is affine in operands.
  [[nodiscard]] double middle(const Symbolic& form) const;

  [[nodiscard]] std::size_t operand_count() const { return middles_.size(); }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<Symbolic>& sums() const { return sums_; }
  [[nodiscard]] const std::vector<Rational>& exponents() const { return exponents_; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& lists() const { return lists_; }
  // Calls visit(v) for each variable that the step reads.
  template <class F>
  void each_operand(const Step& step, const F& visit) const {
    if (step.kind == Kind::sum) {
      for (const auto& term : sums_[step.a].terms()) visit(term.first);
    } else if (step.kind == Kind::log_sum_exp) {
      for (const std::uint32_t v : lists_[step.a]) visit(v);
    } else {
      visit(step.a);
      if (step.kind == Kind::product || step.kind == Kind::either) visit(step.b);
    }
  }

 private:
  std::vector<double> middles_;
  std::vector<Step> steps_;
  std::vector<Symbolic> sums_;
  std::vector<Rational> exponents_;
  std::vector<std::vector<std::uint32_t>> lists_;
  // By base, so that quotients by the same number share its reciprocal.
  std::unordered_map<std::uint32_t, std::uint32_t> last_power_;
};

// log of the sum of exp(x); at least one x.
[[nodiscard]] Symbolic log_sum_exp(std::span<const Symbolic> x);

}  // namespace assay
