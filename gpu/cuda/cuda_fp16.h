// Numbers in 16 bits, as a file of kernels includes them: <cuda_fp16.h> for the emulation (gpu/cuda/cuda_runtime.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gpu/cuda/cuda_runtime.h"

struct __half {
  std::uint16_t bits = 0;

  __half() = default;
  __half(float x) : bits(rounded(x)) {}
  operator float() const { return widened(bits); }

  // To nearest, ties to even.
  static std::uint16_t rounded(float x) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(x), sign = word >> 16 & 0x8000U;
    const float size = std::fabs(x);
    if (size != size) return static_cast<std::uint16_t>(sign | 0x7fffU);
    if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);
    if (size < 0x1p-14F)  // steps of 2^-24, which nearbyint counts
      return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24F)));
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(size) - (112U << 23);
    return static_cast<std::uint16_t>(sign | (magnitude + 0xfffU + (magnitude >> 13 & 1U)) >> 13);
  }
  static float widened(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16, magnitude = half & 0x7fffU;
    if (magnitude < 0x400U) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F));
    return std::bit_cast<float>(sign | ((magnitude << 13) + (magnitude >= 0x7c00U ? 224U << 23 : 112U << 23)));
  }
};
using half = __half;

inline __half __float2half(float x) { return {x}; }
inline __half __float2half_rn(float x) { return {x}; }
inline float __half2float(__half x) { return x; }
inline __half __hadd(__half a, __half b) { return {static_cast<float>(a) + static_cast<float>(b)}; }
inline __half __hsub(__half a, __half b) { return {static_cast<float>(a) - static_cast<float>(b)}; }
inline __half __hmul(__half a, __half b) { return {static_cast<float>(a) * static_cast<float>(b)}; }
inline __half __hdiv(__half a, __half b) { return {static_cast<float>(a) / static_cast<float>(b)}; }
// The product is exact in double; the sum is rounded there, then to a float, then to a half.
inline __half __hfma(__half a, __half b, __half c) {
  return {
      static_cast<float>(static_cast<double>(static_cast<float>(a)) * static_cast<float>(b) + static_cast<double>(static_cast<float>(c)))};
}
inline __half operator+(__half a, __half b) { return __hadd(a, b); }
inline __half operator-(__half a, __half b) { return __hsub(a, b); }
inline __half operator*(__half a, __half b) { return __hmul(a, b); }
inline __half operator/(__half a, __half b) { return __hdiv(a, b); }
inline __half& operator+=(__half& a, __half b) { return a = a + b; }
