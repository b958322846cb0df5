// Rows of linear forms in integers, for margins that double cannot decide. The interface is that of FilterRows
// in kernel/rows/rows.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/exact/grid.h"
#include "kernel/rows/rows.h"

namespace assay::exact {

class ExactRows {
 public:
  ExactRows(const Graph& graph, const rows::Boxes& boxes, std::size_t rows);
  void add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error);
  void add_row(std::size_t row, NodeId node, std::span<const double> coefficients, std::span<const double> errors);
  [[nodiscard]] bool has(NodeId node) const { return !blocks_[node].mantissas.empty(); }
  void add_constant(std::size_t row, double value);
  // Approximate; of an existing block.
  [[nodiscard]] std::vector<double> coefficients(std::size_t row, NodeId node) const;
  void through_affine(NodeId node, const rows::LinearStep& step);
  void through_relaxation(NodeId node, const rows::LinearBounds& line);
  void concretize(NodeId node);
  [[nodiscard]] rows::RowBound bound(std::size_t row) const;
  [[nodiscard]] std::size_t work() const { return 0; }  // not counted

 private:
  // Row k of a block has the value mantissas[k, i] * 2^exponents[k]; an unused row is 0.
  struct Block {
    std::vector<std::int64_t> mantissas;
    std::vector<std::int32_t> exponents;
    std::vector<bool> used;
    rows::Int128 width = 0;  // width * 2^width_exponent >= the sum of the node's magnitudes, if finite
    std::int32_t width_exponent = 0;
    bool finite = true;
  };
  Block& open(NodeId node);
  void merge(Block& block, std::size_t row, std::span<rows::Int128> fresh, std::int32_t exponent);
  void collect(const Block& block, std::size_t row, const Grid& grid);
  const Graph& graph_;
  const rows::Boxes& boxes_;
  std::size_t rows_;
  std::vector<Block> blocks_;
  std::vector<LowerSum> constant_;
  std::vector<bool> failed_;  // the row met an infinite bound, so it has no lower bound
};

}  // namespace assay::exact
