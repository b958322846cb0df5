// Private to kernel/relax: bounds of a formula's steps, and the intercept of rule unary_line. A Bounded number is known
// by its range over a box and by linear forms below and above it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernel/relax/choices.h"
#include "semantics/numbers/steps.h"

namespace assay::relax {

// The intercept t with f(z) >= line.slope z + t (lower), or f(z) <= line.slope z + t, over the pieces; NaN if there is
// none. This is rule unary_line, used also for the steps of formulas.
[[nodiscard]] double unary_intercept(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const ChosenLine& line);

// constant + the sum of terms a x_k, at every point of the box, for some real numbers a and constant in these
// intervals. Terms are sorted by k.
struct Form {
  Interval constant;
  std::vector<std::pair<std::uint32_t, Interval>> terms;
};

// The form below and the form above a number.
using Forms = std::pair<std::shared_ptr<const Form>, std::shared_ptr<const Form>>;

// The range of the form over the box, and its approximate value at the box's centre.
[[nodiscard]] Interval range_over(const Form& form, std::span<const Interval> x);
[[nodiscard]] double at_centre(const Form& form, std::span<const Interval> x);

// A number that, at every point of the box, lies in `range`, is at least `below` and at most `above`.
struct Bounded {
  Interval range;
  std::shared_ptr<const Form> below, above;  // both are the same form if the number is affine in the variables
};

// Bounds the variables and steps of one formula on a box of its operands.
class BoundedSteps {
 public:
  // `results`: all forms that planes() will be asked for. The value of a step that only one of them reads is freed
  // after its use.
  BoundedSteps(const Steps& steps, const Choices& choices, std::vector<Interval> x, std::span<const Symbolic> results);
  // The form below and the form above a result. `known` is an enclosure of the result from another source. `mixes`: the
  // mixes of the McCormick planes of each product.
  [[nodiscard]] Forms planes(const Symbolic& result, const Interval& known, const ChosenSides& mixes);

 private:
  struct Entry {
    std::unique_ptr<const Bounded> value;
    std::uint32_t uses = 0, mix = 0;  // if has_mix, `value` is valid for this mix only
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
  // Whether the term is a product of two operand variables with factor 1. A matrix product consists mostly of these, so
  // add_plain() adds them without making a Bounded number for each.
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
  std::uint32_t mix_ = 0;  // number of changes of mixes_
  std::uint32_t known_variable_ = UINT32_MAX;
  Interval known_ = Interval::whole();
  // The form that add() accumulates.
  Interval constant_;
  std::vector<Interval> slopes_;          // by operand variable
  std::vector<std::uint32_t> variables_;  // variables that have a slope
  std::vector<std::uint8_t> has_slope_;
};

}  // namespace assay::relax
