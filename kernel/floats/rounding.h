// Bounds on the rounding errors of one node over a box: the distance between the result of any execution of the model
// and the denotation of the node's operands, for operands that are any numbers of the format in their box.
#pragma once

#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::floats {

// Whether the result is a value of the denotation at the operands that the execution holds, for all operands. If the
// model flushes subnormals, this is true for layout ops only.
[[nodiscard]] bool computes_exactly(const Node& node, const ExecutionModel& model);

// One bound for each element, or none if the result is computed exactly. A bound is infinite if
// - some execution may overflow or leave the op's domain,
// - the model's table has no row for a function, or
// - no bound is known.
// `exact` encloses the denotation over the same box.
[[nodiscard]] std::vector<double> rounding_errors(const Node& node, const ExecutionModel& model,
                                                  std::span<const Array<Interval>* const> operands, const Array<Interval>& exact);

// S of every element: the sum, or sum of products, applied to the magnitudes of its operands, with gemm's factors
// applied to them. nullopt if a factor may be out of the range of the format that it is rounded to.
[[nodiscard]] std::optional<Array<Interval>> sums_of_magnitudes(const Node& node, const ExecutionModel& model,
                                                                std::span<const Array<Interval>* const> operands);

// An upper bound on the number of terms of a sum: the elements of the first operand, or those it is multiplied with.
[[nodiscard]] double most_terms(const Node& node, const Array<Interval>& operand);

// "[-1, 0.5]", for messages.
[[nodiscard]] inline std::string shown(const Interval& x) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), x.is_point() ? "%.9g" : "[%.9g, %.9g]", x.lo(), x.hi());
  return text.data();
}
// The cause, in words, of an infinite bound at a node. Nothing depends on it.
[[nodiscard]] std::string why_unbounded(const Node& node, const ExecutionModel& model, std::span<const Array<Interval>* const> operands);

// The effect of rounding the factors of a product (ExecutionModel::input_rounding): for |x| < most a factor x becomes x
// (1 + r) + e with |r| <= relative and |e| <= absolute.
struct FactorRounding {
  double relative = 0, absolute = 0, most = 0;
};
[[nodiscard]] FactorRounding factor_rounding(const ExecutionModel& model);

}  // namespace assay::floats
