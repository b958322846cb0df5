// Rewrites of sums and products in executions, where the model admits them.
//
// Soundness. A step inside of a formula has one reader, the formula. In an execution that rewrites the formula it has no value of its own, and its
// denotation at the values before it may be said to be its value: within rounding(n) of itself. Then the formula's last step misses its denotation
// by no more than the whole formula is missed at the values of its leaves, which executions hold. An execution that computes steps as written holds
// them, and the last step misses by its own roundings. What is read twice, by an output or by anything that is no sum or product, is a leaf or a last
// step.
// What a leaf holds is stored before a formula reads it: only an addition as written joins a leaf's accumulation.
// Formulas go on through the result of a product of matrices or a convolution, not through its operands; and not through divisors.
// A variance in one pass, of squares that nothing else reads, in the same way: the squares are exact.
// Source: derived in docs/float32.md.

#include "kernel/executions/rewrites.h"

#include <algorithm>
#include <utility>

#include "kernel/executions/rounding.h"
#include "kernel/executions/sums.h"
#include "kernel/proof/execution.h"

namespace assay::kernel {

// A constant's values, or a box.
Array<Interval> Problem::values_at(NodeId node, const Boxes& boxes) const {
  if (is_constant_[node]) return constants_.values[node];
  NodeId source = node;  // a copy has no box where nothing else reads it
  while (!boxes[source] && affine(source) != nullptr) source = affine(source)->parts[0].operand;
  return as_intervals(graph().node(node).shape, *boxes[source]);
}

// The steps inside of formulas: of those that a formula reads, the ones that nothing else reads. What is exact joins a formula only between steps.
void Problem::mark_rewritten() {
  const ExecutionModel& model = statement_.semantics;
  rewritten_.assign(graph().nodes.size(), false);
  for (NodeId id = graph().nodes.size(); model.rewrites != ExecutionModel::Rewrites::none && id-- > 0;) {
    const Node& node = graph().node(id);
    if (is_constant_[id] || !executions::is_algebraic(node) || (executions::computes_exactly(node, model) && !rewritten_[id])) continue;
    const std::size_t read = node.op == Op::div || node.op == Op::batch_norm ? 1 : node.operands.size();
    for (const NodeId operand : std::span(node.operands).first(read)) {
      const Node& step = graph().node(operand);
      rewritten_[operand] =
          !is_constant_[operand] && readers_[operand] == 1 && (executions::has_factors(step.op) || executions::is_algebraic(step));
    }
  }
}

// nullopt: no bound.
std::optional<executions::Formula> Problem::formula_of(NodeId id, const Boxes& boxes, bool is_root) const {
  const Node& node = graph().node(id);
  const bool accumulates = executions::has_factors(node.op);
  if (!is_root && !rewritten_[id]) return executions::leaf(values_at(id, boxes));
  std::vector<Array<Interval>> values;
  std::vector<executions::Formula> formulas;
  for (const NodeId operand : node.operands) {
    const bool is_read = accumulates || is_constant_[operand] || node.op == Op::div || node.op == Op::batch_norm;
    values.push_back(is_read ? values_at(operand, boxes) : Array<Interval>());
    if (accumulates) continue;
    auto formula = formula_of(operand, boxes, false);
    if (!formula) return std::nullopt;
    formulas.push_back(std::move(*formula));
  }
  std::vector<const Array<Interval>*> pointers;
  for (const Array<Interval>& one : values) pointers.push_back(&one);
  if (!accumulates) return executions::combined(node, formulas, pointers);
  const AffineForm* form = affine(id);
  if (form == nullptr) {
    auto size = executions::sums_of_magnitudes(node, statement_.semantics, pointers);
    if (!size) return std::nullopt;
    return executions::accumulated(node, std::move(*size), executions::most_terms(node, values[0]), pointers);
  }
  std::vector<std::vector<double>> x;
  for (const AffineForm::Part& part : form->parts) x.push_back(magnitudes(*boxes[part.operand]));
  Array<Interval> size{node.shape, {}};
  for (const double one : magnitudes_of(*form, x)) size.values.emplace_back(one);
  return executions::accumulated(node, std::move(size), terms_of(*form), pointers);
}

// Of a mean of squares of differences to a mean over the same axes; empty for other nodes.
std::vector<double> Problem::one_pass_rounding(NodeId id, const Boxes& boxes, Roundings known) const {
  const Node& node = graph().node(id);
  const bool admits = statement_.semantics.moments == ExecutionModel::Moments::one_pass ||
                      statement_.semantics.moments == ExecutionModel::Moments::one_or_two_pass;
  if (!admits || node.op != Op::reduce_mean || readers_[node.operands[0]] > 1) return {};
  const Node& square = graph().node(node.operands[0]);
  if (!is_square(square)) return {};
  const NodeId difference = square.operands[0];
  if (graph().node(difference).op != Op::sub) return {};
  const NodeId x = graph().node(difference).operands[0], mean = graph().node(difference).operands[1];
  const Node& of_x = graph().node(mean);
  const auto axes = [](const Node& one) { return std::get<ReduceAttributes>(one.attributes).axes; };
  if (of_x.op != Op::reduce_mean || of_x.operands[0] != x || axes(of_x) != axes(node)) return {};
  const auto held = [&](NodeId one) -> std::optional<executions::Held> {
    if (!known[one] && !is_constant_[one]) return std::nullopt;
    return executions::Held{values_at(one, boxes), known[one] ? std::span<const double>(*known[one]) : std::span<const double>()};
  };
  const auto of_mean = held(mean), of_difference = held(difference);
  if (!of_mean || !of_difference) return std::vector<double>(element_count(node.shape), executions::kInfinity);
  return executions::one_pass_errors(node, statement_.semantics, values_at(x, boxes), *of_mean, *of_difference);
}

std::vector<double> Problem::rounding(NodeId id, const Boxes& boxes, Roundings known, const Array<Interval>* image) const {
  const ExecutionModel& model = statement_.semantics;
  const Node& node = graph().node(id);
  std::vector<double> errors = rounding_as_written(id, boxes, known, image);
  if (model.rewrites == ExecutionModel::Rewrites::none || executions::computes_exactly(node, model)) return errors;
  std::vector<double> more = one_pass_rounding(id, boxes, known);
  if (executions::is_algebraic(node)) {
    const auto formula = formula_of(id, boxes, true);
    if (formula && formula->operations <= 1) return errors;  // one operation, as it is written
    more.assign(element_count(node.shape), executions::kInfinity);
    if (formula) more = executions::rewriting_errors(*formula, model, node.dtype);
  }
  errors.resize(std::max(errors.size(), more.size()), 0.0);
  for (std::size_t i = 0; i < more.size(); ++i) errors[i] = std::max(errors[i], more[i]);
  return errors;
}

}  // namespace assay::kernel
