// Formulas: what one element of float operands becomes under each elementwise step.
//
// Meaning.   The ops of docs/ops by these names.
// Error.     Each step its own contract: arithmetic, sqrt, reciprocal, mod correctly rounded (a product that is added may fuse); functions
//            as the math table says; activations by one of the forms in docs/contracts/defined-ops.md. A power is computed in double.
// NaN, inf.  As the formulas. A NaN stays one, except where thresholded_relu and shrink compare it; step of 0 is 1/2, sign of 0 is 0.
#pragma once

#include "gpu/kernels/steps.h"

namespace assay::gpu {

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
ASSAY_BOTH inline float softplus_of(float x) { return (x < 0 ? 0.0F : x) + ::log1pf(::expf(-::fabsf(x))); }
// tanh(softplus(x)) = n / (n + 2) with n = e (e + 2), e = exp(x); from 20 on it rounds to 1.
ASSAY_BOTH inline float mish_of(float x) {
  if (x > 20) return x;
  const float e = ::expf(x), n = e * (e + 2.0F);
  return x * n / (n + 2.0F);
}
ASSAY_BOTH inline float elu_of(float x, float alpha, float divisor) {
  if (!(x < 0)) return x;
  return alpha * ::expm1f(divisor == 1 ? x : x / divisor);
}
ASSAY_BOTH inline float step_of(float x) {
  if (is_nan(x)) return x;
  return x > 0 ? 1.0F : x < 0 ? 0.0F : 0.5F;
}
ASSAY_BOTH inline float relu_of(float x) { return (x > 0 || is_nan(x)) ? x : 0.0F; }
ASSAY_BOTH inline float clip_of(float x, float lo, float hi) { return is_nan(x) ? x : x < lo ? lo : x > hi ? hi : x; }
ASSAY_BOTH inline float shrink_of(float x, float limit, float bias) {
  if (x < -limit) return x + bias;
  return x > limit ? x - bias : 0.0F;
}
// The remainder has the dividend's sign; without truncation it gets the divisor's.
ASSAY_BOTH inline float mod_of(float x, float y, bool truncated) {
  const float rest = ::fmodf(x, y);
  return !truncated && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
ASSAY_BOTH inline float power_of(float x, double exponent) { return static_cast<float>(::pow(static_cast<double>(x), exponent)); }

// `otherwise`, for an op that is no step.
ASSAY_BOTH inline float stepped(const Instruction& i, float x, float z, float otherwise = 0) {
  switch (i.op) {
    case Op::add:
      return x + z;
    case Op::sub:
      return x - z;
    case Op::mul:
      return x * z;
    case Op::div:
      return x / z;
    case Op::min:
      return less_or_nan(x, z);
    case Op::max:
      return greater_or_nan(x, z);
    case Op::prelu:
      return x < 0 ? z * x : x;
    case Op::mod:
      return mod_of(x, z, i.number != 0);
    case Op::power:
      return power_of(x, static_cast<double>(z));
    case Op::constant:
      return i.number;
    case Op::neg:
      return -x;
    case Op::scale:
      return i.number * x;
    case Op::abs:
      return ::fabsf(x);
    case Op::sign:
      return x > 0 ? 1.0F : x < 0 ? -1.0F : x;
    case Op::relu:
      return relu_of(x);
    case Op::leaky_relu:
      return (x >= 0 || is_nan(x)) ? x : i.number * x;
    case Op::clip:
      return clip_of(x, i.number, i.more);
    case Op::step:
      return step_of(x);
    case Op::floor:
      return ::floorf(x);
    case Op::ceil:
      return ::ceilf(x);
    case Op::round:
      return ::rintf(x);
    case Op::sqrt:
      return ::sqrtf(x);
    case Op::reciprocal:
      return 1.0F / x;
    case Op::pow:
      return power_of(x, i.exponent);
    case Op::exp:
      return ::expf(x);
    case Op::log:
      return ::logf(x);
    case Op::sin:
      return ::sinf(x);
    case Op::cos:
      return ::cosf(x);
    case Op::tan:
      return ::tanf(x);
    case Op::asin:
      return ::asinf(x);
    case Op::acos:
      return ::acosf(x);
    case Op::atan:
      return ::atanf(x);
    case Op::sinh:
      return ::sinhf(x);
    case Op::cosh:
      return ::coshf(x);
    case Op::tanh:
      return ::tanhf(x);
    case Op::asinh:
      return ::asinhf(x);
    case Op::acosh:
      return ::acoshf(x);
    case Op::atanh:
      return ::atanhf(x);
    case Op::erf:
      return ::erff(x);
    case Op::sigmoid:
      return sigmoid_of(x);
    case Op::silu:
      return x * sigmoid_of(i.number == 1 ? x : i.number * x);
    case Op::gelu:
      return i.number != 0 ? gelu_tanh_of(x) : gelu_of(x);
    case Op::softplus:
      return softplus_of(x);
    case Op::softsign:
      return x / (1.0F + ::fabsf(x));
    case Op::elu:
      return elu_of(x, i.number, 1);
    case Op::selu:
      return i.more * elu_of(x, i.number, 1);
    case Op::celu:
      return elu_of(x, i.number, i.number);
    case Op::mish:
      return mish_of(x);
    case Op::hard_sigmoid:
      return clip_of(i.number * x + i.more, 0, 1);
    case Op::hard_swish:
      return x * clip_of(x + 3.0F, 0, 6) / 6.0F;
    case Op::thresholded_relu:
      return x > i.number ? x : 0.0F;
    case Op::shrink:
      return shrink_of(x, i.number, i.more);
    default:
      return otherwise;
  }
}

}  // namespace assay::gpu
