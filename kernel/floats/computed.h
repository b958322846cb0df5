// Computed: the scalar of running error analysis. It encloses an exact value in an interval, and bounds the distance of
// the value that an execution computes in its place:
//
//   |computed - exact| <= relative |exact| + absolute
//
// for every execution of the model. ErrorArithmetic gives each operation of a form (forms.h) on such numbers. It
// combines the effect of the operands' errors on the exact result with the rounding of the operation itself. The
// absolute error is infinite if an execution may overflow, leave a domain, or call a function without a row in its
// table. Source. Higham 2002, sections 3.1 and 3.3; each rule is proved above its function.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernel/floats/math_tables.h"
#include "kernel/floats/sums.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"

namespace assay::floats {

struct Computed {
  Interval exact;
  double relative = 0, absolute = 0;
  bool empty = false;  // no argument leads to this case

  [[nodiscard]] double size() const { return exact.magnitude(); }
  [[nodiscard]] double error() const;       // the largest |computed - exact|
  [[nodiscard]] Interval computed() const;  // contains every computed value
  [[nodiscard]] bool is_finite() const { return computed().magnitude() < kInfinity; }
  // Adds another way to compute the same value.
  void include(const Computed& other);
};
[[nodiscard]] Computed unknown();
[[nodiscard]] Computed hull(Computed a, const Computed& b);
// The restriction to arguments between lo and hi.
[[nodiscard]] Computed part_of(const Computed& x, double lo, double hi);
[[nodiscard]] inline bool is_empty(const Computed& x) { return x.empty; }

class ErrorArithmetic {
 public:
  using Value = Computed;
  // `cause`, if not null, receives the first reason, in words, why a bound is missing.
  ErrorArithmetic(const ExecutionModel& model, Format format, std::string* cause = nullptr)
      : model_(&model), format_(format), table_(find_math_table(model.math_table)), cause_(cause) {}

  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] const ExecutionModel& model() const { return *model_; }
  [[nodiscard]] static bool is_real() { return false; }
  [[nodiscard]] bool has_rows(std::string_view name) const;

  // unknown(), with its reason. words() is called only if the reason is wanted.
  template <class Words>
  [[nodiscard]] Computed refuse(const Words& words) const {
    if (cause_ != nullptr && cause_->empty()) *cause_ = words();
    return unknown();
  }

  // A recorded operand, as an arithmetic operation reads it.
  [[nodiscard]] Computed operand(const Interval& x) const;
  [[nodiscard]] Computed point(double value) const { return {Interval(value)}; }
  // A number of the program: exact if the format has it, otherwise either neighbour.
  [[nodiscard]] Computed number(const Rational& value) const;
  [[nodiscard]] Computed number(double value) const;
  [[nodiscard]] Computed constant(const Interval& value) const;  // an irrational one

  [[nodiscard]] Computed neg(const Computed& x) const;
  [[nodiscard]] Computed abs(const Computed& x) const;
  [[nodiscard]] Computed max(const Computed& a, const Computed& b) const;
  [[nodiscard]] Computed min(const Computed& a, const Computed& b) const { return neg(max(neg(a), neg(b))); }
  [[nodiscard]] Computed add(const Computed& a, const Computed& b) const;
  [[nodiscard]] Computed sub(const Computed& a, const Computed& b) const { return add(a, neg(b)); }
  [[nodiscard]] Computed mul(const Computed& a, const Computed& b) const;
  [[nodiscard]] Computed div(const Computed& a, const Computed& b) const;
  [[nodiscard]] Computed sqrt(const Computed& x) const;
  [[nodiscard]] Computed reciprocal(const Computed& x) const;
  [[nodiscard]] Computed reciprocal_sqrt(const Computed& x) const;
  // 1 / root, or the reciprocal root of the radicand.
  [[nodiscard]] Computed inverse_of_root(const Computed& root) const;
  [[nodiscard]] Computed mul_add(const Computed& a, const Computed& b, const Computed& c) const { return add(mul(a, b), c); }
  [[nodiscard]] Computed over_count(const Computed& s, std::int64_t n) const;
  [[nodiscard]] Computed function(Function f, const Computed& x) const;
  [[nodiscard]] Computed exp(const Computed& x) const { return function(Function::exp, x); }
  [[nodiscard]] Computed pow(const Computed& x, const Rational& r) const;
  // The product of all factors in any order.
  [[nodiscard]] Computed product_of(std::span<const Computed> factors) const;
  [[nodiscard]] Computed sum(std::span<const Computed> terms) const;
  [[nodiscard]] Computed sum_of_squares(std::span<const Computed> x) const;
  // x / (1 + exp(-z)), or 1 / (1 + exp(-z)) if x is null. exp(-z) may overflow; then the result is 0.
  [[nodiscard]] Computed over_one_plus_exp(const Computed* x, const Computed& z) const;
  // Joins two branches at x = 0: `above` is the result for x above 0, and below(x) that for x below 0. If x may have
  // either sign, the greater error counts.
  template <class Below>
  [[nodiscard]] Computed joined(const Computed& x, Computed above, const Below& below) const {
    above.empty = x.exact.hi() < 0;
    const Computed under = part_of(x, -kInfinity, 0);
    if (!is_empty(under)) above.include(below(under));
    return above;
  }
  // The sign of a zero is no error, and bounds that hold around 0 hold at 0.
  [[nodiscard]] static bool is_only_zero(const Computed&) { return false; }
  [[nodiscard]] static Computed with_zeros_of(const Computed&, const Computed& y) { return y; }
  // y, or the number nearest to the exact value of f, since a program may also be more accurate than the forms.
  [[nodiscard]] Computed with_nearest(const Computed& y, Function f, const Computed& x) const;

 private:
  [[nodiscard]] Computed stored_number(const Interval& value) const;
  // An operand as an operation reads it; a subnormal number may be read as 0.
  [[nodiscard]] Computed read(Computed x) const;
  [[nodiscard]] Computed no_rows(std::string_view name) const;
  // Rounds a result: to the nearest number, or with the error of the table's rows for this operation and argument.
  [[nodiscard]] Computed rounded(Computed before, std::string_view name, const Interval& argument, bool underflows) const;
  [[nodiscard]] Computed sum(std::span<const Computed> terms, bool products) const;

  const ExecutionModel* model_;
  Format format_;
  const MathTable* table_;
  std::string* cause_;
};

}  // namespace assay::floats
