// A graph in the forms that an ONNX file can hold.
#include <algorithm>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "formats/onnx_writer.h"

namespace assay::formats {

namespace {

double narrowed(double value) { return static_cast<double>(static_cast<float>(value)); }

Attributes narrowed_attributes(const Node& node) {
  Attributes attributes = node.attributes;
  if (auto* how = std::get_if<BatchNormAttributes>(&attributes)) how->epsilon = narrowed(how->epsilon);
  if (auto* how = std::get_if<NormaliseAttributes>(&attributes)) how->epsilon = narrowed(how->epsilon);
  if (auto* how = std::get_if<LeakyReluAttributes>(&attributes)) how->slope = narrowed(how->slope);
  if (auto* how = std::get_if<ActivationAttributes>(&attributes)) how->alpha = narrowed(how->alpha);
  if (auto* how = std::get_if<GemmAttributes>(&attributes)) how->alpha = narrowed(how->alpha), how->beta = narrowed(how->beta);
  if (auto* how = std::get_if<ClipAttributes>(&attributes); how != nullptr && node.dtype == DType::float32) {
    how->lo = narrowed(how->lo);
    how->hi = narrowed(how->hi);
  }
  return attributes;
}

NodeId number_node(Graph& graph, double value, DType dtype) {
  const auto narrow = static_cast<float>(value);
  return graph.append_constant(dtype == DType::float32 ? Tensor::of_floats({}, std::span(&narrow, 1))
                                                       : Tensor::of_doubles({}, std::span(&value, 1)));
}

}  // namespace

Outcome<Graph> as_onnx_says(const Graph& graph) {
  Graph result;
  std::vector<NodeId> ids(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) {
      const auto place = static_cast<std::size_t>(std::ranges::find(graph.inputs, id) - graph.inputs.begin());
      ids[id] = result.append_input(node.dtype, node.shape, graph.input_names[place]);
      continue;
    }
    if (node.op == Op::constant) {
      ids[id] = result.append_constant(node.value, node.name);
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(ids[operand]);
    const auto append = [&]() -> Outcome<NodeId> {
      if (node.op == Op::scale)
        return result.append(Op::mul, {operands[0], number_node(result, std::get<ScaleAttributes>(node.attributes).factor, node.dtype)});
      if (node.op == Op::silu && std::get<ActivationAttributes>(node.attributes).alpha == 1) {
        const auto gate = result.append(Op::sigmoid, {operands[0]});
        return gate ? result.append(Op::mul, {operands[0], gate.value()}) : gate;
      }
      return result.append(node.op, operands, narrowed_attributes(node), node.name);
    };
    const Outcome<NodeId> made = append();
    if (!made) return made.rejection();
    ids[id] = made.value();
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) result.mark_output(ids[graph.outputs[k]], graph.output_names[k]);
  return result;
}

}  // namespace assay::formats
