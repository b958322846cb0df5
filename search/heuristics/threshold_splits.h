// Splits of inputs at the numbers with which the network compares them, as decision trees do.
//
// A split in the middle leaves such a comparison open on one side, however often it is repeated. A split at the threshold
// decides it on one side, and a second one at the next double on the other.
//
// Source: verifiers of tree ensembles split domains at the thresholds of the trees (Devos et al., Veritas, 2021). How
// this version differs: splits are closed sets of real numbers, so a slice between two neighbouring doubles stays, in
// which the comparison itself is split. The score of a comparison is how much its two sides widen the values that it
// chooses between.
#pragma once

#include <optional>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bab/proof_tree.h"

namespace assay::search {

class ThresholdSplits {
 public:
  explicit ThresholdSplits(const logic::Problem& problem);

  // Whether the network is little more than such comparisons, choices between constants, and sums. Then boxes are as good as
  // linear bounds.
  [[nodiscard]] bool is_all() const { return is_all_; }

  // The split that narrows most; none if the network compares no input that is open here.
  [[nodiscard]] std::optional<Split> best(const logic::Scope& scope) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // An element of a node; node kNone: a constant.
  struct Element {
    NodeId node = kNone;
    std::uint32_t index = 0;
  };
  // One element of a comparison of an input with a constant.
  struct Comparison {
    Element truth, input;
    double threshold = 0;
  };
  // A node `where`, with the comparison and the two candidates of each element.
  struct Choice {
    NodeId node;
    std::vector<std::uint32_t> comparisons;  // kNone: another condition
    std::vector<Element> yes, no;
  };

  // For each element of a node, the element that layout ops made it from.
  [[nodiscard]] std::vector<Element> origins(NodeId node) const;
  [[nodiscard]] std::vector<Element> spread(NodeId operand, const Shape& shape) const;  // the same, broadcast to a shape
  void add_comparisons(NodeId node);
  bool add_choice(NodeId node);  // whether it chooses between constants and further choices, by such comparisons alone

  const Graph& graph_;
  std::vector<Comparison> comparisons_;
  std::vector<std::vector<std::uint32_t>> of_truth_;  // by node and element: the comparison, or kNone
  std::vector<Choice> choices_;
  bool is_all_ = false;
};

}  // namespace assay::search
