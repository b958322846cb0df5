// The strategy: root bounds where they are cheap, a short attack, the rest of the root, then branch and bound group by group, an attack beside it:
// a tree of all cases for a moment, then, with a refined root, a tree for each case. An unfinished root goes on between rounds of branching.

#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <numeric>
#include <stop_token>

#include "certificates/check/refutations.h"
#include "search/attack/attack.h"
#include "search/attack/side_attack.h"
#include "search/bab/input_branching.h"
#include "search/bab/relu_branching.h"
#include "search/bounds/root_bounds.h"
#include "search/bounds/root_cases.h"
#include "search/bounds/root_refinement.h"
#include "search/cuts/group_cuts.h"
#include "search/heuristics/input_splits.h"
#include "search/strategy/deadline.h"
#include "search/strategy/early_roots.h"
#include "search/strategy/proved.h"

namespace assay::search {
namespace {

constexpr double kCheapBounds = 0.05;     // seconds of bounds before the first attack: easy refutations never see one
constexpr double kFirstAttack = 0.15;     // seconds, where bounds are dear; else as long as the bounds took ...
constexpr double kOnlyAttack = 1;         // seconds, where there are no bounds
constexpr double kLeastAttack = 0.01;     // ... but at least this long
constexpr double kOpeningShare = 0.1;     // of the planned time, at most, for either of these
constexpr double kRootShare = 0.3;        // of the planned time, for a root that cannot be finished
constexpr double kOnlyRootShare = 0.8;    // the same where branching has little to offer
constexpr std::uint64_t kFewNodes = 8;    // before the root's bounds are refined, where they are those of curves
constexpr double kFirstTree = 3;          // seconds of a tree of all cases: its nodes' minimisers find witnesses, too
constexpr double kFirstTreeShare = 0.15;  // of the planned time, at most
constexpr double kFirstTrial = 0.5;       // seconds of a case's tree, either way of choosing splits, at least
constexpr double kTrialShare = 0.02;      // of the planned time, the same
constexpr double kLongestTrial = 5;       // seconds
constexpr double kMuchMore = 2;           // times as much of the tree
constexpr double kFirstBranching = 1;     // seconds of branching on an unfinished root, at least; doubled every time
constexpr double kBetweenTurns = 0.5;     // seconds of bounds, where the attack has no thread of its own

// Of all threads of the process.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Search {
 public:
  Search(const std::shared_ptr<const kernel::Problem>& problem, const Options& options)
      : start_(Clock::now()),
        deadline_(options.deadline),
        problem_(problem),
        options_(options),
        network_(problem),
        dual_(network_, DualGraph::InputRows::later),
        attacked_(options.cube != nullptr) {}  // whoever wrote a cube has done so

  Outcome<Result> run(certificate::Writer* writer) {
    const double cpu = cpu_seconds();
    auto outcome = decide();
    if (side_attack_) {
      if (auto theorem = side_attack_->finish(statistics_)) outcome = satisfiable(*std::move(theorem));
    }
    if (!outcome) return outcome;
    Result result = std::move(outcome).value();
    result.statistics = statistics_;
    result.statistics.wall_seconds = seconds_since(start_);
    result.statistics.cpu_seconds = cpu_seconds() - cpu;
    if (writer != nullptr) {
      if (auto written = write(result, *writer); !written) result.unwritten = written.rejection();
    }
    return result;
  }

 private:
  [[nodiscard]] double remaining() const { return deadline_.seconds_left(); }
  [[nodiscard]] Limit limit() const { return {deadline_, stop_.get_token(), start_}; }
  [[nodiscard]] double planned() const { return limit().planned(); }

  Result satisfiable(kernel::Theorem theorem) {
    Result result;
    result.answer = Result::Answer::satisfiable;
    result.theorem = std::move(theorem);
    return result;
  }

  Result undecided(std::string reason) {
    Result result;
    const bool asked = options_.stop.stop_requested();
    result.answer = remaining() <= 0 && !asked ? Result::Answer::timed_out : Result::Answer::unknown;
    result.reason = std::move(reason);
    result.unfinished = unfinished_;
    if (result.unfinished) result.unfinished->seconds = seconds_since(start_);
    if (network_.problem()->floating() && !network_.nearest_point()) try_middles(network_);
    if (const auto nearest = network_.nearest_point()) {
      result.nearest = nearest->point;
      result.disputed = std::isinf(nearest->slack);
    }
    if (result.disputed)
      result.reason +=
          "; at some point the answer depends on the order of summation, or on another choice that the execution model leaves open";
    return result;
  }

