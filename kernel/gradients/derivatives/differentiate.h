// Derivatives of a graph as graphs of the same vocabulary, so that gradients can be evaluated, enclosed, verified and
// differentiated again.
//
// Step functions appear where the graph has kinks: over a set that contains one the derivative encloses a superset of the Clarke
// derivative; jumps have derivative 0 by convention.
#pragma once

#include <cstddef>
#include <span>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::gradients {

// The vector-Jacobian product of one output: inputs are those of `graph` and then the cotangent "<output>_bar" with the output's
// shape; outputs are "<input>_bar" = J^T <output>_bar for each listed input (positions in graph.inputs, float tensors), zero where the
// output does not depend on it. With a cotangent of 1, the gradient of a scalar. The graph is valid.
[[nodiscard]] Outcome<Graph> differentiate(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

// The Jacobian-vector product of one output: further inputs are the tangents "<input>_dot" of the listed inputs; the one output is
// "<output>_dot" = sum over them of J <input>_dot. It is the transpose of the vector-Jacobian product, which is linear in its
// cotangent, so no op needs a second rule.
[[nodiscard]] Outcome<Graph> jvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

}  // namespace assay::gradients
