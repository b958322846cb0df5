// Rounding of the factors of products before they are multiplied, for a device that declares it (ExecutionModel::input_rounding).
//
// Meaning.   The number nearest to x, ties to even: of 11 significant bits (TF32), of 8 (bfloat16), or a float16, whose exponent is short.
// Error.     None beyond that rounding: products and sums of rounded factors are float32's.
// NaN, inf.  As they are; a number that rounds beyond the greatest float16 is infinite.
#pragma once

#include "gpu/portable.h"
#include "semantics/graph/execution_model.h"

namespace assay::gpu {

using Factors = ExecutionModel::InputRounding;

// x without its last `dropped` bits.
ASSAY_BOTH inline float shortened(float x, unsigned dropped) {
  if (!(::fabsf(x) < kInfinity)) return x;
  std::uint32_t bits = bits_of(x);
  bits += ((1U << (dropped - 1U)) - 1U) + ((bits >> dropped) & 1U);
  return float_of(bits & ~((1U << dropped) - 1U));
}

ASSAY_BOTH inline float rounded_factor(Factors factors, float x) {
  constexpr float kLeastNormal = 0x1p-14F, kUnit = 0x1p-24F, kMostHalf = 65504.0F;  // of float16
  if (factors == Factors::none) return x;
  if (factors == Factors::bfloat16) return shortened(x, 16);
  if (factors == Factors::binary16 && ::fabsf(x) < kLeastNormal) return ::rintf(x / kUnit) * kUnit;
  const float y = shortened(x, 13);
  if (factors == Factors::binary16 && ::fabsf(y) > kMostHalf) return y > 0 ? kInfinity : -kInfinity;
  return y;
}

}  // namespace assay::gpu
