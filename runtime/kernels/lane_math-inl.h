// exp, expm1, log, log1p, tanh and erf of floats without a branch, so that loops over them become vector instructions; of doubles the
// C library's. Included once per instruction set.
//
// Accuracy. Each result is computed with a last addition or scaling whose operands carry an error below one unit of the result, so it is
// one of the two numbers around the exact value: at most 1 step from the nearest (tanh: 2), as in the table glibc-2.36; checked over the
// floats by tests/runtime/functions_test.cpp. Products and sums may fuse, so bits are those of the instruction set.
// Polynomials: weighted least squares of the remainder that the comment names, at Chebyshev nodes, reweighted towards equal errors; the
// stated bound is the largest relative error in the function on the stated interval before rounding of the coefficients.
#if defined(ASSAY_RUNTIME_LANE_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_RUNTIME_LANE_MATH
#undef ASSAY_RUNTIME_LANE_MATH
#else
#define ASSAY_RUNTIME_LANE_MATH
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {

HWY_INLINE float power_of_two(std::uint32_t exponent) { return std::bit_cast<float>((exponent + 127U) << 23U); }

// x = n log 2 + r with |r| <= log(2)/2: expm1(r) and n.
struct ReducedPower {
  float less_one;
  std::uint32_t n;  // two's complement
};
HWY_INLINE ReducedPower reduced_power(float x) {
  constexpr float kLog2OfE = 0x1.715476p0F, kToInteger = 0x1.8p23F;      // adding 1.5 * 2^23 rounds to an integer
  constexpr float kLn2Upper = 0x1.63p-1F, kLn2Lower = -0x1.bd0106p-13F;  // 9 bits, so that n * upper is exact; the rest
  const float shifted = x * kLog2OfE + kToInteger, n = shifted - kToInteger;
  const float r = (x - n * kLn2Upper) - n * kLn2Lower, z = r * r;
  // (expm1(r) - r) / r^2, 2^-31.8 on |r| <= 0.348
  const float p = ((((0x1.a04a72p-13F * r + 0x1.6d7618p-10F) * r + 0x1.11117ap-7F) * r + 0x1.5554acp-5F) * r + 0x1.555554p-3F) * r + 0.5F;
  return {r + z * p, std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kToInteger)};
}

HWY_INLINE float clamped(float x, float lo, float hi) {
  const float raised = x < lo ? lo : x;  // NaN stays
  return raised > hi ? hi : raised;
}

HWY_INLINE float exp_of(float x) {
  const ReducedPower e = reduced_power(clamped(x, -104.0F, 89.0F));  // beyond: 0 and infinity
  const auto half = static_cast<std::uint32_t>(static_cast<std::int32_t>(e.n) >> 1);
  return ((1.0F + e.less_one) * power_of_two(half)) * power_of_two(e.n - half);
}

HWY_INLINE float expm1_of(float x) {
  const ReducedPower e = reduced_power(clamped(x, -18.0F, 89.0F));  // below: -1
  const float half = power_of_two(e.n - 1U);                        // 2^n itself may overflow before the result does
  return (half * e.less_one + (half - 0.5F)) * 2.0F;
}

// log(m 2^k (1 + error)) for m in [sqrt(1/2), sqrt(2)), m given as f = m - 1 (1 + error)
HWY_INLINE float log_of_parts(float f, float k) {
  constexpr float kLn2Upper = 0x1.63p-1F, kLn2Lower = -0x1.bd0106p-13F;
  const float z = f * f;
  // (log1p(f) - f + f^2/2) / f^3, 2^-30.2
  const float p =
      (((((((0x1.1563f2p-4F * f - 0x1.dfe8bap-4F) * f + 0x1.e7620cp-4F) * f - 0x1.fbe652p-4F) * f + 0x1.232c48p-3F) * f - 0x1.555d84p-3F) *
            f +
        0x1.99a544p-3F) *
           f -
       0x1.000004p-2F) *
          f +
      0x1.555546p-2F;
  const float rest = f * z * p - 0.5F * z;
  return k * kLn2Upper + (f + (rest + k * kLn2Lower));
}
HWY_INLINE float log_at_the_ends(float x, float inside) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float above = x > 0 ? (x == kInfinity ? kInfinity : inside) : x;  // NaN stays
  const float zero = x == 0 ? -kInfinity : above;
  return x < 0 ? std::numeric_limits<float>::quiet_NaN() : zero;
}
constexpr std::uint32_t kBitsOfOne = 0x3f800000U, kBitsOfRootHalf = 0x3f3504f3U, kMantissa = 0x007fffffU;