  // Once, all groups together.
  std::optional<kernel::Theorem> first_attack(double seconds) {
    if (!options_.attack || attacked_) return std::nullopt;
    attacked_ = true;
    const auto begin = Clock::now();
    AttackOptions options;
    options.seconds = std::min(seconds, kOpeningShare * planned());
    options.deadline = deadline_;
    options.seed = options_.seed;
    auto theorem = options.seconds > 0 ? attack_all(network_, options, stop_.get_token(), statistics_) : std::nullopt;
    statistics_.attack_seconds += seconds_since(begin);
    return theorem;
  }

  // The one branch that is a cube; the kernel makes theorems about whole statements only.
  Outcome<Result> decide_cube() {
    const std::size_t group = options_.cube->scope.group();
    auto outcome = decide_group(options_.cube->scope, options_.cube->open);
    if (!outcome) return outcome.rejection();
    GroupResult& one = outcome.value();
    if (one.witness) return satisfiable(*std::move(one.witness));
    const auto is_refuted = [&](std::uint32_t position) { return one.refutation->cases()[position]; };
    if (!one.refutation || !std::ranges::all_of(options_.cube->open, is_refuted))
      return undecided("a cube of group " + std::to_string(group + 1) + ": " + one.reason);
    Result result;
    result.answer = Result::Answer::unsatisfiable;
    return result;
  }

  // Open branches of the group are so many that those of all groups come to what was asked for, if the later ones are as hard.
  [[nodiscard]] std::size_t leaves_wanted(std::size_t group) const {
    if (options_.split.into == 0) return 0;
    std::size_t so_far = 0;
    for (const Proved& one : proved_) so_far += one.leaves.size();
    const std::size_t groups = problem_->group_count() - group, left = options_.split.into - std::min(options_.split.into, so_far);
    return std::max<std::size_t>(1, (left + groups - 1) / groups);
  }

  Outcome<Result> decide() {
    if (options_.cube != nullptr) return decide_cube();
    cheap_end_ = Deadline::in(std::min(kCheapBounds, kOpeningShare * planned()));
    std::vector<kernel::Refutation> refutations;
    for (std::size_t group = 0; group < problem_->group_count(); ++group) {
      if (options_.stop.stop_requested()) return undecided("asked to stop");
      auto scope = kernel::Scope::root(problem_, group);
      if (!scope) return scope.rejection();
      std::vector<std::uint32_t> all(problem_->group_cases(group).size());
      std::iota(all.begin(), all.end(), 0U);
      auto outcome = decide_group(std::move(scope).value(), std::move(all));
      if (!outcome) {  // the box reaches outside an op's domain, say; a point inside may still be a witness
        attacked_ = false;
        if (auto witness = first_attack(kOnlyAttack)) return satisfiable(*std::move(witness));
        return outcome.rejection();
      }
      GroupResult& one = outcome.value();
      if (one.witness) return satisfiable(*std::move(one.witness));
      if (!one.leaves.empty()) continue;
      if (!one.refutation) {
        return undecided("group " + std::to_string(group + 1) + " of " + std::to_string(problem_->group_count()) + ": " + one.reason);
      }
      refutations.push_back(*std::move(one.refutation));
    }
    Result result;
    result.answer = Result::Answer::split;
    if (refutations.size() < problem_->group_count()) return result;
    auto theorem = kernel::unsatisfiable(problem_, refutations);
    if (!theorem) return theorem.rejection();
    result.answer = Result::Answer::unsatisfiable;
    result.theorem = std::move(theorem).value();
    return result;
  }

  // The root's facts, for at most `share` seconds if there is no time for all of them. Where they turn out to be dear they are
  // interrupted once, for the first attack.
  Outcome<std::optional<kernel::Theorem>> bound_root(RootBounds& root, double share) {
    RootPlan plan{limit(), deadline_, Deadline::in(share)};
    if (options_.attack && !attacked_) {
      plan.pause.deadline = std::min(cheap_end_, deadline_);
      if (auto done = advance(root, plan); !done) return done.rejection();
      if (root.complete()) return std::optional<kernel::Theorem>();
      if (auto witness = first_attack(kFirstAttack)) return witness;
      if (!branching_pays(root.scope())) start_side_attack();
      plan = {limit(), deadline_, Deadline::in(share)};
    }
    do {
      if (options_.threads == 1 && side_attack_) {
        side_attack_->take_turn();
        plan.pause.deadline = std::min(deadline_, Deadline::in(kBetweenTurns));
      }
      if (auto done = advance(root, plan); !done) return done.rejection();
    } while (!root.has_all_boxes() && !limit().reached());
    return std::optional<kernel::Theorem>();
  }

