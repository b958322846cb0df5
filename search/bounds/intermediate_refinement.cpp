// IntermediateRefinement: which refinement comes next, and how much of the planned time it may take.

#include "search/bounds/intermediate_refinement.h"

#include <algorithm>
#include <utility>

#include "search/bounds/intermediate_alphas.h"

namespace assay::search {

// Does not apply to one layer of ReLUs: no intermediate bounds depend on these, and linear programs bound the nodes.
bool IntermediateRefinement::applies(const IntermediateBounds& root, const Limit& limit) const {
  const bool again = splits_ && splits_->wanted() <= limit.planned();
  return (!has_slopes_ || again) && root.complete() && graph_.can_split() && !graph_.every_neuron_has_input_row();
}

std::optional<double> IntermediateRefinement::next() const {
  if (!splits_) return std::nullopt;
  return Limit::planned_after(splits_->wanted());
}

Outcome<Done> IntermediateRefinement::refine(IntermediateBounds& root, std::span<const std::uint32_t> cases, const Limit& limit) {
  constexpr double kShare = 0.5, kShareOfRelus = 0.2, kShareOfGroups = 0.1;  // largest shares of the planned time
  if (!std::exchange(has_slopes_, true)) {
    const double left = limit.planned();
    const bool of_relus = graph_.relu_only() || !graph_.supported();
    const Limit share{Deadline::in((of_relus ? kShareOfRelus : kShare) * left), limit.stop};
    const bool groups = of_relus && (!graph_.supported() || root.seconds_to_refine_groups(graph_) <= kShareOfGroups * left);
    auto done = groups ? root.refine_groups(graph_, share) : refine_by_alphas(root, graph_, cases, share);
    root.stop_at(limit);
    if (!done || !groups || !graph_.relu_only()) return done;
    splits_.emplace(graph_, threads_);
  }
  return splits_->refine(root, limit);
}

}  // namespace assay::search
