// Slices of a trace: the regions that compute a tensor from given ones, as one graph. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::audit {

// Which region gave each tensor; kNone for inputs and parameters.
class Producers {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  explicit Producers(const Trace& trace);
  [[nodiscard]] std::uint32_t region_of(TraceTensorId id) const { return region_[id]; }
  // Where the ways back from these tensors end: at those that `stops` names, and at what the run was given. Ascending, each once.
  [[nodiscard]] std::vector<TraceTensorId> ends_of(std::vector<TraceTensorId> from, const std::function<bool(TraceTensorId)>& stops) const;

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> region_;
};

class Slice {
 public:
  Slice(const Trace& trace, const Producers& producers) : trace_(trace), producers_(producers) {}

  // The tensor is an input of the graph from now on.
  void add_input(TraceTensorId id);
  // Node `node` of the graph is the tensor.
  void define(TraceTensorId id, NodeId node) { known_[id] = node; }
  // The node that computes it, with all regions it needs. Inputs and parameters of the run that are no inputs of the graph become
  // constants of their recorded bits; of the real ones is_closed() tells.
  Outcome<NodeId> node_of(TraceTensorId id);

  [[nodiscard]] bool knows(TraceTensorId id) const { return known_.contains(id); }
  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] Graph& graph() { return graph_; }
  // Of each node that a region gave: the region, and the node there.
  [[nodiscard]] const std::map<NodeId, std::pair<std::uint32_t, NodeId>>& origins() const { return origins_; }

 private:
  Outcome<Done> append_region(std::uint32_t region);

  const Trace& trace_;
  const Producers& producers_;
  Graph graph_;
  std::map<TraceTensorId, NodeId> known_;
  std::map<NodeId, std::pair<std::uint32_t, NodeId>> origins_;
  bool closed_ = true;
};

// The region that a product is about: the recorded one, or its declared surrogate as a function of the same operands.
[[nodiscard]] Region meant_by(const Trace& trace, const Trace::Vjp& vjp);

// Appends the nodes of `part` whose inputs are the given nodes; the nodes of its outputs. If it shares, it leaves out nodes that are there.
[[nodiscard]] Outcome<std::vector<NodeId>> append_graph(Graph& graph, const Graph& part, const std::vector<NodeId>& inputs,
                                                        bool shares = false);

// What a node computes, of operands of these types: op, attributes, and a constant's bits. No key is the beginning of another. The graph is
// valid.
[[nodiscard]] std::string node_key(const Graph& graph, const Node& node);
[[nodiscard]] std::string node_key(const Tensor& constant);
void append_number(std::string& key, std::uint64_t value);

}  // namespace assay::audit
