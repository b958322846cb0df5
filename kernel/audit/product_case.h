// The graphs that are compared for one recorded product. Private to this folder.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/audit/product.h"

namespace assay::audit {

struct ProductCheck::Reverse {
  Graph graph;
  bool is_closed = true;  // it reads no tensor from elsewhere except single numbers
  Origins origins = {};   // in the recorded trace
  // The cotangent's node; and, if that tensor is also a value of the forward pass, the node of that value.
  NodeId y_bar = 0;
  std::optional<NodeId> as_value = std::nullopt;
};

struct ProductCheck::Case {
  gradients::AdjointCase one;
  Tensors from, operands;  // all tensors that y is computed from, and the inputs of all graphs: those that are no fills
  Reverse backward;
  // The framework's result as the trace declares it, if it is to be checked.
  std::optional<Graph> convention = std::nullopt;
};

using Pairs = std::vector<std::pair<std::uint32_t, TraceTensorId>>;  // of operand positions and cotangents

inline bool has_position(const Region& region, const Pairs& pairs, TraceTensorId id) {
  return std::ranges::any_of(pairs, [&](const auto& one) { return region.operands[one.first] == id; });
}

}  // namespace assay::audit
