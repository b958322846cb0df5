// Private to kernel/relax: the intercept of rule unary_line, and the arithmetic of the steps of a formula on Bounded numbers: what is
// known of a number on a box, its range and a linear form on either side of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernel/relax/choices.h"
#include "semantics/numbers/steps.h"

namespace assay::relax {

// f(z) >= (lower) or <= line.slope z + t over the pieces, and t is NaN where there is none: rule unary_line, for steps of formulas too.
[[nodiscard]] double unary_intercept(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const ChosenLine& line);

// constant + sum of terms a x_k, at every point for some real numbers a and constant in these intervals; by ascending k.
struct Form {
  Interval constant;
  std::vector<std::pair<std::uint32_t, Interval>> terms;
};

using Forms = std::pair<std::shared_ptr<const Form>, std::shared_ptr<const Form>>;  // below and above

// All values on the box, and about the one at its centre.
[[nodiscard]] Interval range_over(const Form& form, std::span<const Interval> x);
[[nodiscard]] double at_centre(const Form& form, std::span<const Interval> x);

// At every point of the box: a number in `range` that is no less than `below` and no more than `above`.
struct Bounded {
  Interval range;
  std::shared_ptr<const Form> below, above;  // the same one if the number is affine in the variables
};

// The variables and steps of one formula, on a box of its operands.
class BoundedSteps {
 public:
  // `results`: the forms that will be asked for, so that steps that only one of them needs are not kept.
  BoundedSteps(const Steps& steps, const Choices& choices, std::vector<Interval> x, std::span<const Symbolic> results);
  // The form below and the form above a result; `known` contains it, for another reason. `mixes`: of the planes of each product.
  [[nodiscard]] Forms planes(const Symbolic& result, const Interval& known, const ChosenSides& mixes);

 private:
  struct Entry {
    std::unique_ptr<const Bounded> value;
    std::uint32_t uses = 0, mix = 0;  // `value` is for this mix if it depends on one
    bool has_mix = false;
  };
  [[nodiscard]] bool is_known(std::uint32_t v) const;
  void require(std::uint32_t wanted);
  void consume(std::uint32_t v);
  [[nodiscard]] const Bounded& at(std::uint32_t v) const { return *entries_[v].value; }
  [[nodiscard]] Bounded value_of(std::uint32_t v);

  [[nodiscard]] Forms forms(const Symbolic& sum);
  [[nodiscard]] Bounded sum(const Symbolic& form);
  [[nodiscard]] Bounded product(const Bounded& v, const Bounded& w);
  // Products of two operand variables that a result adds up: most of a matrix product, added without a Bounded of their own.
  [[nodiscard]] bool is_plain(const std::pair<std::uint32_t, Interval>& term) const;
  void add_plain(const Steps::Step& step, bool lower);
  [[nodiscard]] Bounded function(const Steps::Step& step, Bounded v, const Interval& known);
  [[nodiscard]] Bounded log_sum_exp(std::span<const std::uint32_t> list);
  [[nodiscard]] Bounded either(const Bounded& v, const Bounded& w) const;

  void add(const Interval& factor, const Bounded& v, bool lower);
  void add_slope(std::uint32_t k, const Interval& slope);
  [[nodiscard]] std::shared_ptr<const Form> take();
  [[nodiscard]] std::shared_ptr<const Form> nearer(const std::shared_ptr<const Form>& form, const Interval& range, bool lower) const;

  const Steps& steps_;
  const Choices& choices_;
  std::vector<Interval> x_;
  std::vector<Entry> entries_;  // by variable
  ChosenSides mixes_;
  std::uint32_t mix_ = 0;  // how often they changed
  std::uint32_t known_variable_ = UINT32_MAX;
  Interval known_ = Interval::whole();
  // The form that add() adds to.
  Interval constant_;
  std::vector<Interval> slopes_;          // by operand variable
  std::vector<std::uint32_t> variables_;  // those with a slope
  std::vector<std::uint8_t> has_slope_;
};

}  // namespace assay::relax
