// SmartBranching: which input to split, from where the rows of a case lose their bound on a box.
//
// A row falls short by the range of its back-substituted form over the box and by what its lines
// lose against the functions at the form's minimiser. The first is a sum over inputs as it stands.
// A neuron's loss is shared among the inputs by how far each alone moves the neuron's operand
// across the box. (The form alone is misleading: where a coefficient cancels, its input still
// widens every relaxation.) Networks with planes for all (NeuronGraph::has_planes); non-rigorous.
//
// Source: smart branching (sb) of alpha-beta-CROWN, which scores an input by the form's coefficient
// times the input's width. How this version differs: what lines lose is shared among the inputs as
// well.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

// One per thread: owns the buffers.
class SmartBranching {
 public:
  explicit SmartBranching(const NeuronGraph& graph, const Limit& limit = {}) : graph_(graph), ascent_(graph, limit) {
    workspace_.limit = limit;
  }

  // By element of the concatenated inputs: the sum over the rows of `cases` (indices into the
  // statement) of the part of the row's shortfall that is the input's. Rows that do not fall short
  // count nothing. Empty once the limit is reached, and where neurons times inputs are too many.
  [[nodiscard]] std::vector<double> operator()(const logic::Scope& scope, std::span<const std::uint32_t> cases);
  // Ascent on the tasks, all of them in `boxes`, whose scores are left in the results; and the sum
  // of the losses of those that stay below 0.
  [[nodiscard]] std::vector<double> ascend(const NeuronBoxes& boxes, std::span<const BoundTask> tasks, int iterations,
                                           std::span<BoundResult> results);

 private:
  [[nodiscard]] std::vector<double> first_shares(const NeuronBoxes& boxes) const;
  bool share_neurons(const NeuronBoxes& boxes);
  void add(const BoundResult& row, std::vector<double>& losses) const;
  const NeuronGraph& graph_;
  AlphaBetaCrown ascent_;
  Workspace workspace_;
  std::vector<double> share_;  // [neuron, input], each neuron's shares sum to 1
};

}  // namespace assay::search
