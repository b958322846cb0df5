// Sums and products that programs rewrite before they run them: batch normalisation folded into a convolution's weights, factors combined,
// quotients by constants as products with a rounded reciprocal (ExecutionModel::Rewrites::algebraic).
//
// A formula is the value of a node as a sum of products of leaves, which are values that are stored. Executions may
// compute any algebraically equal formula whose terms are those of the tree, multiplied out or not: constants are
// combined and rounded first, no terms are added that cancel again, no product becomes a quotient, divisors are values
// that are stored or constants, and no term passes through more roundings than `operations` and the additions of
// `terms`. Then
//   |computed - exact| <= ((1 + a)(1 + w) - 1) size + absolute
// with a the share of sum_errors and w = gamma of `operations`: each term is its product times as many factors 1 + d, |d| <= u, wherever
// its constants were rounded. What underflows loses less than a number of the format times the other factors of a term.
// Source. Higham 2002, section 3.1; derived in docs/explanation/float32.md.
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
  Array<Interval> size;    // by element: no smaller than the sum of the magnitudes of its terms
  double operations = 0;   // roundings on the way of a term
  double terms = 1;        // that accumulations add up
  double products = 1;     // of leaves, in one element
  double factors = 1;      // no product of some of the factors of a term is larger
  double reciprocals = 1;  // no product of the reciprocals of some of its divisors is larger
};
// What a formula goes on through: sums, products, quotients, integer powers, batch normalisation, reshape and permute of real numbers.
[[nodiscard]] bool is_algebraic(const Node& node);
[[nodiscard]] Formula leaf(const Array<Interval>& values);
// A product of matrices or a convolution whose sums of magnitudes are `size`.
[[nodiscard]] Formula accumulated(const Node& node, Array<Interval> size, double terms, std::span<const Array<Interval>* const> operands);
// The product where the factors of an operand are moved to its result, and what else reads the operand reads it as written.
void move_factors(Formula& product, const Formula& operand);
// An algebraic node on the formulas of its operands; `values` enclose these. nullopt: no bound, as for a divisor that may be 0.
[[nodiscard]] std::optional<Formula> combined(const Node& node, std::span<const Formula> operands,
                                              std::span<const Array<Interval>* const> values);
// By element; infinite where some rewriting may overflow.
[[nodiscard]] std::vector<double> rewriting_errors(const Formula& formula, const ExecutionModel& model, DType dtype);

// What an execution holds at a node, and how far that may lie from the node's denotation; none: nowhere.
struct Held {
  Array<Interval> values;
  std::span<const double> errors;
};
// The mean of the squares of x - m, m the mean of x, by line: what is lost where it is computed in one pass, as the
// mean of x^2 less the square of the computed m.
[[nodiscard]] std::vector<double> one_pass_errors(const Node& node, const ExecutionModel& model, const Array<Interval>& x, const Held& mean,
                                                  const Held& differences);

}  // namespace assay::floats
