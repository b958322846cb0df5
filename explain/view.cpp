#include "explain/view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "explain/terms.h"
#include "explain/text.h"
#include "kernel/contracts/factors.h"

namespace assay::explain {

double View::allowance() const {
  if (!set().has_finite() || set().lo == set().hi || exact().is_undefined()) return 0;
  return std::fmax(set().hi - exact().hi(), exact().lo() - set().lo);
}

std::string View::place(NodeId id, std::size_t i) const {
  const auto& inputs = part.graph.inputs;
  const Shape index = part.index_of_node(id, i);
  if (!part.named.empty()) id = part.named[id].node;
  const auto k = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
  const std::string name = k < inputs.size() ? part.graph.input_names[k] : std::string(op_row(part.graph.node(id).op).name);
  return k < inputs.size() || !index.empty() ? name + to_string(index) : name;
}

std::string View::number(double value) const { return decimal(value, format()); }

bool View::rounds_factors(const Node& node) const {
  return part.model.input_rounding != ExecutionModel::InputRounding::none && has_factors(node.op);
}

Array<double> View::operand(const Node& node, std::size_t k) const {
  Array<double> x = values[node.operands[k]];
  if (k > 1 || !rounds_factors(node)) return x;
  for (double& value : x.values) {
    if (!std::isfinite(value)) continue;
    const contracts::FloatSet read = contracts::as_factor(part.model, contracts::point(contracts::Format::real, value));
    value = read.lo / 2 + read.hi / 2;  // of two roundings that are in use, between them
  }
  return x;
}

namespace {

// Computes node by node, each on operands as it reads them. Nothing where one is not defined.
void evaluate_nodes(View& view, std::vector<Array<double>> inputs) {
  const Graph& graph = view.part.graph;
  view.values.resize(graph.nodes.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) view.values[graph.inputs[k]] = std::move(inputs[k]);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<Array<double>> operands;
    for (std::size_t k = 0; k < node.operands.size(); ++k) operands.push_back(view.operand(node, k));
    auto value = node.op == Op::constant ? Outcome<Array<double>>(lift<double>(node.value)) : denote<double>(node, pointers_to(operands));
    if (!value) return view.values.clear();
    view.values[id] = std::move(value).value();
  }
}

}  // namespace

Outcome<View> view_of(const Trace& trace, std::size_t region, std::size_t result, std::size_t element) {
  View view;
  view.part = part_of(trace, region, result, element);
  const Part& part = view.part;
  std::vector<contracts::Recording> recordings;
  std::vector<contracts::Storage> stored;
  for (std::size_t i = 0; i < part.results.size(); ++i) {
    stored.push_back(trace.tensors[part.tensors[i]].storage);
    if (part.results.size() > 1) recordings.push_back({part.graph.outputs[i], part.results[i], stored.back()});
  }
  auto sets = contracts::admissible(part.graph, part.model, part.operands, recordings, stored);
  if (!sets) return sets.rejection();
  contracts::refine(sets.value(), part.graph, part.model, part.operands, recordings, part.results);
  view.sets = std::move(sets.value()[part.result]);
  view.received = contracts::recorded_value(part.results[part.result], part.element).value_or(std::numeric_limits<double>::quiet_NaN());
  std::vector<Array<double>> operands;
  for (const Tensor& operand : part.operands) {
    if (operand.dtype() == DType::complex64) return view;
    operands.push_back({operand.shape(), {}});
    for (std::size_t i = 0; i < operand.size(); ++i)
      operands.back().values.push_back(contracts::recorded_value(operand, i).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  evaluate_nodes(view, std::move(operands));
  return view;
}

}  // namespace assay::explain
