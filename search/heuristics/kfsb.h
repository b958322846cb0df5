// Kfsb: the brancher among neurons. It picks candidates by score and by what their earlier splits gained, bounds both
// halves of each, and takes the best one.
//
// Sources: scores by the relaxation loss of a neuron (BaBSR, Bunel et al. 2020); a few candidates bounded before one is
// taken (FSB, De Palma et al. 2021; kFSB in alpha-beta-CROWN); pseudocosts (Achterberg, Koch, Martin 2005). How this
// version differs:
// - a score is what an exact neuron would gain at the minimiser of the optimised bound;
// - one step of ascent bounds each half, or four with BranchingOptions::kfsb, since one step alone seldom gains;
// - pseudocosts only propose candidates, which are tried like all others;
// - the split of a first-layer neuron whose gain the ascent has computed exactly competes without a trial.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "search/bab/activation_bab.h"

namespace assay::search {

// All threads share it.
class Kfsb {
 public:
  Kfsb(const ActivationRoot& root, const BranchingOptions& options);

  // Proposes the most promising splits for the case furthest from closed, or the middle of an input if no neuron is
  // left. Returns false if there is no split. `nodes`: how many nodes were taken so far.
  [[nodiscard]] bool propose(Treated& treated, std::uint64_t nodes) const;
  // Bounds both halves of the proposed splits of the batch, and splits each node by the best one.
  void choose_and_split(AlphaBetaCrown& ascent, std::span<Treated> batch, BranchTree& tree, std::vector<Subdomain>& children);

 private:
  // What splits of a neuron gained, as shares of what the bound lacked to 0; recent gains weigh most.
  struct Pseudocost {
    double at_most = 0, at_least = 0;
    bool known = false;
    [[nodiscard]] double value() const { return (at_most + 1e-3) * (at_least + 1e-3); }
  };
  struct Choice;
  void split_an_input(Treated& treated, std::span<const float> scores) const;
  [[nodiscard]] Choice best_of(const Treated& treated, std::span<BoundResult> results);
  void split(const Treated& treated, const Choice& choice, BranchTree& tree, std::vector<Subdomain>& children) const;
  void learn(const logic::Literal& split, double bound, double at_most, double at_least);

  const ActivationRoot& root_;
  const bool kfsb_;
  mutable std::mutex mutex_;             // guards what follows
  std::vector<Pseudocost> pseudocosts_;  // by neuron
};

}  // namespace assay::search
