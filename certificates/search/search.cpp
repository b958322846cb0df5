// The strategy: a short attack, root bounds, then branch and bound group by group with an attack on the side.

#include "certificates/search/search.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "certificates/search/attack.h"
#include "certificates/search/input_branching.h"
#include "certificates/search/relu_branching.h"
#include "certificates/search/side_attack.h"

namespace assay::search {
namespace {

using Clock = std::chrono::steady_clock;
using kernel::CaseMultipliers;

constexpr std::size_t kFewInputs = 12;          // free inputs up to which splitting them is the better tree
constexpr double kFirstAttackSeconds = 0.15;    // before any bound is computed
constexpr double kRootShare = 0.3;              // of the time left, for refining the root's pre-activations
constexpr double kOnlyRootShare = 0.8;          // the same where branching has little to offer
constexpr std::size_t kRefineChunk = 512;       // elements per refine step at the root
constexpr double kMultiplyAddsPerSecond = 1e9;  // a cautious estimate, only for planning

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Search {
 public:
  Search(const std::shared_ptr<const kernel::Problem>& problem, const Options& options)
      : problem_(problem), options_(options), network_(problem), dual_(network_), start_(Clock::now()) {
    deadline_ = options.timeout_seconds > 0
                    ? start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout_seconds))
                    : Clock::time_point::max();
  }

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
    if (result.answer == Result::Answer::unsatisfiable && writer != nullptr) write(*writer);
    if (result.answer == Result::Answer::satisfiable && writer != nullptr) writer->witness(result.theorem->witness());
    if (result.theorem && writer != nullptr) {
      if (auto written = writer->finish(); !written) return written.rejection();
    }
    return result;
  }

 private:
  [[nodiscard]] double remaining() const {
    return deadline_ == Clock::time_point::max() ? INFINITY : std::chrono::duration<double>(deadline_ - Clock::now()).count();
  }

  Result satisfiable(kernel::Theorem theorem) {
    Result result;
    result.answer = Result::Answer::satisfiable;
    result.theorem = std::move(theorem);
    return result;
  }

  Result undecided(std::string reason) {
    Result result;
    result.answer = remaining() <= 0 ? Result::Answer::timed_out : Result::Answer::unknown;
    result.reason = std::move(reason);
    return result;
  }

  std::optional<kernel::Theorem> attack_for(double seconds) {
    const auto begin = Clock::now();
    AttackOptions options;
    options.seconds = std::min(seconds, remaining());
    options.seed = options_.seed;
    auto theorem = options.seconds > 0 ? attack_all(network_, options, stop_.get_token(), statistics_) : std::nullopt;
    statistics_.attack_seconds += seconds_since(begin);
    return theorem;
  }

  Outcome<Result> decide() {
    if (options_.attack) {
      if (auto theorem = attack_for(kFirstAttackSeconds)) return satisfiable(*std::move(theorem));
    }
    std::vector<kernel::Refutation> refutations;
    for (std::size_t group = 0; group < problem_->group_count(); ++group) {
      auto outcome = decide_group(group);
      if (!outcome) return outcome.rejection();
      GroupResult& one = outcome.value();
      if (one.witness) return satisfiable(*std::move(one.witness));
      if (!one.refutation) {
        return undecided("group " + std::to_string(group + 1) + " of " + std::to_string(problem_->group_count()) + ": " + one.reason);
      }
      refutations.push_back(*std::move(one.refutation));
    }
    auto theorem = kernel::unsatisfiable(problem_, refutations);
    if (!theorem) return theorem.rejection();
    Result result;
    result.answer = Result::Answer::unsatisfiable;
    result.theorem = std::move(theorem).value();
    return result;
  }

  // The root's facts; steps holds what was accepted.
  Outcome<Done> root_facts(kernel::Scope& scope, certificate::Fragment& steps) {
    const auto begin = Clock::now();
    const double budget = std::min(remaining() * (branching_pays(scope) ? kRootShare : kOnlyRootShare), 600.0);
    const auto& refined = problem_->pre_activations();
    double work = 0;  // multiply-adds of one row from the current node back to the inputs
    for (const NodeId node : problem_->active_nodes()) {
      if (auto done = scope.derive_box(node); !done) return done;
      steps.box(node);
      if (const auto* form = problem_->affine(node)) {
        for (const auto& part : form->parts) work += static_cast<double>(part.map->cost());
      }
      if (std::find(refined.begin(), refined.end(), node) == refined.end()) continue;
      const std::vector<std::uint32_t> elements = scope.selected(node, {});
      for (std::size_t first = 0; first < elements.size(); first += kRefineChunk) {
        const std::size_t count = std::min(kRefineChunk, elements.size() - first);
        if (seconds_since(begin) + 2 * work * static_cast<double>(count) / kMultiplyAddsPerSecond > budget) break;
        kernel::Selection selection;
        if (count < elements.size()) {
          selection.kind = kernel::Selection::Kind::mask;
          selection.mask.assign(problem_->graph().size(node), false);
          for (std::size_t k = first; k < first + count; ++k) selection.mask[elements[k]] = true;
        }
        auto done = scope.refine(node, selection, {}, nullptr, true);
        if (!done && done.rejection().code == "kernel.stopped") break;  // a witness was found
        if (!done) return done;
        steps.refine(node, selection, {}, nullptr, true);
      }
    }
    statistics_.root_seconds += seconds_since(begin);
    return Done{};
  }

  Outcome<GroupResult> decide_group(std::size_t group) {
    auto root = kernel::Scope::root(problem_, group);
    if (!root) return root.rejection();
    kernel::Scope scope = std::move(root).value();
    certificate::Fragment steps;
    GroupResult result;
    if (options_.attack && !side_attack_ && !branching_pays(scope)) side_attack_.emplace(network_, options_.seed, stop_);
    scope.stop_when([this] { return stop_.stop_requested(); });
    auto facts = root_facts(scope, steps);
    scope.stop_when({});
    if (!facts) return facts.rejection();
    if (auto nothing = scope.empty()) {
      steps.empty();
      result.refutation = std::move(nothing).value();
      keep(group, std::move(steps), nullptr);
      return result;
    }
    std::vector<std::uint32_t> open = close_at_root(scope, steps, result);
    if (open.empty()) {
      keep(group, std::move(steps), nullptr);
      ++statistics_.nodes;
      ++statistics_.leaves;
      return result;
    }
    if (options_.attack && !side_attack_) side_attack_.emplace(network_, options_.seed, stop_);
    const auto begin = Clock::now();
    auto branched = branch(group, scope, open);
    statistics_.branching_seconds += seconds_since(begin);
    if (!branched) return branched;
    GroupResult& deep = branched.value();
    if (deep.refutation && result.refutation) {
      auto merged = kernel::merge(*result.refutation, *deep.refutation);
      if (!merged) return merged.rejection();
      deep.refutation = std::move(merged).value();
    }
    if (deep.refutation) keep(group, std::move(steps), std::move(deep.tree));
    return branched;
  }

  // Cases that the root's own bounds refute; returns the positions that stay open.
  std::vector<std::uint32_t> close_at_root(const kernel::Scope& scope, certificate::Fragment& steps, GroupResult& result) {
    std::vector<std::uint32_t> open;
    std::vector<CaseMultipliers> closed;
    const auto& cases = problem_->group_cases(scope.group());
    for (std::uint32_t position = 0; position < cases.size(); ++position) {
      const std::size_t rows = problem_->statement().property.cases[cases[position]].rows.size();
      std::vector<CaseMultipliers> single(rows, CaseMultipliers{position, std::vector<float>(rows, 0.0F)});
      for (std::size_t r = 0; r < rows; ++r) single[r].rows[r] = 1;
      kernel::Diagnosis diagnosis;
      (void)scope.conclude(single, {}, &diagnosis);
      const auto best = std::max_element(diagnosis.margins.begin(), diagnosis.margins.end());
      if (best != diagnosis.margins.end() && *best > 0)
        closed.push_back(single[static_cast<std::size_t>(best - diagnosis.margins.begin())]);
      else
        open.push_back(position);
    }
    if (closed.empty()) return open;
    if (auto refutation = scope.conclude(closed, {})) {
      steps.conclude(closed, {});
      result.refutation = std::move(refutation).value();
      return open;
    }
    for (const CaseMultipliers& one : closed) open.push_back(one.position);
    std::sort(open.begin(), open.end());
    return open;
  }

  [[nodiscard]] std::size_t free_inputs(const kernel::Scope& scope) const {
    std::size_t count = 0;
    for (const NodeId input : problem_->graph().inputs) {
      const kernel::Box& box = scope.box(input);
      for (std::size_t i = 0; i < box.lo.size(); ++i) count += box.lo[i] < box.hi[i] ? 1 : 0;
    }
    return count;
  }

  // Few inputs to split, or kinks to split at.
  [[nodiscard]] bool branching_pays(const kernel::Scope& scope) const { return dual_.supported() || free_inputs(scope) <= kFewInputs; }

  Outcome<GroupResult> branch(std::size_t group, const kernel::Scope& scope, const std::vector<std::uint32_t>& open) {
    BranchingOptions options;
    options.deadline = deadline_;
    options.threads = options_.threads;
    options.memory_limit_bytes = options_.memory_limit_bytes;
    options.on_progress = options_.on_progress;
    const bool relu =
        options_.branching == Options::Branching::relu || (options_.branching == Options::Branching::automatic && dual_.supported() &&
                                                           (free_inputs(scope) > kFewInputs || dual_.every_slot_has_input_row()));
    if (relu && dual_.supported()) return relu_branching(dual_, group, scope, open, options, stop_.get_token(), statistics_);
    return input_branching(dual_, group, scope, open, options, stop_.get_token(), statistics_);
  }

  // Groups are written only when the last one is closed: a witness may still turn up.
  void keep(std::size_t group, certificate::Fragment steps, std::unique_ptr<ProofTree> tree) {
    proved_.push_back({group, std::move(steps), std::move(tree)});
  }

  void write(certificate::Writer& writer) const {
    for (const Proved& one : proved_) {
      writer.begin_group(one.group);
      writer.append(one.steps);
      if (one.tree) one.tree->write(writer);
      writer.end_group();
    }
  }

  struct Proved {
    std::size_t group;
    certificate::Fragment steps;
    std::unique_ptr<ProofTree> tree;
  };

  std::shared_ptr<const kernel::Problem> problem_;
  const Options& options_;
  Network network_;
  DualGraph dual_;
  Clock::time_point start_, deadline_;
  Statistics statistics_;
  std::stop_source stop_;
  std::vector<Proved> proved_;
  std::optional<SideAttack> side_attack_;  // last: its thread uses the others
};

}  // namespace

Outcome<Result> search(const std::shared_ptr<const kernel::Problem>& problem, const Options& options, certificate::Writer* writer) {
  return Search(problem, options).run(writer);
}

}  // namespace assay::search
