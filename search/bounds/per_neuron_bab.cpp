// PerNeuronBab: grows trees for both ends of each range, many ends at once. In every round, the leaf with the least
// bound of each tree is split.
//
// An end of a range is a minimisation: the lower end as it stands, the upper end with its sign reversed. A tree
// that narrows its range by less than a fiftieth is dropped: it makes the certificate longer and its check slower,
// and gains little.
//
// The worst leaf of each tree is split at the ReLU whose line loses most (BaBSR, Bunel et al. 2020), and all new leaves
// are bounded in one batch. Passes go layer by layer, so that later layers start from narrowed boxes. Sources: Tjeng,
// Xiao, Tedrake 2019 for bounds of neurons by exact methods. How this version differs: trees end after a few splits.

#include "search/bounds/per_neuron_bab.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <optional>

#include "certificates/check/team.h"

namespace assay::search {
namespace {

constexpr int kFirstSplits = 10;       // splits of one end's tree in the first pass ...
constexpr int kMoreSplits = 3;         // ... and the factor for each further pass
constexpr double kShareOfPass = 0.15;  // largest share of the planned time for a pass
constexpr int kStepsAtRoot = 20;       // steps of ascent at the root of a tree ...
constexpr int kStepsInLeaves = 5;      // ... and in its leaves
constexpr std::size_t kEnds = 32;      // most ends that a thread treats at once ...
constexpr double kNumbers = 1 << 24;   // ... and most numbers in the boxes of their leaves
constexpr double kWorthwhile = 0.02;   // share of a range's width: a tree that takes less off is no step of the proof
constexpr float kLeastScore = 1e-25F;  // least score of a split that helps

// A node of an end's tree: a split with two children, or a leaf.
struct TreeNode {
  NeuronBoxes boxes;
  std::vector<logic::Literal> literals;
  AlphaBeta parameters;
  double bound = 0;
  // Its <= literal: in a leaf the best split, otherwise the split that was taken.
  std::optional<logic::Literal> split;
  std::array<std::size_t, 2> children{};  // 0 in a leaf
};

struct End {
  std::uint32_t element;
  double sign;
  std::vector<TreeNode> nodes{};
  [[nodiscard]] std::size_t worst() const {
    std::size_t worst = 0;
    for (std::size_t k = 1; k < nodes.size(); ++k) {
      if (nodes[k].children[0] == 0 && (nodes[worst].children[0] != 0 || nodes[k].bound < nodes[worst].bound)) worst = k;
    }
    return worst;
  }
};

// The ReLU whose line loses most; none if the bound settles the sign anyway.
std::optional<logic::Literal> best_split(const NeuronGraph& graph, const BoundResult& result) {
  if (result.bound > 0 || result.scores.empty()) return std::nullopt;
  std::optional<std::uint32_t> best;
  for (std::uint32_t neuron = 0; neuron < graph.neuron_count(); ++neuron) {
    if (!(result.scores[neuron] > kLeastScore) || graph.activation_of(neuron).step->op != Op::relu) continue;
    if (!best || result.scores[neuron] > result.scores[*best]) best = neuron;
  }
  if (!best) return std::nullopt;
  const NeuronGraph::Activation& activation = graph.activation_of(*best);
  return logic::Literal{activation.operand, *best - activation.first_neuron, false, 0};
}

class Trees {
 public:
  Trees(const NeuronGraph& graph, AlphaBetaCrown& ascent, NodeId node, int splits, const Limit& limit)
      : graph_(graph), ascent_(ascent), node_(node), splits_(splits), limit_(limit) {}

  // Returns false if the limit was reached.
  bool grow(const NeuronBoxes& root, std::span<End> ends) {
    for (End& end : ends) end.nodes.assign(1, {root, {}, {}, 0, std::nullopt, {}});
    std::vector<std::pair<End*, std::size_t>> leaves;
    for (End& end : ends) leaves.emplace_back(&end, 0);
    if (!bound(leaves, kStepsAtRoot)) return false;
    for (int round = 0; round < splits_; ++round) {
      leaves.clear();
      for (End& end : ends) split(end, leaves);
      if (leaves.empty()) return true;
      if (!bound(leaves, kStepsInLeaves)) return false;
    }
    return true;
  }

 private:
  void split(End& end, std::vector<std::pair<End*, std::size_t>>& leaves) const {
    const std::size_t at = end.worst();
    if (!end.nodes[at].split) return;
    for (const std::size_t half : {0U, 1U}) {
      TreeNode child = end.nodes[at];
      child.children = {};
      logic::Literal literal = *child.split;
      literal.at_least = half == 1;
      child.literals.push_back(literal);
      child.boxes.meet(graph_, literal);
      end.nodes[at].children[half] = end.nodes.size();
      leaves.emplace_back(&end, end.nodes.size());
      end.nodes.push_back(std::move(child));
    }
    end.nodes[at].boxes = {};
    end.nodes[at].parameters = {};
  }

