// trim(): the branches from the leaves up, then the root.

#include "certificates/edit/trim/trim.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "certificates/check/meter.h"
#include "certificates/edit/steps.h"
#include "certificates/edit/trim/root.h"
#include "search/relax/network.h"

namespace assay::certificate {
namespace {

bool is_conclusion(const Record& record) { return record.type == RecordType::conclude || record.type == RecordType::conclude_with; }

// To the branch above: nothing but the multipliers of conclusions depends on the depth, or on the cuts that the branch has.
struct Movable : StructureAlike<Movable> {
  static bool structure(const Record&) { return false; }
  static bool sweep(const Record&) { return true; }
  static bool boxes(const Record&) { return true; }
  static bool box(const Record&) { return true; }
  static bool tighten(const Record& record) { return record.hints.beta.empty() && record.hints.cuts.empty(); }
  static bool tighten_by_cases(const Record&) { return false; }
  static bool cut(const Record&) { return false; }
  static bool define_hints(const Record&) { return false; }
  static bool conclude(const Record&) { return true; }
  static bool conclude_with(const Record&) { return true; }
  static bool empty(const Record&) { return true; }
};
bool is_movable(const Record& record) { return visit(record, Movable{}); }

bool begins_with_sweep(const ProofBranch& branch) { return !branch.steps.empty() && branch.steps[0].record.type == RecordType::sweep; }

class BranchTrimmer {
 public:
  BranchTrimmer(const logic::Problem& problem, const std::function<bool()>& is_over, TrimStatistics& statistics)
      : problem_(problem), is_over_(is_over), statistics_(statistics) {}

  // The branch of a group, on a scope that its first steps have reached.
  void trim(ProofBranch& root, std::size_t steps, logic::Scope scope) {
    for (std::size_t k = 0; k < steps; ++k) know(root.steps[k]);
    trim_from(root, steps, std::move(scope), 0);
  }

 private:
  // The branch on a scope with `depth` splits.
  void trim(ProofBranch& branch, const logic::Scope& scope, std::size_t depth) {
    const std::size_t known = known_.size();
    trim_from(branch, 0, scope, depth);
    known_.resize(known);
  }

  void know(const ProofStep& step) {
    if (step.record.type == RecordType::define_hints)
      known_.emplace_back(step.record.hints_id, std::make_shared<const logic::Hints>(step.record.hints));
  }

  void trim_from(ProofBranch& branch, std::size_t from, logic::Scope scope, std::size_t depth) {
    const logic::Scope before = scope;
    std::optional<logic::Refutation> closed;
    for (; from < branch.steps.size(); ++from) {
      ProofStep& step = branch.steps[from];
      if (is_over_()) return;
      know(step);
      if (is_conclusion(step.record))
        shorten(step, scope);
      else if (!take_step(problem_, step.record, scope, closed))
        return;
    }
    if (!branch.fork) return;
    const auto both = halves(scope, branch.fork->at_most);
    if (!both) return;
    trim(branch.fork->left, both.value().left, depth + 1);
    trim(branch.fork->right, both.value().right, depth + 1);
    if (!branch.fork->rest.empty()) {
      trim_from(branch.fork->rest, 0, scope, depth);
      return drop_needless_split(branch, scope);
    }
    if (!drop_split(branch, scope, depth)) join_sweeps(branch, before);
  }

  // The bytes of the conclusion with these hints, which hints in force may shorten.
  [[nodiscard]] std::string encoded(const Record& record, const logic::Hints& hints) const {
    Fragment fragment;
    for (const auto& [id, definition] : known_) fragment.refer_to(id, definition);
    fragment.conclude(record.cases, hints);
    return fragment.bytes();
  }

  // The hints, where the conclusion holds with them and its bytes are not more.
  bool take(ProofStep& step, const logic::Scope& scope, logic::Hints hints) const {
    std::string bytes = encoded(step.record, hints);
    if (bytes.size() > step.bytes.size() || !scope.conclude(step.record.cases, hints)) return false;
    step.record.type = RecordType::conclude;
    step.record.hints = std::move(hints);
    step.bytes = std::move(bytes);
    return true;
  }

  void shorten(ProofStep& step, const logic::Scope& scope) {
    using Side = logic::Slopes logic::Hints::*;
    const auto arrays = [](const logic::Hints& hints) {
      const auto filled = [](const auto& side) { return std::ranges::count_if(side, [](const auto& one) { return !one.second.empty(); }); };
      return static_cast<std::uint64_t>(filled(hints.lower) + filled(hints.upper));
    };
    const std::uint64_t before = arrays(step.record.hints);
    if (before > 0 && !take(step, scope, {{}, {}, step.record.hints.beta, step.record.hints.cuts})) {
      for (const Side side : {&logic::Hints::upper, &logic::Hints::lower}) {
        std::vector<NodeId> nodes;
        for (const auto& [node, slopes] : step.record.hints.*side) nodes.push_back(node);
        for (const NodeId node : nodes) {
          logic::Hints hints = step.record.hints;
          (hints.*side).erase(node);
          if (!take(step, scope, std::move(hints))) (void)take(step, scope, in_bytes(step.record.hints, side, node));
        }
      }
    }
    statistics_.slopes_dropped += before - arrays(step.record.hints);
    logic::Hints fewer = step.record.hints;
    while (!fewer.beta.empty() && fewer.beta.back() == 0) fewer.beta.pop_back();
    (void)take(step, scope, fewer);
    for (float& beta : fewer.beta) beta = std::round(beta * kSteps) / kSteps;
    if (!std::ranges::all_of(fewer.beta, [](float beta) { return beta == 0; })) (void)take(step, scope, std::move(fewer));
  }

