// Gradients of graphs by the runtime's own rules: a second computation beside kernel/gradients/derivatives, with the same conventions.
#pragma once

#include <cstddef>
#include <span>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::runtime {

// The vector-Jacobian product of one output: the inputs of `graph` and then the cotangent "<output>_bar"; the outputs
// "<input>_bar" = J^T <output>_bar for each listed input (positions in graph.inputs, float tensors), zero where the output does
// not depend on it. The graph is valid. Rejections: "autodiff.output", "autodiff.input".
[[nodiscard]] Outcome<Graph> vjp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

// The Jacobian-vector product: further inputs "<input>_dot" for the listed ones, the output "<output>_dot" = sum of J <input>_dot.
// The vector-Jacobian product, which is linear in its cotangent, is transposed.
[[nodiscard]] Outcome<Graph> jvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

// The second derivative of <y_bar, y> in the direction of the tangents: further inputs "<output>_bar" and "<input>_dot" for the listed
// ones, the outputs "<input>_bar_dot". With a cotangent of 1 the Hessian-vector product of a scalar.
[[nodiscard]] Outcome<Graph> hvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs);

}  // namespace assay::runtime