  Outcome<Done> advance(RootBounds& root, const RootPlan& plan) {
    const auto begin = Clock::now();
    auto done = root.advance(plan);
    root.stop_at(limit());
    statistics_.root_seconds += seconds_since(begin);
    return done;
  }

  void start_side_attack() {
    if (options_.attack && !side_attack_) side_attack_.emplace(network_, options_.seed, deadline_, stop_, options_.threads > 1);
  }

  // `open`: the cases that are to be refuted there, by position in the group.
  Outcome<GroupResult> decide_group(kernel::Scope scope, std::vector<std::uint32_t> open) {
    GroupResult result;  // of the root, and of cases that were refuted one by one
    if (has_case_without_rows(*problem_, scope.group()) && !problem_->group_is_empty(scope.group())) {
      result.witness = try_case_without_rows(network_, scope.group(), limit());
      result.reason = "a case without rows holds wherever the network has a value, and none was found";
      return result;
    }
    auto early = close_early(dual_, scope, open, options_, limit(), statistics_);
    if (!early) return early.rejection();
    if (early.value().proved) proved_.push_back(*std::move(early.value().proved));
    if (early.value().result.refutation || early.value().result.witness) return std::move(early.value().result);
    RootBounds root(*problem_, std::move(scope), options_.threads);
    Proved proved{root.scope().group(), {}, {}};
    unfinished_.reset();
    careful_.reset();
    refinement_.emplace(dual_, options_.threads);
    const auto begin = Clock::now();
    bool has_branched = false;
    double share = planned() * (branching_pays(root.scope()) ? kRootShare : kOnlyRootShare);
    for (double round = kFirstBranching;; round *= 2, share = round) {
      auto bounded = bound_root(root, share);
      if (!bounded) return bounded.rejection();
      result.witness = std::move(bounded).value();
      result.reason = "time, at the root's bounds";
      if (result.witness || limit().reached()) return unrefuted(std::move(result));
      if (auto closed = close_at_root(root, open, result.refutation); !closed) return closed.rejection();
      if (!has_branched) close_by_cuts(root, dual_, open, result.refutation, limit());
      if (open.empty()) {
        keep_root(std::move(proved), root);
        return result;
      }
      result.witness = first_attack(std::clamp(seconds_since(begin), kLeastAttack, kFirstAttack));
      if (result.witness) return unrefuted(std::move(result));
      start_side_attack();
      dual_.find_input_rows();
      const bool activations = splits_activations(root.scope());
      const bool refinable = activations && can_be_refined(root);
      const bool one_by_one = activations && has_branched && options_.split.into == 0;
      const bool last = root.complete() && !refinable && (one_by_one || !activations || options_.split.into > 0);
      round = std::max({round, seconds_since(begin), has_branched ? 0 : std::min(kFirstTree, kFirstTreeShare * planned())});
      const std::optional<double> again = last ? seconds_to_next_refinement() : std::nullopt;
      const Deadline until = last && !again ? deadline_ : std::min(deadline_, Deadline::in(again.value_or(round)));
      auto branched = one_by_one ? branch_each(root, open, until, result.refutation, proved) : branch(root, open, until);
      if (!branched) return branched;
      if (!has_branched && branched.value().by_programs) careful_ = false;
      has_branched = true;
      GroupResult& deep = branched.value();
      if (deep.unfinished) unfinished_ = deep.unfinished;
      if (!deep.leaves.empty()) {
        proved.add(std::exchange(root.steps(), {}), std::move(deep.tree));
        proved.leaves = deep.leaves;
        proved_.push_back(std::move(proved));
        return branched;
      }
      const bool few_nodes = refinable && !dual_.relu_only();
      if (!deep.refutation && !deep.witness && (!last || again) && (few_nodes || until.has_passed()) && !limit().reached()) {
        if (!refinable && !can_be_refined(root)) continue;
        if (auto done = refine(root, open); !done) return done.rejection();
        continue;
      }
      if (!deep.refutation) return branched;
      if (!one_by_one) {
        if (auto merged = certificate::merge_into(result.refutation, *std::move(deep.refutation)); !merged) return merged.rejection();
        deep.refutation = result.refutation;
        proved.add(std::exchange(root.steps(), {}), std::move(deep.tree));
      }
      proved_.push_back(std::move(proved));
      return branched;
    }
  }

  void keep_root(Proved proved, RootBounds& root) {
    proved.add(std::exchange(root.steps(), {}), nullptr);
    proved_.push_back(std::move(proved));
    count_root(statistics_);
  }

