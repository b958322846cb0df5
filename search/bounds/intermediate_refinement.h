// Refines the bounds of a complete root, once trees have shown that the root's first ones do not
// close it.
//
// Order: shared alphas first, once, for groups of few neurons where only relus and the like are
// refined and that fits into a tenth of the planned time, for whole layers otherwise; then, where
// all neurons bend at 0, branch and bound for each neuron (per_neuron_bab.h), in passes that grow,
// each as soon as its share of the planned time holds it. Records 0064, 0067 and 0075 tell what
// each gains.
#pragma once

#include <optional>
#include <span>

#include "search/bounds/per_neuron_bab.h"

namespace assay::search {

class IntermediateRefinement {
 public:
  IntermediateRefinement(const NeuronGraph& graph, int threads) : graph_(graph), threads_(threads) {}

  [[nodiscard]] bool applies(const IntermediateBounds& root, const Limit& limit) const;
  // Behind the first time: so many seconds after the search's beginning it applies again at the
  // latest, if it does then.
  [[nodiscard]] std::optional<double> next() const;

  // First by slopes: for few elements each where relus are few or stand between products, else for
  // each layer; then, of networks whose only bends are relus, by trees of splits, again and again.
  // `cases`: those of the problem that are open. The root stops at the limit then.
  Outcome<Done> refine(IntermediateBounds& root, std::span<const std::uint32_t> cases, const Limit& limit);

 private:
  const NeuronGraph& graph_;
  const int threads_;
  bool has_slopes_ = false;
  std::optional<PerNeuronBab> splits_;
};

}  // namespace assay::search
