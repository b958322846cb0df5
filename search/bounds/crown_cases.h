// close_at_root(): refutes cases of a group by the bounds of its root. This is an incomplete proof method.
//
// Source: CROWN (Zhang et al. 2018): a row of the property is back-substituted through the lines of all neurons, and
// its least value over the box is a bound. How this version differs:
// - the kernel does it, with exact or outward rounding;
// - rows that contradict each other for every network are added first;
// - choices that rounding makes are named in the certificate, so that all checkers make the same
//   ones (named_choices.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/bounds/intermediate_bounds.h"
#include "search/relax/network.h"
#include "search/strategy/unfinished.h"

namespace assay::search {

struct CrownCases {
  Unfinished unfinished;  // the open cases, with bounds
  double worst = 0;       // the smallest margin
};

// The cases that the root's own bounds refute leave `open` (positions in the group), and their refutation is merged
// into `refutation`. The result is nullopt if no bounds are known: the scope is empty, which refutes all cases, or the
// kernel was stopped.
[[nodiscard]] Outcome<std::optional<CrownCases>> close_at_root(const Network& network, IntermediateBounds& root,
                                                               std::vector<std::uint32_t>& open,
                                                               std::optional<logic::Refutation>& refutation);

}  // namespace assay::search
