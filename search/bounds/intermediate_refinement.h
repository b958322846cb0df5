// Refines the bounds of a complete root, once trees have shown that its first bounds do not close it.
//
// Order of the refinements (records 0064, 0067 and 0075 tell what each gains):
// - Shared alphas, once. Groups of few neurons share them if only ReLUs and the like are refined and this fits into a
//   tenth of the planned time; otherwise whole layers share them.
// - If all neurons bend at 0: branch and bound for each neuron (per_neuron_bab.h). Its passes grow, and each starts as
//   soon as its share of the planned time is long enough.
#pragma once

#include <optional>
#include <span>

#include "search/bounds/per_neuron_bab.h"

namespace assay::search {

class IntermediateRefinement {
 public:
  IntermediateRefinement(const NeuronGraph& graph, int threads) : graph_(graph), threads_(threads) {}

  [[nodiscard]] bool applies(const IntermediateBounds& root, const Limit& limit) const;
  // After the first refinement: the latest time, in seconds after the beginning of the search, at which the refinement
  // applies again, if it does at all.
  [[nodiscard]] std::optional<double> next() const;

  // Runs the next refinement: shared alphas first, then, for networks whose only bends are ReLUs, trees of splits,
  // again and again. Few elements share alphas if ReLUs are few or stand between products; otherwise a whole layer
  // does. `cases`: indices of the open cases. Afterwards the root stops at the limit.
  Outcome<Done> refine(IntermediateBounds& root, std::span<const std::uint32_t> cases, const Limit& limit);

 private:
  const NeuronGraph& graph_;
  const int threads_;
  bool has_slopes_ = false;
  std::optional<PerNeuronBab> splits_;
};

}  // namespace assay::search
