// GroupSearch: the walk through the table, and the stages that come before a tree: a point, the root's bounds,
// cuts, attacks.
//
// features() collects what the condition of a stage may depend on; stages() says which stage runs next and for how
// long. Incomplete roots (with only some intermediate bounds) are made and dropped one after the other. The whole root
// is derived in pieces, and the search may attack between two of them.
//
// Source: none; alpha-beta-CROWN runs its incomplete bounds, attack and branch and bound once and in this order. How
// this version differs: the order is a table with conditions, which the search may go through several times.

#include "search/strategy/group_search.h"

#include <algorithm>
#include <utility>

#include "certificates/check/meter.h"
#include "certificates/check/refutations.h"
#include "search/attack/attack.h"
#include "search/bounds/product_operands.h"
#include "search/cuts/group_cuts.h"
#include "search/heuristics/input_splits.h"

namespace assay::search {
namespace {

void count_stage(Statistics& statistics, const char* name, double seconds) {
  const auto known = std::ranges::find(statistics.stages, std::string_view(name), &StageTime::name);
  StageTime& stage = known != statistics.stages.end() ? *known : statistics.stages.emplace_back(StageTime{name});
  ++stage.runs;
  stage.seconds += seconds;
}

// Counts a root that was refuted without a tree.
void count_root(Statistics& statistics) {
  ++statistics.nodes;
  ++statistics.leaves;
}

}  // namespace

GroupSearch::GroupSearch(SearchState& search, const logic::Scope& scope, std::vector<std::uint32_t> open)
    : search_(search),
      scope_(scope),
      open_(std::move(open)),
      root_(*search.problem, scope, search.options.threads),
      refinement_(search.graph, search.options.threads),
      proved_{scope.group(), {}, {}} {
  search_.unfinished.reset();  // of the group before it
  const NeuronGraph& graph = search_.graph;
  now_.case_without_rows = has_case_without_rows(*search_.problem, group()) && !search_.problem->group_is_empty(group());
  now_.attacks = search_.options.attack;
  now_.wants_leaves = search_.options.split.into > 0;
  now_.relu_only = graph.relu_only();
  now_.elementwise = graph.supported();
  now_.compares = search_.thresholds.is_all();
  const bool few_inputs = free_inputs(*search_.problem, scope) <= kFewInputs;
  now_.branching_pays = graph.can_split() || few_inputs;
  now_.tries_inputs =
      few_inputs && graph.neuron_count() > kFewNeurons && !now_.wants_leaves && search_.options.branching == Options::Branching::automatic;
  now_.box_work = certificate::Costs(*search_.problem).whole_row() * static_cast<double>(1 + open_.size());
  now_.root_work = root_.work();
  now_.kinks_share = root_.share({.refine = IntermediatePlan::Refine::kinks});
  now_.round_seconds = kFirstBranching;
}

// Goes through the table in rounds. A later round has a longer budget and tighter bounds of the root.
Outcome<GroupResult> GroupSearch::run() {
  for (;; ++now_.round, now_.round_seconds *= 2) {
    now_.tree_has_ended = was_refinable_ = false;
    for (const Stage& stage : stages()) {
      if (!stage.applies(features())) continue;
      const auto begin = Clock::now();
      auto step = (this->*stage.run)(stage.seconds(now_));
      count_stage(search_.statistics, stage.name, seconds_since(begin));
      if (!step) return step.rejection();
      if (step.value() == Next::ended) return std::move(result_);
    }
  }
}

// Brings the features up to date, before every row, because a stage changes what later rows see.
const Features& GroupSearch::features() {
  now_.has_operands = !operands_.empty();
  now_.has_early_root = early_ != nullptr;
  now_.root_is_complete = root_.complete();
  now_.is_refinable = was_refinable_ || refinement_.applies(root_, search_.limit());
  now_.has_input_rows = search_.has_input_rows;
  now_.splits_activations = now_.has_input_rows && splits_activations(search_.graph, root_.scope(), search_.options.branching);
  now_.has_attacked = search_.has_attacked;
  now_.has_side_attack = search_.side_attack.has_value();
  now_.planned = search_.planned();
  now_.until_cheap = std::min(search_.cheap_end, search_.deadline).seconds_left();
  now_.since_root = root_begin_ ? seconds_since(*root_begin_) : 0;
  now_.early_seconds = early_ ? early_->seconds : 0;
  now_.whole_root = early_ ? early_->bounds.seconds_for_all() : 0;
  now_.until_refined = seconds_to_next_refinement();
  return now_;
}

std::vector<std::uint32_t> GroupSearch::cases_at(const std::vector<std::uint32_t>& positions) const {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t position : positions) result.push_back(cases()[position]);
  return result;
}

// Ends the search of the group, with a witness or without an answer. Refutations so far are dropped, because they do
// not cover all cases.
Outcome<Next> GroupSearch::ends_here(std::optional<logic::Theorem> witness) {
  result_.witness = std::move(witness);
  result_.refutation.reset();
  return Next::ended;
}

Outcome<Next> GroupSearch::try_a_point(double) {
  result_.reason = "a case without rows holds wherever the network has a value, and none was found";
  return ends_here(try_case_without_rows(search_.network, group(), search_.limit()));
}

// --- incomplete roots, with only some intermediate bounds ---

Outcome<Next> GroupSearch::bound_boxes(double seconds) { return bound_early({.refine = IntermediatePlan::Refine::nothing}, seconds); }

Outcome<Next> GroupSearch::bound_kinks(double seconds) { return bound_early({.refine = IntermediatePlan::Refine::kinks}, seconds); }

Outcome<Next> GroupSearch::bound_operands(double seconds) {
  return bound_early({.refine = IntermediatePlan::Refine::kinks, .also = operands_}, seconds);
}

