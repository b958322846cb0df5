// Opened traces: each node of a region becomes a region with values of its own.

#include "kernel/audit/opened.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "semantics/demand.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

std::vector<Array<double>> none_of(const Region& region) { return std::vector<Array<double>>(region.graph.nodes.size()); }

// Values from whose ranges similar ones can be drawn, if some were not recorded; nothing else depends on them.
std::vector<Array<double>> some_values(const Trace& trace, const Region& region) {
  if (region.graph.nodes.size() == region.graph.inputs.size() + region.graph.outputs.size()) return none_of(region);
  std::vector<Array<double>> inputs;
  for (const TraceTensorId id : region.operands) inputs.push_back(lift<double>(trace.tensors[id].value));
  auto values = evaluate<double>(region.graph, inputs);
  return values ? std::move(values).value() : none_of(region);
}

Tensor tensor_like(const Node& node, const Array<double>& values) {
  const std::size_t count = element_count(node.shape);
  if (!is_float(node.dtype) || values.values.size() != count)
    return {node.dtype, node.shape, std::make_shared<std::vector<std::byte>>(count * byte_size(node.dtype))};
  if (node.dtype == DType::float64) return Tensor::of_doubles(node.shape, values.values);
  return Tensor::of_floats(node.shape, std::vector<float>(values.values.begin(), values.values.end()));
}

class Opening {
 public:
  explicit Opening(const Trace& trace) : trace_(trace), values_(trace.regions.size()), of_region_(trace.regions.size()) {
    result_.trace.tensors = trace.tensors;
    result_.recorded = trace.tensors.size();
  }

  Opened run() {
    // Results of one region may follow from each other, and from expansions of the operands of others; only its nodes
    // show that. A region whose product is that of its results stays closed.
    std::vector<bool> is_open, is_named(trace_.regions.size(), false);
    for (const Region& region : trace_.regions) is_open.push_back(region.graph.nodes.size() > region.graph.inputs.size() + 1);
    for (const Trace::Vjp& vjp : trace_.vjps) is_open[vjp.of] = is_open[vjp.of] && vjp.node;
    for (const Trace::Inner& inner : trace_.inner) is_open[inner.region] = is_named[inner.region] = true;
    for (const Trace::Vjp& vjp : trace_.vjps) {
      if (vjp.node) is_open[vjp.of] = is_named[vjp.of] = true;
    }
    for (std::uint32_t r = 0; r < trace_.regions.size(); ++r) {
      of_region_[r] = static_cast<std::uint32_t>(result_.trace.regions.size());
      if (is_open[r]) {
        open(r, is_named[r] ? some_values(trace_, trace_.regions[r]) : none_of(trace_.regions[r]));
      } else {
        append(trace_.regions[r], r);
        note_expansion(trace_.regions[r]);
      }
    }
    for (const Trace::Vjp& vjp : trace_.vjps) {
      Trace::Vjp one = vjp;
      one.of = vjp.node ? region_of_.at({vjp.of, *vjp.node}) : of_region_[vjp.of];
      one.node = std::nullopt;
      one.cotangent = id_of(vjp.cotangent);
      for (auto& [operand, id] : one.cotangents) id = id_of(id);
      for (auto& [operand, id] : one.convention) id = id_of(id);
      result_.trace.vjps.push_back(std::move(one));
    }
    result_.trace.gradients = trace_.gradients;
    result_.trace.detached = trace_.detached;
    result_.trace.outputs = trace_.outputs;
    return std::move(result_);
  }

 private:
  void append(Region region, std::uint32_t origin) {
    result_.trace.regions.push_back(std::move(region));
    result_.origin.push_back(origin);
  }

  void note_expansion(const Region& region) {
    const Graph& graph = region.graph;
    if (graph.nodes.size() != 2 || graph.nodes[1].op != Op::expand || graph.outputs != std::vector<NodeId>{1}) return;
    expansions_.try_emplace({region.operands[0], graph.nodes[1].shape}, region.results[0]);
    producer_[region.results[0]] = static_cast<std::uint32_t>(result_.trace.regions.size() - 1);
  }

