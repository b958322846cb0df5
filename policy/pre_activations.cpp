// Which nodes and elements are worth bounds by rows: those on which the lines of a non-linear op depend.
#include <algorithm>

#include "policy/policy.h"
#include "semantics/functions/unary_function.h"
#include "semantics/graph/family.h"

namespace assay::policy {
namespace {

// Inputs, what layout ops alone make of them, and such a node minus a constant: their boxes are those of the inputs' elements.
std::vector<bool> copies_of_inputs(const Graph& graph) {
  std::vector<bool> result(graph.nodes.size(), false);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    const bool shifts = node.op == Op::sub && graph.node(node.operands[1]).op == Op::constant;
    const std::span<const NodeId> read(node.operands.data(), shifts ? 1 : node.operands.size());
    result[id] = node.op == Op::input || ((shifts || op_row(node.op).op_class == OpClass::layout) &&
                                          std::ranges::all_of(read, [&](NodeId operand) { return bool{result[operand]}; }));
  }
  return result;
}

}  // namespace

PreActivations pre_activations(const Graph& graph, std::span<const NodeId> active, const std::vector<bool>& bends) {
  std::vector<bool> enters(graph.nodes.size(), false);
  PreActivations result{{}, std::vector<bool>(graph.nodes.size(), true)};
  for (NodeId user = 0; user < graph.nodes.size(); ++user) {
    if (!bends[user]) continue;
    const Node& node = graph.node(user);
    const bool at_zero_only = UnaryFunction::is_one(node) && UnaryFunction(node).bends_at_zero_only();
    for (const NodeId operand : node.operands) {
      enters[operand] = true;
      if (!at_zero_only) result.kink_at_zero[operand] = false;
    }
  }
  const std::vector<bool> copies = copies_of_inputs(graph);
  std::ranges::copy_if(active, std::back_inserter(result.nodes), [&](NodeId id) { return enters[id] && !copies[id]; });
  return result;
}

std::vector<std::uint32_t> unstable(std::span<const double> lo, std::span<const double> hi, bool kink_at_zero) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < lo.size(); ++i) {
    if (kink_at_zero ? lo[i] < 0 && hi[i] > 0 : lo[i] < hi[i]) result.push_back(i);
  }
  return result;
}

}  // namespace assay::policy
