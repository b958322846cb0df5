// Kfsb: chooses the next split of a node.
//
// A node proposes up to 8 splits by score and 8 by pseudocost, and 32 by score near the root. Both halves of each
// candidate are bounded, in one batch for all nodes, and the split with the best product of gains is taken. A split
// that strong branching has bounded exactly competes without a trial. A split with no visible gain is blind; where
// linear programs bound the nodes, they then bound its halves first.
//
// Sources: FSB (De Palma et al. 2021), BaBSR (Bunel et al. 2020), pseudocosts (Achterberg, Koch, Martin 2005). How this
// version differs: a pseudocost is the gain as a share of what the bound lacked to 0, and recent gains weigh most.

#include "search/heuristics/kfsb.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::search {
namespace {

constexpr std::size_t kCandidates = 8;       // candidates at a node by score, and as many by pseudocost
constexpr std::size_t kWideCandidates = 32;  // candidates by score at the first nodes of a tree, and now and then below
constexpr std::uint64_t kFirstNodes = 64;
constexpr std::uint32_t kWideEvery = 8;  // levels
constexpr int kTrialSteps = 4;           // steps of ascent in each half of a candidate
constexpr double kNewest = 0.3;          // weight of the newest gain of a neuron
// A visible gain is this many times the value of a split that gains nothing.
constexpr double kVisible = 1.01;

bool has_strong_split(const Treated& treated) { return treated.strong_split.neuron != StrongSplit::kNone; }

bool needs_trial(const Treated& treated) {
  return !treated.node->cases.empty() && treated.splits.size() + (has_strong_split(treated) ? 1 : 0) > 1;
}

}  // namespace

// A split, the bounds expected of its halves, and their parameters if it was tried.
struct Kfsb::Choice {
  logic::Literal at_most;
  double value = kNoBound;
  std::array<double, 2> expected{};
  std::array<BoundResult*, 2> seeds{};
  bool by_strong_split = false;
  bool is_blind = false;
};

Kfsb::Kfsb(const ActivationRoot& root, const BranchingOptions& options)
    : root_(root), kfsb_(options.kfsb), pseudocosts_(root.graph.neuron_count()) {}

// Scores for a case that counted as closed until the kernel refused it: the distances of split points from the ends.
static void score_by_depth(const NeuronGraph& graph, const NeuronBoxes& boxes, BoundResult& result) {
  for (std::size_t s = 0; s < graph.neuron_count(); ++s) {
    const std::optional<double> at = graph.split_point(static_cast<std::uint32_t>(s), boxes.lo[s], boxes.hi[s]);
    result.scores.push_back(at ? static_cast<float>(std::min(*at - boxes.lo[s], boxes.hi[s] - *at)) : 0.0F);
  }
}

// The neuron with the greatest influence among those whose split can help, by score if influence is equal.
static std::uint32_t most_influential(const NeuronGraph& graph, const BoundResult& result) {
  std::uint32_t best = StrongSplit::kNone;
  const auto rank = [&](std::uint32_t neuron) {
    return std::pair(result.influence.empty() ? 0.0F : result.influence[neuron], result.scores[neuron]);
  };
  for (std::uint32_t neuron = 0; neuron < graph.neuron_count(); ++neuron) {
    if (result.scores[neuron] > 0 && (best == StrongSplit::kNone || rank(neuron) > rank(best))) best = neuron;
  }
  return best;
}

