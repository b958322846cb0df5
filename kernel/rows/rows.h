// Blocks of linear forms during back-substitution.
//
// Invariant of every row k, which each operation keeps for every point of the scope:
//   target_k  >=  sum over nodes n of A_n[k] . z_n  +  constant_k  -  e_k        (exact reals)
// FilterRows holds A and the constant in double, and e_k bounds all rounding errors so far; an element of A_n that no
// block lists is 0. ExactRows holds both in integers, subtracts a bound on each dropped bit from the constant, and has
// e_k = 0. Exactly one of through_affine, through_relaxation and concretize consumes a node's block. When no block is
// left, constant - e_k is a lower bound of the target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/exact/grid.h"
#include "kernel/relax/relaxation.h"
#include "kernel/rows/block.h"
#include "kernel/rows/linear_map.h"
#include "kernel/rows/row_pass.h"

namespace assay::rows {

// For operands of magnitudes x, per element of an affine form: sum |M| x over its parts, and sum |E| x, the effect of
// the weights' half-widths.
struct Sizes {
  std::vector<double> products, errors;
};
[[nodiscard]] Sizes affine_sizes(const AffineForm& form, const std::vector<std::vector<double>>& x);

// A bound on the errors when a row passes a node in double: e += sum_j |A_j| per_element[j] + absolute.
struct ErrorBound {
  std::vector<double> per_element;
  double absolute = 0;
  // The rounding errors of executions, already included in per_element; empty: none.
  std::vector<double> rounding = {};
  std::shared_ptr<const Sizes> sizes = nullptr;  // the sizes that the bound was computed from
};

// A linear step with its error bound. The bound rests on the operands' magnitudes when it was made. The box of an
// ancestor scope serves, since it contains the current one.
struct LinearStep {
  const AffineForm* form = nullptr;
  const ErrorBound* error_bound = nullptr;
  const exact::GridForm* grid = nullptr;  // null: made when the exact path needs it
};

// A relaxation on the operands' current boxes, with its error bound.
struct LinearBounds {
  relax::Relaxation relaxation;
  ErrorBound error_bound;
  std::vector<std::shared_ptr<const relax::Box>> operands;  // the boxes it was derived on
  std::optional<exact::GridLine> grid;                      // absent: made when the exact path needs it
};

[[nodiscard]] std::vector<double> magnitudes(const relax::Box& box);  // max(|lo|, |hi|)
// The error bound of one affine form, for operands of the given magnitudes (one vector per part) and their sizes. It
// covers both apply and transpose.
[[nodiscard]] ErrorBound affine_error_bound(const AffineForm& form, const std::vector<std::vector<double>>& x,
                                            std::shared_ptr<const Sizes> sizes, std::vector<double> rounding);

using Boxes = std::vector<std::shared_ptr<const relax::Box>>;  // by node id; null = not derived
// The magnitudes of the boxes of all parts' operands.
[[nodiscard]] std::vector<std::vector<double>> operand_magnitudes(const auto& parts, const Boxes& boxes) {
  std::vector<std::vector<double>> x;
  for (const auto& part : parts) x.push_back(magnitudes(*boxes[part.operand]));
  return x;
}
[[nodiscard]] ErrorBound line_error_bound(const relax::Relaxation& relaxation, const Boxes& boxes);

// Rule box for an affine node: bias + sum of M x over the operands' boxes. The error bound or outward rounding covers
// every rounding error.
[[nodiscard]] relax::Box affine_box(const AffineForm& form, const Boxes& boxes, const ErrorBound& error_bound);
// The same for a node of integers or truth values, whose affine form only copies. It is exact, so that integers
// stay integers.
[[nodiscard]] relax::Box copied_box(const AffineForm& form, const Boxes& boxes);

struct RowBound {
  double lower;                     // a rigorous lower bound; -inf: none
  double estimate, error_bound;     // the double filter's value, from which the exact one differs by at most error_bound
  std::vector<double> inputs = {};  // the coefficients of the inputs, concatenated, where they are kept; for the search
};

class FilterRows {
 public:
  // keep_inputs: store the blocks of inputs, for RowBound::inputs.
  FilterRows(const Graph& graph, const Boxes& boxes, std::size_t rows, bool keep_inputs = false);
  // Starts a node's block with these elements alone, all coefficients 0. Without this call a block starts with
  // all elements.
  void open(NodeId node, Elements elements);
  // A_node[row, element] += coefficient, whose true value may differ by `error`.
  void add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error);
  [[nodiscard]] bool has(NodeId node) const { return !blocks_[node].values.empty(); }
  // The same for every element of the node; true coefficients may differ by `errors`.
  void add_row(std::size_t row, NodeId node, std::span<const double> coefficients, std::span<const double> errors);
  void add_constant(std::size_t row, double value);
  [[nodiscard]] std::vector<double> coefficients(std::size_t row, NodeId node) const;  // of an existing block
  void through_affine(NodeId node, const LinearStep& step);
  void through_relaxation(NodeId node, const LinearBounds& line);
  void concretize(NodeId node);
  [[nodiscard]] RowBound bound(std::size_t row) const;      // once every block is consumed
  [[nodiscard]] std::size_t work() const { return work_; }  // approximate multiply-adds so far

 private:
  void hold_all(NodeId node);  // from now on the node's block holds all elements
  [[nodiscard]] Block take();  // memory for reuse, with any content
  [[nodiscard]] Block consume(NodeId node);
  void merge(NodeId node, Block fresh);
  void collect(double absolute);
  [[nodiscard]] std::vector<double> input_coefficients(std::size_t row) const;
  const Graph& graph_;
  const Boxes& boxes_;
  std::size_t rows_;
  std::vector<Block> blocks_, spare_;  // by node, without values if there is none; spare_: consumed blocks, for reuse
  std::size_t open_ = 0;               // number of blocks that have values
  std::size_t work_ = 0;
  std::vector<double> constant_, error_bound_;
  std::vector<RowSums> sums_;       // of the current node
  std::vector<double> magnitudes_;  // of the current node
  bool keep_inputs_;
  std::vector<std::vector<double>> inputs_;  // by node, for all elements
};

}  // namespace assay::rows
