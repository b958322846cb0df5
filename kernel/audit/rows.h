// Rows: a product that treats every row alike is that of one row. Private to this folder.
//
// Claim. Let an axis of some tensors have N rows, and let each node of two graphs be
//   shared  computed from shared inputs alone,
//   rows    row r of it computed from rows r of its operands and from what is shared, by the same function for all r, or
//   summed  the sum over r of one function of rows r and of what is shared.
// If y is rows or summed, the cotangents of inputs that are rows are rows, and those of shared inputs are summed (or
// constant zeros), then <y_bar, J x_dot> and <J^T y_bar, x_dot> are sums over r of one expression each, E and F, in
// rows r and in what is shared; for one row they are these expressions. Where E and F are one function, the sums are
// equal for all rows; where they are not, the sums differ for N equal rows. So the second graph is the adjoint of the
// derivative of the first if and only if it is for one row.
//
// Rows lie along one axis of a tensor, with k elements each: row r are the positions r k to r k + k - 1. Which inputs
// are rows, and along which axis, is tried; nothing rests on it. What a rule does not know is refused, and the product
// is then judged as a whole.
#pragma once

#include <cstdint>
#include <optional>

#include "semantics/graph/graph.h"

namespace assay::audit {

struct OneRow {
  Graph forward, backward;  // of one row; inputs and outputs as they were
  std::int64_t count = 1;   // rows
};

// forward: y from operands; backward: a cotangent for each real operand from these and y_bar, which is its last input.
// Rows of rows are taken as long as there are some. Nothing where no axis has rows.
[[nodiscard]] std::optional<OneRow> one_row(const Graph& forward, const Graph& backward);

}  // namespace assay::audit
