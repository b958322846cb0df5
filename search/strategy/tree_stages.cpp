// GroupSearch: the stages that grow a tree, and the decision what follows from a tree.
//
// A tree for each case: the cases share their bounds, and the case furthest from closed comes first, since it is likely
// to have a witness. Two branching heuristics are tried on the first case, and the one that closes more is kept.
// settle() decides between an answer, open leaves for other runs, and another round.

#include <algorithm>
#include <map>
#include <utility>

#include "certificates/check/refutations.h"
#include "kernel/inspect/inspect.h"
#include "search/bab/bab.h"
#include "search/strategy/group_search.h"

namespace assay::search {

// A tree on an incomplete root. Its proof uses only these bounds, which makes the certificate short.
Outcome<Next> GroupSearch::grow_early_tree(double seconds) {
  BranchingOptions options = BranchingOptions::of(search_.options, std::min(search_.deadline, Deadline::in(seconds)));
  options.go_on_if_nearly_closed(search_.deadline);
  auto grown = grow_over_activations(early_->bounds.scope(), early_->open, options);
  if (!grown) return grown.rejection();
  GroupResult& tree = grown.value();
  if (tree.witness) return ends_here(std::move(tree.witness));
  if (!tree.refutation) return Next::on;
  if (auto merged = certificate::merge_into(early_->refutation, *std::move(tree.refutation)); !merged) return merged.rejection();
  return end_early(std::move(tree.tree));
}

// How many open leaves of this group to aim for, so that all groups together have as many as were asked for if the
// later groups are as hard as this one.
std::size_t GroupSearch::leaves_wanted() const {
  const std::size_t into = search_.options.split.into;
  if (into == 0) return 0;
  std::size_t so_far = 0;
  for (const Proved& one : search_.proved) so_far += one.leaves.size();
  const std::size_t groups = search_.problem->group_count() - group(), left = into - std::min(into, so_far);
  return std::max<std::size_t>(1, (left + groups - 1) / groups);
}

// None if leaves are to stay open, or if the refinement would come in the second half of the time, in which the time
// limit changes the plan.
std::optional<double> GroupSearch::seconds_to_next_refinement() const {
  const double spent = seconds_since(search_.start);
  const std::optional<double> next = refinement_.next();
  if (!next || *next <= spent || *next > (spent + search_.remaining()) / 2 || search_.options.split.into > 0) return std::nullopt;
  return *next - spent;
}

// Plans the time of this round's trees.
void GroupSearch::begin_tree(double seconds) {
  const Features now = features();
  was_refinable_ = now.splits_activations && now.is_refinable;
  goes_on_ = !now.is_last() || now.until_refined;
  now_.round_seconds = now.tree_round();
  until_ = std::min(search_.deadline, Deadline::in(seconds));
}

BranchingOptions GroupSearch::tree_options(Deadline until) const {
  BranchingOptions options = BranchingOptions::of(search_.options, until);
  options.root_is_refined = root_.complete();
  options.kfsb = kfsb_.value_or(false);
  if (search_.side_attack) options.between_nodes = [this] { search_.side_attack->take_turn(); };
  return options;
}

// If activations other than ReLU bend, the tree ends after a few nodes as long as the root can be refined: better
// slopes at the root gain more.
Outcome<GroupResult> GroupSearch::grow_over_activations(const std::vector<std::uint32_t>& open, Deadline until, Trial trial) {
  BranchingOptions options = tree_options(until);
  options.open_leaves = leaves_wanted();
  options.trial = trial;
  options.go_on_if_nearly_closed(search_.deadline);
  if (!search_.graph.relu_only() && refinement_.applies(root_, search_.limit())) options.most_nodes = kFewNodes;
  return grow_over_activations(root_.scope(), open, options);
}

Outcome<GroupResult> GroupSearch::grow_over_activations(const logic::Scope& scope, const std::vector<std::uint32_t>& open,
                                                        const BranchingOptions& options) {
  const auto begin = Clock::now();
  auto result = branch_on_activations(search_.graph, scope, open, options, search_.limit().stop, search_.statistics);
  search_.statistics.branching_seconds += seconds_since(begin);
  return result;
}

Outcome<Next> GroupSearch::grow_over_inputs(double seconds) {
  begin_tree(seconds);
  const auto begin = Clock::now();
  if (search_.side_attack) search_.side_attack->fade();  // the tree tries points of its own subdomains
  BranchingOptions options = tree_options(until_);
  options.open_leaves = leaves_wanted();
  auto result =
      branch_on_inputs(search_.graph, search_.thresholds, root_.scope(), open_, options, search_.limit().stop, search_.statistics);
  search_.statistics.branching_seconds += seconds_since(begin);
  // A short tree, after which neurons are split.
  if (now_.splits_activations && !result.refutation && !result.witness && !search_.limit().reached()) return Next::on;
  return settle(std::move(result), false);
}

Outcome<Next> GroupSearch::grow_over_all_cases(double seconds) {
  begin_tree(seconds);
  return settle(grow_over_activations(open_, until_), false);
}

// Decides on the first case whether kFSB is the better branching heuristic. Networks without feature maps probably
// favour it, other networks probably do not. The less likely heuristic runs first, for a short time; then the likely
// one takes over, and keeps the case unless the other one closed much more. Closed shares of a young tree allow no
// finer comparison.
Outcome<GroupResult> GroupSearch::try_both(std::uint32_t position) {
  const double seconds = std::clamp(kTrialShare * search_.planned(), kFirstTrial, kLongestTrial);
  const auto is_over = [&](const Outcome<GroupResult>& branched) {
    return !branched || branched.value().refutation || branched.value().witness || until_.has_passed() || search_.limit().reached();
  };
  const logic::Problem& problem = *search_.problem;
  const bool care_is_likelier =
      std::ranges::none_of(inspect::pre_activations(problem), [&](NodeId node) { return inspect::together(problem, node) > 1; });
  kfsb_ = !care_is_likelier;
  auto first = grow_over_activations({position}, std::min(until_, Deadline::in(seconds)));
  if (is_over(first)) {
    kfsb_.reset();
    return first;
  }
  const Trial trial{Deadline::in(seconds), first.value().unfinished ? first.value().unfinished->closed_share / kMuchMore : 0};
  kfsb_ = care_is_likelier;
  auto second = grow_over_activations({position}, until_, trial);
  if (is_over(second) || !second.value().trial_failed) return second;
  kfsb_ = !care_is_likelier;
  return grow_over_activations({position}, until_);
}

// Grows a tree for each case, with splits chosen for that case. The case furthest from closed comes first, because a
// witness may lie there. Refuted cases leave open_.
Outcome<Next> GroupSearch::grow_by_case(double seconds) {
  begin_tree(seconds);
  std::map<std::uint32_t, double> bounds;
  if (search_.unfinished) {
    for (const Unfinished::Left& one : search_.unfinished->cases) bounds[one.case_index] = one.bound;
  }
  std::ranges::stable_sort(open_, std::greater(), [&](std::uint32_t position) { return bounds[cases()[position]]; });
  const auto count = static_cast<double>(open_.size());
  while (true) {
    auto branched = kfsb_ ? grow_over_activations({open_.back()}, until_) : try_both(open_.back());
    if (!branched) return branched.rejection();
    GroupResult& one = branched.value();
    if (!one.refutation) {
      for (std::size_t k = 0; one.unfinished && k + 1 < open_.size(); ++k)
        one.unfinished->cases.push_back({cases()[open_[k]], bounds[cases()[open_[k]]]});
      if (one.unfinished) {
        one.unfinished->closed_share = (count - static_cast<double>(open_.size()) + one.unfinished->closed_share) / count;
        one.unfinished->pace /= count;
      }
      return settle(std::move(branched), true);
    }
    if (auto merged = certificate::merge_into(result_.refutation, *std::move(one.refutation)); !merged) return merged.rejection();
    one.refutation = result_.refutation;
    proved_.add(std::exchange(root_.steps(), {}), std::move(one.tree));
    open_.pop_back();
    if (open_.empty()) return settle(std::move(branched), true);
  }
}

// Decides what follows from a round's tree: an answer, open leaves, another round, or the end without an answer.
// `by_case`: proofs of refuted cases are kept already.
Outcome<Next> GroupSearch::settle(Outcome<GroupResult> branched, bool by_case) {
  if (!branched) return branched.rejection();
  GroupResult& deep = branched.value();
  if (now_.round == 0 && deep.by_programs) kfsb_ = false;
  if (deep.unfinished) search_.unfinished = deep.unfinished;
  if (!deep.leaves.empty()) {
    proved_.add(std::exchange(root_.steps(), {}), std::move(deep.tree));
    proved_.leaves = deep.leaves;
    search_.proved.push_back(std::move(proved_));
  } else if (deep.refutation) {
    if (!by_case) {
      if (auto merged = certificate::merge_into(result_.refutation, *std::move(deep.refutation)); !merged) return merged.rejection();
      deep.refutation = result_.refutation;
      proved_.add(std::exchange(root_.steps(), {}), std::move(deep.tree));
    }
    search_.proved.push_back(std::move(proved_));
  } else if (!deep.witness && goes_on_ && !search_.limit().reached()) {
    const bool few_nodes = was_refinable_ && !search_.graph.relu_only();
    if (few_nodes || until_.has_passed()) {
      now_.tree_has_ended = true;
      return Next::on;
    }
  }
  result_ = std::move(deep);
  return Next::ended;
}

}  // namespace assay::search