// Proposes by influence where linear programs bound the nodes, otherwise by scores; proposes an input if no neuron
// is left.
bool Kfsb::propose(Treated& treated, std::uint64_t nodes) const {
  const NeuronGraph& graph = root_.graph;
  for (std::size_t k = 0; k < treated.node->cases.size(); ++k) {
    if (treated.node->cases[k].bound < treated.node->cases[treated.worst].bound) treated.worst = k;
  }
  BoundResult& result = treated.results[treated.worst];
  if (result.scores.empty()) score_by_depth(graph, treated.boxes, result);
  const std::vector<float>& scores = result.scores;
  // Strong branching knows the bounds of both halves, so its split needs no trial. It competes with splits of the
  // neurons that strong branching cannot bound.
  treated.strong_split = result.strong_split;
  treated.strong_value = split_value(treated.node->cases[treated.worst].bound, result.strong_split.at_most, result.strong_split.at_least);
  const bool has_strong = has_strong_split(treated);
  if (!has_strong && root_.relaxation) {
    const std::uint32_t neuron = most_influential(graph, result);
    if (neuron != StrongSplit::kNone) {
      treated.splits.push_back(root_.literal_at(treated.boxes, neuron));
      return true;
    }
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t neuron = 0; neuron < graph.neuron_count() && neuron < scores.size(); ++neuron) {
    if (scores[neuron] > 0 && graph.activation_of(neuron).is_elementwise() && !(has_strong && graph.has_input_row(neuron)))
      order.push_back(neuron);
  }
  const auto take = [&](std::size_t most, const auto& value) {
    const auto keep = static_cast<std::ptrdiff_t>(std::min(order.size(), most));
    std::partial_sort(order.begin(), order.begin() + keep, order.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    for (auto neuron = order.begin(); neuron != order.begin() + keep; ++neuron)
      treated.splits.push_back(root_.literal_at(treated.boxes, *neuron));
    order.erase(order.begin(), order.begin() + keep);
  };
  const bool wide = kfsb_ && (nodes < kFirstNodes || treated.node->record->depth % kWideEvery == 0);
  take(wide ? kWideCandidates : kCandidates, [&](std::uint32_t neuron) { return static_cast<double>(scores[neuron]); });
  if (kfsb_) {
    const std::lock_guard lock(mutex_);
    std::erase_if(order, [&](std::uint32_t neuron) { return !pseudocosts_[neuron].known; });
    take(kCandidates, [&](std::uint32_t neuron) { return pseudocosts_[neuron].value(); });
  }
  if (treated.splits.empty() && !has_strong) split_an_input(treated, scores);
  return !treated.splits.empty() || has_strong;
}

// Proposes the middle of the input with the best score.
void Kfsb::split_an_input(Treated& treated, std::span<const float> scores) const {
  const Network& network = root_.graph.network();
  const std::size_t neurons = root_.graph.neuron_count();
  double widest = 0;
  for (const NodeId id : network.problem()->graph().inputs) {
    const std::size_t offset = network.input_offset(id);
    for (std::uint32_t i = 0; i < network.problem()->graph().size(id); ++i) {
      const double lo = treated.boxes.x_lo[offset + i], hi = treated.boxes.x_hi[offset + i];
      const double weight = scores.size() > neurons ? static_cast<double>(scores[neurons + offset + i]) : hi - lo;
      const double middle = 0.5 * (lo + hi);
      if (!(middle > lo && middle < hi) || weight < widest) continue;
      widest = weight;
      treated.splits.assign(1, {id, i, false, middle});
    }
  }
}

// Bounds the candidates of all nodes of a batch in one ascent.
void Kfsb::choose_and_split(AlphaBetaCrown& ascent, std::span<Treated> batch, BranchTree& tree, std::vector<Subdomain>& children) {
  // The tasks point to the boxes and literals of both halves of every candidate, so memory is reserved for all of them.
  std::size_t count = 0;
  for (const Treated& treated : batch) count += 2 * treated.splits.size();
  std::vector<NeuronBoxes> boxes;
  std::vector<std::vector<logic::Literal>> literals;
  boxes.reserve(count);
  literals.reserve(count);
  std::vector<BoundTask> tasks;
  for (const Treated& treated : batch) {
    if (!needs_trial(treated)) continue;
    const OpenCase& one = treated.node->cases[treated.worst];
    for (const logic::Literal& split : treated.splits) {
      for (const bool at_least : {false, true}) {
        logic::Literal literal = split;
        literal.at_least = at_least;
        boxes.push_back(treated.boxes);
        boxes.back().meet(root_.graph, literal);
        literals.push_back(treated.literals);
        literals.back().push_back(literal);
        const auto& rows = root_.graph.network().rows(root_.case_of(one.position));
        tasks.push_back({&rows, &boxes.back(), literals.back(), one.parameters.get()});
      }
    }
  }
  std::vector<BoundResult> results(tasks.size());
  ascent.run(tasks, {.iterations = kfsb_ ? kTrialSteps : 1}, results);
  std::size_t at = 0;
  for (const Treated& treated : batch) {
    if (treated.node->cases.empty()) continue;
    const std::size_t tried = needs_trial(treated) ? 2 * treated.splits.size() : 0;
    const Choice choice = best_of(treated, std::span(results).subspan(at, tried));
    at += tried;
    split(treated, choice, tree, children);
  }
}

// `results`: bounds of both halves of each candidate; empty if there was only one candidate.
Kfsb::Choice Kfsb::best_of(const Treated& treated, std::span<BoundResult> results) {
  const double bound = treated.node->cases[treated.worst].bound;
  Choice best;
  best.by_strong_split = has_strong_split(treated);
  best.at_most = best.by_strong_split ? root_.literal_at(treated.boxes, treated.strong_split.neuron) : treated.splits[0];
  if (best.by_strong_split) best.value = treated.strong_value;
  best.expected = best.by_strong_split ? std::array{treated.strong_split.at_most, treated.strong_split.at_least} : std::array{bound, bound};
  for (std::size_t k = 0; 2 * k < results.size(); ++k) {
    BoundResult &at_most = results[2 * k], &at_least = results[2 * k + 1];
    const double value = split_value(bound, at_most.bound, at_least.bound);
    if (kfsb_) learn(treated.splits[k], bound, at_most.bound, at_least.bound);
    if (value > best.value) best = {treated.splits[k], value, {at_most.bound, at_least.bound}, {&at_most, &at_least}};
  }
  best.is_blind = !(best.value > kVisible * split_value(bound, bound, bound));
  return best;
}

// Gains are shares of what the bound lacked to 0.
void Kfsb::learn(const logic::Literal& split, double bound, double at_most, double at_least) {
  constexpr double kLeast = 1e-9;
  if (!std::isfinite(bound)) return;
  const double lacked = std::max(-bound, kLeast);
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t neuron : root_.graph.neurons_of(split.node, split.element)) {
    Pseudocost& gains = pseudocosts_[neuron];
    const double share = std::exchange(gains.known, true) ? kNewest : 1;
    gains.at_most += share * (std::clamp((at_most - bound) / lacked, 0.0, 1.0) - gains.at_most);
    gains.at_least += share * (std::clamp((at_least - bound) / lacked, 0.0, 1.0) - gains.at_least);
  }
}

// A half that was tried starts from the parameters of its trial.
void Kfsb::split(const Treated& treated, const Choice& choice, BranchTree& tree, std::vector<Subdomain>& children) const {
  const std::array<BranchTree::Record, 2> records = tree.split(treated.node->record, choice.at_most);
  for (const std::size_t side : {0U, 1U}) {
    Subdomain& child = children.emplace_back(Subdomain{records[side], treated.node->cases, choice.expected[side]});
    child.by_program = root_.relaxation != nullptr && (choice.is_blind || (choice.by_strong_split && treated.strong_split.by_program));
    for (OpenCase& one : child.cases) one.last_beta = 0;
    OpenCase& worst = child.cases[treated.worst];
    if (BoundResult* seed = choice.seeds[side]) worst.parameters = std::make_shared<const AlphaBeta>(std::move(seed->parameters));
    if (choice.by_strong_split) worst.last_beta = side == 1 ? treated.strong_split.beta_at_least : treated.strong_split.beta_at_most;
  }
}

}  // namespace assay::search
