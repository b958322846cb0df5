// Chains of elementwise ops in one pass: each element goes through all steps before it is written.
//
// Meaning.   The ops of docs/ops by these names, operands repeated over the result as broadcasting says. A program is a list of steps over
//            registers: the first hold the operands, each step writes the next one, the last one is the result.
// Layout.    One thread per element, in a loop over the grid; reads of neighbours lie side by side where an operand is not repeated.
// Order.     None: elements do not meet. Bit-reproducible on one device; functions differ between devices and C libraries.
// Error.     Each step its own contract: add, sub, mul, div, sqrt, reciprocal correctly rounded (a product that is added may fuse); exp,
//            log, sin, cos, acos, tanh, erf as the math table says; sigmoid by exp, gelu by erf or tanh, silu by sigmoid.
// NaN, inf.  As the formulas; relu, clip, min and max of a NaN are NaN; step of a NaN is NaN, of 0 it is 1/2.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

// `number` and `more` are the attributes of some: scale's factor, leaky_relu's slope, clip's ends, silu's alpha.
enum class Step : std::uint8_t {
  add,
  sub,
  mul,
  div,
  min,
  max,
  neg,
  scale,
  abs,
  relu,
  leaky_relu,
  clip,
  step,
  sqrt,
  reciprocal,
  exp,
  log,
  sin,
  cos,
  acos,
  tanh,
  erf,
  sigmoid,
  silu,
  gelu,
  gelu_tanh
};

struct Instruction {
  Step step = Step::add;
  std::uint8_t left = 0, right = 0;  // registers
  float number = 0, more = 0;
};

ASSAY_BOTH inline float sigmoid_of(float x) {
  if (x >= 0) return 1.0F / (1.0F + ::expf(-x));
  const float e = ::expf(x);  // -x might overflow
  return e / (1.0F + e);
}
ASSAY_BOTH inline float gelu_of(float x) {
  constexpr float kRootHalf = 0.70710678118654752F;
  return 0.5F * x * (1.0F + ::erff(x * kRootHalf));
}
ASSAY_BOTH inline float gelu_tanh_of(float x) {
  constexpr float kFactor = 0.79788456080286536F, kCubic = 0.044715F;  // sqrt(2 / pi)
  return 0.5F * x * (1.0F + ::tanhf(kFactor * (x + kCubic * (x * x * x))));
}
ASSAY_BOTH inline float step_of(float x) {
  if (is_nan(x)) return x;
  return x > 0 ? 1.0F : x < 0 ? 0.0F : 0.5F;
}
ASSAY_BOTH inline float relu_of(float x) { return (x > 0 || is_nan(x)) ? x : 0.0F; }

struct ChainKernel {
  static constexpr const char* kName = "chain";
  static constexpr unsigned kThreads = 128;
  static constexpr std::size_t kMostOperands = 6, kMostSteps = 26, kMostRegisters = kMostOperands + kMostSteps;

  View<const float> operands[kMostOperands];
  Strided at[kMostOperands];
  View<float> y;
  std::size_t operand_count = 0, length = 0;
  Instruction program[kMostSteps];

  ASSAY_BOTH static float applied(const Instruction& i, float x, float z) {
    switch (i.step) {
      case Step::add:
        return x + z;
      case Step::sub:
        return x - z;
      case Step::mul:
        return x * z;
      case Step::div:
        return x / z;
      case Step::min:
        return less_or_nan(x, z);
      case Step::max:
        return greater_or_nan(x, z);
      case Step::neg:
        return -x;
      case Step::scale:
        return i.number * x;
      case Step::abs:
        return ::fabsf(x);
      case Step::relu:
        return relu_of(x);
      case Step::leaky_relu:
        return (x >= 0 || is_nan(x)) ? x : i.number * x;
      case Step::clip:
        return is_nan(x) ? x : x < i.number ? i.number : x > i.more ? i.more : x;
      case Step::step:
        return step_of(x);
      case Step::sqrt:
        return ::sqrtf(x);
      case Step::reciprocal:
        return 1.0F / x;
      case Step::exp:
        return ::expf(x);
      case Step::log:
        return ::logf(x);
      case Step::sin:
        return ::sinf(x);
      case Step::cos:
        return ::cosf(x);
      case Step::acos:
        return ::acosf(x);
      case Step::tanh:
        return ::tanhf(x);
      case Step::erf:
        return ::erff(x);
      case Step::sigmoid:
        return sigmoid_of(x);
      case Step::silu:
        return x * sigmoid_of(i.number == 1 ? x : i.number * x);
      case Step::gelu:
        return gelu_of(x);
      case Step::gelu_tanh:
        return gelu_tanh_of(x);
    }
    return x;
  }

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    float registers[kMostRegisters];
    for (std::size_t i = t.block() * t.count() + t.index(); i < y.size; i += t.blocks() * t.count()) {
      for (std::size_t k = 0; k < operand_count; ++k) registers[k] = operands[k][at[k].offset(i)];
      for (std::size_t s = 0; s < length; ++s)
        registers[operand_count + s] = applied(program[s], registers[program[s].left], registers[program[s].right]);
      y[i] = registers[operand_count + length - 1];
    }
  }
};

