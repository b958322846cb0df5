// Random numbers that are functions of a key and a position: the same on every machine, in any order, on any number of threads.
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") is a keyed bijection of 128-bit
// counters. Only integer arithmetic and single IEEE 754 operations follow, so that results are equal bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/array.h"

namespace assay::runtime {

using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;
[[nodiscard]] PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key);

// A stream of numbers, and a family of further keys. Split it rather than draw twice from one.
class RandomKey {
 public:
  explicit RandomKey(std::uint64_t seed);
  // Another key, the same for equal keys and indices. Nothing is shared between its numbers and this key's.
  [[nodiscard]] RandomKey split(std::uint64_t index) const;
  [[nodiscard]] PhiloxBlock block(std::uint64_t position) const;
  [[nodiscard]] const PhiloxKey& words() const { return key_; }  // for who computes blocks elsewhere
  friend bool operator==(const RandomKey&, const RandomKey&) = default;

 private:
  PhiloxKey key_{};
};

// float32: k / 2^24 with 0 <= k < 2^24; float64: k / 2^53 with 0 <= k < 2^53.
[[nodiscard]] Array uniform(const RandomKey& key, DType dtype, const Shape& shape);
// From lo to hi, by the numbers above: lo + (hi - lo) u, rounded by each operation.
[[nodiscard]] Array uniform(const RandomKey& key, DType dtype, const Shape& shape, double lo, double hi);
// 1 with probability p, rounded up to a multiple of 2^-32, else 0. Float or boolean.
[[nodiscard]] Array bernoulli(const RandomKey& key, double p, DType dtype, const Shape& shape);
// Standard normal: the quantile of (k + 1/2) / 2^53, so that 8.3 is the most that occurs.
[[nodiscard]] Array normal(const RandomKey& key, DType dtype, const Shape& shape);
// Which random numbers: what a session draws, and a compiled function draws again at each call.
struct Drawing {
  enum class Kind : std::uint8_t { uniform, normal, bernoulli } kind = Kind::uniform;
  DType dtype = DType::float32;
  Shape shape;
  double first = 0, second = 0;  // uniform: its ends; bernoulli: the probability
};
[[nodiscard]] Array drawn(const RandomKey& key, const Drawing& drawing);
// The least number of 32 bits that is not below a probability: bernoulli gives 1 where the bits are below it.
[[nodiscard]] std::uint64_t bernoulli_threshold(double p);
// 0 .. count - 1 in random order.
[[nodiscard]] std::vector<std::int64_t> permutation(const RandomKey& key, std::size_t count);

// The quantile function of the standard normal distribution, 0 < p < 1, to about 1e-15 relative. Source: Wichura 1988, algorithm AS 241
// (PPND16); the logarithm in its tails is computed here from IEEE 754 operations, so that no library decides a bit.
[[nodiscard]] double normal_quantile(double p);

}  // namespace assay::runtime