  // The array in units of 1/128, which a certificate holds in a byte.
  static logic::Hints in_bytes(logic::Hints hints, logic::Slopes logic::Hints::*side, NodeId node) {
    for (float& slope : (hints.*side)[node]) slope = std::clamp(std::round(slope * kSteps), 0.0F, 255.0F) / kSteps;
    return hints;
  }

  // Instead of the split the steps of one half, without the multiplier of the split's literal. Of a split with nothing behind it,
  // which would see the steps.
  bool drop_split(ProofBranch& branch, const logic::Scope& scope, std::size_t depth) {
    if (branch.fork->left.fork || branch.fork->right.fork) return false;
    const auto needed = replay_rest(problem_, branch, branch.steps.size(), scope);
    if (!needed) return false;
    for (const ProofBranch* half : {&branch.fork->left, &branch.fork->right}) {
      if (!std::ranges::all_of(half->steps, [](const ProofStep& step) { return is_movable(step.record); })) continue;
      ProofBranch other;
      other.steps = half->steps;
      for (ProofStep& step : other.steps) {
        if (!is_conclusion(step.record)) continue;
        step.record.hints.beta.resize(std::min(step.record.hints.beta.size(), depth));
        step.bytes = encoded(step.record, step.record.hints);
        step.record.type = RecordType::conclude;
      }
      const auto refuted = replay_branch(problem_, other, scope);
      if (!refuted || !covers(refuted.value(), needed.value())) continue;
      std::ranges::move(other.steps, std::back_inserter(branch.steps));
      branch.fork.reset();
      ++statistics_.splits_dropped;
      return true;
    }
    return false;
  }

  // A last split that refutes nothing that the steps behind it do not refute as well.
  void drop_needless_split(ProofBranch& branch, const logic::Scope& scope) const {
    ProofBranch& rest = branch.fork->rest;
    if (rest.fork || branch.fork->left.fork || branch.fork->right.fork) return;
    const auto needed = replay_rest(problem_, branch, branch.steps.size(), scope);
    const auto refuted = replay_branch(problem_, rest, scope);
    if (!needed || !refuted || !covers(refuted.value(), needed.value())) return;
    std::ranges::move(rest.steps, std::back_inserter(branch.steps));
    branch.fork.reset();
    ++statistics_.splits_dropped;
  }

  static bool covers(const logic::Refutation& more, const logic::Refutation& less) {
    for (std::size_t i = 0; i < less.cases().size(); ++i) {
      if (less.cases()[i] && !more.cases()[i]) return false;
    }
    return true;
  }

  // One sweep for both halves, before any other step of the branch.
  void join_sweeps(ProofBranch& branch, const logic::Scope& scope) {
    ProofBranch& left = branch.fork->left;
    ProofBranch& right = branch.fork->right;
    if (!branch.steps.empty() || !begins_with_sweep(left) || !begins_with_sweep(right)) return;
    if (left.steps[0].bytes != right.steps[0].bytes) return;
    const auto needed = replay_branch(problem_, branch, scope);
    const auto move_up = [&] {
      branch.steps.push_back(left.steps[0]);
      left.steps.erase(left.steps.begin());
      right.steps.erase(right.steps.begin());
    };
    move_up();
    const auto refuted = replay_branch(problem_, branch, scope);
    if (needed && refuted && covers(refuted.value(), needed.value())) {
      ++statistics_.sweeps_joined;
      return;
    }
    for (ProofBranch* half : {&left, &right}) half->steps.insert(half->steps.begin(), branch.steps[0]);
    branch.steps.clear();
  }

  static constexpr float kSteps = 128;
  const logic::Problem& problem_;
  const std::function<bool()> is_over_;
  TrimStatistics& statistics_;
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const logic::Hints>>> known_;  // hints in force
};

std::size_t bytes_of(const ProofBranch& branch) {
  std::size_t bytes = branch.fork ? bytes_of(branch.fork->left) + bytes_of(branch.fork->right) + bytes_of(branch.fork->rest) : 0;
  for (const ProofStep& step : branch.steps) bytes += step.bytes.size();
  return bytes;
}

}  // namespace

Outcome<TrimStatistics> trim(const std::shared_ptr<const logic::Problem>& problem, std::vector<ProofGroup>& groups,
                             const std::function<bool()>& is_over) {
  TrimStatistics statistics;
  std::optional<search::Network> network;
  std::optional<search::NeuronGraph> graph;
  for (ProofGroup& group : groups) {
    auto root = logic::Scope::root(problem, group.group);
    if (!root) return root.rejection();
    root.value().pay(meter_of(*problem));
    root.value().stop_when(is_over);
    const std::size_t bytes = bytes_of(group.root);
    RootTrimmer trimmer(problem, group, root.value(), is_over);
    if (auto derived = trimmer.derive(); !derived) {
      if (&group != &groups.front() && is_over()) break;
      return derived.rejection();
    }
    BranchTrimmer(*problem, is_over, statistics).trim(group.root, trimmer.steps(), trimmer.scope());
    if (trimmer.is_worth_shortening() && !is_over()) {
      if (!graph) graph.emplace(network.emplace(problem), search::NeuronGraph::InputRows::later);
      trimmer.shorten(*graph, bytes - std::min(bytes, bytes_of(group.root)));
    }
    statistics.refined += trimmer.refined();
    statistics.kept += trimmer.kept();
  }
  return statistics;
}

}  // namespace assay::certificate
