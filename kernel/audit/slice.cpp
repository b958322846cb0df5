// Slices of a trace: the regions between given tensors, and their graph.

#include "kernel/audit/slice.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "semantics/demand.h"

namespace assay::audit {

namespace {

// The bytes of a graph with one node, after their length, so that no key is a prefix of another.
std::string key_of(const Graph& alone) {
  const std::vector<std::byte> bytes = canonical_bytes(alone);
  std::string key;
  append_number(key, bytes.size());
  return key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The node and its operands.
std::string key_of(const Graph& graph, const Node& node, const std::vector<NodeId>& operands) {
  std::string key = node_key(graph, node);
  for (const NodeId operand : operands) append_number(key, operand);
  return key;
}

// Whether all elements have the same bits.
bool is_one_number(const Tensor& value) {
  const auto bytes = value.bytes();
  const std::size_t width = value.size() == 0 ? 0 : bytes.size() / value.size();
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(width), bytes.end(), bytes.begin());
}

}  // namespace

void append_number(std::string& key, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) key.push_back(static_cast<char>(value >> (8 * byte)));
}

std::string node_key(const Tensor& value) {
  Graph alone;
  alone.mark_output(alone.append_constant(value), "");
  return key_of(alone);
}

std::string node_key(const Graph& graph, const Node& node) {
  if (node.op == Op::constant) return node_key(node.value);
  Graph alone;
  std::vector<NodeId> operands;
  for (const NodeId id : node.operands) operands.push_back(alone.append_input(graph.node(id).dtype, graph.node(id).shape, ""));
  const auto added = alone.append(node.op, operands, node.attributes);
  demand(added.ok(), "node_key: valid graphs");
  alone.mark_output(added.value(), "");
  return key_of(alone);
}

Outcome<std::vector<NodeId>> append_graph(Graph& graph, const Graph& part, const std::vector<NodeId>& inputs, bool shares) {
  std::vector<NodeId> ids(part.nodes.size());
  std::map<std::string, NodeId> known;
  for (NodeId id = 0; shares && id < graph.nodes.size(); ++id) {
    if (graph.node(id).op != Op::input) known.try_emplace(key_of(graph, graph.node(id), graph.node(id).operands), id);
  }
  for (std::size_t i = 0; i < part.inputs.size(); ++i) ids[part.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < part.nodes.size(); ++id) {
    const Node& node = part.node(id);
    if (node.op == Op::input) continue;
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(ids[operand]);
    const auto [at, is_new] = known.try_emplace(shares ? key_of(part, node, operands) : std::string(), 0);
    if (shares && !is_new) {
      ids[id] = at->second;
      continue;
    }
    auto added = node.op == Op::constant ? Outcome<NodeId>(graph.append_constant(node.value))
                                         : graph.append(node.op, std::move(operands), node.attributes);
    if (!added) return added.rejection();
    ids[id] = at->second = added.value();
  }
  std::vector<NodeId> outputs;
  for (const NodeId output : part.outputs) outputs.push_back(ids[output]);
  return outputs;
}

Region meant_by(const Trace& trace, const Trace::Vjp& vjp) {
  Region region = trace.regions[vjp.of];
  if (!vjp.surrogate) return region;
  region.graph = *vjp.surrogate;
  region.results = {region.results[vjp.result]};
  return region;
}

Producers::Producers(const Trace& trace) : trace_(trace), region_(trace.tensors.size(), kNone) {
  for (std::uint32_t r = 0; r < trace.regions.size(); ++r) {
    for (const TraceTensorId id : trace.regions[r].results) region_[id] = r;
  }
}

std::vector<TraceTensorId> Producers::ends_of(std::vector<TraceTensorId> from, const std::function<bool(TraceTensorId)>& stops) const {
  std::vector<TraceTensorId> ends;
  std::vector<bool> seen(region_.size(), false);
  while (!from.empty()) {
    const TraceTensorId id = from.back();
    from.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    if (stops(id) || region_[id] == kNone) {
      ends.push_back(id);
    } else {
      const std::vector<TraceTensorId>& above = trace_.regions[region_[id]].operands;
      from.insert(from.end(), above.begin(), above.end());
    }
  }
  std::ranges::sort(ends);
  return ends;
}

bool is_fill(const Trace& trace, const Producers& producers, TraceTensorId id) {
  const Tensor& value = trace.tensors[id].value;
  if (!is_float(value.dtype()) || producers.region_of(id) != Producers::kNone) return false;
  bool found = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (std::isnan(value.as_double(i))) return false;
    found = found || std::isinf(value.as_double(i));
  }
  return found;
}

bool is_mask(const Trace& trace, const Producers& producers, TraceTensorId id) {
  const Tensor& value = trace.tensors[id].value;
  if (!is_float(value.dtype()) || producers.region_of(id) != Producers::kNone) return false;
  std::set<double> numbers;
  for (std::size_t i = 0; i < value.size() && numbers.size() <= 2; ++i) {
    if (!std::isfinite(value.as_double(i))) return false;
    numbers.insert(value.as_double(i));
  }
  return numbers.size() == 2;
}

void Slice::add_input(TraceTensorId id) {
  const Tensor& value = trace_.tensors[id].value;
  known_[id] = graph_.append_input(value.dtype(), value.shape(), trace_.tensors[id].name);
}

Outcome<Done> Slice::append_region(std::uint32_t index) {
  const Region& region = trace_.regions[index];
  std::vector<NodeId> inputs;
  for (const TraceTensorId operand : region.operands) inputs.push_back(known_.at(operand));
  auto next = static_cast<NodeId>(graph_.nodes.size());
  auto outputs = append_graph(graph_, region.graph, inputs);
  if (!outputs) return outputs.rejection();
  for (NodeId id = 0; id < region.graph.nodes.size(); ++id) {
    if (region.graph.node(id).op != Op::input) origins_.emplace(next++, std::pair(index, id));
  }
  for (std::size_t i = 0; i < region.results.size(); ++i) known_.try_emplace(region.results[i], outputs.value()[i]);
  return Done{};
}

Outcome<NodeId> Slice::node_of(TraceTensorId wanted) {
  std::vector<TraceTensorId> open = {wanted};
  while (!open.empty()) {
    const TraceTensorId id = open.back();
    if (known_.contains(id)) {
      open.pop_back();
      continue;
    }
    const std::uint32_t producer = producers_.region_of(id);
    if (producer == Producers::kNone) {
      const Tensor& value = trace_.tensors[id].value;
      if (is_float(value.dtype()) && !is_one_number(value)) closed_ = false;
      known_[id] = graph_.append_constant(value);
      continue;
    }
    bool ready = true;
    for (const TraceTensorId operand : trace_.regions[producer].operands) {
      if (known_.contains(operand)) continue;
      open.push_back(operand);
      ready = false;
    }
    if (!ready) continue;
    if (auto done = append_region(producer); !done) return done.rejection();
  }
  return known_.at(wanted);
}

}  // namespace assay::audit
