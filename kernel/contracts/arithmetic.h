// Arithmetic: the contracts of scalar operations, on sets. For any values that the operands may hold, the result
// contains every value that an execution of the model may compute from them.
//
// +, -, *, / and square roots give the number nearest to the exact result, ties to even, unless the mathematics table
// has a row for them. They are monotone in each operand on either side of a pole, so the ends suffice. Functions follow
// the mathematics table. In the format `real` every result encloses the exact value instead, so that one formula gives
// both the admissible set and the exact value. Proofs: docs/contracts.
#pragma once

#include <span>
#include <string_view>

#include "kernel/contracts/float_set.h"
#include "kernel/contracts/storage.h"
#include "kernel/floats/math_tables.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/rational.h"

namespace assay::contracts {

using floats::find_math_table;
using floats::MathRow;
using floats::MathTable;

// The facts about a sum, or a sum of products: its exact value, and the quantities that bound its rounding errors.
struct SumFacts {
  Interval exact;             // contains the exact sum
  double magnitude = 0;       // S, at least the sum of |terms|
  double terms = 0;           // m, at least the number of non-zero terms
  bool products = false;      // the terms are products, rounded or fused
  int further_roundings = 0;  // roundings of every term, besides those of products and additions
  // The exact tier holds: every partial sum in every order is a number of the format.
  bool all_exact = false;
  double later = 1;           // as floats::SumForm::later
  double before_scaling = 1;  // as floats::SumForm::before_scaling
  double beside = 0;          // a further error, of weights that are not exact
};

// The largest e such that the number, which is not 0, is a multiple of 2^e.
[[nodiscard]] int lowest_bit(double value);
// Whether the exact tier holds for terms that are multiples of 2^q with this sum of magnitudes.
[[nodiscard]] bool fits_exactly(const ExecutionModel& model, floats::Format format, int q, double magnitude);

class Arithmetic {
 public:
  using Value = FloatSet;
  Arithmetic(const ExecutionModel& model, floats::Format format)
      : model_(&model), format_(format), table_(format == floats::Format::real ? nullptr : find_math_table(model.math_table)) {}

  [[nodiscard]] floats::Format format() const { return format_; }
  [[nodiscard]] const ExecutionModel& model() const { return *model_; }
  [[nodiscard]] bool is_real() const { return format_ == floats::Format::real; }

  // A number of the program: exact if the format has it, otherwise either neighbour.
  [[nodiscard]] FloatSet number(const Rational& value) const;
  [[nodiscard]] FloatSet number(double value) const;
  [[nodiscard]] FloatSet constant(const Interval& value) const {
    return hull(number(value.lo()), number(value.hi()));
  }  // an irrational one
  [[nodiscard]] FloatSet point(double value) const { return contracts::point(format_, value); }

  [[nodiscard]] FloatSet neg(const FloatSet& x) const;
  [[nodiscard]] FloatSet add(const FloatSet& a, const FloatSet& b) const;
  [[nodiscard]] FloatSet sub(const FloatSet& a, const FloatSet& b) const { return add(a, neg(b)); }
  [[nodiscard]] FloatSet mul(const FloatSet& a, const FloatSet& b) const;
  [[nodiscard]] FloatSet div(const FloatSet& a, const FloatSet& b) const;
  [[nodiscard]] FloatSet sqrt(const FloatSet& x) const;
  // a * b + c, rounded twice, or once if the model allows fused operations.
  [[nodiscard]] FloatSet mul_add(const FloatSet& a, const FloatSet& b, const FloatSet& c) const;
  // The results that the fused form adds to those.
  [[nodiscard]] FloatSet fused(const FloatSet& a, const FloatSet& b, const FloatSet& c) const;
  [[nodiscard]] FloatSet abs(const FloatSet& x) const;
  // The greater one; if one is NaN and the other a number, either. A zero has either sign.
  [[nodiscard]] FloatSet max(const FloatSet& a, const FloatSet& b) const;
  [[nodiscard]] FloatSet min(const FloatSet& a, const FloatSet& b) const { return neg(max(neg(a), neg(b))); }
  [[nodiscard]] FloatSet reciprocal(const FloatSet& x) const;
  // s / n, or s times the rounded 1 / n if the model allows it.
  [[nodiscard]] FloatSet over_count(const FloatSet& s, std::int64_t n) const;
  // 1 / sqrt(x) as a root and a division, or by the table's row.
  [[nodiscard]] FloatSet reciprocal_sqrt(const FloatSet& x) const;

