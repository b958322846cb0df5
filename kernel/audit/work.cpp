#include "kernel/audit/work.h"

#include <algorithm>
#include <variant>

namespace assay::audit {

namespace {

// Counted in double, since shapes may have any size.
double extent(const Shape& shape) {
  double result = 1;
  for (const std::int64_t each : shape) result *= static_cast<double>(each);
  return result;
}

bool goes_along_an_axis(const Node& node) {
  const OpClass op_class = op_row(node.op).op_class;
  const bool is_plain = std::holds_alternative<NoAttributes>(node.attributes) ||
                        std::holds_alternative<ActivationAttributes>(node.attributes) ||
                        std::holds_alternative<GeluAttributes>(node.attributes);
  const bool sorts = node.op == Op::sort || node.op == Op::arg_sort || node.op == Op::take;
  return node.op == Op::cumsum || sorts || (op_class == OpClass::defined && !is_plain);
}

double work_of(const Graph& graph, const Node& node) {
  double size = extent(node.shape);
  if (node.operands.empty()) return size;
  const Shape& first = graph.node(node.operands[0]).shape;
  const double longest = first.empty() ? 1 : static_cast<double>(*std::max_element(first.begin(), first.end()));
  if (node.op == Op::matmul) return size * (first.empty() ? 1 : static_cast<double>(first.back()));
  if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes)) return size * static_cast<double>(first[gemm->transpose_a ? 0 : 1]);
  if (node.op == Op::conv || node.op == Op::conv_transpose) {
    const Shape& weight = graph.node(node.operands[1]).shape;  // [M, C / groups, K...] or [C, M / groups, K...]
    return (node.op == Op::conv ? size : extent(first)) * extent(weight) / std::max(1.0, static_cast<double>(weight[0]));
  }
  if (const auto* window = std::get_if<WindowAttributes>(&node.attributes)) return size * extent(window->kernel);
  if (const auto* sums = std::get_if<WeightedGatherAttributes>(&node.attributes))
    size += static_cast<double>(sums->weights.size()) * extent(first);
  for (const NodeId operand : node.operands) size += extent(graph.node(operand).shape);
  return goes_along_an_axis(node) ? size * longest : size;
}

}  // namespace

double work_of(const Graph& graph) {
  double work = 0;
  for (const Node& node : graph.nodes) work += work_of(graph, node);
  return work;
}

double work_of_region(const Graph& graph) {
  constexpr double kPasses = 16;
  const Op op = graph.nodes.empty() ? Op::input : graph.nodes.back().op;
  const bool goes_on = op == Op::softmax || op == Op::log_softmax || op == Op::log_sum_exp || op == Op::cumsum;
  return goes_on && graph.nodes.size() == graph.inputs.size() + 1 ? kPasses * elements_of(graph) : work_of(graph);
}

double elements_of(const Graph& graph) {
  double elements = 0;
  for (const Node& node : graph.nodes) elements += node.op == Op::input ? 0 : extent(node.shape);
  return elements;
}

}  // namespace assay::audit
