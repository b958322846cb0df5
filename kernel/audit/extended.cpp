// Values at a recorded point that may hold infinities.

#include "kernel/audit/extended.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernel/contracts/contract.h"
#include "semantics/graph/family.h"
#include "semantics/ops/indexing.h"

namespace assay::audit {

namespace {

using Values = Array<Interval>;

bool has_infinities(const Values& values) { return std::ranges::any_of(values.values, is_infinite); }

bool excludes_zero(const Values& values) {
  return std::ranges::all_of(values.values, [](const Interval& x) { return x.lo() > 0 || x.hi() < 0; });
}

// Whether intervals give the op's value where elements are infinite.
bool takes_infinities(const Node& node, std::span<const Values* const> operands) {
  switch (kind_of(node.op)) {
    case OpKind::layout:
    case OpKind::extremum:
    case OpKind::position:
    case OpKind::min_max:
    case OpKind::comparison:
    case OpKind::where:
    case OpKind::softmax:
    case OpKind::masked_softmax:
      return true;
    case OpKind::arithmetic:
      if (node.op == Op::mul) return excludes_zero(*operands[0]) && excludes_zero(*operands[1]);
      if (node.op == Op::div) return excludes_zero(*operands[1]);
      return node.op == Op::add || node.op == Op::sub || node.op == Op::neg;
    default:
      return node.op == Op::exp || node.op == Op::sigmoid || node.op == Op::tanh || node.op == Op::reduce_sum ||
             (node.op == Op::cast && is_float(node.dtype));
  }
}

// is_nan and is_inf.
Values special(const Node& node, const Values& x) {
  Values y{node.shape, {}};
  for (const Interval& one : x.values) {
    bool holds = false;
    if (node.op == Op::is_inf && is_infinite(one)) {
      const auto& [positive, negative] = std::get<IsInfAttributes>(node.attributes);
      holds = one.lo() > 0 ? positive : negative;
    }
    y.values.push_back(one.is_undefined() ? one : Interval(holds ? 1.0 : 0.0));
  }
  return y;
}

// A softmax, masked or not, of the elements that are not -infinity.
Outcome<Values> softmax_of(const Node& node, std::span<const Values* const> operands) {
  Values mask{node.shape, {}};
  ops::Walk at = operands.size() > 1 ? ops::Walk::over(operands[1]->shape, node.shape) : ops::Walk::over({}, node.shape);
  for (std::size_t i = 0; i < operands[0]->values.size(); ++i, at.next()) {
    const bool is_below = is_infinite(operands[0]->values[i]) && operands[0]->values[i].lo() < 0;
    const Interval open = operands.size() > 1 ? operands[1]->values[at.offset()] : Interval(1.0);
    mask.values.push_back(is_below && !open.is_undefined() ? Interval() : open);
  }
  Node masked = node;
  masked.op = Op::masked_softmax;
  if (node.op == Op::softmax) masked.attributes = MaskedSoftmaxAttributes{std::get<SoftmaxAttributes>(node.attributes).axis, false};
  masked.operands.resize(2);
  const Values x = without_infinities(*operands[0]);
  return denote<Interval>(masked, std::vector{&x, static_cast<const Values*>(&mask)});
}

}  // namespace

Values without_infinities(Values values) {
  for (Interval& one : values.values) one = is_infinite(one) ? Interval::undefined() : one;
  return values;
}

Values enclosed(const Tensor& tensor) {
  Values array{tensor.shape(), {}};
  array.values.reserve(tensor.size());
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const double value = contracts::recorded_value(tensor, i).value_or(std::numeric_limits<double>::quiet_NaN());
    array.values.push_back(std::isfinite(value) ? Interval(value) : Interval::undefined());
  }
  return array;
}

Values at_point(const Tensor& tensor) {
  Values values = enclosed(tensor);
  for (std::size_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
    if (std::isinf(tensor.as_double(i))) values.values[i] = Interval(tensor.as_double(i));
  }
  return values;
}

void make_infinities_inputs(Graph& graph, std::vector<Tensor>& operands) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    if (node.op != Op::constant || !is_float(node.dtype) || std::ranges::none_of(at_point(node.value).values, is_infinite)) continue;
    operands.push_back(node.value);
    node = {Op::input, {}, {}, node.dtype, node.shape, {}, ""};
    graph.inputs.push_back(id);
    graph.input_names.emplace_back();
  }
}

Outcome<Values> denote_at(const Node& node, std::span<const Values* const> operands) {
  if (std::ranges::none_of(operands, [](const Values* one) { return has_infinities(*one); })) return denote<Interval>(node, operands);
  if (node.op == Op::is_nan || node.op == Op::is_inf) return special(node, *operands[0]);
  if (node.op == Op::softmax || node.op == Op::masked_softmax) return softmax_of(node, operands);
  if (takes_infinities(node, operands)) return denote<Interval>(node, operands);
  std::vector<Values> finite;
  for (const Values* one : operands) finite.push_back(without_infinities(*one));
  return denote<Interval>(node, pointers_to(finite));
}

}  // namespace assay::audit
