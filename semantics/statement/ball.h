// Balls: constraints on one input tensor that follow from rows which all cases of a group share: sum of q x^2 + p
// x <= b or sum of |q x + p| <= b, with every q >= 0.
//
// A point that satisfies a case satisfies the rows that all cases share. So facts that hold on these points alone
// refute the group's cases, too. Source for the resulting dual norm: Xu et al. 2020 (auto_LiRPA), section 3.2, for l2
// and l1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "semantics/statement/statement.h"

namespace assay::statement {

struct Ball {
  NodeId node = 0;         // the input tensor
  bool of_squares = true;  // false: of magnitudes
  // By element: 0, or within relative distance 2^-52 of the exact number, and between 2^-300 and 2^300.
  std::vector<double> q, p;
  double bound = 0;  // b, with the same accuracy
};

// The balls of some cases, which share an input box. The statement has to be valid.
[[nodiscard]] std::vector<Ball> shared_balls(const Statement& statement, std::span<const std::uint32_t> cases);

}  // namespace assay::statement
