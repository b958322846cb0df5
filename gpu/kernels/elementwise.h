// Chains of elementwise ops on floats in one pass: each element goes through all steps before it is written.
//
// Meaning.   The steps of gpu/kernels/formulas.h, operands repeated over the result as broadcasting says. A program is a list of steps over
//            registers: the first hold the operands, each step writes the next one; some of them are results.
// Layout.    One thread per element, in a loop over the grid; reads of neighbours lie side by side where an operand is not repeated.
// Order.     None: elements do not meet. Bit-reproducible on one device; functions differ between devices and C libraries.
// Error.     Each step its own contract.
// NaN, inf.  As the steps; min and max with a NaN are NaN.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/formulas.h"

namespace assay::gpu {

struct ChainKernel {
  static constexpr const char* kName = "chain";
  static constexpr unsigned kThreads = 128;
  static constexpr std::size_t kMostOperands = 6, kMostSteps = 26, kMostResults = 3, kMostRegisters = kMostOperands + kMostSteps;

  View<const float> operands[kMostOperands];
  Strided at[kMostOperands];
  View<float> results[kMostResults];
  std::size_t operand_count = 0, length = 0, result_count = 0;
  Instruction program[kMostSteps];
  std::uint8_t kept[kMostResults] = {};  // registers

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    float registers[kMostRegisters];
    for (const std::size_t i : grid_of(t, results[0].size)) {
      for (std::size_t k = 0; k < operand_count; ++k) registers[k] = operands[k][at[k].offset(i)];
      for (std::size_t s = 0; s < length; ++s)
        registers[operand_count + s] = stepped(program[s], registers[program[s].left], registers[program[s].right]);
      for (std::size_t k = 0; k < result_count; ++k) results[k][i] = registers[kept[k]];
    }
  }
};

// The kernel of a program over operands that are repeated over the results; its steps and results are filled in by the caller.
inline Outcome<ChainKernel> chain_over(Op op, std::span<const Operand> operands, const Shape& shape) {
  ChainKernel kernel{};
  if (operands.size() > ChainKernel::kMostOperands) return refused(op, std::to_string(operands.size()) + " operands");
  kernel.operand_count = operands.size();
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto at = strided(shape, repeating_strides(*operands[k].shape, shape));
    if (!at) return refused(op, "too many axes to repeat over");
    kernel.operands[k] = operands[k].data;
    kernel.at[k] = *at;
  }
  return kernel;
}

template <class Queue>
Outcome<Done> launch_chain(Queue& queue, const ChainKernel& kernel) {
  const std::size_t size = kernel.results[0].size;
  if (size == 0) return Done{};
  return queue.launch({ChainKernel::kName, blocks_for(size, ChainKernel::kThreads), ChainKernel::kThreads, 0}, kernel);
}

// The op over these operands as one program; of many operands each is combined with what there is.
template <class Queue>
Outcome<Done> run_chain_of(Queue& queue, const Call& call, std::span<const Operand> operands) {
  auto kernel = chain_over(call.op, operands, call.shape);
  if (!kernel) return kernel.rejection();
  ChainKernel& chain = kernel.value();
  const std::size_t count = operands.size();
  for (std::size_t k = 1; k < count || chain.length == 0; ++k) {
    const auto left = static_cast<std::uint8_t>(chain.length == 0 ? 0 : count + chain.length - 1);
    const auto next = instruction_of(call.op, call.attributes, left, static_cast<std::uint8_t>(k < count ? k : 0));
    if (!next) return refused(call.op, "no kernel");
    chain.program[chain.length++] = *next;
  }
  chain.results[0] = call.result;
  chain.kept[0] = static_cast<std::uint8_t>(count + chain.length - 1);
  chain.result_count = 1;
  return launch_chain(queue, chain);
}

// One op: a program of one step. min and max of many operands: the result so far is the first operand of the next launch.
template <class Queue>
Outcome<Done> run_elementwise(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  std::size_t next = std::min(call.operands.size(), ChainKernel::kMostOperands);
  if (auto done = run_chain_of(queue, call, call.operands.first(next)); !done) return done;
  while (next < call.operands.size()) {
    const std::size_t end = std::min(call.operands.size(), next + ChainKernel::kMostOperands - 1);
    std::vector<Operand> operands = {{{call.result.data, call.result.size, call.result.dtype}, &call.shape}};
    operands.insert(operands.end(), call.operands.begin() + static_cast<std::ptrdiff_t>(next),
                    call.operands.begin() + static_cast<std::ptrdiff_t>(end));
    if (auto done = run_chain_of(queue, call, operands); !done) return done;
    next = end;
  }
  return Done{};
}

}  // namespace assay::gpu
