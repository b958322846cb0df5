// Rounding errors of one node over a box: how far the result of any execution of the model may lie from the denotation
// of the node's operands, where these are numbers of the format anywhere in their box.
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

// Whatever the operands: the result is a value of the denotation at the operands that the execution holds. Where the model flushes,
// layout only.
[[nodiscard]] bool computes_exactly(const Node& node, const ExecutionModel& model);

// One bound for each element, or none where the result is computed exactly. Infinite: some execution may overflow or
// leave the op's domain, the model's table has no row for a function, or no bound is known. `exact` encloses the
// denotation over the same box.
[[nodiscard]] std::vector<double> rounding_errors(const Node& node, const ExecutionModel& model,
                                                  std::span<const Array<Interval>* const> operands, const Array<Interval>& exact);

// A sum, or a sum of products, on the magnitudes of its operands, gemm's factors with them: S of every element.
// nullopt: a factor that may be out of the range of what it is rounded to.
[[nodiscard]] std::optional<Array<Interval>> sums_of_magnitudes(const Node& node, const ExecutionModel& model,
                                                                std::span<const Array<Interval>* const> operands);

// No more terms than these: the elements of the first operand, or those it is multiplied with.
[[nodiscard]] double most_terms(const Node& node, const Array<Interval>& operand);

// "[-1, 0.5]", for words.
[[nodiscard]] inline std::string shown(const Interval& x) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), x.is_point() ? "%.9g" : "[%.9g, %.9g]", x.lo(), x.hi());
  return text.data();
}
// Of a node of which some bound is infinite: the cause, in words. Nothing is decided by them.
[[nodiscard]] std::string why_unbounded(const Node& node, const ExecutionModel& model, std::span<const Array<Interval>* const> operands);

// What rounding the factors of a product costs (ExecutionModel::input_rounding): each is x (1 + r) + e, |r| <=
// relative, |e| <= absolute, for |x| < most.
struct FactorRounding {
  double relative = 0, absolute = 0, most = 0;
};
[[nodiscard]] FactorRounding factor_rounding(const ExecutionModel& model);

}  // namespace assay::floats
