// search(): takes each group of cases through the table of stages while an attack runs concurrently, then makes the
// theorem and the certificate.
//
// A group is a set of cases that share a box. The answer is `unsatisfiable` if every group is refuted, and
// `satisfiable` as soon as any group has a witness. The kernel makes the theorem from the refutations of the groups.
// The result also holds statistics, the nearest point and what is left open.
//
// Source: none. A search without an answer says how far it came: the closed share of the tree, and the bound of each
// open case.

#include "search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "certificates/check/meter.h"
#include "search/attack/attack.h"
#include "search/strategy/constants.h"
#include "search/strategy/group_search.h"
#include "search/strategy/search_state.h"

namespace assay::search {

SearchState::SearchState(const std::shared_ptr<const logic::Problem>& of, const Options& asked)
    : start(Clock::now()),
      deadline(asked.deadline),
      problem(of),
      options(asked),
      network(of),
      graph(network, NeuronGraph::InputRows::later),
      thresholds(*of),
      has_attacked(asked.cube != nullptr) {}  // a cube's statement was attacked by the run that made the cube

std::optional<logic::Theorem> SearchState::attack_once(double seconds) {
  if (!options.attack || std::exchange(has_attacked, true)) return std::nullopt;
  const auto begin = Clock::now();
  AttackOptions attack;
  attack.seconds = std::min(seconds, kOpeningShare * planned());
  attack.deadline = deadline;
  attack.seed = options.seed;
  auto theorem = attack.seconds > 0 ? attack_all(network, attack, stop.get_token(), statistics) : std::nullopt;
  statistics.attack_seconds += seconds_since(begin);
  return theorem;
}

void SearchState::start_side_attack() {
  if (options.attack && !side_attack) side_attack.emplace(network, options.seed, deadline, stop, options.threads > 1);
}

namespace {

// CPU time of all threads of the process.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Search {
 public:
  Search(const std::shared_ptr<const logic::Problem>& problem, const Options& options) : state_(problem, options) {}

  Outcome<Result> run(certificate::Writer* writer) {
    const double cpu = cpu_seconds();
    auto outcome = decide();
    if (state_.side_attack) {
      if (auto theorem = state_.side_attack->finish(state_.statistics)) outcome = satisfiable(*std::move(theorem));
    }
    if (!outcome) return outcome;
    Result result = std::move(outcome).value();
    result.statistics = state_.statistics;
    result.statistics.wall_seconds = seconds_since(state_.start);
    result.statistics.cpu_seconds = cpu_seconds() - cpu;
    if (writer != nullptr) {
      if (auto written = write(result, *writer); !written) result.unwritten = written.rejection();
    }
    return result;
  }

 private:
  static Result satisfiable(logic::Theorem theorem) {
    Result result;
    result.answer = Result::Answer::satisfiable;
    result.theorem = std::move(theorem);
    return result;
  }

  // The reason in the user's words. The parts of a search say "time" when their share of the time is spent.
  [[nodiscard]] std::string words_of(const std::string& reason, bool timed_out) const {
    if (state_.options.stop.stop_requested()) return "asked to stop";
    if (reason == "memory") return "the limit of memory ended the search";
    if (!timed_out) return reason;
    std::array<char, 40> limit{"the time limit"};
    if (state_.options.seconds > 0) (void)std::snprintf(limit.data(), limit.size(), "the limit of %.10g s", state_.options.seconds);
    return limit.data() + std::string(" ended the search");
  }

  // `place` names the group or cube if there are several.
  Result undecided(const std::string& place, const std::string& reason) {
    Result result;
    const bool asked = state_.options.stop.stop_requested();
    result.answer = state_.remaining() <= 0 && !asked ? Result::Answer::timed_out : Result::Answer::unknown;
    result.reason = place + words_of(reason, result.answer == Result::Answer::timed_out);
    result.unfinished = state_.unfinished;
    if (result.unfinished) result.unfinished->seconds = seconds_since(state_.start);
    if (result.unfinished && is_exhausted(reason)) result.unfinished->pace = 0;  // more time changes nothing
    if (state_.problem->floating() && !state_.network.nearest_point()) try_middles(state_.network);
    if (const auto nearest = state_.network.nearest_point()) {
      result.nearest = nearest->point;
      result.disputed = std::isinf(nearest->slack);
    }
    if (result.disputed)
      result.reason +=
          "; at some point, executions may differ in the order of sums or in another choice, or the bounds are too wide to tell";
    return result;
  }

