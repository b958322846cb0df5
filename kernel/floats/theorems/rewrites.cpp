// Rewrites of sums and products in executions, if the model admits them.
//
// Soundness. A step inside a formula has one reader, the formula. In an execution that rewrites the formula, the step
// has no value of its own. Its denotation at the values before it may then be taken as its value; it is within
// rounding(n) of itself. So the error at the formula's last step is at most the error of the whole formula at the
// values of its leaves, which executions hold. An execution that computes steps as written holds their values, and the
// error at the last step is that of its own roundings. A value that is read twice, by an output, or by an op that is no
// sum or product, is a leaf or a last step.
// The value of a leaf is stored before a formula reads it; only an addition as written joins a leaf's accumulation.
// Formulas continue through the result of a matrix product or a convolution, not through its operands, and not through
// divisors. Only constant factors of an operand may move to the product's result; the value before them is then stored.
// If nothing else reads the operand, the exact product may be taken as its value. Otherwise it holds the product as
// written, whose distance from the exact one is as many roundings as it has operations, so that they count twice.
// A variance in one pass, of squares that nothing else reads, is treated in the same way: the squares are exact.
// Source: derived in docs/explanation/float32.md.

#include "kernel/floats/rewrites.h"

#include <algorithm>
#include <utility>

#include "kernel/floats/rounding.h"
#include "kernel/floats/sums.h"
#include "kernel/floats/theorems/execution.h"
#include "semantics/demand.h"

