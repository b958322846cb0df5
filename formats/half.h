// float16 and bfloat16 <-> float32, bit for bit: a NaN keeps its payload, as far as the shorter type has room for it.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::formats {

[[nodiscard]] inline float of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

[[nodiscard]] inline float of_float16(std::uint16_t bits) {
  constexpr std::uint32_t kMostExponent = 31, kBias = 127 - 15, kInfinity = 0x7f800000;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31, exponent = (bits >> 10) & kMostExponent,
                      fraction = bits & 0x3ffu;
  if (exponent == kMostExponent) return std::bit_cast<float>(sign | kInfinity | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + kBias) << 23 | fraction << 13);
  const float size = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(size));
}

// Of a number of the type, an infinity or NaN; else what is stored is another number.
[[nodiscard]] inline std::uint16_t bfloat16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool loses_nan = value != value && (bits >> 16 & 0x7fu) == 0;
  return static_cast<std::uint16_t>(bits >> 16 | (loses_nan ? 0x40u : 0u));
}

[[nodiscard]] inline std::uint16_t float16_of(float value) {
  constexpr std::uint32_t kBias = 127 - 15;
  const auto bits = std::bit_cast<std::uint32_t>(value), sign = bits >> 31 << 15, exponent = bits >> 23 & 0xffu,
             fraction = bits >> 13 & 0x3ffu;
  if (exponent == 255) return static_cast<std::uint16_t>(sign | 0x7c00u | fraction | (value != value && fraction == 0 ? 0x200u : 0u));
  if (exponent > kBias) return static_cast<std::uint16_t>(sign | (exponent - kBias) << 10 | fraction);
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>((value < 0 ? -value : value) * 0x1p24f));
}

}  // namespace assay::formats
