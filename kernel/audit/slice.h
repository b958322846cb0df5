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

// The region that gave each tensor; kNone for inputs and parameters.
class Producers {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  explicit Producers(const Trace& trace);
  [[nodiscard]] std::uint32_t region_of(TraceTensorId id) const { return region_[id]; }
  // The tensors at which the paths back from these tensors end: those for which `stops` is true, and those given to the
  // run. Ascending, without repetitions.
  [[nodiscard]] std::vector<TraceTensorId> ends_of(std::vector<TraceTensorId> from, const std::function<bool(TraceTensorId)>& stops) const;

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> region_;
};

// Whether a tensor that was given to the run holds infinities and numbers, such as the fill of a masked softmax. It has
// the recorded value at every point, since other numbers in place of an infinity give another function.
[[nodiscard]] bool is_fill(const Trace& trace, const Producers& producers, TraceTensorId id);
// Whether a tensor that was given to the run holds two different numbers and no other, such as a mask of 0.0 and 1.0. At
// random numbers in its place a run would mask other elements.
[[nodiscard]] bool is_mask(const Trace& trace, const Producers& producers, TraceTensorId id);

class Slice {
 public:
  Slice(const Trace& trace, const Producers& producers) : trace_(trace), producers_(producers) {}

  // Makes the tensor an input of the graph.
  void add_input(TraceTensorId id);
  void add_constant(TraceTensorId id) { known_[id] = graph_.append_constant(trace_.tensors[id].value); }
  // States that node `node` of the graph is the tensor.
  void define(TraceTensorId id, NodeId node) { known_[id] = node; }
  // The node that computes the tensor, with all regions it needs. Inputs and parameters of the run that are no inputs
  // of the graph become constants with their recorded bits; is_closed() says whether real ones did, other than numbers
  // and tensors made constants here.
  Outcome<NodeId> node_of(TraceTensorId id);

  [[nodiscard]] bool knows(TraceTensorId id) const { return known_.contains(id); }
  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] Graph& graph() { return graph_; }
  // For each node that comes from a region: the region, and the node there.
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

// The region that a product refers to: the recorded one, or its declared surrogate as a function of the same operands.
[[nodiscard]] Region meant_by(const Trace& trace, const Trace::Vjp& vjp);

// Appends the nodes of `part`, with the given nodes as its inputs; returns the nodes of its outputs. With `shares`,
// existing equal nodes are reused.
[[nodiscard]] Outcome<std::vector<NodeId>> append_graph(Graph& graph, const Graph& part, const std::vector<NodeId>& inputs,
                                                        bool shares = false);

// A key of the node's computation: op, attributes, types of its operands, and a constant's bits. No key is a prefix of
// another. The graph is valid.
[[nodiscard]] std::string node_key(const Graph& graph, const Node& node);
[[nodiscard]] std::string node_key(const Tensor& constant);
void append_number(std::string& key, std::uint64_t value);

}  // namespace assay::audit