namespace assay::logic {
namespace {

// The formula of an operand of a matrix product: the value behind its constant factors as a leaf, times these factors.
// nullopt: no bound is known.
template <class Values>
std::optional<floats::Formula> scaled(const Graph& graph, const std::vector<bool>& is_constant, NodeId id, const Values& values_of) {
  const Node& node = graph.node(id);
  const auto is_fixed = [&](std::size_t k) { return bool{is_constant[node.operands[k]]}; };
  const bool moves = node.op == Op::neg || node.op == Op::reshape || node.op == Op::permute || node.op == Op::scale;
  const bool scales = (node.op == Op::mul && (is_fixed(0) || is_fixed(1))) || (node.op == Op::div && is_fixed(1));
  if (is_constant[id] || !floats::is_algebraic(node) || !(moves || scales)) return floats::leaf(values_of(id));
  std::vector<Array<Interval>> values;
  std::vector<floats::Formula> formulas;
  for (const NodeId operand : node.operands) {
    auto formula = scaled(graph, is_constant, operand, values_of);
    if (!formula) return std::nullopt;
    formulas.push_back(std::move(*formula));
    values.push_back(values_of(operand));
  }
  return floats::combined(node, formulas, pointers_to(values));
}

}  // namespace

// The values of a constant, or the box of any other node.
Array<Interval> Network::State::values_at(NodeId node, const rows::Boxes& boxes) const {
  if (constants_.is_constant[node]) return constants_.values[node];
  NodeId source = node;  // a copy has no box if nothing else reads it
  while (!boxes[source] && op_row(graph_.node(source).op).op_class == OpClass::layout) source = own_form(source)->parts[0].operand;
  demand(boxes[source] != nullptr, "values of a node without a box were asked for");
  return floats::as_intervals(graph_.node(node).shape, *boxes[source]);
}

// Counts readers, and marks the steps inside formulas: those that only a formula reads. An exact op joins a formula
// only between other steps.
void Network::State::mark_rewritten() {
  readers_.assign(graph_.nodes.size(), 0);
  for (const Node& node : graph_.nodes) {
    for (const NodeId operand : node.operands) ++readers_[operand];
  }
  for (const NodeId output : graph_.outputs) ++readers_[output];
  const ExecutionModel& model = semantics_;
  rewritten_.assign(graph_.nodes.size(), false);
  for (auto id = static_cast<NodeId>(graph_.nodes.size()); model.rewrites != ExecutionModel::Rewrites::none && id-- > 0;) {
    const Node& node = graph_.node(id);
    if (constants_.is_constant[id] || !floats::is_algebraic(node) || (floats::computes_exactly(node, model) && !rewritten_[id])) continue;
    const std::size_t read = node.op == Op::div || node.op == Op::batch_norm ? 1 : node.operands.size();
    for (const NodeId operand : std::span(node.operands).first(read)) {
      const Node& step = graph_.node(operand);
      rewritten_[operand] =
          !constants_.is_constant[operand] && readers_[operand] == 1 && (floats::has_factors(step.op) || floats::is_algebraic(step));
    }
  }
}

// nullopt: no bound is known.
std::optional<floats::Formula> Network::State::formula_of(NodeId id, const rows::Boxes& boxes, bool is_root) const {
  const Node& node = graph_.node(id);
  const bool accumulates = floats::has_factors(node.op);
  if (!is_root && !rewritten_[id]) return floats::leaf(values_at(id, boxes));
  std::vector<Array<Interval>> values;
  std::vector<floats::Formula> formulas;
  for (const NodeId operand : node.operands) {
    const bool is_read = accumulates || constants_.is_constant[operand] || node.op == Op::div || node.op == Op::batch_norm;
    values.push_back(is_read ? values_at(operand, boxes) : Array<Interval>());
    if (accumulates) continue;
    auto formula = formula_of(operand, boxes, false);
    if (!formula) return std::nullopt;
    formulas.push_back(std::move(*formula));
  }
  if (!accumulates) return floats::combined(node, formulas, pointers_to(values));
  const rows::AffineForm* form = own_form(id);
  std::optional<Array<Interval>> size = Array<Interval>{node.shape, {}};
  if (form == nullptr) {
    size = floats::sums_of_magnitudes(node, semantics_, pointers_to(values));
  } else {
    for (const double one : floats::magnitudes_of(*form, operand_magnitudes(form->parts, boxes))) size->values.emplace_back(one);
  }
  if (!size) return std::nullopt;
  const double terms = form != nullptr ? floats::terms_of(*form) : floats::most_terms(node, values[0]);
  floats::Formula product = floats::accumulated(node, std::move(*size), terms, pointers_to(values));
  for (const NodeId operand : std::span(node.operands).first(2)) {
    const auto factors = scaled(graph_, constants_.is_constant, operand, [&](NodeId one) { return values_at(one, boxes); });
    if (!factors) return std::nullopt;
    floats::move_factors(product, *factors);
  }
  return product;
}

// For a mean of squares of differences to a mean over the same axes; empty for other nodes.
std::vector<double> Network::State::one_pass_rounding(NodeId id, const rows::Boxes& boxes, Roundings known) const {
  const Node& node = graph_.node(id);
  const bool admits =
      semantics_.moments == ExecutionModel::Moments::one_pass || semantics_.moments == ExecutionModel::Moments::one_or_two_pass;
  if (!admits || node.op != Op::reduce_mean || readers_[node.operands[0]] > 1) return {};
  const Node& square = graph_.node(node.operands[0]);
  if (!floats::is_square(square)) return {};
  const NodeId difference = square.operands[0];
  if (graph_.node(difference).op != Op::sub) return {};
  const auto axes = [&](const Node& one) {  // the axes along which there is more than one element
    std::vector<std::int64_t> found = std::get<ReduceAttributes>(one.attributes).axes;
    std::erase_if(found, [&](std::int64_t axis) { return graph_.node(one.operands[0]).shape[static_cast<std::size_t>(axis)] == 1; });
    std::ranges::sort(found);
    return found;
  };
  const auto is_mean = [&](NodeId one, NodeId of) {
    const Node& reduced = graph_.node(one);
    return reduced.op == Op::reduce_mean && reduced.operands[0] == of && axes(reduced) == axes(node);
  };
  NodeId x = graph_.node(difference).operands[0], mean = graph_.node(difference).operands[1];
  if (!is_mean(mean, x)) std::swap(x, mean);  // the difference may be the mean minus x
  if (!is_mean(mean, x)) return {};
  const auto held = [&](NodeId one) -> std::optional<floats::Held> {
    if (!known[one] && !constants_.is_constant[one]) return std::nullopt;
    return floats::Held{values_at(one, boxes), known[one] ? std::span<const double>(*known[one]) : std::span<const double>()};
  };
  const auto of_mean = held(mean), of_difference = held(difference);
  if (!of_mean || !of_difference) return std::vector<double>(element_count(node.shape), floats::kInfinity);
  return floats::one_pass_errors(node, semantics_, values_at(x, boxes), *of_mean, *of_difference);
}

std::vector<double> Network::State::rounding(NodeId id, const rows::Boxes& boxes, Roundings known, const Array<Interval>* image,
                                             KeptSizes kept) const {
  const ExecutionModel& model = semantics_;
  const Node& node = graph_.node(id);
  std::vector<double> errors = rounding_as_written(id, boxes, known, image, kept);
  if (model.rewrites == ExecutionModel::Rewrites::none || floats::computes_exactly(node, model)) return errors;
  std::vector<double> more = one_pass_rounding(id, boxes, known);
  const bool is_product = floats::has_factors(node.op);
  if (floats::is_algebraic(node) || is_product) {
    const auto formula = formula_of(id, boxes, true);
    const double as_written = is_product ? 1 + floats::roundings_of_factors(node, floats::format_of(node.dtype)) : 1;
    if (formula && formula->operations <= as_written) return errors;  // a single operation, executed as written
    more.assign(element_count(node.shape), floats::kInfinity);
    if (formula) more = floats::rewriting_errors(*formula, model, node.dtype);
  }
  errors.resize(std::max(errors.size(), more.size()), 0.0);
  for (std::size_t i = 0; i < more.size(); ++i) errors[i] = std::max(errors[i], more[i]);
  return errors;
}

}  // namespace assay::logic
