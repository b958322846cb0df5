// The choice between splits of inputs and of neurons, and the choice of an input.
//
// best_half() takes the input with the best score; widths break ties. open_integer() finds an integer that the network
// computes and that can still take two values, and splits between them.
//
// Source: input splitting of alpha-beta-CROWN; integers as in any mixed-integer solver.

#include "search/heuristics/input_splits.h"

#include <algorithm>
#include <cmath>

#include "kernel/inspect/inspect.h"
#include "search/strategy/constants.h"
#include "semantics/graph/family.h"

namespace assay::search {

// An input whose ends differ only by rounding does not count as free.
std::size_t free_inputs(const logic::Problem& problem, const logic::Scope& scope) {
  std::size_t count = 0;
  for (const NodeId input : problem.graph().inputs) {
    const relax::Box& box = scope.box(input);
    for (std::size_t i = 0; i < box.lo.size(); ++i) {
      // An input pinned to a decimal is no wider than this.
      const double rounding = 0x1p-50 * std::max(std::fabs(box.lo[i]), std::fabs(box.hi[i]));
      count += box.hi[i] - box.lo[i] > rounding ? 1 : 0;
    }
  }
  return count;
}

bool splits_activations(const NeuronGraph& graph, const logic::Scope& scope, Options::Branching branching) {
  if (!graph.can_split()) return false;
  if (branching != Options::Branching::automatic) return branching == Options::Branching::relu;
  return free_inputs(*graph.network().problem(), scope) > kFewInputs || graph.every_neuron_has_input_row();
}

// Widths break ties, so that inputs without a score are split in turn.
std::optional<Split> best_half(const logic::Problem& problem, const logic::Scope& scope,
                               std::span<const std::pair<NodeId, std::uint32_t>> inputs, std::span<const double> scores) {
  double best_score = 0;
  std::optional<Split> chosen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [node, element] = inputs[i];
    const double lo = scope.box(node).lo[element], hi = scope.box(node).hi[element];
    // An integer input is cut between two integers, so that no point lies on the threshold.
    const bool whole = !is_float(problem.graph().node(node).dtype);
    const double middle = whole ? std::floor(lo / 2 + hi / 2) + 0.5 : lo / 2 + hi / 2;
    if (!(lo < middle && middle < hi)) continue;
    const double score = (std::isfinite(scores[i]) ? scores[i] : 0) + 1e-12 * (hi - lo);
    if (chosen && !(score > best_score)) continue;
    best_score = score;
    chosen = Split{node, element, middle};
  }
  return chosen;
}

std::optional<Split> open_integer(const logic::Problem& problem, const logic::Scope& scope) {
  for (const NodeId id : inspect::active_nodes(problem)) {
    const Node& node = problem.graph().node(id);
    if (!gives_integers(node.op, node.dtype) || node.op == Op::input || !scope.has_box(id)) continue;
    const relax::Box& box = scope.box(id);
    for (std::uint32_t i = 0; i < box.lo.size(); ++i) {
      const double first = std::ceil(box.lo[i]), last = std::floor(box.hi[i]);
      if (first < last) return Split{id, i, std::floor(first / 2 + last / 2) + 0.5};
    }
  }
  return std::nullopt;
}

}  // namespace assay::search