  // Closes the one subdomain that is the cube. There is no theorem: the kernel makes theorems only about
  // whole statements.
  Outcome<Result> decide_cube() {
    const Beginning& cube = *state_.options.cube;
    auto outcome = GroupSearch(state_, cube.scope, cube.open).run();
    if (!outcome) return outcome.rejection();
    GroupResult& one = outcome.value();
    if (one.witness) return satisfiable(*std::move(one.witness));
    const auto is_refuted = [&](std::uint32_t position) { return one.refutation->cases()[position]; };
    if (!one.refutation || !std::ranges::all_of(cube.open, is_refuted))
      return undecided("a cube of group " + std::to_string(cube.scope.group() + 1) + ": ", one.reason);
    Result result;
    result.answer = Result::Answer::unsatisfiable;
    return result;
  }

  static bool is_exhausted(const std::string& reason) { return reason == kWideAtPoint || reason == kNoNeuronLeft; }

  // Where bounds are too wide at single points, a counterexample may lie between float32 values, or at an end of the box
  // that is no float32 value.
  GroupResult with_last_attack(GroupResult found, std::size_t group) {
    if (found.witness || found.refutation || !found.leaves.empty() || !is_exhausted(found.reason)) return found;
    AttackOptions options{.seconds = std::min(kLastAttack, state_.remaining()), .deadline = state_.deadline, .seed = state_.options.seed};
    options.restarts = kLastAttackRestarts;
    options.any_number = true;
    found.witness = attack(state_.network, group, options, state_.stop.get_token(), state_.statistics);
    return found;
  }

  Outcome<GroupResult> decide_group(std::size_t group) {
    auto scope = logic::Scope::root(state_.problem, group);
    if (!scope) return scope.rejection();
    scope.value().pay(certificate::meter_of(*state_.problem));
    std::vector<std::uint32_t> all(state_.problem->group_cases(group).size());
    std::iota(all.begin(), all.end(), 0U);
    auto outcome = GroupSearch(state_, scope.value(), std::move(all)).run();
    if (outcome) return with_last_attack(std::move(outcome).value(), group);
    // The box may reach outside the domain of an op; a point inside may still be a witness.
    state_.has_attacked = false;
    auto witness = state_.attack_once(kOnlyAttack);
    if (!witness) return outcome;
    GroupResult found;
    found.witness = std::move(witness);
    return found;
  }

  Outcome<Result> decide() {
    if (state_.options.cube != nullptr) return decide_cube();
    state_.cheap_end = Deadline::in(std::min(kCheapBounds, kOpeningShare * state_.planned()));
    const std::size_t groups = state_.problem->group_count();
    std::vector<logic::Refutation> refutations;
    for (std::size_t group = 0; group < groups; ++group) {
      if (state_.options.stop.stop_requested()) return undecided("", "asked to stop");
      auto outcome = decide_group(group);
      if (!outcome) return outcome.rejection();
      GroupResult& one = outcome.value();
      if (one.witness) return satisfiable(*std::move(one.witness));
      if (!one.leaves.empty()) continue;
      const std::string place = groups == 1 ? "" : "group " + std::to_string(group + 1) + " of " + std::to_string(groups) + ": ";
      if (!one.refutation) return undecided(place, one.reason);
      refutations.push_back(*std::move(one.refutation));
    }
    Result result;
    result.answer = Result::Answer::split;
    if (refutations.size() < groups) return result;
    auto theorem = logic::unsatisfiable(state_.problem, refutations);
    if (!theorem) return theorem.rejection();
    result.answer = Result::Answer::unsatisfiable;
    result.theorem = std::move(theorem).value();
    return result;
  }

  Outcome<Done> write(Result& result, certificate::Writer& writer) const {
    const Options& options = state_.options;
    if (result.answer == Result::Answer::unknown || result.answer == Result::Answer::timed_out) return Done{};
    if (result.answer == Result::Answer::satisfiable) {
      writer.witness(result.theorem->witness());
    } else {
      const auto literals = options.cube != nullptr ? options.cube->scope.literals() : std::vector<logic::Literal>();
      for (const Proved& one : state_.proved) one.write(literals, result.open, writer);
    }
    if (auto written = writer.finish(); !written) return written.rejection();
    for (std::size_t cube = 0; options.split.open && cube < result.open.size(); ++cube) {
      auto file = options.split.open(cube);
      if (!file) return file.rejection();
      const Proved& proved = *std::ranges::find(state_.proved, result.open[cube].group, &Proved::group);
      if (auto written = proved.write_cube(result.open[cube], *file.value()); !written) return written;
    }
    return Done{};
  }

  SearchState state_;
};

}  // namespace

Outcome<Result> search(const std::shared_ptr<const logic::Problem>& problem, const Options& options, certificate::Writer* writer) {
  return Search(problem, options).run(writer);
}

}  // namespace assay::search
