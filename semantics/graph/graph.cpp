// Graph: appending nodes.

#include "semantics/graph/graph.h"

#include <array>

#include "semantics/demand.h"

namespace assay {

Outcome<NodeId> Graph::append(Op op, std::vector<NodeId> operands, Attributes attributes, std::string name) {
  Outcome<ResultType> type = infer(*this, op, operands, attributes);
  if (!type) return type.rejection();
  nodes.push_back({op, std::move(operands), std::move(attributes), type.value().dtype, type.value().shape, Tensor(), std::move(name)});
  return static_cast<NodeId>(nodes.size() - 1);
}

NodeId Graph::append_input(DType dtype, Shape shape, std::string name) {
  nodes.push_back({Op::input, {}, NoAttributes{}, dtype, std::move(shape), Tensor(), name});
  inputs.push_back(static_cast<NodeId>(nodes.size() - 1));
  input_names.push_back(std::move(name));
  return inputs.back();
}

NodeId Graph::append_constant(Tensor value, std::string name) {
  const DType dtype = value.dtype();
  Shape shape = value.shape();
  nodes.push_back({Op::constant, {}, NoAttributes{}, dtype, std::move(shape), std::move(value), std::move(name)});
  return static_cast<NodeId>(nodes.size() - 1);
}

void Graph::mark_output(NodeId id, std::string name) {
  demand(id < nodes.size(), "Graph::mark_output: no such node");
  outputs.push_back(id);
  output_names.push_back(std::move(name));
}

Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> is_live(graph.nodes.size(), false);
  for (const NodeId id : graph.inputs) is_live[id] = true;
  for (const NodeId id : graph.outputs) is_live[id] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {  // users come after their operands
    if (!is_live[id]) continue;
    for (const NodeId operand : graph.nodes[id].operands) is_live[operand] = true;
  }
  Graph result;
  std::vector<NodeId> renumbered(graph.nodes.size(), 0);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    if (!is_live[id]) continue;
    renumbered[id] = static_cast<NodeId>(result.nodes.size());
    Node node = graph.nodes[id];
    for (NodeId& operand : node.operands) operand = renumbered[operand];
    result.nodes.push_back(std::move(node));
  }
  for (const NodeId id : graph.inputs) result.inputs.push_back(renumbered[id]);
  for (const NodeId id : graph.outputs) result.outputs.push_back(renumbered[id]);
  result.input_names = graph.input_names;
  result.output_names = graph.output_names;
  return result;
}

namespace {

// "[1, 5]", "[1, 5], float64 [2]": float32 is not written.
std::string types_of(const Graph& graph, const std::vector<NodeId>& ids) {
  std::string text;
  for (const NodeId id : ids) {
    const Node& node = graph.nodes[id];
    if (!text.empty()) text += ", ";
    if (node.dtype != DType::float32) text += std::string(to_string(node.dtype)) + " ";
    text += to_string(node.shape);
  }
  return text;
}

}  // namespace

std::string summary(const Graph& graph) {
  std::array<std::size_t, kOpCount> count{};
  std::size_t nodes = 0, parameters = 0;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::constant) parameters += node.value.size();
    if (op_row(node.op).op_class == OpClass::leaf) continue;
    ++count[static_cast<std::size_t>(node.op)];
    ++nodes;
  }
  std::string ops;
  for (std::size_t op = 0; op < count.size(); ++op) {
    if (count[op] == 0) continue;
    ops += (ops.empty() ? "" : ", ") + std::to_string(count[op]) + " " + std::string(op_row(static_cast<Op>(op)).name);
  }
  return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") + (ops.empty() ? "" : " (" + ops + ")") + ", input " +
         types_of(graph, graph.inputs) + " -> output " + types_of(graph, graph.outputs) + ", " + std::to_string(parameters) + " parameters";
}

}  // namespace assay