// Each of these roots is derived from scratch, so that a proof on it holds no bounds that it does not need.
Outcome<Next> GroupSearch::bound_early(IntermediatePlan plan, double seconds) {
  const auto begin = Clock::now();
  const Limit limit = search_.limit();
  early_ = std::make_unique<EarlyRoot>(*search_.problem, scope_, search_.options.threads, open_);
  IntermediateBounds& root = early_->bounds;
  plan.pause = {std::min(limit.deadline, Deadline::in(seconds)), limit.stop};
  plan.deadline = plan.share_end = limit.deadline;
  const auto done = root.advance(plan);
  search_.statistics.root_seconds += seconds_since(begin);
  if (!done || !root.has_all_boxes()) {
    early_.reset();
    return Next::on;
  }
  root.stop_at(limit);
  auto closed = search::close_at_root(search_.network, root, early_->open, early_->refutation);
  if (!closed) return closed.rejection();
  note_bounds(closed.value(), open_.size(), early_->open.size());
  if (early_->open.empty()) {
    count_root(search_.statistics);
    return end_early(nullptr);
  }
  if (plan.refine == IntermediatePlan::Refine::nothing) {
    early_.reset();
    return Next::on;
  }
  early_->seconds = seconds_since(begin);
  return find_input_rows(0);
}

Outcome<Next> GroupSearch::end_early(std::unique_ptr<ProofTree> tree) {
  result_.refutation = std::move(early_->refutation);
  proved_.add(std::exchange(early_->bounds.steps(), {}), std::move(tree));
  search_.proved.push_back(std::move(proved_));
  return Next::ended;
}

Outcome<Next> GroupSearch::find_product_operands(double) {
  operands_ = product_operands(search_.graph, early_->bounds.scope(), cases_at(early_->open), search_.limit());
  now_.operands_share = root_.share({.refine = IntermediatePlan::Refine::kinks, .also = operands_});
  early_.reset();
  return Next::on;
}

// --- the whole root ---

// Continues where the last call stopped. The first call drops the incomplete root with its tree.
Outcome<Done> GroupSearch::advance(const IntermediatePlan& plan) {
  const auto begin = Clock::now();
  if (!root_begin_) {
    root_begin_ = begin;
    early_.reset();
    if (search_.unfinished) search_.unfinished->closed_share = search_.unfinished->pace = 0;
  }
  auto done = root_.advance(plan);
  root_.stop_at(search_.limit());
  search_.statistics.root_seconds += seconds_since(begin);
  return done;
}

// Closes easy cases before any attack.
Outcome<Next> GroupSearch::bound_root_until_attack(double seconds) {
  IntermediatePlan plan{search_.limit(), search_.deadline, Deadline::in(features().root_seconds())};
  plan.pause.deadline = Deadline::in(seconds);
  if (auto done = advance(plan); !done) return done.rejection();
  return Next::on;
}

Outcome<Next> GroupSearch::attack(double seconds) {
  if (auto witness = search_.attack_once(seconds)) return ends_here(std::move(witness));
  if (!now_.branching_pays) search_.start_side_attack();
  return Next::on;
}

// `seconds`: the limit if there is not enough time for the whole root.
Outcome<Next> GroupSearch::bound_root(double seconds) {
  IntermediatePlan plan{search_.limit(), search_.deadline, Deadline::in(seconds)};
  do {
    if (search_.options.threads == 1 && search_.side_attack) {
      search_.side_attack->take_turn();
      plan.pause.deadline = std::min(search_.deadline, Deadline::in(kBetweenTurns));
    }
    if (auto done = advance(plan); !done) return done.rejection();
  } while (!root_.has_all_boxes() && !search_.limit().reached());
  return Next::on;
}

// Removes from open_ the cases that the root's bounds refute.
Outcome<Next> GroupSearch::close_at_root(double) {
  result_.reason = "time, at the root's bounds";
  if (search_.limit().reached()) return ends_here(std::nullopt);
  const std::size_t cases = open_.size();
  auto left = search::close_at_root(search_.network, root_, open_, result_.refutation);
  if (!left) return left.rejection();
  note_bounds(left.value(), cases, open_.size());
  return open_.empty() ? end_at_root() : Next::on;
}

// Keeps what bounds at the root say of the cases, for a search that ends without an answer.
void GroupSearch::note_bounds(const std::optional<CrownCases>& found, std::size_t cases, std::size_t left) {
  if (!found) return;
  search_.unfinished = found->unfinished;
  if (search_.options.on_progress)
    search_.options.on_progress({seconds_since(search_.start), "root bounds", cases - left, left, found->worst});
}

Outcome<Next> GroupSearch::end_at_root() {
  proved_.add(std::exchange(root_.steps(), {}), nullptr);
  search_.proved.push_back(std::move(proved_));
  count_root(search_.statistics);
  return Next::ended;
}

Outcome<Next> GroupSearch::cut(double) {
  close_by_cuts(root_, search_.graph, open_, result_.refutation, search_.limit());
  return open_.empty() ? end_at_root() : Next::on;
}

Outcome<Next> GroupSearch::attack_beside(double) {
  search_.start_side_attack();
  return Next::on;
}

Outcome<Next> GroupSearch::find_input_rows(double) {
  search_.graph.find_input_rows();
  search_.has_input_rows = true;
  return Next::on;
}

Outcome<Next> GroupSearch::refine(double) {
  const auto begin = Clock::now();
  was_refinable_ = false;
  auto done = refinement_.refine(root_, cases_at(open_), search_.limit());
  search_.statistics.root_seconds += seconds_since(begin);
  if (!done) return done.rejection();
  return Next::on;
}

}  // namespace assay::search
