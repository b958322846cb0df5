// Derivatives of a graph, as graphs with the same ops, so that gradients can be evaluated, enclosed, verified and
// differentiated again.
//
// Step functions appear where the graph has kinks. Over a set that contains a kink, the derivative encloses a superset
// of the Clarke derivative. Jumps have derivative 0 by convention.
#pragma once

#include <cstddef>
#include <span>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::gradients {

// The vector-Jacobian product of one output. Its inputs are those of `graph`, then the cotangent "<output>_bar" with
// the output's shape. Its outputs are "<input>_bar" = J^T <output>_bar for each listed input (positions in
// graph.inputs, float tensors); they are zero if the output does not depend on the input. With a cotangent of 1 it is
// the gradient of a scalar. The graph is valid.
[[nodiscard]] Outcome<Graph> differentiate(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

// The Jacobian-vector product of one output. Further inputs are the tangents "<input>_dot" of the listed inputs. The
// one output is "<output>_dot", the sum of J <input>_dot over them. It is the transpose of the vector-Jacobian product,
// which is linear in its cotangent, so no op needs a second rule.
[[nodiscard]] Outcome<Graph> jvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

}  // namespace assay::gradients
