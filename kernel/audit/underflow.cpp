// Underflow: finds elements at which a function is as good as its limit, and writes the limit there.

#include "kernel/audit/underflow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "kernel/audit/point.h"

namespace assay::audit {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

// exp of less is below half of the least positive number of the type.
constexpr double far(DType dtype) { return dtype == DType::float32 ? 105 : 750; }

struct Limits {
  Op op;
  double below, above;  // approached by exp(-|x|) or faster, up to a factor of 2; NaN: there is none
};
constexpr std::array<Limits, 5> kLimits = {
    {{Op::exp, 0, kNone}, {Op::softplus, 0, kNone}, {Op::sigmoid, 0, 1}, {Op::tanh, -1, 1}, {Op::erf, -1, 1}}};

Tensor number(double value, DType dtype) {
  const auto narrow = static_cast<float>(value);
  return dtype == DType::float32 ? Tensor::of_floats({}, std::span(&narrow, 1)) : Tensor::of_doubles({}, std::span(&value, 1));
}

// Writes `limit` in place of the elements of a node whose operand is far on that side; returns the node to read.
NodeId with_limit(Graph& graph, NodeId id, double limit, const std::vector<Interval>& x, bool is_below) {
  const double from = far(graph.node(id).dtype);
  auto mask = std::make_shared<std::vector<std::byte>>();
  for (const Interval& one : x) mask->push_back(std::byte{!one.is_undefined() && (is_below ? one.hi() < -from : one.lo() > from)});
  if (std::isnan(limit) || std::ranges::all_of(*mask, [](std::byte one) { return one == std::byte{0}; })) return id;
  const Node like = graph.node(id);
  const NodeId condition = graph.append_constant(Tensor(DType::boolean, like.shape, mask));
  const NodeId value = graph.append_constant(number(limit, like.dtype));
  const auto chosen = graph.append(Op::where, {condition, value, id});
  return chosen ? chosen.value() : id;
}

bool is_sum_of_exponentials(Op op) { return op == Op::log_sum_exp || op == Op::softmax; }

// How far the elements of such an op's operand lie from the greatest of their line; nothing if that is not known.
std::vector<Interval> below_greatest(const Node& of, const Array<Interval>& x) {
  Graph graph;
  const NodeId operand = graph.append_input(of.dtype, x.shape, "x");
  const auto* along = std::get_if<SoftmaxAttributes>(&of.attributes);
  const auto axes = along != nullptr ? std::vector{along->axis} : std::get<ReduceAttributes>(of.attributes).axes;
  const auto greatest = graph.append(Op::reduce_max, {operand}, ReduceAttributes{axes, true});
  const auto distance = greatest ? graph.append(Op::sub, {operand, greatest.value()}) : greatest;
  const auto values = distance ? evaluate<Interval>(graph, std::vector{x}) : distance.rejection();
  return values ? values.value()[distance.value()].values : std::vector<Interval>();
}

}  // namespace

std::optional<Limited> with_limits(const Graph& graph, const std::vector<Array<Interval>>& point) {
  const auto has_limits = [](const Node& node) {
    return is_sum_of_exponentials(node.op) || std::ranges::find(kLimits, node.op, &Limits::op) != kLimits.end();
  };
  if (std::ranges::none_of(graph.nodes, has_limits)) return std::nullopt;
  const auto values = values_at(graph, point);
  if (!values) return std::nullopt;
  Limited made;
  made.graph.input_names = graph.input_names;
  made.graph.output_names = graph.output_names;
  bool is_any = false;
  for (const Node& of : graph.nodes) {
    Node node = of;
    for (NodeId& operand : node.operands) operand = made.at[operand];
    if (is_sum_of_exponentials(of.op)) {
      const NodeId operand = node.operands[0];
      const auto distances = below_greatest(of, (*values)[of.operands[0]]);
      if (!distances.empty()) node.operands[0] = with_limit(made.graph, operand, -kInfinity, distances, true);
      is_any = is_any || node.operands[0] != operand;
    }
    const auto first = static_cast<NodeId>(made.graph.nodes.size());
    made.graph.nodes.push_back(std::move(node));
    NodeId id = first;
    const auto limits = std::ranges::find(kLimits, of.op, &Limits::op);
    if (limits != kLimits.end()) {
      const std::vector<Interval>& x = (*values)[of.operands[0]].values;
      id = with_limit(made.graph, id, limits->below, x, true);
      id = with_limit(made.graph, id, limits->above, x, false);
    }
    is_any = is_any || id != first;
    made.at.push_back(id);
  }
  if (!is_any) return std::nullopt;
  for (const NodeId id : graph.inputs) made.graph.inputs.push_back(made.at[id]);
  for (const NodeId id : graph.outputs) made.graph.outputs.push_back(made.at[id]);
  return made;
}

}  // namespace assay::audit
