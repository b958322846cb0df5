// Graphs that are analytic, so that random points decide them everywhere.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernel/audit/point.h"
#include "semantics/graph/family.h"

namespace assay::audit {

namespace {

using Intervals = std::vector<Array<Interval>>;

// Whether the op is analytic on all of the reals, in each real operand that is not a constant.
bool is_analytic(const Node& node, bool divides_by_constant) {
  switch (node.op) {
    case Op::div:
      return divides_by_constant;  // a quotient by 0 is defined nowhere, so not at random points either
    case Op::pow: {
      const Rational& r = std::get<PowAttributes>(node.attributes).exponent;
      return r.to_int64() && r.sign() >= 0;
    }
    default:
      return is_entire(node.op);
  }
}

// Whether the operands stay away from the op's singularities, by bounds.
bool is_away(const Node& node, const std::vector<Array<Interval>>& values) {
  const auto all = [&](std::size_t operand, const auto& is_fine) {
    return std::ranges::all_of(values[node.operands[operand]].values, [&](const Interval& x) { return !x.is_undefined() && is_fine(x); });
  };
  const auto is_positive = [](const Interval& x) { return x.lo() > 0; };
  const auto is_not_zero = [](const Interval& x) { return x.lo() > 0 || x.hi() < 0; };
  switch (node.op) {
    case Op::sqrt:
    case Op::log:
      return all(0, is_positive);
    case Op::reciprocal:
      return all(0, is_not_zero);
    case Op::div:
      return all(1, is_not_zero);
    case Op::pow: {
      const auto n = std::get<PowAttributes>(node.attributes).exponent.to_int64();
      return n ? all(0, is_not_zero) : all(0, is_positive);
    }
    default:
      return false;
  }
}

}  // namespace

bool is_analytic(const Graph& graph) {
  std::vector<bool> varies(graph.nodes.size(), false);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    varies[id] = node.op == Op::input || std::ranges::any_of(node.operands, [&](NodeId operand) { return varies[operand]; });
    if (varies[id] && !is_analytic(node, node.op == Op::div && !varies[node.operands[1]])) return false;
  }
  return true;
}

bool is_analytic_within(Graph graph, std::span<const Interval> box) {
  for (Node& node : graph.nodes) {  // since a square is not negative
    if (node.op != Op::mul || node.operands[0] != node.operands[1]) continue;
    node.op = Op::pow;
    node.operands.pop_back();
    node.attributes = PowAttributes{Rational(2)};
  }
  Intervals inputs;
  for (std::size_t i = 0; i < box.size(); ++i)
    inputs.push_back({graph.node(graph.inputs[i]).shape, std::vector(graph.size(graph.inputs[i]), box[i])});
  const auto values = nodes_of<Interval>(graph, std::move(inputs));
  return values && std::ranges::all_of(graph.nodes, [&](const Node& node) {
           const auto is_bounded = [](const Interval& x) { return !x.is_undefined(); };
           const bool varies = node.op != Op::input && node.op != Op::constant;
           return !varies || (std::ranges::all_of((*values)[static_cast<std::size_t>(&node - graph.nodes.data())].values, is_bounded) &&
                              (is_analytic(node, false) || is_away(node, *values)));
         });
}

}  // namespace assay::audit
