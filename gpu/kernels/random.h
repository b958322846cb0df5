// Random numbers: those of runtime/random.h, bit for bit.
//
// Meaning.   Philox4x32-10 of a position under a key; uniform numbers, truth values, and quantiles of the standard normal
//            distribution (Wichura
//            1988, AS 241) from its bits, as runtime/random.cpp has them.
// Layout.    One thread per block of 128 bits, in a loop over the grid: four words, or two numbers of 53 bits.
// Order.     None: each number is a function of key and position.
// Error.     None: integer arithmetic, and IEEE 754 operations that are rounded one by one.
// NaN, inf.  There are none.
#pragma once

#include "gpu/call.h"
#include "runtime/random.h"

namespace assay::gpu {

struct RandomWords {
  std::uint32_t word[4];
};

ASSAY_BOTH inline RandomWords random_words(std::uint64_t position, std::uint32_t key0, std::uint32_t key1) {
  RandomWords c{{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32U), 0, 0}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c.word[0], b = std::uint64_t{0xCD9E8D57} * c.word[2];
    c = {{static_cast<std::uint32_t>(b >> 32U) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32U) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

// The highest power first.
template <class... More>
ASSAY_BOTH double polynomial(double x, double sum, More... more) {
  ((sum = plus_rounded(times_rounded(sum, x), more)), ...);
  return sum;
}

// Of a normal number, by 2 artanh((m - 1) / (m + 1)).
ASSAY_BOTH inline double rounded_logarithm(double x) {
  constexpr double kLog2High = 0x1.62e42fefa3800p-1, kLog2Low = 0x1.ef35793c76730p-45, kRootHalf = 0.70710678118654752440;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < kRootHalf) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), t = times_rounded(s, s);
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = times_rounded(plus_rounded(series, 1.0 / k), t);
  const double low = plus_rounded(times_rounded(2 * s, series), times_rounded(e, kLog2Low));
  return plus_rounded(times_rounded(e, kLog2High), plus_rounded(2 * s, low));
}

ASSAY_BOTH inline double rounded_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = plus_rounded(0.180625, -times_rounded(q, q));
    const double above = polynomial(r, 2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
                                    1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0);
    const double below = polynomial(r, 5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
                                    5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0);
    return times_rounded(q, above) / below;
  }
  const double r = std::sqrt(-rounded_logarithm(q < 0 ? p : 1 - p)), near = r - 1.6, far = r - 5;
  const double size =
      r <= 5
          ? polynomial(near, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
                       3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0) /
                polynomial(near, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                           6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0)
          : polynomial(far, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
                       2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0) /
                polynomial(far, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
                           1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0);
  return q < 0 ? -size : size;
}

template <class T>
struct RandomKernel {
  static constexpr const char* kName = "random";
  static constexpr unsigned kThreads = 128;
  using Kind = runtime::Drawing::Kind;

  View<T> y;
  std::uint32_t key0 = 0, key1 = 0;
  Kind kind = Kind::uniform;
  float first = 0, width = 1;   // of uniform numbers
  std::uint64_t threshold = 0;  // a truth value is 1 below it

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t each = per_block(kind);
    for (const std::size_t block : grid_of(t, (y.size + each - 1) / each)) {
      const RandomWords words = random_words(block, key0, key1);
      for (std::size_t k = 0; k < each && block * each + k < y.size; ++k) y[block * each + k] = number(words, k);
    }
  }
  ASSAY_BOTH static std::size_t per_block(Kind kind) { return kind == Kind::normal ? 2 : 4; }

 private:
  ASSAY_BOTH T number(const RandomWords& words, std::size_t k) const {
    if (kind == Kind::normal) {
      const std::uint64_t bits = (std::uint64_t{words.word[2 * k]} << 32U | words.word[2 * k + 1]) >> 11U;
      return static_cast<T>(rounded_quantile((static_cast<double>(bits) + 0.5) * 0x1p-53));
    }
    if (kind == Kind::bernoulli) return words.word[k] < threshold ? T{1} : T{0};
    return static_cast<T>(plus_rounded(first, times_rounded(width, static_cast<float>(words.word[k] >> 8U) * 0x1p-24F)));
  }
};

// Floats, and truth values of bernoulli.
template <class Queue>
Outcome<Done> run_random(Queue& queue, const runtime::RandomKey& key, const runtime::Drawing& drawing, void* memory, std::size_t count) {
  const bool is_bernoulli = drawing.kind == runtime::Drawing::Kind::bernoulli;
  const auto run = [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    if (count == 0) return Done{};
    RandomKernel<T> kernel{{static_cast<T*>(memory), count}, key.words()[0], key.words()[1], drawing.kind};
    if (is_bernoulli) kernel.threshold = runtime::bernoulli_threshold(drawing.first);
    kernel.first = static_cast<float>(drawing.first);
    kernel.width = static_cast<float>(drawing.second - drawing.first);
    const std::size_t each = kernel.per_block(drawing.kind);
    return queue.launch({kernel.kName, blocks_for((count + each - 1) / each, kernel.kThreads), kernel.kThreads, 0}, kernel);
  };
  if (drawing.dtype == DType::float32) return run(Type<float>());
  if (drawing.dtype == DType::boolean && is_bernoulli) return run(Type<std::uint8_t>());
  return refused(Op::cast, drawing.dtype);
}

}  // namespace assay::gpu
