// trim_root(): which elements, in which order, and the trials.

#include "certificates/search/trim/root.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "certificates/format/format.h"
#include "certificates/search/trim/influence.h"

namespace assay::search {
using certificate::Record;
using certificate::RecordType;

namespace {

constexpr std::size_t kMostConclusions = 256;  // whose influence is found
constexpr int kTrialsOfNode = 4;               // of how many of its elements can go
constexpr double kMostWork = 6;                // of all trials, in checks of the group
constexpr double kWorthwhile = 0.2;            // of a check's work: a root that takes less stays as it is

// A step that the trimming may change: it has neither hints nor claims.
bool is_refinement(const Record& record) {
  const kernel::Hints& hints = record.hints;
  return record.type == RecordType::tighten && !record.claimed && hints.lower.empty() && hints.upper.empty() && hints.beta.empty();
}

bool derives(const Record& record) {
  return record.type == RecordType::box || record.type == RecordType::tighten || record.type == RecordType::define_hints;
}

struct Conclusion {
  kernel::Scope scope;
  const Record* record;
};

class Trial {
 public:
  Trial(const std::shared_ptr<const kernel::Problem>& problem, const DualGraph& graph, ProofGroup& group, const kernel::Scope& root,
        double work, std::size_t spare, const Limit& limit)
      : problem_(problem),
        graph_(graph),
        group_(group),
        steps_(group.root.steps),
        limit_(limit),
        budget_(std::make_shared<double>(kMostWork * work)),
        spare_(spare) {
    before_.push_back(root);
  }

  RootTrim run(double work) {
    RootTrim result;
    if (!derive(kWorthwhile * work)) return result;
    for (const auto& [step, node] : nodes_) result.refined += node.elements.size();
    if (Influence::supports(graph_)) order();
    for (auto at = nodes_.rbegin(); at != nodes_.rend() && *budget_ > 0 && !limit_.reached(); ++at) shorten(at->first, at->second);
    for (const auto& [step, node] : nodes_) result.kept += node.elements.size();
    std::erase_if(steps_, [](const ProofStep& step) { return step.bytes.empty(); });
    return result;
  }

 private:
  struct Node {
    std::vector<std::uint32_t> elements;  // that are refined, the one that matters least first
    bool ordered = false;
    std::size_t bytes = 0;  // of its steps as they were
  };

  // All steps up to the first that derives nothing, with the scope before each. False where there is nothing to gain.
  bool derive(double least_work) {
    const double start = *budget_;
    kernel::Scope scope = before_[0];
    scope.spend_from(budget_);
    std::optional<kernel::Refutation> closed;
    std::map<NodeId, std::size_t> first;  // the step that gets all elements of its node
    for (count_ = 0; count_ < steps_.size() && derives(steps_[count_].record); ++count_) {
      ProofStep& step = steps_[count_];
      before_.back() = scope;
      if (is_refinement(step.record)) {
        const auto [found, is_new] = first.emplace(step.record.node, count_);
        std::vector<std::uint32_t>& elements = nodes_[found->second].elements;
        const std::vector<std::uint32_t> more = scope.selected(step.record.node, step.record.selection);
        elements.insert(elements.end(), more.begin(), more.end());
        if (!is_new) merged_.push_back(count_);
      }
      if (!take_step(*problem_, step.record, scope, closed)) return false;
      before_.push_back(scope);
    }
    if (start - *budget_ < least_work) return false;
    for (auto& [step, node] : nodes_) node.bytes = steps_[step].bytes.size();
    for (const std::size_t step : merged_) {
      nodes_[first[steps_[step].record.node]].bytes += steps_[step].bytes.size();
      steps_[step].bytes.clear();
    }
    return true;
  }

  // By influence on the conclusions, for each multiply-add.
  void order() {
    DualBoxes loose = DualBoxes::of(graph_, before_.back());
    const DualBoxes tight = loose;
    std::vector<bool> refined(graph_.slot_count(), false);
    for (const auto& [step, node] : nodes_) {
      const NodeId id = steps_[step].record.node;
      const kernel::Box& box = before_[step].box(id);
      for (const std::uint32_t element : node.elements) {
        for (const std::uint32_t slot : graph_.slots_of(id, element)) {
          refined[slot] = true;
          loose.lo[slot] = box.lo[element];
          loose.hi[slot] = box.hi[element];
        }
      }
    }
    Influence influence(graph_, tight, std::move(loose));
    std::vector<Conclusion> conclusions;
    collect(group_.root, count_, before_.back(), conclusions);
    const std::size_t stride = conclusions.size() / kMostConclusions + 1;
    for (std::size_t i = 0; i < conclusions.size(); i += stride) weigh(conclusions[i], influence);
    influence.descend(refined);
    for (auto& [step, node] : nodes_) {
      const NodeId id = steps_[step].record.node;
      std::map<std::uint32_t, double> losses;
      for (const std::uint32_t element : node.elements) {
        for (const std::uint32_t slot : graph_.slots_of(id, element)) losses[element] += influence.losses()[slot];
      }
      std::ranges::sort(node.elements, {}, [&](std::uint32_t element) { return std::pair(losses[element], element); });
      node.ordered = true;
    }
  }

