// The root's bounds once more, by splits: a small tree for each end of a range, behind whose leaves
// slopes do more than at the root. What it finds serves all branches of the proof's own tree.
// Source of the idea: bounds of neurons by branch and bound, as by mixed-integer programs in Tjeng,
// Xiao, Tedrake 2019. How this version differs: the trees are bounded by alpha-beta-CROWN and
// replayed by the kernel (rule `hull`, record 0075), splits are of neurons, and many trees grow
// side by side, a few splits each.
#pragma once

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"

namespace assay::search {

// Passes over what relus read behind the first ones, layer by layer; each time with larger trees.
class PerNeuronBab {
 public:
  PerNeuronBab(const NeuronGraph& graph, int threads) : graph_(graph), threads_(threads) {}
  [[nodiscard]] double wanted() const;  // planned seconds of which another pass has its share, as far as the last one tells
  // `root` is complete. Ends, with what was gained, when its share of the time is over or the limit
  // is reached; the root then stops at the limit.
  Outcome<Done> refine(IntermediateBounds& root, const Limit& limit);

 private:
  Outcome<Done> refine_node(IntermediateBounds& root, const NeuronGraph::Activation& activation, const Limit& limit) const;
  const NeuronGraph& graph_;
  const int threads_;
  int splits_ = 0;      // of a tree in the last pass
  double seconds_ = 0;  // that it took
};

}  // namespace assay::search
