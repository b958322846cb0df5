// Thousands of random ops on random data, executed naively in random order: none is ever flagged. And the power to flag wrong ones.
#include <functional>

#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

// Terms of one result element, as pairs of factors; a sum has second factors 1.
using Terms = std::vector<std::pair<float, float>>;

// In random order, over random lanes, products rounded or fused.
float executed(Terms terms, bool products, std::mt19937_64& random) {
  std::shuffle(terms.begin(), terms.end(), random);
  Floats lanes(1 + random() % 5, 0.0F);
  for (const auto& [a, b] : terms) {
    float& lane = lanes[random() % lanes.size()];
    lane = products && random() % 2 == 0 ? std::fma(a, b, lane) : lane + a * b;
  }
  return in_random_order(lanes, random);
}

Floats random_data(std::mt19937_64& random, std::size_t n) {
  switch (random() % 6) {
    case 0:
      return small_integers(random, n, 9);
    case 1:
      return sparse(random, n, 1 + n / 8);
    case 2:
      return gaussians(random, n, std::ldexp(1.0F, static_cast<int>(random() % 200) - 130));
    case 3: {
      Floats x = gaussians(random, n);
      for (float& value : x) value = std::ldexp(value, static_cast<int>(random() % 60) - 40);
      return x;
    }
    case 4:
      return gaussians(random, n, 1, 100);
    default:
      return gaussians(random, n);
  }
}

struct Trial {
  Op op;
  Attributes attributes;
  std::vector<Tensor> operands;
  Floats result;
  bool overflowed() const {
    return std::any_of(result.begin(), result.end(), [](float y) { return !std::isfinite(y); });
  }
};

Trial matmul_trial(std::mt19937_64& random) {
  const std::size_t m = 1 + random() % 4, k = 1 + random() % 60, n = 1 + random() % 4;
  const Floats a = random_data(random, m * k), b = random_data(random, k * n), c = random_data(random, n);
  const bool with_bias = random() % 2 == 0;
  Trial trial{with_bias ? Op::gemm : Op::matmul, NoAttributes{}, {}, {}};
  if (with_bias) trial.attributes = GemmAttributes{};
  const auto extent = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  trial.operands = {tensor({extent(m), extent(k)}, a), tensor({extent(k), extent(n)}, b)};
  if (with_bias) trial.operands.push_back(tensor({extent(n)}, c));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Terms terms;
      for (std::size_t l = 0; l < k; ++l) terms.emplace_back(a[i * k + l], b[l * n + j]);
      if (with_bias) terms.emplace_back(c[j], 1.0F);
      trial.result.push_back(executed(terms, true, random));
    }
  }
  return trial;
}

// One spatial axis, any stride, dilation and pads.
Trial conv_trial(std::mt19937_64& random) {
  const std::int64_t channels = 1 + static_cast<std::int64_t>(random() % 3), features = 1 + static_cast<std::int64_t>(random() % 3);
  const std::int64_t extent = 4 + static_cast<std::int64_t>(random() % 12), kernel = 1 + static_cast<std::int64_t>(random() % 4);
  WindowAttributes w;
  w.kernel = {kernel};
  w.strides = {1 + static_cast<std::int64_t>(random() % 3)};
  w.dilations = {1 + static_cast<std::int64_t>(random() % 2)};
  w.pads_begin = {static_cast<std::int64_t>(random() % 3)};
  w.pads_end = {4 + static_cast<std::int64_t>(random() % 3)};
  const auto count = [](std::int64_t a) { return static_cast<std::size_t>(a); };
  const Floats x = random_data(random, count(channels * extent)), weight = random_data(random, count(features * channels * kernel));
  Trial trial{Op::conv, w, {tensor({1, channels, extent}, x), tensor({features, channels, kernel}, weight)}, {}};
  const std::int64_t span = w.dilations[0] * (kernel - 1) + 1,
                     results = (extent + w.pads_begin[0] + w.pads_end[0] - span) / w.strides[0] + 1;
  for (std::int64_t f = 0; f < features; ++f) {
    for (std::int64_t o = 0; o < results; ++o) {
      Terms terms;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t k = 0; k < kernel; ++k) {
          const std::int64_t i = o * w.strides[0] - w.pads_begin[0] + k * w.dilations[0];
          if (i >= 0 && i < extent) terms.emplace_back(weight[count((f * channels + c) * kernel + k)], x[count(c * extent + i)]);
        }
      }
      trial.result.push_back(executed(terms, true, random));
    }
  }
  return trial;
}

Trial sum_trial(std::mt19937_64& random) {
  const std::size_t n = 1 + random() % 200;
  const Floats x = random_data(random, n);
  Terms terms;
  for (const float value : x) terms.emplace_back(value, 1.0F);
  const float sum = executed(terms, false, random);
  const bool mean = random() % 2 == 0, by_reciprocal = random() % 2 == 0;
  const float count = static_cast<float>(n);
  const float result = !mean ? sum : by_reciprocal ? sum * (1.0F / count) : sum / count;
  return {mean ? Op::reduce_mean : Op::reduce_sum, ReduceAttributes{{0}, false}, {vector_of(x)}, {result}};
}

