// Float executions written as naively as possible: what a runtime might do, right or wrong.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace assay::test {

using Floats = std::vector<float>;

// ---- data ----

inline float gaussian(std::mt19937_64& random) {
  static std::normal_distribution<float> draw(0.0F, 1.0F);
  draw.reset();
  return draw(random);
}
inline Floats gaussians(std::mt19937_64& random, std::size_t n, float scale = 1, float shift = 0) {
  Floats result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(scale * gaussian(random) + shift);
  return result;
}
inline Floats small_integers(std::mt19937_64& random, std::size_t n, int most = 4) {
  Floats result;
  for (std::size_t i = 0; i < n; ++i)
    result.push_back(static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most));
  return result;
}
inline Floats sparse(std::mt19937_64& random, std::size_t n, std::size_t non_zeros) {
  Floats result(n, 0.0F);
  for (std::size_t k = 0; k < non_zeros; ++k) result[random() % n] = gaussian(random);
  return result;
}
// Any bits but NaN and infinities.
inline float any_float(std::mt19937_64& random) {
  for (;;) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) return value;
  }
}
inline float steps_from(float value, int steps) {
  for (; steps > 0; --steps) value = std::nextafter(value, INFINITY);
  for (; steps < 0; ++steps) value = std::nextafter(value, -INFINITY);
  return value;
}

// ---- sums and dots in every way ----

inline float in_order(const Floats& terms) {
  float sum = 0;
  for (const float term : terms) sum += term;
  return sum;
}
inline float pairwise(const Floats& terms, std::size_t first, std::size_t count) {
  if (count == 0) return 0;
  if (count == 1) return terms[first];
  return pairwise(terms, first, count / 2) + pairwise(terms, first + count / 2, count - count / 2);
}
inline float pairwise(const Floats& terms) { return pairwise(terms, 0, terms.size()); }
// Random pairs are merged until one is left.
inline float in_random_order(Floats terms, std::mt19937_64& random) {
  while (terms.size() > 1) {
    const std::size_t i = random() % terms.size();
    std::swap(terms[i], terms.back());
    const float last = terms.back();
    terms.pop_back();
    terms[random() % terms.size()] += last;
  }
  return terms.empty() ? 0.0F : terms[0];
}
inline Floats products(const Floats& a, const Floats& b) {
  Floats result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] * b[i]);
  return result;
}
inline float fused_dot(const Floats& a, const Floats& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}
// Some products rounded, some fused, from a random end.
inline float mixed_dot(const Floats& a, const Floats& b, std::mt19937_64& random) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Floats lanes(1 + random() % 8, 0.0F);
  for (const std::size_t i : order) {
    float& lane = lanes[random() % lanes.size()];
    lane = random() % 2 == 0 ? std::fma(a[i], b[i], lane) : a[i] * b[i] + lane;
  }
  return in_random_order(lanes, random);
}
inline float tf32(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFE000U); }
inline float rounded_to_half(float x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const float unit = std::ldexp(1.0F, std::max(std::ilogb(x), -14) - 10);
  return std::nearbyint(x / unit) * unit;
}

}  // namespace assay::test
