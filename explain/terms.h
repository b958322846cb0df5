// The terms of one element of a sum, read off the derivative of its op. Private to this folder.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/ops/denote.h"

namespace assay::explain {

struct Term {
  double value = 0;
  std::vector<std::pair<std::size_t, std::size_t>> factors;  // operand, element
};

struct Terms {
  std::vector<Term> terms;  // the terms that are not 0, in the order of the first operand; a bias comes last
  bool products = false;
  double sum = 0, magnitude = 0;  // in double
};

[[nodiscard]] bool has_factors(Op op);  // its terms are products of an element of operand 0 and one of operand 1

// Of an op that sums (gemm, matmul, conv, conv_transpose, reductions and means, cumsum, place, weighted_gather); nullopt for others, and
// where an operand is not finite.
[[nodiscard]] std::optional<Terms> terms_of(const Node& node, const std::vector<Array<double>>& operands, std::size_t element);

}  // namespace assay::explain
