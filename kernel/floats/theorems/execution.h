// Requirements of a floating semantics on a statement and its constants. Private to kernel/logic.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/logic/state.h"
#include "semantics/ops/denote.h"

namespace assay::floats {

// Whether some number of the semantics' format lies between the ends.
[[nodiscard]] bool has_number(const ExecutionModel& model, const Rational& lo, const Rational& hi);
// The reason why the floating semantics does not cover the graph, if any; never for real arithmetic.
[[nodiscard]] std::optional<Rejection> execution_obstacle(const Graph& graph, const ExecutionModel& model);
// Whether the node is a product of constants alone. If a variable is added to it, the affine form no longer shows the
// terms of the product's sum.
[[nodiscard]] bool sums_constants(const Node& node, const std::vector<bool>& is_constant);
// round_weights: rounds a constant as the model stores it. round_constant: adds the executions' rounding errors to a
// value computed from constants. Over the reals both leave the values unchanged.
[[nodiscard]] Outcome<Done> round_weights(const Node& constant, const ExecutionModel& model, Array<Interval>& values);
[[nodiscard]] Outcome<Done> round_constant(const Graph& graph, NodeId id, const ExecutionModel& model,
                                           std::span<const Array<Interval>* const> operands, rows::ConstantValues& constants);

// |z| of every element, over boxes with these magnitudes; without one part, if `without` names it.
[[nodiscard]] std::vector<double> magnitudes_of(const rows::AffineForm& form, const std::vector<std::vector<double>>& x,
                                                std::size_t without = SIZE_MAX);
[[nodiscard]] double terms_of(const rows::AffineForm& form);  // the most terms of any element
[[nodiscard]] bool is_square(const Node& node);
[[nodiscard]] Array<Interval> as_intervals(const Shape& shape, const relax::Box& box);

// The operands of a node over their boxes. For an affine node: those of its form, then its constants.
struct ReadOperands {
  std::vector<NodeId> ids;
  std::vector<Array<Interval>> values;
  void add(NodeId id, Array<Interval> value) {
    ids.push_back(id);
    values.push_back(std::move(value));
  }
};
// The cause, in words, why some execution may leave the finite numbers at the node (execution_words.cpp).
[[nodiscard]] std::string why_unbounded(const logic::Problem& problem, const Node& node, const rows::AffineForm* form,
                                        const ReadOperands& operands);

}  // namespace assay::floats
