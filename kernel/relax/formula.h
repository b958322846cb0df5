// Formula: the formula of a node's result elements, read off its denotation. Where it is the same on every box, it is
// read only once.
#pragma once

#include <memory>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/steps.h"

namespace assay::relax {

// The variables are the elements of the operands; an operand that occurs twice counts once.
struct Formula {
  explicit Formula(std::vector<double> middles) : steps(std::move(middles)) {}
  Steps steps;
  std::vector<Symbolic> results;
};

// The formula of a product of numbers or of matrices. Null for other ops, whose formulas depend on the box. `terms`
// counts the terms of all formulas that a network keeps; null also if they would exceed kMostKept.
constexpr std::size_t kMostKept = std::size_t{1} << 18;
[[nodiscard]] std::shared_ptr<const Formula> kept_formula(const Graph& graph, NodeId node, std::size_t& terms);

}  // namespace assay::relax
