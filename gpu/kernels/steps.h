// Steps: the elementwise ops on floats, one name each, as programs of gpu/kernels/elementwise.h have them. formulas.h computes them.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

// `number` and `more` are the attributes of some: a number itself, scale's factor, leaky_relu's slope, clip's ends, an activation's alpha and beta.
enum class Step : std::uint8_t {
  add,
  sub,
  mul,
  div,
  min,
  max,
  prelu,
  mod,
  truncated_mod,
  power,
  number,  // reads nothing
  neg,
  scale,
  abs,
  sign,
  relu,
  leaky_relu,
  clip,
  step,
  floor,
  ceil,
  round,
  sqrt,
  square,
  reciprocal,
  constant_power,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  softplus,
  softsign,
  elu,
  selu,
  celu,
  mish,
  hard_sigmoid,
  hard_swish,
  thresholded_relu,
  shrink,
  none
};

struct Instruction {
  Step step = Step::none;
  std::uint8_t left = 0, right = 0;  // registers
  float number = 0, more = 0;
  double exponent = 0;  // of constant_power
};

// The step of an op on registers, if it has one.
[[nodiscard]] std::optional<Instruction> instruction_of(Op op, const Attributes& attributes, std::uint8_t left, std::uint8_t right);

}  // namespace assay::gpu
