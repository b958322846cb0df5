// Fused chains: a graph of elementwise ops on one device in one pass over its operands, for regions that are recorded as they ran, for
// compiled functions, and for the steps of optimisers.
#pragma once

#include "gpu/kernels/elementwise.h"
#include "semantics/graph/graph.h"

namespace assay::gpu {

// The program of a graph: a register for each operand, then one for each other node in order.
[[nodiscard]] Outcome<Done> write_program(const Graph& graph, ChainKernel& chain);

// Runs the graph, whose inputs are the operands and whose outputs are `results`, all of one shape. Rejections gpu.op: a node that is no
// elementwise step of one or two operands and no single number, another shape, more operands, steps or results than a kernel holds.
template <class Queue>
Outcome<Done> run_chain(Queue& queue, const Graph& graph, std::span<const Operand> operands, std::span<const View<float>> results) {
  if (graph.outputs.empty() || graph.outputs.size() != results.size()) return refused(Op::input, "another number of results");
  const Node& first = graph.node(graph.outputs[0]);
  auto kernel = chain_over(first.op, operands, first.shape);
  if (!kernel) return kernel.rejection();
  ChainKernel& chain = kernel.value();
  if (auto done = write_program(graph, chain); !done) return done;
  for (std::size_t k = 0; k < results.size(); ++k) chain.results[k] = results[k];
  return launch_chain(queue, chain);
}

}  // namespace assay::gpu