  // Some cases may be refuted, but that is not all of them.
  static GroupResult unrefuted(GroupResult result) {
    result.refutation.reset();
    return result;
  }

  // What the root's own bounds refute leaves `open`.
  Outcome<Done> close_at_root(RootBounds& root, std::vector<std::uint32_t>& open, std::optional<kernel::Refutation>& refutation) {
    const std::size_t cases = open.size();
    auto left = search::close_at_root(network_, root, open, refutation);
    if (!left) return left.rejection();
    if (!left.value()) return Done{};
    unfinished_ = left.value()->unfinished;
    if (options_.on_progress)
      options_.on_progress({seconds_since(start_), "root bounds", cases - open.size(), open.size(), left.value()->worst});
    return Done{};
  }

  // Few inputs to split, or kinks to split at.
  [[nodiscard]] bool branching_pays(const kernel::Scope& scope) const {
    return dual_.can_split() || free_inputs(*problem_, scope) <= kFewInputs;
  }

  // Needs what find_input_rows() finds.
  [[nodiscard]] bool splits_activations(const kernel::Scope& scope) const {
    return search::splits_activations(dual_, scope, options_.branching);
  }

  [[nodiscard]] bool can_be_refined(const RootBounds& root) const { return refinement_->applies(root, limit()); }

  // None where it would come in the second half of the time, in which the limit changes what is planned, and where leaves are to stay open.
  [[nodiscard]] std::optional<double> seconds_to_next_refinement() const {
    const double spent = seconds_since(start_);
    const std::optional<double> next = refinement_->next();
    if (!next || *next <= spent || *next > (spent + remaining()) / 2 || options_.split.into > 0) return std::nullopt;
    return *next - spent;
  }

  Outcome<Done> refine(RootBounds& root, const std::vector<std::uint32_t>& open) {
    const auto begin = Clock::now();
    std::vector<std::uint32_t> cases;
    for (const std::uint32_t position : open) cases.push_back(problem_->group_cases(root.scope().group())[position]);
    auto done = refinement_->refine(root, cases, limit());
    statistics_.root_seconds += seconds_since(begin);
    return done;
  }

  Outcome<GroupResult> branch(RootBounds& root, const std::vector<std::uint32_t>& open, Deadline until, Trial trial = {}) {
    const auto begin = Clock::now();
    const kernel::Scope& scope = root.scope();
    BranchingOptions options = BranchingOptions::of(options_, until);
    options.root_is_refined = root.complete();
    options.open_leaves = leaves_wanted(scope.group());
    options.careful = careful_.value_or(false);
    options.trial = trial;
    if (side_attack_) options.between_nodes = [this] { side_attack_->take_turn(); };
    const bool relu = splits_activations(scope);
    if (relu) options.go_on_if_nearly_closed(deadline_);
    if (side_attack_ && !relu) side_attack_->fade();  // points of the branches' boxes are tried
    if (!relu && dual_.supported() && !dual_.relu_only() && can_be_refined(root)) {
      if (auto refined = refine(root, open); !refined) return refined.rejection();
    }
    if (relu && !dual_.relu_only() && can_be_refined(root)) options.most_nodes = kFewNodes;
    if (!relu && options_.branching == Options::Branching::automatic && dual_.supported() && !dual_.splits_are_exact()) {
      // The slopes of the root alone often do; otherwise splits of inputs go on where a few nodes ended.
      const std::size_t open_leaves = std::exchange(options.open_leaves, 0);
      options.most_nodes = kFewNodes;
      Outcome<GroupResult> first = relu_branching(dual_, scope.group(), scope, open, options, stop_.get_token(), statistics_);
      options.most_nodes = 0;
      options.open_leaves = open_leaves;
      const bool answered = !first || first.value().refutation || first.value().witness || until.has_passed();
      if (answered) statistics_.branching_seconds += seconds_since(begin);
      if (answered) return first;
    }
    Outcome<GroupResult> result = relu ? relu_branching(dual_, scope.group(), scope, open, options, stop_.get_token(), statistics_)
                                       : input_branching(dual_, scope.group(), scope, open, options, stop_.get_token(), statistics_);
    statistics_.branching_seconds += seconds_since(begin);
    return result;
  }

