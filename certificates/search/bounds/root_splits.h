// The root's bounds once more, by splits: a small tree for each end of a range, behind whose leaves slopes do more than at the root. What it finds
// serves all branches of the proof's own tree. Source of the idea: bounds of neurons by branch and bound, as by mixed-integer programs in
// Tjeng, Xiao, Tedrake 2019.
#pragma once

#include "certificates/search/ascent/dual_ascent.h"
#include "certificates/search/bounds/root_bounds.h"

namespace assay::search {

// Of what relus read behind the first ones, layer by layer; `root` is complete. Ends, with what was gained, once the limit is reached.
Outcome<Done> refine_by_splits(RootBounds& root, const DualGraph& graph, int threads, const Limit& limit);

}  // namespace assay::search
