// Corners: the derivative where branches meet, from one-sided derivatives.
//
// Claim. Let the cotangent of an operand be computed elementwise: its element i is y_bar[i] times a function of element
// i of the operands. At the recorded numbers a choice is undecided (x <= 1 at 1). Opaque numbers
// (kernel/gradients/numbers/opaque.h) displaced by an infinitesimal decide each choice by the side of the displacement,
// and all choices by the same displacement: the weights of one condition are t and 1 - t, never two independent
// numbers. Their guides enclose the one-sided derivative in that direction.
//   C1  One real operand: there are two directions, and the hull of their derivatives is the Clarke derivative.
//   C2  Several: random directions. If all of them give one number, the function is differentiable there, apart from
//       branches that fill only a sliver, and the set is that number. Otherwise nothing is concluded: other directions
//       may give more.
// At constant branches of a program that is not differentiable anywhere near (a jump), the one-sided derivatives are
// those of the branches.
#include "kernel/audit/corners.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/ops/indexing.h"

namespace assay::audit {

namespace {

constexpr std::size_t kDirections = 16;

// Whether element i of the result is a function of the operands' elements that are broadcast to it.
bool is_elementwise_op(const Node& node) {
  if (node.op == Op::expand || node.op == Op::where || node.op == Op::mul || node.op == Op::div) return true;
  if (node.op == Op::add || node.op == Op::sub || node.op == Op::neg || node.op == Op::scale) return true;
  const OpClass op_class = op_row(node.op).op_class;
  if (op_class == OpClass::leaf || op_class == OpClass::elementwise) return true;
  return op_class == OpClass::defined &&
         (std::holds_alternative<NoAttributes>(node.attributes) || std::holds_alternative<ActivationAttributes>(node.attributes) ||
          std::holds_alternative<GeluAttributes>(node.attributes));
}

bool is_broadcast(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::int64_t extent = from[k];
    if (extent != 1 && extent != to[to.size() - from.size() + k]) return false;
  }
  return true;
}

Tensor number_of(const Tensor& tensor, std::size_t i) {
  const std::size_t width = byte_size(tensor.dtype());
  const auto part = tensor.bytes().subspan(i * width, width);
  return {tensor.dtype(), {}, std::make_shared<const std::vector<std::byte>>(part.begin(), part.end())};
}

bool is_choice_node(const Node& node) {
  return op_row(node.op).smoothness == Smoothness::jump && node.op != Op::where && node.op != Op::cast;
}

}  // namespace

std::size_t place_in(const Shape& from, const Shape& to, std::size_t element) {
  const Shape strides = ops::broadcast_strides(from, to);
  std::size_t at = 0;
  for (std::size_t axis = to.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(to[axis]);
    at += element % extent * static_cast<std::size_t>(strides[axis]);
    element /= extent;
  }
  return at;
}

const Corners::Part& Corners::part(std::size_t k) {
  if (const auto known = parts_.find(k); known != parts_.end()) return known->second;
  Part made{true, std::vector<bool>(reference_.nodes.size(), false)};
  made.is_read[reference_.outputs[k]] = true;
  for (NodeId id = static_cast<NodeId>(reference_.nodes.size()); id-- > 0;) {
    if (!made.is_read[id]) continue;
    const Node& node = reference_.node(id);
    // A reshape that adds leading axes of extent 1 moves no element.
    const bool is_padding = node.op == Op::reshape && reference_.size(node.operands[0]) == reference_.size(id) &&
                            is_broadcast(reference_.node(node.operands[0]).shape, node.shape);
    made.is_elementwise = made.is_elementwise && (is_padding || is_elementwise_op(node)) && is_broadcast(node.shape, shape(k));
    for (const NodeId operand : node.operands) made.is_read[operand] = true;
  }
  return parts_.emplace(k, std::move(made)).first->second;
}

bool Corners::is_open(const std::vector<Array<Interval>>& nodes, std::size_t k, std::size_t element) {
  const Part& of = part(k);
  if (!of.is_elementwise) return false;
  for (NodeId id = 0; id < reference_.nodes.size(); ++id) {
    const Node& node = reference_.node(id);
    if (!of.is_read[id] || !is_choice_node(node)) continue;
    const Interval& value = nodes[id].values[place_in(node.shape, shape(k), element)];
    if (!value.is_undefined() && !value.is_point()) return true;
  }
  return false;
}

bool Corners::is_any_open(const std::vector<Array<Interval>>& nodes) const {
  for (NodeId id = 0; id < reference_.nodes.size(); ++id) {
    if (!is_choice_node(reference_.node(id))) continue;
    const auto is_set = [](const Interval& value) { return !value.is_undefined() && !value.is_point(); };
    if (std::ranges::any_of(nodes[id].values, is_set)) return true;
  }
  return false;
}

