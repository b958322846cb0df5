#include "explain/part.h"

#include <algorithm>
#include <utility>

namespace assay::explain {

namespace {

class Cutter {
 public:
  Cutter(const Trace& trace, const Region& region, std::size_t result, std::size_t element)
      : trace_(trace),
        region_(region),
        result_(result),
        element_(element),
        boxes_(region.graph.nodes.size()),
        attributes_(boxes_.size()),
        wanted_(boxes_.size()) {}

  Part cut() {
    if (auto part = find_boxes() ? assembled() : std::nullopt) return std::move(*part);
    for (NodeId id = 0; id < boxes_.size(); ++id) {
      const Node& node = region_.graph.node(id);
      boxes_[id] = whole(node.shape);
      attributes_[id] = node.attributes;
      wanted_[id].clear();
      for (const NodeId operand : node.operands) wanted_[id].push_back(whole(region_.graph.node(operand).shape));
    }
    Part part = *assembled();
    part.named.clear();
    return part;
  }

 private:
  // Where two users need different parts of one node, both get a slice of what holds the two. False where an op that may be fused with
  // its users stands there: a slice between them would say that it is not.
  bool find_boxes() {
    const Graph& graph = region_.graph;
    const NodeId output = graph.outputs[result_];
    boxes_[output] = one_element(graph.node(output).shape, element_);
    for (NodeId id = output + 1; id-- > 0;) {
      const Node& node = graph.node(id);
      if (!boxes_[id] || node.op == Op::input || node.op == Op::constant) continue;
      Needs needs{whole(node.shape), {}, node.attributes};
      if (auto found = needs_of(graph, node, *boxes_[id]))
        needs = std::move(*found);
      else
        for (const NodeId operand : node.operands) needs.operands.push_back(whole(graph.node(operand).shape));
      boxes_[id] = std::move(needs.result);
      attributes_[id] = std::move(needs.attributes);
      wanted_[id] = std::move(needs.operands);
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        std::optional<Box>& box = boxes_[node.operands[k]];
        box = box ? hull(*box, wanted_[id][k]) : wanted_[id][k];
      }
    }
    return !slices_what_fuses();
  }

  [[nodiscard]] bool slices_what_fuses() const {
    const Graph& graph = region_.graph;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (std::size_t k = 0; k < wanted_[id].size(); ++k) {
        const NodeId operand = graph.node(id).operands[k];
        const Op op = graph.node(operand).op;
        if ((op == Op::mul || op == Op::neg) && boxes_[operand] != wanted_[id][k]) return true;
      }
    }
    return false;
  }

  // Node `id` of the part, or the slice of it that a user reads.
  std::optional<NodeId> sliced(Part& part, NodeId id, const Box& from, const Box& wanted) const {
    if (from == wanted) return id;
    SliceAttributes attributes;
    for (std::size_t axis = 0; axis < from.begin.size(); ++axis) attributes.starts.push_back(wanted.begin[axis] - from.begin[axis]);
    attributes.steps.assign(from.begin.size(), 1);
    attributes.extents = extents(wanted);
    const auto added = part.graph.append(Op::slice, {id}, std::move(attributes));
    if (!added) return std::nullopt;
    part.named.push_back({id, wanted.begin});
    return added.value();
  }

  void append_input(Part& part, std::vector<NodeId>& ids, std::size_t k) const {
    const NodeId id = region_.graph.inputs[k];
    const Tensor& value = trace_.tensors[region_.operands[k]].value;
    if (!boxes_[id]) return;
    ids[id] = part.graph.append_input(value.dtype(), extents(*boxes_[id]), trace_.tensors[region_.operands[k]].name);
    part.operands.push_back(cut_to(value, *boxes_[id]));
    part.positions.push_back(k);
    part.named.push_back({ids[id], boxes_[id]->begin});
  }

  [[nodiscard]] std::optional<Part> assembled() const {
    const Graph& graph = region_.graph;
    Part part;
    part.model = region_.model;
    part.name = region_.name;
    std::vector<NodeId> ids(graph.nodes.size());
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) append_input(part, ids, k);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      if (!boxes_[id] || node.op == Op::input) continue;
      if (node.op == Op::constant) {
        ids[id] = part.graph.append_constant(cut_to(node.value, *boxes_[id]));
        part.named.push_back({ids[id], boxes_[id]->begin});
        continue;
      }
      std::vector<NodeId> operands;
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const auto operand = sliced(part, ids[node.operands[k]], *boxes_[node.operands[k]], wanted_[id][k]);
        if (!operand) return std::nullopt;
        operands.push_back(*operand);
      }
      const auto added = part.graph.append(node.op, std::move(operands), attributes_[id]);
      if (!added || part.graph.node(added.value()).shape != extents(*boxes_[id])) return std::nullopt;
      ids[id] = added.value();
      part.named.push_back({ids[id], boxes_[id]->begin});
    }
    mark_results(part, ids);
    return part;
  }

  void mark_results(Part& part, const std::vector<NodeId>& ids) const {
    for (std::size_t i = 0; i < region_.results.size(); ++i) {
      const NodeId id = region_.graph.outputs[i];
      if (!boxes_[id]) continue;
      if (i == result_) {
        part.result = part.results.size();
        Shape index = index_of(region_.graph.node(id).shape, element_);
        for (std::size_t axis = 0; axis < index.size(); ++axis) index[axis] -= boxes_[id]->begin[axis];
        part.element = element_at(extents(*boxes_[id]), index);
      }
      part.graph.mark_output(ids[id], trace_.tensors[region_.results[i]].name);
      part.results.push_back(cut_to(trace_.tensors[region_.results[i]].value, *boxes_[id]));
      part.tensors.push_back(region_.results[i]);
    }
  }

  const Trace& trace_;
  const Region& region_;
  std::size_t result_, element_;
  std::vector<std::optional<Box>> boxes_;  // none: not needed
  std::vector<Attributes> attributes_;
  std::vector<std::vector<Box>> wanted_;  // of each node's operands
};

}  // namespace

Shape Part::index_of_node(NodeId id, std::size_t i) const {
  Shape index = index_of(graph.node(id).shape, i);
  for (std::size_t axis = 0; axis < index.size() && !named.empty(); ++axis) index[axis] += named[id].begin[axis];
  return index;
}

Part part_of(const Trace& trace, std::size_t region, std::size_t result, std::size_t element) {
  return Cutter(trace, trace.regions[region], result, element).cut();
}

Trace trace_of(const Trace& source, const Part& part) {
  Trace trace;
  trace.writer = source.writer;
  Region region;
  region.name = part.name;
  region.graph = part.graph;
  region.model = part.model;
  const auto add = [&](std::string name, Trace::Origin origin, const Tensor& value, ExecutionModel::Storage storage) {
    const auto taken = [&](const Trace::Entry& one) { return one.name == name; };
    while (std::ranges::any_of(trace.tensors, taken)) name += "'";
    trace.tensors.push_back({name, origin, value, storage});
    return static_cast<TraceTensorId>(trace.tensors.size() - 1);
  };
  for (std::size_t k = 0; k < part.operands.size(); ++k)
    region.operands.push_back(add(part.graph.input_names[k], Trace::Origin::input, part.operands[k], ExecutionModel::Storage::same));
  for (std::size_t i = 0; i < part.results.size(); ++i)
    region.results.push_back(
        add(source.tensors[part.tensors[i]].name, Trace::Origin::result, part.results[i], source.tensors[part.tensors[i]].storage));
  trace.outputs = region.results;
  trace.regions.push_back(std::move(region));
  return trace;
}

}  // namespace assay::explain
