// close_at_root(): the cases of a group that its root's bounds refute, an incomplete proof.
//
// Source: CROWN (Zhang et al. 2018): a row of the property is back-substituted through the lines of
// all neurons, and its least value over the box is a bound. How this version differs: the kernel
// does it, with exact or outward rounding; rows that contradict each other whatever the network
// computes are added first; and choices that rounding makes are named in the certificate, so that
// other checks make them alike (named_choices.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/bounds/intermediate_bounds.h"
#include "search/relax/network.h"
#include "search/strategy/unfinished.h"

namespace assay::search {

struct CrownCases {
  Unfinished unfinished;  // what is open, with bounds
  double worst = 0;       // margin of all
};

// The cases that the root's own bounds refute leave `open` (positions in the group), and their
// refutation is merged into `refutation`. Nothing is known of bounds where the scope is empty,
// which refutes them all, or the kernel was stopped.
[[nodiscard]] Outcome<std::optional<CrownCases>> close_at_root(const Network& network, IntermediateBounds& root,
                                                               std::vector<std::uint32_t>& open,
                                                               std::optional<logic::Refutation>& refutation);

}  // namespace assay::search
