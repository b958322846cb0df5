// Fused chains: a graph of elementwise ops on one device in one pass over its operands, for regions that are recorded as they ran.
#pragma once

#include "gpu/kernels/elementwise.h"
#include "semantics/graph/graph.h"

namespace assay::gpu {

// Runs the graph, whose inputs are the operands, all its other nodes but the last may be needed on the way, and whose only output is
// the last node. Rejections gpu.op: a node that is no elementwise step of one or two operands, more operands or steps than a kernel holds.
template <class Queue>
Outcome<Done> run_chain(Queue& queue, const Graph& graph, std::span<const Operand> operands, View<float> y) {
  const Node& last = graph.nodes.back();
  auto kernel = chain_over(last.op, operands, y, last.shape);
  if (!kernel) return kernel.rejection();
  ChainKernel& chain = kernel.value();
  std::vector<std::uint8_t> registers(graph.nodes.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) registers[graph.inputs[k]] = static_cast<std::uint8_t>(k);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::input) continue;
    if (node.operands.empty() || node.operands.size() > 2)
      return refused(node.op, "a step of " + std::to_string(node.operands.size()) + " operands");
    if (chain.length == ChainKernel::kMostSteps) return refused(node.op, "more than " + std::to_string(ChainKernel::kMostSteps) + " steps");
    const auto step = instruction_of(node.op, node.attributes, registers[node.operands.front()], registers[node.operands.back()]);
    if (!step) return refused(node.op, "no elementwise step");
    registers[id] = static_cast<std::uint8_t>(operands.size() + chain.length);
    chain.program[chain.length++] = *step;
  }
  if (chain.length == 0 || graph.outputs != std::vector<NodeId>{static_cast<NodeId>(graph.nodes.size() - 1)}) {
    return refused(last.op, "a graph whose last step is not its only output");
  }
  return launch_chain(queue, chain);
}

}  // namespace assay::gpu