bool Corners::has_choices() const { return std::ranges::any_of(reference_.nodes, is_choice_node); }

std::optional<Interval> Corners::cotangent(const std::vector<Array<Interval>>& point, std::size_t k, std::size_t element) {
  const auto of_one = slope(point, k, element);
  if (!of_one) return std::nullopt;
  const Shape& like = reference_.node(reference_.inputs.back()).shape;
  if (!is_broadcast(like, shape(k))) return std::nullopt;
  const Interval product = *of_one * point.back().values[place_in(like, shape(k), element)];
  return product.is_undefined() ? std::nullopt : std::optional(product);
}

std::optional<Graph> Corners::single(std::size_t k, std::size_t element) {
  const Part& of = part(k);
  Graph graph;
  std::vector<NodeId> ids(reference_.nodes.size());
  for (const NodeId input : reference_.inputs) ids[input] = graph.append_input(reference_.node(input).dtype, {}, "x");
  for (NodeId id = 0; id < reference_.nodes.size(); ++id) {
    const Node& node = reference_.node(id);
    if (!of.is_read[id] || node.op == Op::input) continue;
    if (node.op == Op::constant) {
      const std::size_t at = place_in(node.shape, shape(k), element);
      if (is_float(node.dtype) && !std::isfinite(node.value.as_double(at))) return std::nullopt;
      ids[id] = graph.append_constant(number_of(node.value, at));
      continue;
    }
    if (node.op == Op::expand || node.op == Op::reshape) {
      ids[id] = ids[node.operands[0]];
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(ids[operand]);
    const auto added = graph.append(node.op, std::move(operands), node.attributes);
    if (!added) return std::nullopt;
    ids[id] = added.value();
  }
  graph.mark_output(ids[reference_.outputs[k]], "slope");
  return graph;
}

std::optional<Interval> Corners::slope(const std::vector<Array<Interval>>& point, std::size_t k, std::size_t element) {
  const Part& of = part(k);
  if (!of.is_elementwise) return std::nullopt;
  std::vector<double> numbers;
  bool has_constants = false;
  for (NodeId id = 0; id < reference_.nodes.size(); ++id)
    has_constants = has_constants || (of.is_read[id] && reference_.node(id).op == Op::constant && reference_.size(id) > 1);
  for (std::size_t j = 0; j + 1 < reference_.inputs.size(); ++j) {
    const NodeId input = reference_.inputs[j];
    if (!of.is_read[input]) {
      numbers.push_back(0);
      continue;
    }
    const Interval& value = point[j].values[place_in(reference_.node(input).shape, shape(k), element)];
    if (value.is_undefined() || !value.is_point()) return std::nullopt;
    numbers.push_back(value.lo());
  }
  if (has_constants) return judged(numbers, k, element);
  const auto known = known_.find({k, numbers});
  if (known != known_.end()) return known->second;
  return known_.emplace(std::pair(k, numbers), judged(numbers, k, element)).first->second;
}

std::optional<Interval> Corners::judged(const std::vector<double>& numbers, std::size_t k, std::size_t element) {
  const auto graph = single(k, element);
  if (!graph) return std::nullopt;
  std::vector<bool> moves;
  for (std::size_t j = 0; j < numbers.size(); ++j)
    moves.push_back(part(k).is_read[reference_.inputs[j]] && is_float(reference_.node(reference_.inputs[j]).dtype));
  const auto moving = std::ranges::count(moves, true);
  gradients::adjointness::Random random{1};
  std::optional<Interval> hull_of_all;
  bool is_one = true;
  for (std::size_t direction = 0; direction < (moving == 1 ? 2 : kDirections); ++direction) {
    std::vector<Array<Opaque>> inputs;
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      const double side = moving == 1 ? (direction == 0 ? 1.0 : -1.0) : static_cast<double>(2 * random.below(1 << 20) + 1 - (1 << 20));
      inputs.push_back({{}, {Opaque(*Rational::from_double(numbers[j]), moves[j] ? side : 0)}});
    }
    inputs.push_back({{}, {Opaque(Rational(1))}});
    const auto nodes = evaluate<Opaque>(*graph, inputs);
    if (!nodes) return std::nullopt;
    const Interval one = nodes.value()[graph->outputs[0]].values[0].guide();
    if (one.is_undefined()) return std::nullopt;
    is_one = is_one && (!hull_of_all || (hull_of_all->lo() <= one.hi() && one.lo() <= hull_of_all->hi()));
    hull_of_all = hull_of_all ? hull(*hull_of_all, one) : one;
  }
  if (moving != 1 && !is_one) return std::nullopt;
  return hull_of_all;
}

}  // namespace assay::audit
