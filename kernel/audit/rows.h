// Rows: reduces a product that treats all rows alike to the product of one row. Private to this folder.
//
// Claim. Let an axis of some tensors have N rows, and let each node of two graphs be
//   shared  computed from shared inputs alone,
//   rows    row r of it computed from rows r of its operands and from shared nodes, by the same function for all r, or
//   summed  the sum over r of one function of rows r and of shared nodes.
// Suppose that y is rows or summed, that the cotangents of inputs that are rows are rows, and that those of shared
// inputs are summed (or constant zeros). Then <y_bar, J x_dot> and <J^T y_bar, x_dot> are sums over r of one expression
// each, E and F, in rows r and in shared nodes; for one row they are these expressions. If E and F are the same
// function, the sums are equal for any number of rows; if not, the sums differ for N equal rows. So the second graph is
// the adjoint of the derivative of the first if and only if this holds for one row.
//
// Rows lie along one axis of a tensor, with k elements each: row r has the positions r k to r k + k - 1. The code tries
// which inputs are rows, and along which axis; soundness does not depend on the guess. A node that no rule covers is
// refused, and the product is then judged as a whole.
#pragma once

#include <cstdint>
#include <optional>

#include "semantics/graph/graph.h"

namespace assay::audit {

struct OneRow {
  Graph forward, backward;  // of one row; their inputs and outputs correspond to the original ones
  std::int64_t count = 1;   // number of rows
};

// forward: y from operands. backward: a cotangent for each real operand, from the operands and y_bar, its last input.
// Rows of rows are reduced, too, as long as there are any. nullopt if no axis has rows.
[[nodiscard]] std::optional<OneRow> one_row(const Graph& forward, const Graph& backward);

}  // namespace assay::audit
