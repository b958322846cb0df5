// attack(): looks for a point that violates some case, by projected gradient ascent and by a walk over the corners of
// the box.
//
// Source: projected gradient descent (PGD), Madry et al. 2018; the walk over corners is in the style of WalkSAT
// (Selman, Kautz, Cohen 1994). How this version differs:
// - the objective is the worst row of a case, or the sum of its violated rows, each divided by its scale;
// - the cases of a group share one batch of restarts;
// - iterates are snapped (candidate_point.h) before they are evaluated, so the kernel is asked about the very point
//   that violates the case in double arithmetic, and only the kernel's theorem counts;
// - the walk takes the best flip that is not tabu among those that the gradient favours, or sometimes a random one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "kernel/logic/api.h"
#include "search/attack/candidate_point.h"
#include "search/relax/network.h"
#include "search/search.h"

namespace assay::search {

struct AttackOptions {
  double seconds = 1;  // wall clock of the call
  Deadline deadline;   // deadline of the search: until then a witness may be checked
  std::uint64_t seed = 1;
  int restarts = 1000;        // batches of gradient ascent per group
  bool corner_walk = true;    // whether to walk over corners of the box, too
  bool whole_ascent = false;  // the first batch is completed even when the seconds are over
  bool any_number = false;    // whether points may have doubles and exact ends of the box in place of float32 values
};

// attack() attacks one group; attack_all() attacks all groups in turn, with equal shares of the time and cheap
// rounds first.
std::optional<logic::Theorem> attack(const Network& network, std::size_t group, const AttackOptions& options, const std::stop_token& stop,
                                     Statistics& statistics);
std::optional<logic::Theorem> attack_all(const Network& network, const AttackOptions& options, const std::stop_token& stop,
                                         Statistics& statistics);

// A few gradient steps on one case, from a point that a bound suggests. Points are snapped, and the kernel is asked
// as above.
std::optional<logic::Theorem> attack_from(const Network& network, const CandidateBox& box, std::uint32_t case_index,
                                          std::span<const double> x, int steps, Workspace& workspace);

}  // namespace assay::search