// The step of an op on registers, if it has one.
inline std::optional<Instruction> instruction_of(Op op, const Attributes& attributes, std::uint8_t left, std::uint8_t right) {
  Instruction i{Step::add, left, right, 0, 0};
  const auto with = [&](Step step, double number = 0, double more = 0) {
    i.step = step;
    i.number = static_cast<float>(number);
    i.more = static_cast<float>(more);
    return i;
  };
  if (op == Op::add) return with(Step::add);
  if (op == Op::sub) return with(Step::sub);
  if (op == Op::mul) return with(Step::mul);
  if (op == Op::div) return with(Step::div);
  if (op == Op::min) return with(Step::min);
  if (op == Op::max) return with(Step::max);
  if (op == Op::neg) return with(Step::neg);
  if (op == Op::scale) return with(Step::scale, std::get<ScaleAttributes>(attributes).factor);
  if (op == Op::abs) return with(Step::abs);
  if (op == Op::relu) return with(Step::relu);
  if (op == Op::leaky_relu) return with(Step::leaky_relu, std::get<LeakyReluAttributes>(attributes).slope);
  if (op == Op::clip) return with(Step::clip, std::get<ClipAttributes>(attributes).lo, std::get<ClipAttributes>(attributes).hi);
  if (op == Op::step) return with(Step::step);
  if (op == Op::sqrt) return with(Step::sqrt);
  if (op == Op::reciprocal) return with(Step::reciprocal);
  if (op == Op::exp) return with(Step::exp);
  if (op == Op::log) return with(Step::log);
  if (op == Op::sin) return with(Step::sin);
  if (op == Op::cos) return with(Step::cos);
  if (op == Op::acos) return with(Step::acos);
  if (op == Op::tanh) return with(Step::tanh);
  if (op == Op::erf) return with(Step::erf);
  if (op == Op::sigmoid) return with(Step::sigmoid);
  if (op == Op::silu) return with(Step::silu, std::get<ActivationAttributes>(attributes).alpha);
  if (op == Op::gelu) return with(std::get<GeluAttributes>(attributes).tanh_form ? Step::gelu_tanh : Step::gelu);
  return std::nullopt;
}

// The kernel of a program over operands that are repeated over the result; its steps are filled in by the caller.
inline Outcome<ChainKernel> chain_over(Op op, std::span<const Operand> operands, View<float> y, const Shape& shape) {
  ChainKernel kernel{};
  if (operands.size() > ChainKernel::kMostOperands) return refused(op, std::to_string(operands.size()) + " operands");
  kernel.y = y;
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
  if (kernel.y.size == 0) return Done{};
  return queue.launch({ChainKernel::kName, blocks_for(kernel.y.size, ChainKernel::kThreads), ChainKernel::kThreads, 0}, kernel);
}

// One op: a program of one step; min and max of many operands take them one after the other.
template <class Queue>
Outcome<Done> run_elementwise(Queue& queue, const Call& call) {
  auto kernel = chain_over(call.op, call.operands, call.result, call.shape);
  if (!kernel) return kernel.rejection();
  ChainKernel& chain = kernel.value();
  const std::size_t count = call.operands.size();
  for (std::size_t k = 1; k < count || chain.length == 0; ++k) {
    const auto left = static_cast<std::uint8_t>(chain.length == 0 ? 0 : count + chain.length - 1);
    const auto next = instruction_of(call.op, call.attributes, left, static_cast<std::uint8_t>(k < count ? k : 0));
    if (!next) return refused(call.op, "no kernel");
    chain.program[chain.length++] = *next;
  }
  return launch_chain(queue, chain);
}

}  // namespace assay::gpu
