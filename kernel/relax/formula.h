// Formula: what a node's denotation says of its result elements, read off once where it is the same on every box.
#pragma once

#include <memory>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/steps.h"

namespace assay::relax {

// The variables are the elements of the operands, each operand once.
struct Formula {
  explicit Formula(std::vector<double> middles) : steps(std::move(middles)) {}
  Steps steps;
  std::vector<Symbolic> results;
};

// The formula of a product of numbers or of matrices, and null for other ops, whose formulas depend on the box. Null also where the terms
// of all formulas that are kept would be more than kMostKept. `terms` counts them.
constexpr std::size_t kMostKept = std::size_t{1} << 18;
[[nodiscard]] std::shared_ptr<const Formula> kept_formula(const Graph& graph, NodeId node, std::size_t& terms);

}  // namespace assay::relax
