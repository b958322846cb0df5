// The cases of a group that its root's bounds refute.
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

// The cases that the root's own bounds refute leave `open` (positions in the group), and their refutation is merged into `refutation`. Nothing is
// known of bounds where the scope is empty, which refutes them all, or the kernel was stopped.
[[nodiscard]] Outcome<std::optional<CrownCases>> close_at_root(const Network& network, IntermediateBounds& root,
                                                               std::vector<std::uint32_t>& open,
                                                               std::optional<kernel::Refutation>& refutation);

}  // namespace assay::search
