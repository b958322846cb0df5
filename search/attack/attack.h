// attack(): looks for a point of some case's region by projected gradient ascent and by a walk over
// the box's corners.
//
// Source: projected gradient descent (PGD), Madry et al. 2018. How this version differs: the
// objective is a case's worst row, or the sum of its violated rows, each divided by its scale; the
// cases of a group share one batch of restarts. Iterates are snapped (candidate_point.h) before
// they are evaluated, so what violates in double arithmetic is what the kernel is asked about; only
// its theorem counts. The walk over corners is in the style of WalkSAT (Selman, Kautz, Cohen 1994):
// the best flip that is not tabu, among those that the gradient points at, sometimes a random one.
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
  Deadline deadline;   // of the search: until then a witness may be checked
  std::uint64_t seed = 1;
  int restarts = 1000;        // batches of gradient ascent per group
  bool corner_walk = true;    // also walk over corners of the box
  bool whole_ascent = false;  // the first batch goes on to its end when the seconds are over
};

// One group, or all groups in turn (the time is shared evenly, cheap rounds first).
std::optional<logic::Theorem> attack(const Network& network, std::size_t group, const AttackOptions& options, const std::stop_token& stop,
                                     Statistics& statistics);
std::optional<logic::Theorem> attack_all(const Network& network, const AttackOptions& options, const std::stop_token& stop,
                                         Statistics& statistics);

// A few gradient steps on one case from a point that a bound suggests; snapped, and the kernel is
// asked as above.
std::optional<logic::Theorem> attack_from(const Network& network, const CandidateBox& box, std::uint32_t case_index,
                                          std::span<const double> x, int steps, Workspace& workspace);

}  // namespace assay::search
