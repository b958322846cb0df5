// The state that all groups of a search share: the problem and its float copies, the clock, the attacks, and the proofs
// so far.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "search/attack/side_attack.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/heuristics/threshold_splits.h"
#include "search/relax/network.h"
#include "search/search.h"
#include "search/strategy/deadline.h"
#include "search/strategy/proved.h"

namespace assay::search {

struct SearchState {
  SearchState(const std::shared_ptr<const logic::Problem>& problem, const Options& options);

  [[nodiscard]] double remaining() const { return deadline.seconds_left(); }
  [[nodiscard]] Limit limit() const { return {deadline, stop.get_token(), start}; }
  [[nodiscard]] double planned() const { return limit().planned(); }

  // Attacks once for all groups together; returns nullopt if that has been done.
  std::optional<logic::Theorem> attack_once(double seconds);
  void start_side_attack();

  const Clock::time_point start;  // the first member, so that the time of the others counts
  const Deadline deadline;
  const std::shared_ptr<const logic::Problem> problem;
  const Options& options;
  Network network;
  NeuronGraph graph;
  const ThresholdSplits thresholds;
  bool has_input_rows = false;  // whether `graph` has them
  Deadline cheap_end;           // when the bounds before the first attack have to end
  bool has_attacked;
  Statistics statistics;
  std::optional<Unfinished> unfinished;  // of the group that is searched
  std::stop_source stop;
  std::stop_callback<std::function<void()>> forward{options.stop, [this] { stop.request_stop(); }};
  std::vector<Proved> proved;             // written once the last group is closed, because a witness may still turn up
  std::optional<SideAttack> side_attack;  // the last member, because its thread uses the others
};

}  // namespace assay::search
