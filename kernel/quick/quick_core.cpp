// Cores: the one computing op of a region whose other ops only move elements.

#include <numeric>

#include "kernel/quick/quick.h"
#include "semantics/ops/denote.h"

namespace assay::quick {

namespace {

bool moves(const Node& node) { return op_row(node.op).op_class == OpClass::layout && node.operands.size() == 1; }
bool moves_back(const Node& node) { return node.op == Op::permute || node.op == Op::reshape; }

Tensor moved(const Graph& graph, NodeId id, const Tensor& operand) {
  if (const auto values = moved_by_strides(graph.node(id), operand)) return Tensor::of_floats(graph.node(id).shape, *values);
  const IndexMap map = index_map(graph, id, 0);
  const std::span<const float> from = floats(operand);
  std::vector<float> values;
  for (std::size_t i = 0; i < map.index.size(); ++i)
    values.push_back(map.index[i] < 0 ? static_cast<float>(map.fill[i]) : from[static_cast<std::size_t>(map.index[i])]);
  return Tensor::of_floats(graph.node(id).shape, values);
}

// The only op of the graph, or the only one that does not move elements.
std::optional<NodeId> only_op(const Graph& graph) {
  std::vector<NodeId> ops, computing;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (graph.node(id).op == Op::constant) return std::nullopt;
    if (graph.node(id).op == Op::input) continue;
    ops.push_back(id);
    if (!moves(graph.node(id))) computing.push_back(id);
  }
  if (ops.size() == 1) return ops[0];
  return computing.size() == 1 ? std::optional(computing[0]) : std::nullopt;
}

}  // namespace

std::optional<Core> core_of(const Fused& fused) {
  const Graph& graph = fused.region.graph;
  const std::optional<NodeId> found = fused.results.size() == 1 ? only_op(graph) : std::nullopt;
  if (!found) return std::nullopt;
  std::vector<std::optional<Tensor>> values(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) values[graph.inputs[i]] = fused.operands[i];
  for (NodeId id = 0; id < *found; ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::input && values[node.operands[0]]) values[id] = moved(graph, id, *values[node.operands[0]]);
  }
  Core core{graph.node(*found), {}, *fused.results[0], {}};
  for (const NodeId operand : core.node.operands) {
    if (!values[operand]) return std::nullopt;
    core.operands.push_back(*values[operand]);
  }
  // The moves from the core to the output.
  NodeId last = *found;
  std::vector<std::size_t> from(graph.size(last));  // of the element now at each place
  std::iota(from.begin(), from.end(), std::size_t{0});
  for (NodeId id = *found + 1; id < graph.nodes.size() && last != graph.outputs[0]; ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input || node.operands[0] != last) continue;
    if (!moves_back(node)) return std::nullopt;
    const std::vector<std::size_t> before = from;
    const IndexMap map = index_map(graph, id, 0);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = before[static_cast<std::size_t>(map.index[i])];
    last = id;
  }
  if (last != graph.outputs[0]) return std::nullopt;
  if (last == *found) return core;
  std::vector<float> values_then(from.size());
  core.place.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    values_then[from[i]] = floats(*fused.results[0])[i];
    core.place[from[i]] = i;
  }
  core.result = Tensor::of_floats(core.node.shape, values_then);
  return core;
}

}  // namespace assay::quick
