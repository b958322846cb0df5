// refine_by_alphas(): layer by layer, each from the slopes of the layer before.
//
// A round goes through all layers. Rounds end when the cases look closed by their own ascent, or when a round hardly
// reduces the mean width of the ranges.
//
// Source: alpha-CROWN for intermediate layers (Xu et al. 2021), with shared alphas as in auto_LiRPA. How this version
// differs: a layer's alphas start from those of the layer before, and the kernel derives the layer's bounds from them
// at once, so that the next layer starts from proved boxes.

#include "search/bounds/intermediate_alphas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "kernel/inspect/inspect.h"

namespace assay::search {
namespace {

// One pass through the layers. Returns false if the limit was reached.
Outcome<bool> refine_once(IntermediateBounds& root, const NeuronGraph& graph, AlphaBetaCrown& ascent, std::map<NodeId, AlphaBeta>& slopes,
                          const SharedAlphaOptions& options) {
  std::optional<NodeId> last;
  for (const NeuronGraph::Activation& activation : graph.activations()) {
    const NodeId node = activation.operand;
    const std::vector<std::uint32_t> elements = inspect::selected(root.scope(), node, {});
    if (activation.first_neuron == 0 || last == node || elements.empty()) continue;
    const NeuronBoxes boxes = NeuronBoxes::of(graph, root.scope());
    const auto own = slopes.find(node);
    const AlphaBeta* start = own != slopes.end() ? &own->second : last ? &slopes[*last] : nullptr;
    auto found = ascent.share_alphas(node, elements, boxes, start, options);
    if (!found) return false;
    const logic::Hints hints = to_hints(graph, *found, node);
    slopes[node] = *std::move(found);
    last = node;
    if (auto done = root.refine_again(node, hints); !done) return done.rejection();
  }
  return true;
}

// The mean over neurons of the new width divided by the old one.
double mean_ratio(const NeuronBoxes& now, const NeuronBoxes& before) {
  double sum = 0;
  for (std::size_t j = 0; j < now.lo.size(); ++j) {
    const double old_width = before.hi[j] - before.lo[j];
    sum += old_width > 0 ? (now.hi[j] - now.lo[j]) / old_width : 1;
  }
  return now.lo.empty() ? 1 : sum / static_cast<double>(now.lo.size());
}

// Whether a conclusion would probably close the cases now: evaluates the last step of an ascent in doubles.
bool look_closed(AlphaBetaCrown& ascent, const NeuronGraph& graph, const NeuronBoxes& boxes, std::span<const std::uint32_t> cases) {
  constexpr int kSteps = 40;
  std::vector<BoundTask> tasks;
  for (const std::uint32_t one : cases) tasks.push_back({&graph.network().rows(one), &boxes});
  std::vector<BoundResult> results(tasks.size());
  ascent.run(tasks, {.iterations = kSteps}, results);
  return std::ranges::all_of(results, [](const BoundResult& one) { return one.bound > 0; });
}

}  // namespace

Outcome<Done> refine_by_alphas(IntermediateBounds& root, const NeuronGraph& graph, std::span<const std::uint32_t> cases,
                               const Limit& limit) {
  constexpr int kMostRounds = 4;
  constexpr double kWorthMore = 0.97;  // a round that leaves a larger share of the widths is the last
  constexpr double kLaterRate = 0.1;   // for starts near the slopes of the round before
  root.stop_at(limit);
  AlphaBetaCrown ascent(graph, limit);
  std::map<NodeId, AlphaBeta> slopes;
  SharedAlphaOptions options;
  NeuronBoxes before = NeuronBoxes::of(graph, root.scope());
  for (int round = 0; round < kMostRounds; ++round) {
    auto in_time = refine_once(root, graph, ascent, slopes, options);
    if (!in_time && !limit.reached()) return in_time.rejection();
    if (!in_time || !in_time.value()) break;
    NeuronBoxes now = NeuronBoxes::of(graph, root.scope());
    if (mean_ratio(now, before) > kWorthMore || look_closed(ascent, graph, now, cases)) break;
    before = std::move(now);
    options.rate = kLaterRate;
  }
  return Done{};
}

}  // namespace assay::search
