// Rounding errors of sums and products that programs rewrite before they run them
// (ExecutionModel::Rewrites::algebraic). Examples: batch normalisation folded into a convolution's weights, combined
// factors, a quotient by a constant computed as a product with the rounded reciprocal.
//
// A formula is the value of a node as a sum of products of leaves, which are stored values. Executions may compute any
// algebraically equal formula whose terms are those of the tree, multiplied out or not, under these conditions:
// - constants are combined and rounded first;
// - no terms are added that cancel again;
// - no product becomes a quotient;
// - divisors are stored values or constants;
// - no term passes through more roundings than `operations` and the additions of `terms`.
//
// Then
//   |computed - exact| <= ((1 + a)(1 + w) - 1) size + absolute
// with a the relative bound of sum_errors and w = gamma of `operations`. Reason: each term is its product times as many
// factors 1 + d, |d| <= u, wherever its constants were rounded. An underflow loses less than the smallest number of the
// format times the other factors of a term. Source. Higham 2002, section 3.1; derived in docs/explanation/float32.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::floats {

struct Formula {
  Array<Interval> size;   // by element: at least the sum of the magnitudes of its terms
  double operations = 0;  // roundings of one term
  double terms = 1;       // number of terms that accumulations add up
  double products = 1;    // number of products of leaves, in one element
  double factors = 1;     // at least every product of some of the factors of a term
  // At least every product of the reciprocals of some of its divisors.
  double reciprocals = 1;
};
// Whether a formula continues through the node: sums, products, quotients, integer powers, batch normalisation, reshape
// and permute of real numbers.
[[nodiscard]] bool is_algebraic(const Node& node);
[[nodiscard]] Formula leaf(const Array<Interval>& values);
// A matrix product or a convolution, whose sums of magnitudes are `size`.
[[nodiscard]] Formula accumulated(const Node& node, Array<Interval> size, double terms, std::span<const Array<Interval>* const> operands);
// Moves the constant factors of an operand to the product's result. Other readers of the operand read it as written.
void move_factors(Formula& product, const Formula& operand);
// The formula of an algebraic node, from those of its operands; `values` enclose the operands. nullopt if no bound is
// known, for example for a divisor that may be 0.
[[nodiscard]] std::optional<Formula> combined(const Node& node, std::span<const Formula> operands,
                                              std::span<const Array<Interval>* const> values);
// By element; infinite if some rewriting may overflow.
[[nodiscard]] std::vector<double> rewriting_errors(const Formula& formula, const ExecutionModel& model, DType dtype);

// The values that an execution holds at a node, and a bound on their distance from the node's denotation; empty: exact.
struct Held {
  Array<Interval> values;
  std::span<const double> errors;
};
// The error, by line, of the mean of the squares of x - m, with m the mean of x, if a program computes it in one pass:
// as the mean of x^2 minus the square of the computed m.
[[nodiscard]] std::vector<double> one_pass_errors(const Node& node, const ExecutionModel& model, const Array<Interval>& x, const Held& mean,
                                                  const Held& differences);

}  // namespace assay::floats
