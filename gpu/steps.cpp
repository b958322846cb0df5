// Which step an op is. Independent of any kernel, so it is compiled once.
#include "gpu/kernels/formulas.h"

namespace assay::gpu {

namespace {

// Returns true if formulas.h has a formula for the op: of any other it returns its last argument. No formula has the value NaN at
// 1.
bool is_step(Op op) {
  const Instruction i{op, 0, 0, 1, 1, 1};
  return op != Op::constant && stepped(i, 1, 1, 0) == stepped(i, 1, 1, 2);
}

// The double nearest to the exponent: powers are computed in double and rounded once.
Instruction power_step(const Rational& exponent, Instruction i) {
  i.op = exponent == Rational(2) ? Op::mul : exponent == Rational(-1) ? Op::reciprocal : exponent == Rational(1, 2) ? Op::sqrt : Op::pow;
  i.right = i.left;  // of a square
  i.exponent = exponent.double_down();
  return i;
}

}  // namespace

std::optional<Instruction> instruction_of(Op op, const Attributes& attributes, std::uint8_t left, std::uint8_t right) {
  if (!is_step(op)) return std::nullopt;
  Instruction i{op, left, right, 0, 0, 0};
  const auto with = [&](double number, double more) {
    i.number = static_cast<float>(number);
    i.more = static_cast<float>(more);
  };
  if (const auto* pow = std::get_if<PowAttributes>(&attributes)) return power_step(pow->exponent, i);
  if (const auto* scale = std::get_if<ScaleAttributes>(&attributes)) with(scale->factor, 0);
  if (const auto* leaky = std::get_if<LeakyReluAttributes>(&attributes)) with(leaky->slope, 0);
  if (const auto* clip = std::get_if<ClipAttributes>(&attributes)) with(clip->lo, clip->hi);
  if (const auto* gelu = std::get_if<GeluAttributes>(&attributes)) with(gelu->tanh_form ? 1 : 0, 0);
  if (const auto* mod = std::get_if<ModAttributes>(&attributes)) with(mod->truncated ? 1 : 0, 0);
  if (const auto* numbers = std::get_if<ActivationAttributes>(&attributes)) with(numbers->alpha, numbers->beta);
  return i;
}

}  // namespace assay::gpu