HWY_INLINE float log_of(float x) {
  const bool subnormal = x < std::numeric_limits<float>::min();
  const float normal = subnormal ? x * 0x1p23F : x;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(normal) + (kBitsOfOne - kBitsOfRootHalf);
  const float k = static_cast<float>(static_cast<std::int32_t>(bits >> 23U) - 127) - (subnormal ? 23.0F : 0.0F);
  const float m = std::bit_cast<float>((bits & kMantissa) + kBitsOfRootHalf);
  return log_at_the_ends(x, log_of_parts(m - 1.0F, k));
}

// u = fl(1 + x), and what the addition lost goes into f.
HWY_INLINE float log1p_of(float x) {
  const float u = 1.0F + x, lost = x < 1.0F ? x - (u - 1.0F) : 1.0F - (u - x);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(u) + (kBitsOfOne - kBitsOfRootHalf);
  const std::int32_t k = static_cast<std::int32_t>(bits >> 23U) - 127, most = k < 126 ? k : 126;
  const float m = std::bit_cast<float>((bits & kMantissa) + kBitsOfRootHalf);
  const float f = (m - 1.0F) + lost * power_of_two(static_cast<std::uint32_t>(-most));
  return log_at_the_ends(u, log_of_parts(f, static_cast<float>(k)));
}

HWY_INLINE float tanh_of(float x) {
  const float size = std::fabs(x), z = x * x;
  // (tanh(x) - x) / x^3 by x^2 up to 0.625^2, 2^-27.7
  const float p = (((-0x1.75de6ap-8F * z + 0x1.5225c6p-6F) * z - 0x1.b83c36p-5F) * z + 0x1.110726p-3F) * z - 0x1.555532p-2F;
  const float near = x + x * (z * p);
  const float far = 1.0F - 2.0F / (exp_of(2.0F * size) + 1.0F);
  return size < 0.625F ? near : std::copysign(far, x);  // NaN: far
}

HWY_INLINE float erf_of(float x) {
  const float size = std::fabs(x), z = x * x;
  // (erf(x) - x) / x by x^2 up to 1, 2^-29.6
  const float q =
      (((((0x1.4921f4p-14F * z - 0x1.a3ddd8p-11F) * z + 0x1.54026ep-8F) * z - 0x1.b7f8aap-6F) * z + 0x1.ce2cf2p-4F) * z - 0x1.81273ep-2F) *
          z +
      0x1.06eba8p-3F;
  const float near = x + x * q;
  // -log(erfc(x)) on [1, 4], 2^-35 in erf; erf(4) rounds to 1
  const float s = size > 4.0F ? 4.0F : size;
  const float g =
      ((((((0x1.6c4e24p-16F * s - 0x1.cf21b2p-12F) * s + 0x1.13aa94p-8F) * s - 0x1.9d1828p-6F) * s + 0x1.bc1de4p-4F) * s + 0x1.443452p-1F) *
           s +
       0x1.212c56p0F) *
          s -
      0x1.8c691cp-13F;
  const float far = 1.0F - exp_of(-g);
  return size < 1.0F ? near : std::copysign(far, x);  // NaN: far
}

HWY_INLINE double exp_of(double x) { return std::exp(x); }
HWY_INLINE double expm1_of(double x) { return std::expm1(x); }
HWY_INLINE double log_of(double x) { return std::log(x); }
HWY_INLINE double log1p_of(double x) { return std::log1p(x); }
HWY_INLINE double tanh_of(double x) { return std::tanh(x); }
HWY_INLINE double erf_of(double x) { return std::erf(x); }

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#endif
