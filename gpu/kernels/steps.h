// Steps: the elementwise ops on floats, as programs of gpu/kernels/elementwise.h have them. formulas.h computes them.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

// One step: the op itself. `number` and `more` are the attributes of some: scale's factor, leaky_relu's slope, clip's ends, an
// activation's alpha and beta; of a constant the number; 1 for the tanh form of gelu, and for a truncated mod.
struct Instruction {
  Op op = Op::constant;
  std::uint8_t left = 0, right = 0;  // registers
  float number = 0, more = 0;
  double exponent = 0;  // of pow
};

// The step of an op on registers, if it is one.
[[nodiscard]] std::optional<Instruction> instruction_of(Op op, const Attributes& attributes, std::uint8_t left, std::uint8_t right);

}  // namespace assay::gpu
