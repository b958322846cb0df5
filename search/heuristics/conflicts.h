// Conflicts: what closed leaves teach. Literals that closed a leaf deserve an early place; where
// the last ones were not needed, the tree jumps back over them.
//
// Sources: conflict-driven backjumping and variable activities (GRASP, Marques-Silva and Sakallah
// 1999; VSIDS, Moskewicz et al. 2001, with the growth of MiniSat, Een and Sorensson 2003). How this
// version differs: a literal is needed if the bound would not stay positive without it, by the
// multipliers of a bound that the kernel accepted, and the node above is refuted by the kernel
// anew; no clause is learnt.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "search/bab/activation_bab.h"

namespace assay::search {

// Shared by all threads.
class Conflicts {
 public:
  explicit Conflicts(const ActivationRoot& root) : root_(root), activity_(root.graph.neuron_count(), 0.0) {}

  // Among the neurons that can be split: by influence, then activity, then score; StrongSplit::kNone:
  // none.
  [[nodiscard]] std::uint32_t most_active(const BoundResult& result) const;
  // Closes the leaf, whose only case is at `position`, or the highest node above that its needed
  // literals refute.
  void jump_back(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position);

 private:
  void bump(const Treated& treated, const BoundResult& leaf);
  [[nodiscard]] bool refute_above(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position,
                                  std::size_t up) const;
  const ActivationRoot& root_;
  mutable std::mutex mutex_;      // of what follows
  std::vector<double> activity_;  // by neuron: how often its literal was needed to close a leaf, the newest most
  double increment_ = 1;
};

}  // namespace assay::search
