// Conflicts: learns from closed leaves. Neurons whose literals were needed to close leaves are split early. If the last
// literals of a leaf were not needed, the tree jumps back over them.
//
// Sources: conflict-driven backjumping and variable activities (GRASP, Marques-Silva and Sakallah 1999; VSIDS,
// Moskewicz et al. 2001, with the growth of MiniSat, Een and Sorensson 2003). How this version differs: a literal
// counts as needed if the bound would not stay positive without it, judged by the multipliers of a bound that the
// kernel accepted. The kernel refutes the ancestor anew. No clause is learnt.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "search/bab/activation_bab.h"

namespace assay::search {

// All threads share it.
class Conflicts {
 public:
  explicit Conflicts(const ActivationRoot& root) : root_(root), activity_(root.graph.neuron_count(), 0.0) {}

  // The best neuron that can be split, ranked by influence, then activity, then score; StrongSplit::kNone if there
  // is none.
  [[nodiscard]] std::uint32_t most_active(const BoundResult& result) const;
  // Closes the leaf, whose only case is at `position`, or the highest ancestor that its needed literals refute.
  void jump_back(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position);

 private:
  void bump(const Treated& treated, const BoundResult& leaf);
  [[nodiscard]] bool refute_above(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position,
                                  std::size_t up) const;
  const ActivationRoot& root_;
  mutable std::mutex mutex_;  // guards what follows
  // By neuron: how often its literal was needed to close a leaf; recent leaves weigh most.
  std::vector<double> activity_;
  double increment_ = 1;
};

}  // namespace assay::search
