// Refines the intermediate bounds of the root with slopes that are optimised for them. Each layer after the first has
// one set of slopes for the bounds of all its open neurons (AlphaBetaCrown::share_alphas). This helps if the policy's
// lines are far from a curve on wide ranges: the gain of every layer carries over to the next.
//
// Source: intermediate bounds by alpha-CROWN (Xu et al. 2021), with alphas that neurons share, like `share_alphas` of
// auto_LiRPA. How this version differs: the objective is the sum of the widths of a sample of the layer's ranges, not
// the bound of a case. One set of alphas serves a whole layer, since a certificate has to name them (record 0064).
#pragma once

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"

namespace assay::search {

// `root` must be complete. Ends when these cases look closed, when a round gains little, or once the limit is reached;
// what was gained by then is kept.
Outcome<Done> refine_by_alphas(IntermediateBounds& root, const NeuronGraph& graph, std::span<const std::uint32_t> cases,
                               const Limit& limit);

}  // namespace assay::search