  // Whether careful splits pay is seen on the first case, either way for a moment: they are likely to where no feature maps are. What is likelier
  // comes second, and goes on from where it is unless the other has closed much more; shares of a young tree say little more than that.
  Outcome<GroupResult> try_both(RootBounds& root, std::uint32_t position, Deadline until) {
    const double seconds = std::clamp(kTrialShare * planned(), kFirstTrial, kLongestTrial);
    const auto is_over = [&](const Outcome<GroupResult>& branched) {
      return !branched || branched.value().refutation || branched.value().witness || until.has_passed() || limit().reached();
    };
    const bool care_is_likelier =
        std::ranges::none_of(problem_->pre_activations(), [&](NodeId node) { return problem_->together(node) > 1; });
    careful_ = !care_is_likelier;
    auto first = branch(root, {position}, std::min(until, Deadline::in(seconds)));
    if (is_over(first)) {
      careful_.reset();
      return first;
    }
    const Trial trial{Deadline::in(seconds), first.value().unfinished ? first.value().unfinished->closed_share / kMuchMore : 0};
    careful_ = care_is_likelier;
    auto second = branch(root, {position}, until, trial);
    if (is_over(second) || !second.value().trial_failed) return second;
    careful_ = !care_is_likelier;
    return branch(root, {position}, until);
  }

  // The cases one after the other, the furthest from closed first, where a witness may lie: each in a tree of its own, whose splits are
  // chosen for it. Those that are refuted leave `open`, and are merged into `refutation`.
  Outcome<GroupResult> branch_each(RootBounds& root, std::vector<std::uint32_t>& open, Deadline until,
                                   std::optional<kernel::Refutation>& refutation, Proved& proved) {
    std::map<std::uint32_t, double> bounds;
    if (unfinished_) {
      for (const Unfinished::Left& one : unfinished_->cases) bounds[one.case_index] = one.bound;
    }
    const std::vector<std::uint32_t>& cases = problem_->group_cases(root.scope().group());
    std::ranges::stable_sort(open, std::greater(), [&](std::uint32_t position) { return bounds[cases[position]]; });
    const auto count = static_cast<double>(open.size());
    while (true) {
      auto branched = careful_ ? branch(root, {open.back()}, until) : try_both(root, open.back(), until);
      if (!branched) return branched;
      GroupResult& one = branched.value();
      if (!one.refutation) {
        for (std::size_t k = 0; one.unfinished && k + 1 < open.size(); ++k)
          one.unfinished->cases.push_back({cases[open[k]], bounds[cases[open[k]]]});
        if (one.unfinished) {
          one.unfinished->closed_share = (count - static_cast<double>(open.size()) + one.unfinished->closed_share) / count;
          one.unfinished->pace /= count;
        }
        return branched;
      }
      if (auto merged = certificate::merge_into(refutation, *std::move(one.refutation)); !merged) return merged.rejection();
      one.refutation = refutation;
      proved.add(std::exchange(root.steps(), {}), std::move(one.tree));
      open.pop_back();
      if (open.empty()) return branched;
    }
  }

  Outcome<Done> write(Result& result, certificate::Writer& writer) const {
    if (result.answer == Result::Answer::unknown || result.answer == Result::Answer::timed_out) return Done{};
    if (result.answer == Result::Answer::satisfiable) {
      writer.witness(result.theorem->witness());
    } else {
      const auto literals = options_.cube != nullptr ? options_.cube->scope.literals() : std::vector<kernel::Literal>();
      for (const Proved& one : proved_) one.write(literals, result.open, writer);
    }
    if (auto written = writer.finish(); !written) return written.rejection();
    for (std::size_t cube = 0; options_.split.open && cube < result.open.size(); ++cube) {
      auto file = options_.split.open(cube);
      if (!file) return file.rejection();
      const Proved& proved = *std::ranges::find(proved_, result.open[cube].group, &Proved::group);
      if (auto written = proved.write_cube(result.open[cube], *file.value()); !written) return written;
    }
    return Done{};
  }

  const Clock::time_point start_;  // first: what follows takes time, too
  const Deadline deadline_;
  std::shared_ptr<const kernel::Problem> problem_;
  const Options& options_;
  Network network_;
  DualGraph dual_;
  Deadline cheap_end_;  // of the bounds before the first attack
  bool attacked_ = false;
  Statistics statistics_;
  std::optional<Unfinished> unfinished_;      // of the group in work
  std::optional<RootRefinement> refinement_;  // of its root
  std::optional<bool> careful_;               // splits in it; none: not known yet
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> forward_{options_.stop, [this] { stop_.request_stop(); }};
  std::vector<Proved> proved_;             // written only when the last group is closed: a witness may still turn up
  std::optional<SideAttack> side_attack_;  // last: its thread uses the others
};

}  // namespace

Outcome<Result> search(const std::shared_ptr<const kernel::Problem>& problem, const Options& options, certificate::Writer* writer) {
  return Search(problem, options).run(writer);
}

}  // namespace assay::search
