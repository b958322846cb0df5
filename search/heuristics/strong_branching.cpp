// StrongBranching: bounds the two halves of each input by a few steps of ascent.
//
// Inputs that were good one level above are tried first. Once an input closes every case on both halves, the remaining
// inputs are skipped. The chosen halves get more steps, and the kernel is asked about the cases that look closed there.
//
// Source: strong branching (Applegate et al. 1995) with the score summed over cases. How this version differs: eight
// halves are bounded side by side in SIMD lanes; the scores of the parent box order the inputs; and the bounds of the
// chosen halves serve as starts one level down.

#include "search/heuristics/strong_branching.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "certificates/check/refutations.h"
#include "certificates/check/session.h"

namespace assay::search {
namespace {

constexpr int kRootSteps = 60;
constexpr int kHalfSteps = 5;
constexpr int kMoreSteps = 20;            // for the chosen halves
constexpr std::size_t kMostCases = 8;     // how many cases choose a split: those furthest from closed
constexpr double kLeastShortfall = 1e-9;  // least shortfall of a bound
constexpr double kWidthScore = 1e-9;      // score per width of an input, if no half gains

// How much of its shortfall a bound gains on a half, as a share from 0 to 1.
double gain(double above, double here) {
  const double shortfall = std::max(-above, kLeastShortfall);
  return std::max(0.0, (std::min(here, 0.0) + shortfall) / shortfall);
}

}  // namespace

StrongBranching::StrongBranching(const ScalarGraph& graph, std::size_t group) : graph_(graph), group_(group) {
  for (std::size_t half = 0; half < 2 * graph.inputs(); half += kLanes) bounds_.emplace_back(graph);
}

TriedBox StrongBranching::root(const logic::Scope& scope, std::span<const std::uint32_t> positions) {
  TriedBox result{input_box(*graph_.network().problem(), scope), {}};
  bounds_.front().load(std::span(&result.box, 1));
  const BoxParameters* const none = nullptr;
  for (const std::uint32_t position : positions) {
    TriedCase& one = result.cases.emplace_back(TriedCase{position, {}});
    bounds_.front().bound(case_of(position), std::span(&none, 1), kRootSteps, 0, std::span(&one.bound, 1));
  }
  return result;
}

Outcome<Done> StrongBranching::conclude(logic::Scope& scope, bool sweeps, bool asks_all, TriedBox& box, Conclusion& found) const {
  const auto looks_closed = [](const TriedCase& one) { return one.bound.bound > 0; };
  if (!asks_all && std::ranges::none_of(box.cases, looks_closed)) return Done{};
  if (sweeps) {
    if (auto done = certificate::sweep(*graph_.network().problem(), scope, 0, false); !done) return done;
    found.steps.sweep(0, false);
  }
  if (auto nothing_left = scope.empty()) {
    found.steps.empty();
    found.refutation = std::move(nothing_left).value();
    box.cases.clear();
  }
  std::erase_if(box.cases, [&](const TriedCase& one) {
    if (!asks_all && !looks_closed(one)) return false;
    const logic::CaseMultipliers multipliers = to_multipliers(graph_, one.position, case_of(one.position), one.bound.parameters);
    const logic::Hints hints = to_hints(graph_, one.bound.parameters);
    const bool concluded = certificate::merge_into(found.refutation, scope.conclude(std::span(&multipliers, 1), hints)).ok();
    found.asked += looks_closed(one) ? 1 : 0;
    found.refused += looks_closed(one) && !concluded ? 1 : 0;
    if (concluded) found.steps.conclude(std::span(&multipliers, 1), hints);
    return concluded;
  });
  return Done{};
}

void StrongBranching::bound(std::span<Half> halves, std::size_t first, const TriedCase& above) {
  std::vector<BoxBound> results(halves.size());
  const std::vector<const BoxParameters*> starts(halves.size(), &above.bound.parameters);
  bounds_[first / kLanes].bound(case_of(above.position), starts, kHalfSteps, first % kLanes, results);
  for (std::size_t k = 0; k < halves.size(); ++k) halves[k].box.cases.push_back({above.position, std::move(results[k])});
}

void StrongBranching::improve(std::span<Half> halves, std::size_t first) {
  std::vector<BoxBound> results(halves.size());
  std::vector<const BoxParameters*> starts(halves.size());
  for (std::size_t c = 0; c < halves.front().box.cases.size(); ++c) {
    for (std::size_t k = 0; k < halves.size(); ++k) starts[k] = &halves[k].box.cases[c].bound.parameters;
    bounds_[first / kLanes].bound(case_of(halves.front().box.cases[c].position), starts, kMoreSteps, first % kLanes, results);
    for (std::size_t k = 0; k < halves.size(); ++k) std::swap(halves[k].box.cases[c].bound, results[k]);
  }
}

std::optional<StrongBranching::Choice> StrongBranching::choose(const TriedBox& above) {
  std::vector<std::size_t> inputs(above.box.lo.size());  // inputs that were good one level above come first
  std::iota(inputs.begin(), inputs.end(), std::size_t{0});
  if (!above.scores.empty()) std::ranges::stable_sort(inputs, std::greater(), [&](std::size_t i) { return above.scores[i]; });
  std::vector<Half> halves;
  for (const std::size_t i : inputs) {
    const double lo = above.box.lo[i], hi = above.box.hi[i], middle = lo / 2 + hi / 2;
    if (!(lo < middle && middle < hi)) continue;
    for (const bool at_least : {false, true}) {
      Half& half = halves.emplace_back(Half{i, middle, {above.box, {}}});
      (at_least ? half.box.box.lo : half.box.box.hi)[i] = middle;
    }
  }
  if (halves.empty()) return std::nullopt;
  std::vector<const TriedCase*> order;
  for (const TriedCase& one : above.cases) order.push_back(&one);
  std::ranges::stable_sort(order, {}, [](const TriedCase* one) { return one->bound.bound; });
  const std::size_t bounded = std::min(kMostCases, order.size());
  std::vector<InputBox> boxes;
  std::vector<double> scores(above.box.lo.size(), 0.0);
  std::size_t best = 0;
  double most = -1;
  for (std::size_t first = 0; first < halves.size() && most < 2 * static_cast<double>(bounded); first += kLanes) {
    const std::span<Half> batch = std::span(halves).subspan(first, std::min(kLanes, halves.size() - first));
    boxes.clear();
    for (const Half& half : batch) boxes.push_back(half.box.box);
    bounds_[first / kLanes].load(boxes);
    for (std::size_t c = 0; c < bounded; ++c) bound(batch, first, *order[c]);
    for (std::size_t k = first; k < first + batch.size(); k += 2) {
      double& score = scores[halves[k].input];
      score = kWidthScore * (above.box.hi[halves[k].input] - above.box.lo[halves[k].input]);
      for (std::size_t c = 0; c < bounded; ++c) {
        for (const std::size_t half : {k, k + 1}) score += gain(order[c]->bound.bound, halves[half].box.cases[c].bound.bound);
      }
      if (score > most) most = score, best = k;
    }
  }
  const std::span<Half> chosen = std::span(halves).subspan(best, 2);
  for (std::size_t c = bounded; c < order.size(); ++c) bound(chosen, best, *order[c]);
  improve(chosen, best);
  for (Half& half : chosen) half.box.scores = scores;
  return Choice{chosen[0].input, chosen[0].threshold, std::move(chosen[0].box), std::move(chosen[1].box)};
}

}  // namespace assay::search