Trial running_trial(std::mt19937_64& random) {
  const std::size_t n = 1 + random() % 60;
  const Floats x = random_data(random, n);
  Trial trial{Op::cumsum, CumulativeAttributes{0, false, random() % 2 == 0}, {vector_of(x)}, {}};
  for (std::size_t i = 0; i < n; ++i) {
    Terms terms;
    for (std::size_t j = 0; j < n; ++j) {
      if (std::get<CumulativeAttributes>(trial.attributes).reverse ? j >= i : j <= i) terms.emplace_back(x[j], 1.0F);
    }
    trial.result.push_back(executed(terms, false, random));
  }
  return trial;
}

Trial softmax_trial(std::mt19937_64& random) {
  const std::size_t n = 1 + random() % 60;
  Floats x = gaussians(random, n, std::ldexp(1.0F, static_cast<int>(random() % 8)));
  const float greatest = *std::max_element(x.begin(), x.end());
  Terms terms;
  Floats y;
  for (const float value : x) y.push_back(std::exp(value - greatest));
  for (const float value : y) terms.emplace_back(value, 1.0F);
  const float sum = executed(terms, false, random);
  const bool by_reciprocal = random() % 2 == 0;
  for (float& value : y) value = by_reciprocal ? value * (1.0F / sum) : value / sum;
  return {Op::softmax, SoftmaxAttributes{0}, {vector_of(x)}, y};
}

Trial norm_trial(std::mt19937_64& random) {
  const std::size_t n = 2 + random() % 60;
  const Floats x = gaussians(random, n, 3, static_cast<float>(random() % 20));
  const float count = static_cast<float>(n);
  Terms terms, squares;
  for (const float value : x) terms.emplace_back(value, 1.0F);
  const float mean = executed(terms, false, random) / count;
  for (const float value : x) squares.emplace_back(value - mean, value - mean);
  const float variance = executed(squares, true, random) * (1.0F / count), root = std::sqrt(variance + 0x1p-17F);
  Floats y;
  for (const float value : x) y.push_back(random() % 2 == 0 ? (value - mean) / root : std::fma(value, 1.0F / root, -mean * (1.0F / root)));
  return {Op::normalise, NormaliseAttributes{{0}, 0x1p-17, NormaliseAttributes::Form::centered}, {vector_of(x)}, y};
}

TEST_CASE("thousands of naive executions, not one flagged", "[contracts]") {
  std::mt19937_64 random(101);
  using Make = Trial (*)(std::mt19937_64&);
  for (const Make make :
       {Make(matmul_trial), Make(conv_trial), Make(sum_trial), Make(running_trial), Make(softmax_trial), Make(norm_trial)}) {
    std::size_t finite = 0;
    for (int round = 0; round < 700; ++round) {
      const Trial trial = make(random);
      CAPTURE(op_row(trial.op).name, round);
      const Admissible sets = sets_of(trial.op, trial.attributes, float_model(), trial.operands);
      CHECK(within(sets, trial.result));
      finite += trial.overflowed() ? 0 : 1;
    }
    CHECK(finite > 600);
  }
}

// The share of dots flagged of those computed with a change.
double flagged(std::size_t k, const std::function<Floats(std::size_t)>& data,
               const std::function<float(const Floats&, const Floats&)>& wrong) {
  std::size_t count = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const Floats a = data(k), b = data(k);
    const Admissible sets = sets_of(Op::matmul, NoAttributes{}, float_model(""), {vector_of(a), vector_of(b)});
    count += judged(sets, {wrong(a, b)}).failed;
  }
  return static_cast<double>(count) / kRounds;
}

TEST_CASE("power falls with dense length, and not for integers", "[contracts]") {
  std::mt19937_64 random(102);
  const auto dense = [&](std::size_t n) { return gaussians(random, n); };
  const auto whole = [&](std::size_t n) { return small_integers(random, n); };
  const auto narrow = [](const Floats& a, const Floats& b) {
    Floats x = a, y = b;
    for (float& value : x) value = tf32(value);
    for (float& value : y) value = tf32(value);
    return pairwise(products(x, y));
  };
  const auto dropped = [](const Floats& a, const Floats& b) {
    Floats terms = products(a, b);
    const auto present = std::find_if(terms.begin(), terms.end(), [](float term) { return term != 0; });
    if (present != terms.end()) *present = 0;
    return pairwise(terms);
  };
  const double short_narrow = flagged(64, dense, narrow), long_narrow = flagged(2048, dense, narrow);
  CHECK(short_narrow > 0.8);
  CHECK(long_narrow < short_narrow);
  CHECK(flagged(64, dense, dropped) > 0.9);
  CHECK(flagged(2048, whole, dropped) == 1);
  CHECK(flagged(2048, whole, [](const Floats& a, const Floats& b) { return pairwise(products(a, b)); }) == 0);
}

}  // namespace
}  // namespace assay::test
