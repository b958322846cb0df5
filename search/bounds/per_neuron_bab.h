// Tightens intermediate bounds at the root by small trees of splits, one tree for each end of a range. Optimised
// slopes gain more in the leaves of such a tree than at the root. The tightened bounds serve all subdomains of the
// proof's own tree.
//
// Source: bounds of neurons by branch and bound, as by mixed-integer programs in Tjeng, Xiao, Tedrake 2019. How this
// version differs: the trees are bounded by alpha-beta-CROWN and replayed by the kernel (rule `hull`, record 0075),
// splits are of neurons, and many trees grow side by side, by a few splits each.
#pragma once

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"

namespace assay::search {

// Each pass goes layer by layer over the operands of ReLUs after the first ones; each pass grows larger trees.
class PerNeuronBab {
 public:
  PerNeuronBab(const NeuronGraph& graph, int threads) : graph_(graph), threads_(threads) {}
  [[nodiscard]] double wanted() const;  // estimated planned seconds of which another pass would take its share
  // `root` must be complete. Ends when its share of the time is over or the limit is reached, and keeps what was
  // gained. Afterwards the root stops at the limit.
  Outcome<Done> refine(IntermediateBounds& root, const Limit& limit);

 private:
  Outcome<Done> refine_node(IntermediateBounds& root, const NeuronGraph::Activation& activation, const Limit& limit) const;
  const NeuronGraph& graph_;
  const int threads_;
  int splits_ = 0;      // splits of a tree in the last pass
  double seconds_ = 0;  // time of the last pass
};

}  // namespace assay::search
