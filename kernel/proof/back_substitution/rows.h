// Blocks of linear forms on their way back through the graph.
//
// Invariant of every row k, kept by each operation for every point of the scope:
//   target_k  >=  sum over nodes n of A_n[k] . z_n  +  constant_k  -  slack_k        (exact reals)
// FilterRows holds A and the constant in double and pays each rounding into the slack; ExactRows holds both in integers and
// pays each dropped bit into the constant. A node's block is consumed by exactly one of through, relax and concretize; when
// no block is left, constant - slack is a lower bound of the target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/proof/back_substitution/grid.h"
#include "kernel/proof/loops/linear_map.h"
#include "kernel/proof/loops/row_pass.h"
#include "kernel/proof/rules/relaxation.h"

namespace assay::kernel {

// What the double path pays when a row passes a node: slack += sum_j |A_j| per_element[j] + absolute.
struct Penalty {
  std::vector<double> per_element;
  double absolute = 0;
};

// A linear step with its prices. The magnitudes are those of the operands when the penalty was made; a box of an
// ancestor scope serves, since it contains the current one.
struct LinearStep {
  const AffineForm* form = nullptr;
  const Penalty* penalty = nullptr;
  const GridForm* grid = nullptr;  // null: made where the exact path needs it
};

// A relaxation on the operands' current boxes, with its price.
struct Line {
  Relaxation relaxation;
  Penalty penalty;
  std::vector<std::shared_ptr<const Box>> operands;  // the boxes it was derived on
  std::optional<GridLine> grid;                      // absent: made where the exact path needs it
};

[[nodiscard]] std::vector<double> magnitudes(const Box& box);  // max(|lo|, |hi|)
// Penalty of one affine form for operands of the given magnitudes (one vector per part); covers apply and transpose.
[[nodiscard]] Penalty affine_penalty(const AffineForm& form, const std::vector<std::vector<double>>& x);
[[nodiscard]] Penalty line_penalty(const Relaxation& relaxation, const std::vector<std::vector<double>>& x);

using Boxes = std::vector<std::shared_ptr<const Box>>;  // by node id; null = not derived

class FilterRows {
 public:
  // keep_inputs: remember the input blocks for input_coefficients().
  FilterRows(const Graph& graph, const Boxes& boxes, std::size_t rows, bool keep_inputs = false);
  // A_node[row, element] += coefficient, whose true value may differ by `error`.
  void add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error);
  [[nodiscard]] bool has(NodeId node) const { return !blocks_[node].empty(); }
  // All rows: minus beta * (z - t) for z >= t, minus beta * (t - z) for z <= t; beta >= 0.
  void literal(NodeId node, std::uint32_t element, bool at_least, double threshold, double beta);
  void through(NodeId node, const LinearStep& step);
  void relax(NodeId node, const Line& line);
  void concretize(NodeId node);
  [[nodiscard]] double lower(std::size_t row) const;     // rigorous once every block is consumed; NaN or -inf = unknown
  [[nodiscard]] double estimate(std::size_t row) const;  // the double value itself; the exact one is within slack of it
  [[nodiscard]] double slack(std::size_t row) const { return slack_[row]; }
  [[nodiscard]] std::vector<double> input_coefficients(std::size_t row) const;  // inputs concatenated; for the search

 private:
  [[nodiscard]] std::vector<double> take(std::size_t size);  // [rows, size], with any content
  [[nodiscard]] std::vector<double> consume(NodeId node);
  void merge(NodeId node, std::vector<double> fresh);
  void collect(double absolute);
  const Graph& graph_;
  const Boxes& boxes_;
  std::size_t rows_;
  std::vector<std::vector<double>> blocks_, spare_;  // by node: [rows, size], empty = none; and consumed ones, for reuse
  std::size_t open_ = 0;                             // blocks that are not empty
  std::vector<double> constant_, slack_;
  std::vector<RowSums> sums_;  // of the node at hand
  bool keep_inputs_;
  std::vector<std::vector<double>> inputs_;  // by node, as blocks_
};

class ExactRows {
 public:
  ExactRows(const Graph& graph, const Boxes& boxes, std::size_t rows);
  void add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error);
  [[nodiscard]] bool has(NodeId node) const { return !blocks_[node].mantissas.empty(); }
  void literal(NodeId node, std::uint32_t element, bool at_least, double threshold, double beta);
  void through(NodeId node, const LinearStep& step);
  void relax(NodeId node, const Line& line);
  void concretize(NodeId node);
  [[nodiscard]] double lower(std::size_t row) const;
  [[nodiscard]] std::vector<double> input_coefficients(std::size_t) const { return {}; }

 private:
  // Row k of a block has the value mantissas[k, i] * 2^exponents[k]; a row that is not used is 0.
  struct Block {
    std::vector<std::int64_t> mantissas;
    std::vector<std::int32_t> exponents;
    std::vector<bool> used;
    Int128 width = 0;  // * 2^width_exponent >= the sum of the node's magnitudes, if that is finite
    std::int32_t width_exponent = 0;
    bool finite = true;
  };
  Block& open(NodeId node);
  void merge(Block& block, std::size_t row, std::span<Int128> fresh, std::int32_t exponent);
  void collect(const Block& block, std::size_t row, const Grid& grid);
  const Graph& graph_;
  const Boxes& boxes_;
  std::size_t rows_;
  std::vector<Block> blocks_;
  std::vector<LowerSum> constant_;
  std::vector<bool> failed_;  // met an infinite bound: no lower bound
};

}  // namespace assay::kernel
