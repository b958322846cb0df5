// RegionForms: the pre-activations of a relu network as exact affine functions of the inputs, where
// the boxes of a scope leave no relu upstream undecided. Non-rigorous doubles.
//
// A relu whose box has one sign is affine. In a small box most are, so that a whole network is one
// affine map, or a few splits away from being one: what splits of inputs fall back to where few
// relus are undecided.
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
  // Only relus between affine steps.
  static bool supports(const Network& network);

  // All nodes up to the first one with an undecided relu; `scope` has a box for every operand of a
  // relu.
  RegionForms(const Network& network, const logic::Scope& scope);

  [[nodiscard]] std::size_t undecided() const { return undecided_; }
  // The undecided element of the first such node that is farthest from being decided.
  [[nodiscard]] std::pair<NodeId, std::uint32_t> next_split() const { return {split_node_, split_element_}; }
  // The element as a form over all inputs; nullopt downstream of an undecided relu.
  [[nodiscard]] std::optional<LinearForm> form(NodeId node, std::uint32_t element) const;

 private:
  std::size_t inputs_;
  std::vector<std::vector<double>> values_;  // by node: [1 + inputs, size], row 0 the constant; empty = not exact
  std::size_t undecided_ = 0;
  NodeId split_node_ = 0;
  std::uint32_t split_element_ = 0;
};

}  // namespace assay::search
