// Finds the operands of products that are worth bounding by rows at the root. In attention most operands are not:
// boxes of scores and weights are nearly as narrow as bounds by rows, and products of queries and keys hardly
// affect a conclusion.
//
// For each product, the policy's planes give the relaxation loss of an open case there. A sample of rows of its
// operands then shows how much narrower rows are than boxes. The worth of an operand is loss times narrowing
// (record 0087).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

// Returns pre-activations other than operands of ReLUs, chosen by how much the bounds of these cases (indices into the
// statement) lose at the products that read them, and by how much rows narrow a sample of their elements. Every node
// must have a box in the scope. Non-rigorous.
[[nodiscard]] std::vector<NodeId> product_operands(const NeuronGraph& graph, const logic::Scope& scope,
                                                   std::span<const std::uint32_t> cases, const Limit& limit);

}  // namespace assay::search
