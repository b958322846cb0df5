// Blocks of linear forms on their way back through the graph.
//
// Invariant of every row k, kept by each operation for every point of the scope:
//   target_k  >=  sum over nodes n of A_n[k] . z_n  +  constant_k  -  e_k        (exact reals)
// FilterRows holds A and the constant in double, and e_k bounds all that rounding lost so far; an element of A_n that no block lists is 0.
// ExactRows holds both in integers, takes each dropped bit off the constant, and has e_k = 0. A node's block is consumed by exactly one of
// through_affine, through_relaxation and concretize; when no block is left, constant - e_k is a lower bound of the target.
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

// By element of an affine form, for operands of magnitudes x: sum |M| x over its parts, and sum |E| x over what its weights miss.
struct Sizes {
  std::vector<double> products, errors;
};
[[nodiscard]] Sizes affine_sizes(const AffineForm& form, const std::vector<std::vector<double>>& x);

// What the double path loses at most when a row passes a node: e += sum_j |A_j| per_element[j] + absolute.
struct ErrorBound {
  std::vector<double> per_element;
  double absolute = 0;
  std::vector<double> rounding = {};             // what executions lose, which per_element has in it; empty: nothing
  std::shared_ptr<const Sizes> sizes = nullptr;  // that it was made of
};

// A linear step with its errors. The magnitudes are those of the operands when the error bound was made; a box of an
// ancestor scope serves, since it contains the current one.
struct LinearStep {
  const AffineForm* form = nullptr;
  const ErrorBound* error_bound = nullptr;
  const exact::GridForm* grid = nullptr;  // null: made where the exact path needs it
};

// A relaxation on the operands' current boxes, with its error.
struct LinearBounds {
  relax::Relaxation relaxation;
  ErrorBound error_bound;
  std::vector<std::shared_ptr<const relax::Box>> operands;  // the boxes it was derived on
  std::optional<exact::GridLine> grid;                      // absent: made where the exact path needs it
};

[[nodiscard]] std::vector<double> magnitudes(const relax::Box& box);  // max(|lo|, |hi|)
// The error bound of one affine form for operands of the given magnitudes (one vector per part), whose sizes are given; covers apply and
// transpose.
[[nodiscard]] ErrorBound affine_error_bound(const AffineForm& form, const std::vector<std::vector<double>>& x,
                                            std::shared_ptr<const Sizes> sizes, std::vector<double> rounding);

using Boxes = std::vector<std::shared_ptr<const relax::Box>>;  // by node id; null = not derived
// Those of the parts' operands.
[[nodiscard]] std::vector<std::vector<double>> operand_magnitudes(const auto& parts, const Boxes& boxes) {
  std::vector<std::vector<double>> x;
  for (const auto& part : parts) x.push_back(magnitudes(*boxes[part.operand]));
  return x;
}
[[nodiscard]] ErrorBound line_error_bound(const relax::Relaxation& relaxation, const Boxes& boxes);

// Rule box for an affine node: bias + sum of M x over the operands' boxes, every rounding covered by the error bound or outward.
[[nodiscard]] relax::Box affine_box(const AffineForm& form, const Boxes& boxes, const ErrorBound& error_bound);
// The same for a node of integers or truth values, which an affine form only copies: exact, so that integers stay integers.
[[nodiscard]] relax::Box copied_box(const AffineForm& form, const Boxes& boxes);

class FilterRows {
 public:
  // keep_inputs: remember the input blocks for input_coefficients().
  FilterRows(const Graph& graph, const Boxes& boxes, std::size_t rows, bool keep_inputs = false);
  // A node's block starts with these elements alone, at 0; without it with all.
  void open(NodeId node, Elements elements);
  // A_node[row, element] += coefficient, whose true value may differ by `error`.
  void add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error);
  [[nodiscard]] bool has(NodeId node) const { return !blocks_[node].values.empty(); }
  // Of every element; true coefficients may differ by the errors.
  void add_row(std::size_t row, NodeId node, std::span<const double> coefficients, std::span<const double> errors);
  // All rows: minus beta * (z - t) for z >= t, minus beta * (t - z) for z <= t; beta >= 0.
  void literal(NodeId node, std::uint32_t element, bool at_least, double threshold, double beta);
  void add_constant(std::size_t row, double value);
  [[nodiscard]] std::vector<double> coefficients(std::size_t row, NodeId node) const;  // of a block that is there
  void through_affine(NodeId node, const LinearStep& step);
  void through_relaxation(NodeId node, const LinearBounds& line);
  void concretize(NodeId node);
  [[nodiscard]] double lower(std::size_t row) const;     // rigorous once every block is consumed; NaN or -inf = unknown
  [[nodiscard]] double estimate(std::size_t row) const;  // the double value itself; the exact one is within error_bound of it
  [[nodiscard]] double error_bound(std::size_t row) const { return error_bound_[row]; }
  [[nodiscard]] std::vector<double> input_coefficients(std::size_t row) const;  // inputs concatenated; for the search
  [[nodiscard]] std::size_t work() const { return work_; }                      // multiply-adds so far, roughly

 private:
  void hold_all(NodeId node);  // the node's block, from now on
  [[nodiscard]] Block take();  // memory for reuse, with any content
  [[nodiscard]] Block consume(NodeId node);
  void merge(NodeId node, Block fresh);
  void collect(double absolute);
  const Graph& graph_;
  const Boxes& boxes_;
  std::size_t rows_;
  std::vector<Block> blocks_, spare_;  // by node, without values = none; and consumed ones, for reuse
  std::size_t open_ = 0;               // blocks that have values
  std::size_t work_ = 0;
  std::vector<double> constant_, error_bound_;
  std::vector<RowSums> sums_;       // of the node at hand
  std::vector<double> magnitudes_;  // the same
  bool keep_inputs_;
  std::vector<std::vector<double>> inputs_;  // by node, of all elements
};

}  // namespace assay::rows