  void open(std::uint32_t r, const std::vector<Array<double>>& values) {
    const Region& region = trace_.regions[r];
    const Graph& graph = region.graph;
    std::vector<TraceTensorId>& ids = values_[r];
    ids.resize(graph.nodes.size());
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) ids[graph.inputs[i]] = region.operands[i];
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      std::vector<TraceTensorId> results;
      for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
        if (graph.outputs[k] == id) results.push_back(region.results[k]);
      }
      if (node.op == Op::input && results.empty()) continue;
      Region one = region_of(region, id, ids);
      if (results.empty()) {
        // A program may have omitted an expansion wherever it was read, so all copies of an expansion are one value.
        const bool is_new = node.op != Op::expand || expansions_.try_emplace({one.operands[0], node.shape}, next_id()).second;
        ids[id] = is_new ? next_id() : expansions_.at({one.operands[0], node.shape});
        if (!is_new) {
          region_of_[{r, id}] = producer_.at(ids[id]);
          continue;
        }
        result_.trace.tensors.push_back(
            {"value " + std::to_string(id) + " of region " + std::to_string(r), Trace::Origin::result, tensor_like(node, values[id])});
        result_.inner.emplace_back(r, id);
        results = {ids[id]};
      }
      if (node.op == Op::expand) expansions_.try_emplace({one.operands[0], node.shape}, results[0]);
      if (node.op != Op::input) {
        ids[id] = results[0];
        region_of_[{r, id}] = producer_[ids[id]] = static_cast<std::uint32_t>(result_.trace.regions.size());
      }
      for (std::size_t k = 0; k < results.size(); ++k) one.graph.mark_output(static_cast<NodeId>(one.graph.nodes.size() - 1), "y");
      one.results = std::move(results);
      append(std::move(one), r);
    }
  }

  // One node as a region with the node's operands; an input that is a result is passed on.
  static Region region_of(const Region& region, NodeId id, const std::vector<TraceTensorId>& ids) {
    const Node& node = region.graph.node(id);
    Region one{region.name + ", " + std::string(op_row(node.op).name), {}, region.model, {}, {}};
    if (node.op == Op::constant) {
      one.graph.append_constant(node.value);
      return one;
    }
    if (node.op == Op::input) {
      one.graph.append_input(node.dtype, node.shape, "x");
      one.operands = {ids[id]};
      return one;
    }
    std::vector<NodeId> inputs;
    for (const NodeId operand : node.operands) {
      const Node& like = region.graph.node(operand);
      inputs.push_back(one.graph.append_input(like.dtype, like.shape, "x"));
      one.operands.push_back(ids[operand]);
    }
    const auto added = one.graph.append(node.op, std::move(inputs), node.attributes);
    demand(added.ok(), "opened: a node of a valid graph");
    return one;
  }

  [[nodiscard]] TraceTensorId next_id() const { return static_cast<TraceTensorId>(result_.trace.tensors.size()); }
  [[nodiscard]] TraceTensorId id_of(TraceTensorId id) const {
    if (id < kFirstInner) return id;
    const Trace::Inner& inner = trace_.inner[id - kFirstInner];
    return values_[inner.region][inner.node];
  }

  const Trace& trace_;
  Opened result_;
  std::vector<std::vector<TraceTensorId>> values_;                       // by node of opened regions
  std::vector<std::uint32_t> of_region_;                                 // for regions that stay closed
  std::map<std::pair<std::uint32_t, NodeId>, std::uint32_t> region_of_;  // by node of an opened region
  std::map<std::pair<TraceTensorId, Shape>, TraceTensorId> expansions_;
  std::map<TraceTensorId, std::uint32_t> producer_;
};

}  // namespace

Opened opened(const Trace& trace) { return Opening(trace).run(); }

}  // namespace assay::audit