  [[nodiscard]] FloatSet function(Function f, const FloatSet& x) const;
  // An enclosure of f on the finite part of x.
  [[nodiscard]] Interval exact(Function f, const FloatSet& x) const;
  // x / (1 + exp(-z)), or 1 / (1 + exp(-z)) if x is null.
  [[nodiscard]] FloatSet over_one_plus_exp(const FloatSet* x, const FloatSet& z) const;
  // y and the numbers nearest to exact values of f, since an execution may also be more accurate than the forms.
  [[nodiscard]] FloatSet with_nearest(FloatSet y, Function f, const FloatSet& x) const;
  // Joins two branches at x = 0: `above` is the result for x above 0, and below(x) that for x below 0. NaN stays NaN.
  template <class Below>
  [[nodiscard]] FloatSet joined(const FloatSet& x, FloatSet above, const Below& below) const {
    above.nan = above.nan || x.nan;
    const FloatSet under = part_of(x, -floats::kInfinity, 0);
    if (!is_empty(under)) above.include(below(under));
    return above;
  }
  [[nodiscard]] static bool is_only_zero(const FloatSet& x) { return x.is_point() && x.lo == 0; }
  // If x may be 0, the zero of y has either sign.
  [[nodiscard]] static FloatSet with_zeros_of(const FloatSet& x, const FloatSet& y) { return x.contains_zero() ? with_both_zeros(y) : y; }
  [[nodiscard]] FloatSet exp(const FloatSet& x) const { return function(Function::exp, x); }
  // x^r by the table's row, or by products if r is an integer.
  [[nodiscard]] FloatSet pow(const FloatSet& x, const Rational& r) const;
  // The same for a set of exponents. For every x > 0, x^r is monotone in r, so the ends of the exponents suffice.
  [[nodiscard]] FloatSet pow(const FloatSet& x, const FloatSet& exponent) const;
  // The product of the factors in any order, from an enclosure of it.
  [[nodiscard]] FloatSet product_of(std::span<const FloatSet> factors) const;

  [[nodiscard]] FloatSet sum(std::span<const FloatSet> terms) const;
  // The sum of a_i * b_i, with rounded or fused products.
  [[nodiscard]] FloatSet sum_of_products(std::span<const FloatSet> a, std::span<const FloatSet> b) const;
  [[nodiscard]] FloatSet sum(const SumFacts& facts) const;

  // Every value that the table's rows of the function admit for arguments in the finite part of x, given their exact
  // values in `exact` and the nearest numbers in `rounded`; anything if no row covers all of x.
  [[nodiscard]] FloatSet by_table(std::string_view name, const FloatSet& x, const Interval& exact, const FloatSet& rounded) const;
  // The most steps, or units of the last place, that the rows admit for arguments up to this magnitude; infinity if
  // they use neither.
  [[nodiscard]] double steps_of(std::string_view name, double magnitude) const;
  // Whether the table has rows for this function.
  [[nodiscard]] bool has_rows(std::string_view name) const;
  // kept(): a step of a formula as later steps read it: the computed value or, if the model says so, the stored one.
  // operand(): an operand as an arithmetic operation reads it.
  [[nodiscard]] FloatSet kept(const FloatSet& x) const {
    return format_ == floats::Format::binary32 && model_->storage != Storage::same ? hull(x, stored(model_->storage, x)) : x;
  }
  [[nodiscard]] FloatSet operand(const FloatSet& x) const { return model_->flush_operands ? flushed(format_, x) : x; }

 private:
  [[nodiscard]] FloatSet result(const FloatSet& x) const { return kept(model_->flush_results ? flushed(format_, x) : x); }

  const ExecutionModel* model_;
  floats::Format format_;
  const floats::MathTable* table_;
};

}  // namespace assay::contracts
