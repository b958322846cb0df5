// The derivative rules: for each op, the cotangents of its operands given that of its result. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "semantics/graph/value.h"

namespace assay::gradients::derivatives {

// One per operand; nullopt if the derivative is 0 by convention (jumps, integers, conditions).
using Cotangents = std::vector<std::optional<Value>>;

// J^T y_bar of one node of the builder's graph: x_bar[i] = sum_j y_bar[j] dy[j]/dx[i]. At kinks the nodes denote the
// Clarke set of each factor.
[[nodiscard]] Cotangents vjp_of(const Value& y, const Value& y_bar);

// The families, one .cpp file each.
[[nodiscard]] Cotangents vjp_of_layout(const Value& y, const Value& y_bar);
[[nodiscard]] Cotangents vjp_of_linear(const Value& y, const Value& y_bar);
[[nodiscard]] Cotangents vjp_of_window(const Value& y, const Value& y_bar);
[[nodiscard]] Cotangents vjp_of_elementwise(const Value& y, const Value& y_bar);
[[nodiscard]] Cotangents vjp_of_selection(const Value& y, const Value& y_bar);
[[nodiscard]] Cotangents vjp_of_defined(const Value& y, const Value& y_bar);

// Operand i of the node.
[[nodiscard]] inline Value operand(const Value& y, std::size_t i) { return {y.builder(), y.builder().graph().node(y.id()).operands[i]}; }
[[nodiscard]] inline const Node& node_of(const Value& y) { return y.builder().graph().node(y.id()); }
// A copy, because the builder's nodes move when rules append nodes.
template <class T>
[[nodiscard]] T attributes_of(const Value& y) {
  return std::get<T>(node_of(y).attributes);
}

}  // namespace assay::gradients::derivatives
