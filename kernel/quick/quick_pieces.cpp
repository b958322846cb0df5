// Pieces: cuts a region at its recorded values.

#include <algorithm>

#include "kernel/quick/quick.h"
#include "semantics/demand.h"

namespace assay::quick {

namespace {

class Cutting {
 public:
  Cutting(const Region& region, std::span<const Tensor> operands, std::span<const Trace::Entry> results)
      : region_(region), known_(region.graph.nodes.size()) {
    for (std::size_t i = 0; i < operands.size(); ++i) known_[region.graph.inputs[i]] = &operands[i];
    for (NodeId id = 0; id < known_.size(); ++id) {
      if (region.graph.node(id).op == Op::constant) known_[id] = &region.graph.node(id).value;
    }
    for (std::size_t i = 0; i < results.size(); ++i) result_of(region.graph.outputs[i]) = &results[i];
  }

  std::vector<Piece> run() {
    std::vector<Piece> pieces;
    for (const NodeId output : region_.graph.outputs) {
      Piece& piece = pieces.emplace_back(Piece{{region_.name, {}, region_.model, {}, {}}, {}, *result_of(output)});
      std::vector<NodeId> made(known_.size());
      for (const NodeId id : needed(output)) made[id] = add(id, id == output, piece, made);
      piece.region.graph.mark_output(made[output], "y");
    }
    return pieces;
  }

 private:
  const Trace::Entry*& result_of(NodeId id) {
    if (results_.empty()) results_.resize(known_.size());
    return results_[id];
  }
  const Tensor* value_of(NodeId id) {
    if (known_[id] != nullptr) return known_[id];
    return result_of(id) != nullptr ? &result_of(id)->value : nullptr;
  }
  // The node itself and the nodes that are read or computed for it, in the order of the graph.
  std::vector<NodeId> needed(NodeId output) {
    std::vector<bool> seen(known_.size(), false);
    std::vector<NodeId> open = {output}, found;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      found.push_back(id);
      const std::vector<NodeId>& operands = region_.graph.node(id).operands;
      if (id == output || value_of(id) == nullptr) open.insert(open.end(), operands.begin(), operands.end());
    }
    std::ranges::sort(found);
    return found;
  }
  // The node in the piece's graph: computed there, or read.
  NodeId add(NodeId id, bool is_result, Piece& piece, const std::vector<NodeId>& made) {
    const Node& node = region_.graph.node(id);
    if (const Tensor* value = is_result ? nullptr : value_of(id)) {
      piece.operands.push_back(*value);
      return piece.region.graph.append_input(node.dtype, node.shape, "x");
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(made[operand]);
    const auto added = piece.region.graph.append(node.op, std::move(operands), node.attributes);
    demand(added.ok(), "quick: ops of a valid graph fit its pieces");
    return added.value();
  }

  const Region& region_;
  std::vector<const Tensor*> known_;          // inputs and constants
  std::vector<const Trace::Entry*> results_;  // by node
};

}  // namespace

std::vector<Piece> pieces_of(const Region& region, std::span<const Tensor> operands, std::span<const Trace::Entry> results) {
  const Graph& graph = region.graph;
  std::vector<NodeId> outputs = graph.outputs;
  std::ranges::sort(outputs);
  const auto is_leaf = [&](NodeId id) { return graph.node(id).op == Op::input || graph.node(id).op == Op::constant; };
  const auto is_short = [](const Trace::Entry& entry) { return entry.storage != ExecutionModel::Storage::same; };
  if (graph.nodes.size() < graph.inputs.size() + 2 || std::ranges::adjacent_find(outputs) != outputs.end() ||
      std::ranges::any_of(outputs, is_leaf) || std::ranges::any_of(results, is_short))
    return {};
  return Cutting(region, operands, results).run();
}

}  // namespace assay::quick
