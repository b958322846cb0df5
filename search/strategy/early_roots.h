// Proofs on roots that are refined in part: boxes alone; operands of relus; with them those of products that are worth it. Where few cases are left
// open, a tree may stand on such a root. What these refute needs no other bounds, here and in the check.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/bab/relu_branching.h"
#include "search/bounds/alpha_beta/dual_ascent.h"
#include "search/search.h"
#include "search/strategy/deadline.h"
#include "search/strategy/proved.h"

namespace assay::search {

struct EarlyProof {
  GroupResult result;            // a refutation of all of `open`, a witness, or neither
  std::optional<Proved> proved;  // the steps of the refutation
};

// `open`: positions in the group. Takes a part of the time that is left. The graph gets its input rows where a tree is tried.
Outcome<EarlyProof> close_early(DualGraph& graph, const kernel::Scope& scope, const std::vector<std::uint32_t>& open,
                                const Options& options, const Limit& limit, Statistics& statistics);

// A root that was refuted without a tree.
inline void count_root(Statistics& statistics) {
  ++statistics.nodes;
  ++statistics.leaves;
}

}  // namespace assay::search
