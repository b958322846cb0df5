#include "cli/cost.h"

#include <algorithm>
#include <cstdio>

namespace assay::cli {
namespace {

// Measured on the ops of the catalogue: boxes, maps and relaxations of an element, and values and maps of a weight.
constexpr double kBytesPerElement = 128, kBytesPerWeight = 64, kBytesPerEntry = 32;

double extent(const Shape& shape) {
  double result = 1;
  for (const std::int64_t each : shape) result *= static_cast<double>(each);
  return result;
}

// The op becomes a sparse matrix with one entry per term (affine_form.cpp).
bool is_sparse(const Graph& graph, const Node& node) {
  const bool structured =
      node.op == Op::gemm || node.op == Op::conv || node.op == Op::conv_transpose ||
      (node.op == Op::matmul && std::min(graph.node(node.operands[0]).shape.size(), graph.node(node.operands[1]).shape.size()) <= 2);
  const OpClass op_class = op_row(node.op).op_class;
  return !structured && (op_class == OpClass::linear || op_class == OpClass::layout || op_class == OpClass::bilinear);
}

std::string decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

Rejection too_large(const char* code, const Node& node, const std::string& unit, double most, double found, const char* option) {
  return {Rejection::Kind::declined,
          code,
          "node '" + node.name + "' " + std::string(op_row(node.op).name) + to_string(node.shape),
          "at most " + decimal(most) + " " + unit + " for the whole network",
          "about " + decimal(found) + " up to this node",
          std::string("use a smaller network, or allow more with ") + option};
}

// Multiply-adds of one pass through the node, roughly: terms of its sums and products, or pairs of elements that it compares.
double node_work(const Graph& graph, const Node& node) {
  double size = extent(node.shape);
  if (node.operands.empty()) return size;
  const Node& first = graph.node(node.operands[0]);
  const double longest = first.shape.empty() ? 1 : static_cast<double>(*std::max_element(first.shape.begin(), first.shape.end()));
  const OpClass op_class = op_row(node.op).op_class;
  if (node.op == Op::matmul) return size * static_cast<double>(first.shape.back());
  if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes))
    return size * static_cast<double>(first.shape[gemm->transpose_a ? 0 : 1]);
  if (node.op == Op::conv || node.op == Op::conv_transpose) {
    const Shape& weight = graph.node(node.operands[1]).shape;  // [M, C / groups, kernel...] or [C, M / groups, kernel...]
    return (node.op == Op::conv ? size : extent(first.shape)) * extent(weight) / std::max(1.0, static_cast<double>(weight[0]));
  }
  if (const auto* window = std::get_if<WindowAttributes>(&node.attributes)) return size * extent(window->kernel);
  if (const auto* sums = std::get_if<WeightedGatherAttributes>(&node.attributes))
    return size + static_cast<double>(sums->weights.size()) * extent(first.shape) /
                      std::max(1.0, static_cast<double>(first.shape[static_cast<std::size_t>(sums->axis)]));
  for (const NodeId operand : node.operands) size += extent(graph.node(operand).shape);
  const bool along_axis =
      node.op == Op::cumsum || op_class == OpClass::selection ||
      (op_class == OpClass::defined && !std::holds_alternative<NoAttributes>(node.attributes) &&
       !std::holds_alternative<ActivationAttributes>(node.attributes) && !std::holds_alternative<GeluAttributes>(node.attributes));
  return along_axis ? size * longest : size;
}

}  // namespace

Outcome<Done> check_size(const Graph& graph, const Limits& limits) {
  double bytes = 0, work = 0;
  for (const Node& node : graph.nodes) {
    const double size = extent(node.shape), entries = node_work(graph, node);
    bytes += node.op == Op::constant ? kBytesPerWeight * size
                                     : kBytesPerElement * size + (is_sparse(graph, node) ? kBytesPerEntry * entries : 0);
    work += entries;
    if (!(bytes <= static_cast<double>(limits.memory)))
      return too_large("statement.memory", node, "bytes", static_cast<double>(limits.memory), bytes, "--memory");
    if (!(work <= limits.work)) return too_large("statement.work", node, "multiply-adds", limits.work, work, "--budget");
  }
  return Done{};
}

}  // namespace assay::cli
