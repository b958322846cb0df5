// Graph: a topologically ordered SSA program over dense tensors; the meaning of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay {

using NodeId = std::uint32_t;  // index into Graph::nodes; operands precede their users

struct Node {
  Op op = Op::input;
  std::vector<NodeId> operands;
  Attributes attributes;
  DType dtype = DType::float32;
  Shape shape;
  Tensor value;  // Op::constant only
  // The source's name for the result, for messages; without meaning.
  std::string name;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<NodeId> inputs;   // in declaration order; nodes with Op::input
  std::vector<NodeId> outputs;  // in declaration order; any nodes
  std::vector<std::string> input_names, output_names;

  [[nodiscard]] const Node& node(NodeId id) const { return nodes[id]; }
  [[nodiscard]] std::size_t size(NodeId id) const { return element_count(nodes[id].shape); }

  // Appends a node whose shape and dtype are inferred from its operands (which must already be present). Rejections are
  // of kind `malformed` and name op, operands and shapes; the graph is then unchanged.
  Outcome<NodeId> append(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}, std::string name = {});
  NodeId append_input(DType dtype, Shape shape, std::string name);  // also listed in inputs / input_names
  NodeId append_constant(Tensor value, std::string name = {});
  void mark_output(NodeId id, std::string name);
};

// The result of shape inference for one op on given operand types; used by append() and validate().
struct ResultType {
  DType dtype;
  Shape shape;
};
[[nodiscard]] Outcome<ResultType> infer(const Graph& graph, Op op, const std::vector<NodeId>& operands, const Attributes& attributes);

// All problems of the graph, each with node, op and reason; empty if it is well-formed: order, arity, attribute kind,
// shapes and dtypes as inferred, finite constants, no extent beyond the limits.
[[nodiscard]] std::vector<Rejection> validate(const Graph& graph);

// The graph with only the nodes that some output depends on, in order, constants included, and every input; renumbered.
// Names are kept. The graph has to be valid.
[[nodiscard]] Graph without_dead_nodes(const Graph& graph);

// Canonical bytes: a function of meaning only (ops, operands, attributes, dtypes, shapes, constant bits, inputs and
// outputs in order), not of names. The graph has to be valid. docs/reference/canonical-graph.md specifies the layout.
// Their SHA-256 is the graph digest.
[[nodiscard]] std::vector<std::byte> canonical_bytes(const Graph& graph);

// "12 nodes (4 gemm, 3 relu), input [1, 5] -> output [1, 5], 13350 parameters"
[[nodiscard]] std::string summary(const Graph& graph);

}  // namespace assay
