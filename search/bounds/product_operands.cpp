// product_operands(): the losses of the open cases with the policy's planes, and a few rows of each operand.
//
// Source: none; a plain estimate by one evaluation of alpha-beta-CROWN with the policy's planes. A sample of 16
// elements of an operand shows how much rows would gain there.

#include "search/bounds/product_operands.h"

#include <algorithm>
#include <set>

#include "kernel/inspect/inspect.h"

namespace assay::search {
namespace {

constexpr std::size_t kSample = 16;  // elements of a node
constexpr double kLeastGain = 0.01;  // share of what a case loses in all

// How much rows narrow the node's box on average: 0 means not at all, 1 means to a point. 0 if a root has no rows for
// the node, or has them already.
double narrowing(const logic::Problem& problem, logic::Scope scope, NodeId node) {
  if (inspect::kink_at_zero(problem, node) || std::ranges::count(inspect::pre_activations(problem), node) == 0) return 0;
  const std::size_t size = problem.graph().size(node), stride = std::max<std::size_t>(1, size / kSample);
  inspect::Selection sample{inspect::Selection::Kind::mask, std::vector<bool>(size, false)};
  for (std::size_t i = stride / 2; i < size; i += stride) sample.mask[i] = true;
  const auto width = [&] {
    const relax::Box& box = scope.box(node);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += sample.mask[i] ? box.hi[i] - box.lo[i] : 0;
    return sum;
  };
  const double before = width();
  if (!(before > 0) || !inspect::tighten(scope, node, sample, {})) return 0;
  return 1 - width() / before;
}

}  // namespace

std::vector<NodeId> product_operands(const NeuronGraph& graph, const logic::Scope& scope, std::span<const std::uint32_t> cases,
                                     const Limit& limit) {
  if (!graph.has_planes()) return {};
  const logic::Problem& problem = *graph.network().problem();
  const NeuronBoxes boxes = NeuronBoxes::of(graph, scope);
  std::vector<BoundTask> tasks;
  for (const std::uint32_t one : cases) tasks.push_back({&graph.network().rows(one), &boxes});
  std::vector<BoundResult> results(tasks.size());
  AlphaBetaCrown(graph, limit).run(tasks, {.iterations = 1, .scores = true, .strong_splits = false}, results);
  const auto sum_of = [](const BoundResult& result, std::size_t first, std::size_t count) {
    double sum = 0;
    for (std::size_t neuron = first; neuron < first + count; ++neuron) sum += static_cast<double>(result.scores[neuron]);
    return sum;
  };
  std::vector<double> all;  // losses of each case in all
  for (const BoundResult& result : results) all.push_back(result.scores.empty() ? 0 : sum_of(result, 0, graph.neuron_count()));
  std::set<NodeId> chosen;
  for (const NeuronGraph::Activation& product : graph.activations()) {
    if (!product.is_product()) continue;
    double lost = 0;  // the greatest share of a case's losses at this product
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (all[k] > 0) lost = std::max(lost, sum_of(results[k], product.first_neuron, product.neurons()) / all[k]);
    }
    if (!(lost >= kLeastGain)) continue;
    NodeId best = 0;
    double most = 0;
    for (const NodeId operand : product.whole_boxes()) {
      const double narrower = narrowing(problem, scope, operand);
      if (narrower > most) best = operand;
      most = std::max(most, narrower);
    }
    if (lost * most >= kLeastGain) chosen.insert(best);
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace assay::search
