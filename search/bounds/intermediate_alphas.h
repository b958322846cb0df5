// The root's bounds again, with slopes that are made for them: of every pre-activation behind the
// first ones, one set of slopes for all its open elements (AlphaBetaCrown::share_alphas). Where the
// policy's lines are far from a curve on wide ranges, every layer's gain carries over to the next.
//
// Source: intermediate bounds by alpha-CROWN (Xu et al. 2021), with alphas that neurons share, as
// `share_alphas` of auto_LiRPA has them. How this version differs: the objective is the sum of the
// widths of a sample of the layer's ranges, not the bound of a case, and one set of alphas serves a
// whole layer, since a certificate has to name them (record 0064).
#pragma once

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"

namespace assay::search {

// `root` is complete. Ends when these cases look closed, when little is gained, or, with what was
// gained, once the limit is reached.
Outcome<Done> refine_by_alphas(IntermediateBounds& root, const NeuronGraph& graph, std::span<const std::uint32_t> cases,
                               const Limit& limit);

}  // namespace assay::search
