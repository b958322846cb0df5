// Which step an op is. Independent of any kernel, so it is compiled once.
#include "gpu/kernels/steps.h"

namespace assay::gpu {

namespace {

Step plain_step(Op op) {
  switch (op) {
    case Op::add:
      return Step::add;
    case Op::sub:
      return Step::sub;
    case Op::mul:
      return Step::mul;
    case Op::div:
      return Step::div;
    case Op::min:
      return Step::min;
    case Op::max:
      return Step::max;
    case Op::prelu:
      return Step::prelu;
    case Op::power:
      return Step::power;
    case Op::neg:
      return Step::neg;
    case Op::abs:
      return Step::abs;
    case Op::sign:
      return Step::sign;
    case Op::relu:
      return Step::relu;
    case Op::step:
      return Step::step;
    case Op::floor:
      return Step::floor;
    case Op::ceil:
      return Step::ceil;
    case Op::round:
      return Step::round;
    case Op::sqrt:
      return Step::sqrt;
    case Op::reciprocal:
      return Step::reciprocal;
    case Op::exp:
      return Step::exp;
    case Op::log:
      return Step::log;
    case Op::sin:
      return Step::sin;
    case Op::cos:
      return Step::cos;
    case Op::tan:
      return Step::tan;
    case Op::asin:
      return Step::asin;
    case Op::acos:
      return Step::acos;
    case Op::atan:
      return Step::atan;
    case Op::sinh:
      return Step::sinh;
    case Op::cosh:
      return Step::cosh;
    case Op::tanh:
      return Step::tanh;
    case Op::asinh:
      return Step::asinh;
    case Op::acosh:
      return Step::acosh;
    case Op::atanh:
      return Step::atanh;
    case Op::erf:
      return Step::erf;
    case Op::sigmoid:
      return Step::sigmoid;
    case Op::softplus:
      return Step::softplus;
    case Op::softsign:
      return Step::softsign;
    case Op::mish:
      return Step::mish;
    case Op::hard_swish:
      return Step::hard_swish;
    default:
      return Step::none;
  }
}

Step activation_step(Op op) {
  switch (op) {
    case Op::silu:
      return Step::silu;
    case Op::elu:
      return Step::elu;
    case Op::selu:
      return Step::selu;
    case Op::celu:
      return Step::celu;
    case Op::hard_sigmoid:
      return Step::hard_sigmoid;
    case Op::thresholded_relu:
      return Step::thresholded_relu;
    case Op::shrink:
      return Step::shrink;
    default:
      return Step::none;
  }
}

// The double nearest to the exponent: powers are computed in double and rounded once.
Instruction power_step(const Rational& exponent, Instruction i) {
  i.step = exponent == Rational(2)      ? Step::square
           : exponent == Rational(-1)   ? Step::reciprocal
           : exponent == Rational(1, 2) ? Step::sqrt
                                        : Step::constant_power;
  i.exponent = exponent.double_down();
  return i;
}

}  // namespace

std::optional<Instruction> instruction_of(Op op, const Attributes& attributes, std::uint8_t left, std::uint8_t right) {
  Instruction i{Step::none, left, right, 0, 0, 0};
  const auto with = [&](Step step, double number, double more) {
    i.step = step;
    i.number = static_cast<float>(number);
    i.more = static_cast<float>(more);
  };
  if (const auto* pow = std::get_if<PowAttributes>(&attributes)) return power_step(pow->exponent, i);
  if (const auto* scale = std::get_if<ScaleAttributes>(&attributes)) with(Step::scale, scale->factor, 0);
  if (const auto* leaky = std::get_if<LeakyReluAttributes>(&attributes)) with(Step::leaky_relu, leaky->slope, 0);
  if (const auto* clip = std::get_if<ClipAttributes>(&attributes)) with(Step::clip, clip->lo, clip->hi);
  if (const auto* gelu = std::get_if<GeluAttributes>(&attributes)) with(gelu->tanh_form ? Step::gelu_tanh : Step::gelu, 0, 0);
  if (const auto* mod = std::get_if<ModAttributes>(&attributes)) with(mod->truncated ? Step::truncated_mod : Step::mod, 0, 0);
  if (const auto* numbers = std::get_if<ActivationAttributes>(&attributes)) with(activation_step(op), numbers->alpha, numbers->beta);
  if (std::holds_alternative<NoAttributes>(attributes)) i.step = plain_step(op);
  if (i.step == Step::none) return std::nullopt;
  return i;
}

}  // namespace assay::gpu
