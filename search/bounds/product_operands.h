// Which operands of products are worth a row for each of their elements at the root. In attention
// most are not: bounds of scores and weights come from boxes nearly as narrow, and products of
// queries and keys cost a conclusion next to nothing.
//
// How it is found: of each product, what an open case loses at it by the policy's planes; then a
// sample of the rows of its operands, for how much narrower rows are than boxes. Loss times
// narrowing is what an operand is worth (record 0087).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

// Pre-activations other than operands of relus, by what the bounds of these cases (indices into the
// statement) lose at the products that read them, and by how much rows narrow a sample of their
// elements. Every node has a box in the scope. Non-rigorous.
[[nodiscard]] std::vector<NodeId> product_operands(const NeuronGraph& graph, const logic::Scope& scope,
                                                   std::span<const std::uint32_t> cases, const Limit& limit);

}  // namespace assay::search
