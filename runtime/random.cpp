#include "runtime/random.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "semantics/demand.h"

namespace assay::runtime {

PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = kMultiplier0 * counter[0], b = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

namespace {

std::uint32_t low(std::uint64_t n) { return static_cast<std::uint32_t>(n); }
std::uint32_t high(std::uint64_t n) { return static_cast<std::uint32_t>(n >> 32); }

// The third word of the counter says what a block is for.
constexpr std::uint32_t kNumbers = 0, kKeys = 1;

// f(element, its 32 random bits)
template <class F>
void each_word(const RandomKey& key, std::size_t count, const F& f) {
  for (std::size_t i = 0; i < count; i += 4) {
    const PhiloxBlock block = key.block(i / 4);
    for (std::size_t k = 0; k < 4 && i + k < count; ++k) f(i + k, block[k]);
  }
}
// f(element, its 53 random bits)
template <class F>
void each_long(const RandomKey& key, std::size_t count, const F& f) {
  for (std::size_t i = 0; i < count; i += 2) {
    const PhiloxBlock block = key.block(i / 2);
    for (std::size_t k = 0; k < 2 && i + k < count; ++k) f(i + k, (std::uint64_t{block[2 * k]} << 32 | block[2 * k + 1]) >> 11);
  }
}

}  // namespace

RandomKey::RandomKey(std::uint64_t seed) : key_{low(seed), high(seed)} {}

RandomKey RandomKey::split(std::uint64_t index) const {
  const PhiloxBlock block = philox({low(index), high(index), kKeys, 0}, key_);
  return RandomKey(std::uint64_t{block[1]} << 32 | block[0]);
}

PhiloxBlock RandomKey::block(std::uint64_t position) const { return philox({low(position), high(position), kNumbers, 0}, key_); }

Array uniform(const RandomKey& key, DType dtype, const Shape& shape) { return uniform(key, dtype, shape, 0, 1); }

Array uniform(const RandomKey& key, DType dtype, const Shape& shape, double lo, double hi) {
  demand(is_float(dtype), "uniform: float elements");
  Array result = Array::empty(dtype, shape);
  if (dtype == DType::float32) {
    const auto y = result.data<float>();
    const auto from = static_cast<float>(lo), width = static_cast<float>(hi - lo);
    each_word(key, y.size(), [&](std::size_t i, std::uint32_t bits) { y[i] = from + width * (static_cast<float>(bits >> 8) * 0x1p-24F); });
  } else {
    const auto y = result.data<double>();
    each_long(key, y.size(), [&](std::size_t i, std::uint64_t bits) { y[i] = lo + (hi - lo) * (static_cast<double>(bits) * 0x1p-53); });
  }
  return result;
}

std::uint64_t bernoulli_threshold(double p) {
  demand(p >= 0 && p <= 1, "bernoulli: a probability");
  return static_cast<std::uint64_t>(std::ceil(p * 0x1p32));
}

Array bernoulli(const RandomKey& key, double p, DType dtype, const Shape& shape) {
  const std::uint64_t below = bernoulli_threshold(p);
  Array result = Array::empty(dtype, shape);
  const auto fill = [&]<class T>(std::span<T> y) {
    each_word(key, y.size(), [&](std::size_t i, std::uint32_t bits) { y[i] = bits < below ? T{1} : T{0}; });
  };
  if (dtype == DType::boolean) {
    fill(result.data<std::uint8_t>());
  } else if (dtype == DType::float32) {
    fill(result.data<float>());
  } else {
    fill(result.data<double>());
  }
  return result;
}

Array normal(const RandomKey& key, DType dtype, const Shape& shape) {
  demand(is_float(dtype), "normal: float elements");
  Array result = Array::empty(dtype, shape);
  const auto fill = [&]<class T>(std::span<T> y) {
    each_long(key, y.size(), [&](std::size_t i, std::uint64_t bits) {
      y[i] = static_cast<T>(normal_quantile((static_cast<double>(bits) + 0.5) * 0x1p-53));
    });
  };
  dtype == DType::float32 ? fill(result.data<float>()) : fill(result.data<double>());
  return result;
}

Array drawn(const RandomKey& key, const Drawing& drawing) {
  if (drawing.kind == Drawing::Kind::normal) return normal(key, drawing.dtype, drawing.shape);
  if (drawing.kind == Drawing::Kind::bernoulli) return bernoulli(key, drawing.first, drawing.dtype, drawing.shape);
  return uniform(key, drawing.dtype, drawing.shape, drawing.first, drawing.second);
}

std::vector<std::int64_t> permutation(const RandomKey& key, std::size_t count) {
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t position = 0;
  for (std::size_t left = count; left > 1; --left) {
    // Of the 2^64 numbers the last few that would favour the first places are drawn again.
    const std::uint64_t surplus = (0 - std::uint64_t{left}) % left;  // 2^64 mod left
    std::uint64_t drawn = 0;
    do {
      const PhiloxBlock block = key.block(position++);
      drawn = std::uint64_t{block[0]} << 32 | block[1];
    } while (drawn < surplus);
    std::swap(order[left - 1], order[static_cast<std::size_t>(drawn % left)]);
  }
  return order;
}

namespace {

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {  // the highest power first
  double sum = 0;
  for (const double c : coefficients) sum = sum * x + c;
  return sum;
}

// log of a normal number: x = m 2^e with m in [sqrt(1/2), sqrt(2)], log m = 2 artanh((m - 1) / (m + 1)), whose series has terms
// below 2^-60 from the twelfth on.
double logarithm(double x) {
  constexpr double kLog2High = 0x1.62e42fefa3800p-1, kLog2Low = 0x1.ef35793c76730p-45;  // of log 2; e times the first is exact
  constexpr double kRootHalf = 0.70710678118654752440;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < kRootHalf) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), t = s * s;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * t;
  return e * kLog2High + (2 * s + (2 * s * series + e * kLog2Low));
}

// Numerators and denominators of AS 241 for the middle, the tails and the far tails.
constexpr std::array kA{2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
                        1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0};
constexpr std::array kB{5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
                        5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
constexpr std::array kC{7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
                        3.64784832476320460504e0,  5.76949722146069140550e0,  4.63033784615654529590e0,  1.42343711074968357734e0};
constexpr std::array kD{1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                        6.89767334985100004550e-1, 1.67638483018380384940e0,  2.05319162663775882187e0,  1.0};
constexpr std::array kE{2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
                        2.96560571828504891230e-1, 1.78482653991729133580e0,  5.46378491116411436990e0,  6.65790464350110377720e0};
constexpr std::array kF{2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
                        1.48753612908506148525e-2,  1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0};

}  // namespace

double normal_quantile(double p) {
  demand(p > 0 && p < 1, "normal_quantile: 0 < p < 1");
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double r = std::sqrt(-logarithm(q < 0 ? p : 1 - p));
  const double size = r <= 5 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6) : polynomial(kE, r - 5) / polynomial(kF, r - 5);
  return q < 0 ? -size : size;
}

}  // namespace assay::runtime
