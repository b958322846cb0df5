// RegionForms: the pre-activations of a ReLU network as exact affine functions of the inputs, as far as no ReLU
// upstream is unstable in the boxes of a scope. In double, non-rigorous.
//
// A ReLU whose box has one sign is affine. In a small box most are, so a whole network may be one affine map, or only a
// few splits of ReLUs away from it. Branch and bound over inputs splits the last unstable ReLUs with these forms.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bounds/lp/small_lp.h"
#include "search/relax/network.h"

namespace assay::search {

class RegionForms {
 public:
  // Whether the network consists only of ReLUs and affine steps.
  static bool supports(const Network& network);

  // Computes the forms of all nodes up to the first one with an unstable ReLU. `scope` must have a box for every
  // operand of a ReLU.
  RegionForms(const Network& network, const logic::Scope& scope);

  [[nodiscard]] std::size_t undecided() const { return undecided_; }
  // In the first node with unstable ReLUs, the element that is furthest from being decided.
  [[nodiscard]] std::pair<NodeId, std::uint32_t> next_split() const { return {split_node_, split_element_}; }
  // The element as a form over all inputs; nullopt downstream of an unstable ReLU.
  [[nodiscard]] std::optional<LinearForm> form(NodeId node, std::uint32_t element) const;

 private:
  std::size_t inputs_;
  std::vector<std::vector<double>> values_;  // by node: [1 + inputs, size], row 0 is the constant; empty: not exact
  std::size_t undecided_ = 0;
  NodeId split_node_ = 0;
  std::uint32_t split_element_ = 0;
};

}  // namespace assay::search
