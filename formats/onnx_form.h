// Shapes of graphs that ONNX operators have: what as_onnx_says() makes and write_onnx() looks for.
#pragma once

#include <optional>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::formats {

// The one user of a node, if it is this op, uses it once, and the node is no output.
[[nodiscard]] std::optional<NodeId> only_user(const Graph& graph, NodeId id, Op op);
[[nodiscard]] NodeId other_operand(const Graph& graph, NodeId user, NodeId operand);

// Returns true if LayerNormalization or RMSNormalization computes a normalise of this form.
[[nodiscard]] bool has_layer_form(const Node& node);
// A constant of the extents from axis `first` on.
[[nodiscard]] bool is_weight(const Graph& graph, NodeId id, const Shape& shape, std::size_t first);
// The product with a weight behind a normalise over the last axes, which these operators include.
[[nodiscard]] std::optional<NodeId> layer_scale(const Graph& graph, NodeId id);

// A masked_softmax in the forms that as_onnx_says() gives it: of x + 0 with a constant mask, or of a choice between x and 0 under
// a condition. ONNX says a softmax of x plus 0 or -infinity, or of a choice between x and -infinity.
struct MaskForm {
  NodeId scores = 0;                // x
  std::optional<NodeId> condition;  // none: the mask is known
  Shape shape;                      // of the known mask, which broadcasts to x
  std::vector<bool> shut;
  std::vector<NodeId> parts;  // nodes that the operators include
};
[[nodiscard]] std::optional<MaskForm> mask_form(const Graph& graph, NodeId id);

}  // namespace assay::formats
