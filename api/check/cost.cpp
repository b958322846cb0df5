#include "api/check/cost.h"

#include <algorithm>
#include <cstdio>

#include "certificates/check/meter.h"
#include "kernel/inspect/inspect.h"

namespace assay::check {
namespace {

// Measured on the ops of the catalogue: boxes, maps and relaxations of an element, and values and maps of a weight.
constexpr double kBytesPerElement = 128, kBytesPerWeight = 64, kBytesPerEntry = 32;
constexpr double kBytesPerValue = 8;    // of a run, of float64 at most
constexpr double kBytesPerInput = 640;  // exact bounds in the property's and the group's boxes

// One pass: the networks of the development set take at most five multiply-adds for each byte of their files.
constexpr double kPass = 1e8, kPassPerByte = 1000;
// Steps of a certificate: those of the development set's take a tenth of this, or less.
constexpr double kWork = 1e8, kSweeps = 10, kRowPerByte = 10, kMostWork = 1e12;
constexpr double kRowsPerByte = 500, kSweepsPerByte = 0.5, kLeastRowsPerByte = 20, kWorkPerBytes = 200;  // for a byte of the certificate

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

MemoryRule memory_rule(const Limits& limits) { return limits.memory ? MemoryRule::exactly(*limits.memory) : MemoryRule{}; }

double work_of(const Graph& graph) {
  double work = 0;
  for (const Node& node : graph.nodes) work += node_work(graph, node);
  return work;
}

double elements_of(const Graph& graph) {
  double elements = 0;
  for (const Node& node : graph.nodes) elements += extent(node.shape);
  return elements;
}

Outcome<std::uint64_t> check_size(const Graph& graph, const Limits& limits, std::uint64_t stored) {
  const auto most_bytes = static_cast<double>(memory_rule(limits).of(stored));
  const double most_work = limits.work.value_or(kPass + kPassPerByte * static_cast<double>(stored));
  double bytes = 0, work = 0;
  for (const Node& node : graph.nodes) {
    const double size = extent(node.shape), entries = node_work(graph, node);
    bytes += node.op == Op::constant ? kBytesPerWeight * size
             : node.op == Op::input  ? (kBytesPerElement + kBytesPerInput) * size
                                     : kBytesPerElement * size + (is_sparse(graph, node) ? kBytesPerEntry * entries : 0);
    work += entries;
    if (!(bytes <= most_bytes)) return too_large("statement.memory", node, "bytes", most_bytes, bytes, "--memory");
    if (!(work <= most_work)) return too_large("statement.work", node, "multiply-adds", most_work, work, "--budget");
  }
  return static_cast<std::uint64_t>(bytes);
}

Outcome<std::uint64_t> check_run_size(const Graph& graph, const Limits& limits, double kept) {
  const auto most = static_cast<double>(memory_rule(limits).most);
  double bytes = 0;
  for (const Node& node : graph.nodes) {
    bytes += kept * kBytesPerValue * extent(node.shape);
    if (!(bytes <= most)) return too_large("statement.memory", node, "bytes", most, bytes, "--memory");
  }
  return static_cast<std::uint64_t>(bytes);
}

certificate::ReplayLimits replay_limits(const Loaded& loaded, const Limits& limits, std::uint64_t certificate_bytes) {
  certificate::ReplayLimits result;
  const std::uint64_t memory = memory_rule(limits).of(loaded.stored + certificate_bytes);
  result.memory = memory - std::min(memory, loaded.bytes);
  result.threads = limits.threads;
  if (limits.work) {
    result.work = result.most_work = *limits.work;
    return result;
  }
  const logic::Problem& problem = *loaded.problem;
  const certificate::Costs costs(problem);
  double sweep = 0;
  for (const NodeId node : inspect::pre_activations(problem))
    sweep += 2 * static_cast<double>(problem.graph().size(node)) * costs.row_work(node);
  const auto files = static_cast<double>(loaded.stored);
  const double row = std::min(costs.whole_row(), kRowPerByte * files);
  result.work = std::min(kMostWork, kWork + std::min(kSweeps * sweep, files * row));
  result.work_per_byte = std::min({kRowsPerByte * row, kSweepsPerByte * sweep + kLeastRowsPerByte * row, kWorkPerBytes * files});
  result.most_work = kMostWork;
  return result;
}

}  // namespace assay::check