  void collect(const ProofBranch& branch, std::size_t from, kernel::Scope scope, std::vector<Conclusion>& found) const {
    std::optional<kernel::Refutation> closed;
    for (; from < branch.steps.size(); ++from) {
      const Record& record = branch.steps[from].record;
      if (record.type == RecordType::conclude || record.type == RecordType::conclude_with)
        found.push_back({scope, &record});
      else if (!take_step(*problem_, record, scope, closed))
        return;
    }
    if (!branch.fork) return;
    auto both = halves(scope, branch.fork->at_most);
    if (!both) return;
    collect(branch.fork->left, 0, std::move(both.value().left), found);
    collect(branch.fork->right, 0, std::move(both.value().right), found);
    collect(branch.fork->rest, 0, std::move(scope), found);
  }

  void weigh(const Conclusion& conclusion, Influence& influence) const {
    const Record& record = *conclusion.record;
    kernel::Diagnosis diagnosis;
    (void)conclusion.scope.conclude(record.cases, record.hints, &diagnosis);
    if (diagnosis.margins.size() != record.cases.size()) return;
    const DualBoxes boxes = DualBoxes::of(graph_, conclusion.scope);
    for (std::size_t i = 0; i < record.cases.size(); ++i) {
      const std::uint32_t index = problem_->group_cases(group_.group)[record.cases[i].position];
      influence.add(record.cases[i], index, record.hints, boxes, diagnosis.margins[i]);
    }
  }

  // The step with the elements from `dropped` on; without bytes where none is left.
  [[nodiscard]] ProofStep step_of(const Record& old, const Node& node, std::size_t dropped) const {
    ProofStep step{old, {}};
    if (dropped == node.elements.size()) return step;
    step.record.selection = {kernel::Selection::Kind::mask, std::vector<bool>(problem_->graph().size(old.node), false)};
    for (std::size_t i = dropped; i < node.elements.size(); ++i) step.record.selection.mask[node.elements[i]] = true;
    certificate::Fragment fragment;
    fragment.tighten(old.node, step.record.selection, {}, nullptr, old.round_to_float);
    step.bytes = fragment.bytes();
    return step;
  }

  // From the step on; what stands before it is not derived again.
  [[nodiscard]] bool is_proof_from(std::size_t from) const {
    kernel::Scope scope = before_[from];
    scope.spend_from(budget_);
    std::optional<kernel::Refutation> closed;
    for (std::size_t k = from; k < count_; ++k) {
      if (!steps_[k].bytes.empty() && !take_step(*problem_, steps_[k].record, scope, closed)) return false;
    }
    const auto refutation = replay_rest(*problem_, group_.root, count_, std::move(scope));
    return refutation.ok() && refutation.value().complete();
  }

  // All elements of the node go, or else about as many as can.
  void shorten(std::size_t at, Node& node) {
    const ProofStep old = steps_[at];
    std::size_t dropped = 0, too_many = node.elements.size() + 1, trial = node.elements.size();
    ProofStep best = step_of(old.record, node, 0);
    for (int k = 0; k < kTrialsOfNode && dropped < trial && trial < too_many; ++k) {
      steps_[at] = step_of(old.record, node, trial);
      if (steps_[at].bytes.size() <= node.bytes + spare_ && is_proof_from(at)) {
        dropped = trial;
        best = steps_[at];
      } else {
        too_many = trial;
        if (!node.ordered) break;
      }
      trial = (dropped + too_many) / 2;
    }
    const bool whole = dropped == 0 && old.bytes.size() == node.bytes;  // one step had all elements
    steps_[at] = whole ? old : best;
    spare_ = spare_ + node.bytes - steps_[at].bytes.size();
    node.elements.erase(node.elements.begin(), node.elements.begin() + static_cast<std::ptrdiff_t>(dropped));
  }

  std::shared_ptr<const kernel::Problem> problem_;
  const DualGraph& graph_;
  ProofGroup& group_;
  std::vector<ProofStep>& steps_;
  const Limit limit_;
  std::shared_ptr<double> budget_;  // multiply-adds that the trials may still take
  std::size_t spare_;
  std::size_t count_ = 0;
  std::vector<kernel::Scope> before_;  // by step, and behind the last
  std::map<std::size_t, Node> nodes_;  // by step
  std::vector<std::size_t> merged_;    // steps whose elements an earlier one of the same node has got
};

}  // namespace

RootTrim trim_root(const std::shared_ptr<const kernel::Problem>& problem, const DualGraph& graph, ProofGroup& group,
                   const kernel::Scope& root, double work, std::size_t spare, const Limit& limit) {
  return Trial(problem, graph, group, root, work, spare, limit).run(work);
}

}  // namespace assay::search
