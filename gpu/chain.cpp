// Which program a graph is. Independent of any kernel, so it is compiled once.
#include "gpu/chain.h"

#include <string>

namespace assay::gpu {

namespace {

std::optional<Instruction> number_step(const Node& node) {
  if (node.op != Op::constant || node.dtype != DType::float32 || element_count(node.shape) != 1) return std::nullopt;
  Instruction i{};
  i.op = Op::constant;
  i.number = static_cast<float>(node.value.to_doubles()[0]);
  return i;
}

}  // namespace

Outcome<Done> write_program(const Graph& graph, ChainKernel& chain) {
  std::vector<std::uint8_t> registers(graph.nodes.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) registers[graph.inputs[k]] = static_cast<std::uint8_t>(k);
  const Shape& shape = graph.node(graph.outputs[0]).shape;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    if (node.op == Op::expand) {  // operands are repeated as they are read
      registers[id] = registers[node.operands[0]];
      continue;
    }
    if (node.op != Op::constant && (node.operands.empty() || node.operands.size() > 2))
      return refused(node.op, "a step of " + std::to_string(node.operands.size()) + " operands");
    if (node.dtype != DType::float32) return refused(node.op, node.dtype);
    if (chain.length == ChainKernel::kMostSteps) return refused(node.op, "more than " + std::to_string(ChainKernel::kMostSteps) + " steps");
    const auto step = node.op == Op::constant
                          ? number_step(node)
                          : instruction_of(node.op, node.attributes, registers[node.operands.front()], registers[node.operands.back()]);
    if (!step) return refused(node.op, "no elementwise step");
    registers[id] = static_cast<std::uint8_t>(chain.operand_count + chain.length);
    chain.program[chain.length++] = *step;
  }
  if (graph.outputs.size() > ChainKernel::kMostResults) return refused(Op::input, std::to_string(graph.outputs.size()) + " results");
  for (const NodeId output : graph.outputs) {
    if (graph.node(output).shape != shape) return refused(graph.node(output).op, "results of several shapes");
    chain.kept[chain.result_count++] = registers[output];
  }
  return Done{};
}

}  // namespace assay::gpu
