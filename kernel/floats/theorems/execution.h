// What a floating semantics asks of a statement and of its constants. Private to kernel/logic.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/logic/state.h"
#include "semantics/ops/denote.h"

namespace assay::floats {

// Some number of the format of a floating semantics lies between the ends.
[[nodiscard]] bool has_number(const ExecutionModel& model, const Rational& lo, const Rational& hi);
// What a floating semantics cannot speak about; nothing over the reals.
[[nodiscard]] std::optional<Rejection> execution_obstacle(const Graph& graph, const ExecutionModel& model);
// A product of constants that a variable is added to: its affine form has forgotten the terms of the sum.
[[nodiscard]] bool sums_constants(const Node& node, const std::vector<bool>& is_constant);
// A constant as the model stores it; a value computed from constants, with what executions lose there. Over the reals as it is.
[[nodiscard]] Outcome<Done> round_weights(const Node& constant, const ExecutionModel& model, Array<Interval>& values);
[[nodiscard]] Outcome<Done> round_constant(const Graph& graph, NodeId id, const ExecutionModel& model,
                                           std::span<const Array<Interval>* const> operands, rows::ConstantValues& constants);

// |z| of every element, over boxes with these magnitudes; without one part, if that is named.
[[nodiscard]] std::vector<double> magnitudes_of(const rows::AffineForm& form, const std::vector<std::vector<double>>& x,
                                                std::size_t without = SIZE_MAX);
[[nodiscard]] double terms_of(const rows::AffineForm& form);  // no element adds up more
[[nodiscard]] bool is_square(const Node& node);
[[nodiscard]] Array<Interval> as_intervals(const Shape& shape, const relax::Box& box);

// A node's operands over their boxes; of an affine node those of its form, then its constants.
struct ReadOperands {
  std::vector<NodeId> ids;
  std::vector<Array<Interval>> values;
  void add(NodeId id, Array<Interval> value) {
    ids.push_back(id);
    values.push_back(std::move(value));
  }
};
// Of a node where some execution may leave the finite numbers: the cause, in words (execution_words.cpp).
[[nodiscard]] std::string why_unbounded(const logic::Problem::State& problem, const Node& node, const rows::AffineForm* form,
                                        const ReadOperands& operands);

}  // namespace assay::floats
