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

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace

std::optional<Limited> with_limits(const Graph& graph, const std::vector<Array<Interval>>& point) {
  const auto has_limits = [](const Node& node) { return std::ranges::find(kLimits, node.op, &Limits::op) != kLimits.end(); };
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
