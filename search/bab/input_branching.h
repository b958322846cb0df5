// input_branching(): branch and bound on one group by splits of inputs; for networks with few free inputs.
//
// Every node sweeps its own box from the root's facts, so a leaf costs the checker one sweep and the certificate a few
// bytes, and nothing has to be stored for the nodes between.
#pragma once

#include <span>
#include <stop_token>

#include "search/bab/relu_branching.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::search {

// `positions`: the cases of the group that are still open at `root`. Without a refutation or a witness, `reason` is set.
GroupResult input_branching(const NeuronGraph& graph, std::size_t group, const kernel::Scope& root,
                            std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                            Statistics& statistics);

}  // namespace assay::search
