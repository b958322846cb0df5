// Derivatives as graphs: the walk over the nodes. The rules of the ops are in the other files of this folder.

#include "kernel/gradients/derivatives/differentiate.h"

#include <optional>
#include <string>
#include <vector>

#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"

namespace assay::gradients {

namespace derivatives {

namespace {

using Cotangent = std::optional<Value>;

// Adds to `graph` the nodes that turn a cotangent of `target` into cotangents of the nodes `from`; returns their ids.
Outcome<std::vector<NodeId>> reverse(Graph& graph, NodeId target, NodeId target_bar, const std::vector<NodeId>& from) {
  Builder builder(graph);
  std::vector<bool> reached(target + 1, false);  // whether the node depends on one of `from` through float tensors
  for (const NodeId id : from) {
    if (id <= target) reached[id] = true;
  }
  for (NodeId id = 0; id <= target; ++id) {
    for (const NodeId operand : graph.node(id).operands) reached[id] = reached[id] || (reached[operand] && is_float(graph.node(id).dtype));
  }
  std::vector<Cotangent> bars(target + 1);
  if (reached[target]) bars[target] = builder.node(target_bar);
  for (NodeId id = target + 1; id-- > 0;) {
    if (!bars[id] || !reached[id] || op_row(graph.node(id).op).op_class == OpClass::leaf) continue;
    const Cotangents operands = vjp_of(builder.node(id), *bars[id]);
    if (builder.rejection()) return *builder.rejection();
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const NodeId operand = graph.node(id).operands[k];
      if (!operands[k] || !reached[operand]) continue;
      bars[operand] = bars[operand] ? *bars[operand] + *operands[k] : *operands[k];
    }
  }
  std::vector<NodeId> result;
  for (const NodeId id : from) {
    const bool depends = id <= target && bars[id].has_value();
    result.push_back(depends ? bars[id]->id() : builder.zeros(graph.node(id).shape, graph.node(id).dtype).id());
  }
  if (builder.rejection()) return *builder.rejection();
  return result;
}

Outcome<Done> check(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  const auto malformed = [](std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "derivative.arguments", "differentiate", std::move(required), std::move(found), {}};
  };
  if (output >= graph.outputs.size()) return malformed("an output of the graph", std::to_string(output));
  for (const std::size_t input : inputs) {
    if (input >= graph.inputs.size()) return malformed("inputs of the graph", std::to_string(input));
    if (!is_float(graph.node(graph.inputs[input]).dtype)) return malformed("inputs of reals", "'" + graph.input_names[input] + "'");
  }
  if (!is_float(graph.node(graph.outputs[output]).dtype)) return malformed("an output of reals", "'" + graph.output_names[output] + "'");
  return Done{};
}

}  // namespace

Cotangents vjp_of(const Value& y, const Value& y_bar) {
  switch (kind_of(node_of(y).op)) {
    case OpKind::layout:
    case OpKind::place:
      return vjp_of_layout(y, y_bar);
    case OpKind::arithmetic:
    case OpKind::product:
    case OpKind::batch_norm:
    case OpKind::sum:
    case OpKind::running_sum:
    case OpKind::weighted_gather:
      return vjp_of_linear(y, y_bar);
    case OpKind::convolution:
    case OpKind::pool:
      return vjp_of_window(y, y_bar);
    case OpKind::piecewise:
    case OpKind::function:
    case OpKind::power:
    case OpKind::rounding:
    case OpKind::cast:
      return vjp_of_elementwise(y, y_bar);
    case OpKind::min_max:
    case OpKind::extremum:
    case OpKind::where:
    case OpKind::order:
      return vjp_of_selection(y, y_bar);
    case OpKind::softmax:
    case OpKind::masked_softmax:
    case OpKind::activation:
    case OpKind::reduced_product:
    case OpKind::running_product:
    case OpKind::normalise:
    case OpKind::local_response:
      return vjp_of_defined(y, y_bar);
    // Constant except at their jumps.
    case OpKind::step:
    case OpKind::max_weight:
    case OpKind::bitwise:
    case OpKind::comparison:
    case OpKind::logic:
    case OpKind::position:
    case OpKind::ranking:
      return Cotangents(node_of(y).operands.size());
    case OpKind::leaf:
      break;
  }
  demand(false, "vjp_of: a leaf has no operands");
  return {};
}

}  // namespace derivatives

Outcome<Graph> differentiate(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  if (Outcome<Done> fine = gradients::derivatives::check(graph, output, inputs); !fine) return fine.rejection();
  Graph result = graph;
  const NodeId target = graph.outputs[output];
  const NodeId bar = result.append_input(graph.node(target).dtype, graph.node(target).shape, graph.output_names[output] + "_bar");
  std::vector<NodeId> from;
  for (const std::size_t input : inputs) from.push_back(graph.inputs[input]);
  const Outcome<std::vector<NodeId>> bars = gradients::derivatives::reverse(result, target, bar, from);
  if (!bars) return bars.rejection();
  result.outputs.clear();
  result.output_names.clear();
  for (std::size_t k = 0; k < inputs.size(); ++k) result.mark_output(bars.value()[k], graph.input_names[inputs[k]] + "_bar");
  return without_dead_nodes(result);
}

Outcome<Graph> jvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  Outcome<Graph> vjp = differentiate(graph, output, inputs);
  if (!vjp) return vjp;
  Graph result = std::move(vjp).value();
  const NodeId bar = result.inputs.back();
  std::optional<gradients::derivatives::Value> y_dot;
  gradients::derivatives::Builder builder(result);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const NodeId x_bar = result.outputs[k];
    const NodeId x_dot = result.append_input(result.node(x_bar).dtype, result.node(x_bar).shape, graph.input_names[inputs[k]] + "_dot");
    const Outcome<std::vector<NodeId>> part = gradients::derivatives::reverse(result, x_bar, x_dot, {bar});
    if (!part) return part.rejection();
    const gradients::derivatives::Value term = builder.node(part.value()[0]);
    y_dot = y_dot ? *y_dot + term : term;
  }
  const NodeId target = graph.outputs[output];
  if (!y_dot) y_dot = builder.zeros(graph.node(target).shape, graph.node(target).dtype);
  if (builder.rejection()) return *builder.rejection();
  // The Jacobian does not depend on the cotangent itself. A constant replaces it, so that it is no input of the result.
  result.nodes[bar] = result.node(builder.zeros(result.node(bar).shape, result.node(bar).dtype).id());
  const auto position = static_cast<std::ptrdiff_t>(graph.inputs.size());
  result.inputs.erase(result.inputs.begin() + position);
  result.input_names.erase(result.input_names.begin() + position);
  result.outputs.clear();
  result.output_names.clear();
  result.mark_output(y_dot->id(), graph.output_names[output] + "_dot");
  return without_dead_nodes(result);
}

}  // namespace assay::gradients
