// Which split comes next at a node: candidates by score and by what they gained before, tried in both children.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "search/bab/branching_engine.h"

namespace assay::search {
namespace {

constexpr std::size_t kCandidates = 8;       // splits that are tried at a node for their scores, and as many for what they gained before
constexpr std::size_t kWideCandidates = 32;  // ... for their scores, at the first nodes of a tree and now and then below
constexpr std::uint64_t kFirstNodes = 64;
constexpr std::uint32_t kWideEvery = 8;  // splits
constexpr int kTrialSteps = 4;           // of ascent, in each child of a split that is tried: one step alone seldom gains
constexpr double kNewest = 0.3;          // weight of the newest gain of a neuron
constexpr double kBlindShare = 0.3;      // of the splits, for learning to begin

}  // namespace

kernel::Literal Branching::literal_at(const NeuronBoxes& boxes, std::uint32_t neuron) const {
  const NeuronGraph::Activation& activation = graph_.activation_of(neuron);
  return {activation.operand, neuron - activation.first_neuron, false,
          graph_.split_point(neuron, boxes.lo[neuron], boxes.hi[neuron]).value_or(0)};
}

// For a case that counted as closed until the kernel refused it.
void Branching::score_by_depth(const NeuronBoxes& boxes, BoundResult& result) const {
  for (std::size_t s = 0; s < graph_.neuron_count(); ++s) {
    const std::optional<double> at = graph_.split_point(static_cast<std::uint32_t>(s), boxes.lo[s], boxes.hi[s]);
    result.scores.push_back(at ? static_cast<float>(std::min(*at - boxes.lo[s], boxes.hi[s] - *at)) : 0.0F);
  }
}

// The most promising splits for the case that is furthest from closed; an input's middle where no activation is left.
void Branching::propose_splits(Treated& treated, bool learning_here) const {
  for (std::size_t k = 0; k < treated.node.cases.size(); ++k) {
    if (treated.node.cases[k].bound < treated.node.cases[treated.worst].bound) treated.worst = k;
  }
  BoundResult& result = treated.results[treated.worst];
  if (result.scores.empty()) score_by_depth(treated.boxes, result);
  const std::vector<float>& scores = result.scores;
  const double bound = treated.node.cases[treated.worst].bound;
  // A probed split that gains on some side needs no evaluation; it competes with the neurons that could not be probed.
  treated.probe = result.probe;
  treated.probe_value = split_value(bound, result.probe.at_most, result.probe.at_least);
  const bool probed = result.probe.neuron != Probe::kNone;
  if (!probed && (learning_here || relaxation_)) {
    const std::uint32_t neuron = most_active(result);
    if (neuron != Probe::kNone) {
      treated.splits.push_back(literal_at(treated.boxes, neuron));
      return;
    }
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t neuron = 0; neuron < graph_.neuron_count() && neuron < scores.size(); ++neuron) {
    if (scores[neuron] > 0 && graph_.activation_of(neuron).is_elementwise() && !(probed && graph_.has_input_row(neuron)))
      order.push_back(neuron);
  }
  const bool wide = options_.kfsb && (nodes_ < kFirstNodes || treated.node.record->depth % kWideEvery == 0);
  const auto take = [&](std::size_t most, const auto& value) {
    const auto keep = static_cast<std::ptrdiff_t>(std::min(order.size(), most));
    std::partial_sort(order.begin(), order.begin() + keep, order.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    for (auto neuron = order.begin(); neuron != order.begin() + keep; ++neuron)
      treated.splits.push_back(literal_at(treated.boxes, *neuron));
    order.erase(order.begin(), order.begin() + keep);
  };
  take(wide ? kWideCandidates : kCandidates, [&](std::uint32_t neuron) { return static_cast<double>(scores[neuron]); });
  if (options_.kfsb) {
    std::erase_if(order, [&](std::uint32_t neuron) { return !gains_[neuron].known; });
    take(kCandidates, [&](std::uint32_t neuron) { return gains_[neuron].value(); });
  }
  if (!treated.splits.empty() || probed) return;
  double widest = 0;
  for (const NodeId id : network_.problem()->graph().inputs) {
    const std::size_t offset = network_.input_offset(id);
    for (std::uint32_t i = 0; i < network_.problem()->graph().size(id); ++i) {
      const double lo = treated.boxes.x_lo[offset + i], hi = treated.boxes.x_hi[offset + i];
      const double weight =
          scores.size() > graph_.neuron_count() ? static_cast<double>(scores[graph_.neuron_count() + offset + i]) : hi - lo;
      const double middle = 0.5 * (lo + hi);
      if (!(middle > lo && middle < hi) || weight < widest) continue;
      widest = weight;
      treated.splits.assign(1, {id, i, false, middle});
    }
  }
}

void Branching::choose_and_split(Worker& worker) {
  const std::vector<std::uint32_t>& cases = network_.problem()->group_cases(group_);
  const auto needs_evaluation = [](const Treated& treated) {
    return treated.splits.size() + (treated.probe.neuron != Probe::kNone ? 1 : 0) > 1;
  };
  // Both children of every candidate, one step each. Their boxes and literals must not move: reserved.
  std::size_t count = 0;
  for (const Treated& treated : worker.batch) count += 2 * treated.splits.size();
  std::vector<NeuronBoxes> boxes;
  std::vector<std::vector<kernel::Literal>> literals;
  boxes.reserve(count);
  literals.reserve(count);
  std::vector<BoundTask> tasks;
  for (Treated& treated : worker.batch) {
    if (!needs_evaluation(treated)) continue;
    const OpenCase& one = treated.node.cases[treated.worst];
    for (const kernel::Literal& split : treated.splits) {
      for (const bool at_least : {false, true}) {
        kernel::Literal literal = split;
        literal.at_least = at_least;
        boxes.push_back(treated.boxes);
        boxes.back().meet(graph_, literal);
        literals.push_back(treated.literals);
        literals.back().push_back(literal);
        tasks.push_back({&network_.rows(cases[one.position]), &boxes.back(), literals.back(), one.parameters.get(), 0, nullptr});
      }
    }
  }
  std::vector<BoundResult> results(tasks.size());
  AlphaBetaOptions options;
  options.iterations = options_.kfsb ? kTrialSteps : 1;
  worker.ascent.run(tasks, options, results);
  std::size_t at = 0;
  std::uint64_t splits = 0, blind = 0;
  std::vector<OpenNode> children;
  for (Treated& treated : worker.batch) {
    if (treated.node.cases.empty()) continue;
    const bool probed = treated.probe.neuron != Probe::kNone;
    kernel::Literal best = probed ? literal_at(treated.boxes, treated.probe.neuron) : treated.splits[0];
    double best_value = probed ? treated.probe_value : kNoBound;
    std::array<BoundResult*, 2> seeds{};  // of the best split, where it was evaluated
    bool by_probe = probed;
    const double bound = treated.node.cases[treated.worst].bound;
    std::array<double, 2> expected = probed ? std::array{treated.probe.at_most, treated.probe.at_least} : std::array{bound, bound};
    for (std::size_t k = 0; needs_evaluation(treated) && k < treated.splits.size(); ++k, at += 2) {
      const double value = split_value(bound, results[at].bound, results[at + 1].bound);
      if (options_.kfsb) learn_gain(treated.splits[k], bound, results[at].bound, results[at + 1].bound);
      if (!(value > best_value)) continue;
      seeds = {&results[at], &results[at + 1]};
      best_value = value;
      best = treated.splits[k];
      expected = {results[at].bound, results[at + 1].bound};
      by_probe = false;
    }
    if (by_probe) seeds = {};
    const bool is_blind = !(best_value > 1.01 * split_value(bound, bound, bound));
    split(treated, best, by_probe, is_blind, expected, seeds, children);
    ++splits;
    if (is_blind) ++blind;
  }
  {
    const std::lock_guard lock(mutex_);
    splits_ += splits;
    blind_splits_ += blind;
    learning_ = !relaxation_ && splits_ >= 20 && static_cast<double>(blind_splits_) > kBlindShare * static_cast<double>(splits_);
  }
  push(std::move(children), worker);
}

// As shares of what the case lacked.
void Branching::learn_gain(const kernel::Literal& split, double bound, double at_most, double at_least) {
  constexpr double kLeast = 1e-9;
  if (!std::isfinite(bound)) return;
  const double lacked = std::max(-bound, kLeast);
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t neuron : graph_.neurons_of(split.node, split.element)) {
    Gains& gains = gains_[neuron];
    const double share = std::exchange(gains.known, true) ? kNewest : 1;
    gains.at_most += share * (std::clamp((at_most - bound) / lacked, 0.0, 1.0) - gains.at_most);
    gains.at_least += share * (std::clamp((at_least - bound) / lacked, 0.0, 1.0) - gains.at_least);
  }
}

void Branching::split(Treated& treated, const kernel::Literal& at_most, bool by_probe, bool blind, std::array<double, 2> expected,
                      const std::array<BoundResult*, 2>& seeds, std::vector<OpenNode>& children) {
  const std::array<Record, 2> records = tree_->split(treated.node.record, at_most);
  for (const Record& record : records) {
    OpenNode& child = children.emplace_back(OpenNode{record, treated.node.cases, expected[record->literal.at_least ? 1 : 0]});
    child.by_program = relaxation_ != nullptr && (blind || (by_probe && treated.probe.by_program));
    for (OpenCase& one : child.cases) one.last_beta = 0;
    if (BoundResult* seed = seeds[record->literal.at_least ? 1 : 0])
      child.cases[treated.worst].parameters = std::make_shared<const AlphaBeta>(std::move(seed->parameters));
    if (by_probe)
      child.cases[treated.worst].last_beta = record->literal.at_least ? treated.probe.beta_at_least : treated.probe.beta_at_most;
  }
}

}  // namespace assay::search
