// Balls: what rows that all cases of a group share say about one input tensor: sum of q x^2 + p x <= b or sum of |q x + p| <= b, with
// every q >= 0.
//
// A point that satisfies a case satisfies the rows that all cases share, so that facts which hold on those points alone refute the group's
// cases as well. Source for the dual norm that this gives: Xu et al. 2020 (auto_LiRPA), section 3.2, for l2 and l1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "semantics/statement/statement.h"

namespace assay::statement {

struct Ball {
  NodeId node = 0;           // the input tensor
  bool of_squares = true;    // or else of magnitudes
  std::vector<double> q, p;  // by element: 0, or within 2^-52 of the exact number, relatively, and from 2^-300 to 2^300
  double bound = 0;          // b, likewise
};

// The balls of some cases, which share an input box. The statement is validated.
[[nodiscard]] std::vector<Ball> shared_balls(const Statement& statement, std::span<const std::uint32_t> cases);

}  // namespace assay::statement
