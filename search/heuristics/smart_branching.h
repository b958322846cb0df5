// SmartBranching: scores of inputs to split, from how much each input contributes to what the rows of a case lack.
//
// A row falls short by the range of its back-substituted form over the box, and by the relaxation losses of neurons at
// the minimiser of the form. The first part is a sum over inputs as it stands. The loss of a neuron is shared among the
// inputs by how far each input alone moves the neuron's operand across the box. (The form alone is misleading: an input
// whose coefficient cancels still widens every relaxation.) For networks in which every op has planes
// (NeuronGraph::has_planes); non-rigorous.
//
// Source: smart branching (sb) of alpha-beta-CROWN, which scores an input by the coefficient of the form times the
// width of the input. How this version differs: relaxation losses are shared among the inputs as well.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

// One for each thread, since it owns buffers.
class SmartBranching {
 public:
  explicit SmartBranching(const NeuronGraph& graph, const Limit& limit = {}) : graph_(graph), ascent_(graph, limit) {
    workspace_.limit = limit;
  }

  // Scores by element of the concatenated inputs: the input's part of each row's shortfall, summed over the rows of
  // `cases` (indices into the statement). Rows that do not fall short count nothing. Empty once the limit is reached,
  // or if neurons times inputs are too many.
  [[nodiscard]] std::vector<double> operator()(const logic::Scope& scope, std::span<const std::uint32_t> cases);
  // Optimises the bounds of the tasks, which all have the boxes `boxes`. Leaves their scores in the results, and
  // returns the summed losses of the tasks whose bounds stay below 0.
  [[nodiscard]] std::vector<double> ascend(const NeuronBoxes& boxes, std::span<const BoundTask> tasks, int iterations,
                                           std::span<BoundResult> results);

 private:
  [[nodiscard]] std::vector<double> first_shares(const NeuronBoxes& boxes) const;
  bool share_neurons(const NeuronBoxes& boxes);
  void add(const BoundResult& row, std::vector<double>& losses) const;
  const NeuronGraph& graph_;
  AlphaBetaCrown ascent_;
  Workspace workspace_;
  std::vector<double> share_;  // [neuron, input]; the shares of each neuron sum to 1
};

}  // namespace assay::search