  bool bound(std::span<const std::pair<End*, std::size_t>> leaves, int steps) {
    std::vector<BoundTask> tasks;
    for (const auto& [end, at] : leaves) {
      const TreeNode& leaf = end->nodes[at];
      const NeuronEnd target{node_, end->element, end->sign};
      tasks.push_back({.boxes = &leaf.boxes, .literals = leaf.literals, .start = at > 0 ? &leaf.parameters : nullptr, .target = target});
    }
    std::vector<BoundResult> results(tasks.size());
    ascent_.bound_ranges(node_, tasks, {.iterations = steps, .target = 0, .scores = true, .strong_splits = false}, results);
    if (limit_.reached()) return false;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      TreeNode& leaf = leaves[k].first->nodes[leaves[k].second];
      leaf.bound = results[k].bound;
      leaf.split = best_split(graph_, results[k]);
      leaf.parameters = std::move(results[k].parameters);
    }
    return true;
  }

  const NeuronGraph& graph_;
  AlphaBetaCrown& ascent_;
  const NodeId node_;
  const int splits_;
  const Limit& limit_;
};

// Lists the steps of the tree in preorder.
void list(const NeuronGraph& graph, NodeId node, const End& end, std::size_t at, std::vector<certificate::CaseStep>& steps) {
  const TreeNode& here = end.nodes[at];
  if (here.children[0] == 0) {
    steps.push_back({std::nullopt, to_hints(graph, here.parameters, node)});
    return;
  }
  steps.push_back({here.split, {}});
  for (const std::size_t child : here.children) list(graph, node, end, child, steps);
}

// How much the tree takes off the range, as a share of its width.
double gain(const End& end, const NeuronBoxes& boxes, std::size_t neuron) {
  const double known = end.sign > 0 ? boxes.lo[neuron] : -boxes.hi[neuron];
  return (std::min(end.nodes[end.worst()].bound, 0.0) - known) / (boxes.hi[neuron] - boxes.lo[neuron]);
}

}  // namespace

double PerNeuronBab::wanted() const { return kMoreSplits * seconds_ / kShareOfPass; }

// One pass over all layers after the first; the next pass makes three times as many splits.
Outcome<Done> PerNeuronBab::refine(IntermediateBounds& root, const Limit& limit) {
  const auto begin = Clock::now();
  const Limit share{std::min(limit.deadline, Deadline::in(kShareOfPass * limit.planned())), limit.stop};
  splits_ = splits_ == 0 ? kFirstSplits : kMoreSplits * splits_;
  root.stop_at(share);
  std::optional<NodeId> last;
  Outcome<Done> done = Done{};
  for (const NeuronGraph::Activation& activation : graph_.activations()) {
    if (activation.step->op != Op::relu || activation.first_neuron == 0 || last == activation.operand) continue;
    last = activation.operand;
    done = refine_node(root, activation, share);
    if (!done || share.reached()) break;
  }
  root.stop_at(limit);
  seconds_ = seconds_since(begin);
  return done;
}

// Treats as many ends at once as memory for their leaves allows, shared among the threads.
Outcome<Done> PerNeuronBab::refine_node(IntermediateBounds& root, const NeuronGraph::Activation& activation, const Limit& limit) const {
  const NodeId node = activation.operand;
  const NeuronBoxes boxes = NeuronBoxes::of(graph_, root.scope());
  std::vector<End> ends;
  for (std::uint32_t element = 0; element < activation.neurons(); ++element) {
    for (const double sign : {1.0, -1.0})
      if (boxes.is_undecided(activation.first_neuron + element)) ends.push_back({element, sign});
  }
  const auto threads = static_cast<std::size_t>(threads_);
  certificate::Team team(threads);
  const double fit = kNumbers / (static_cast<double>(graph_.neuron_count()) * (splits_ + 1));
  const std::size_t at_once = threads * static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(kEnds)));
  for (std::size_t first = 0; first < ends.size(); first += at_once) {
    const std::span<End> some = std::span(ends).subspan(first, std::min(at_once, ends.size() - first));
    const auto grow = [&](std::size_t part) {
      const std::size_t from = some.size() * part / threads, to = some.size() * (part + 1) / threads;
      const std::span<End> own = some.subspan(from, to - from);
      try {
        AlphaBetaCrown ascent(graph_, limit);
        Trees(graph_, ascent, node, splits_, limit).grow(boxes, own);
      } catch (const std::bad_alloc&) {  // these ends stay as they are
        for (End& end : own) end.nodes.clear();
      }
    };
    team.run(threads, grow);
    if (limit.reached()) return Done{};
    std::vector<IntermediateBounds::ByCases> found;
    for (End& end : some) {
      if (end.nodes.size() > 1 && gain(end, boxes, activation.first_neuron + end.element) > kWorthwhile)
        list(graph_, node, end, 0, found.emplace_back(IntermediateBounds::ByCases{end.element, {}}).tree);
      end.nodes.clear();
    }
    if (auto done = root.refine_by_cases(node, found); !done || limit.reached()) return done;
  }
  return Done{};
}

}  // namespace assay::search
