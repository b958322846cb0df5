// Defined ops: runtimes' ways to compute them pass, wrong or worse ones fail.
#include <algorithm>
#include <functional>
#include <memory>

#include "kernel/floats/forms.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using Function1 = std::function<float(float)>;
struct ActivationCase {
  std::string name;
  Op op;
  Attributes attributes;
  std::vector<Function1> right, wrong;
};

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }
float stable_sigmoid(float x) { return x >= 0 ? sigmoid(x) : std::exp(x) / (1.0F + std::exp(x)); }
float softplus(float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); }

std::vector<ActivationCase> activation_cases() {
  constexpr float kRootHalf = 0.707106781F, kTwoOverPi = 0.797884561F;
  const auto tanh_gelu = [](float x) { return 0.5F * x * (1.0F + std::tanh(kTwoOverPi * (x + 0.044715F * x * x * x))); };
  return {
      {"sigmoid",
       Op::sigmoid,
       NoAttributes{},
       {sigmoid, stable_sigmoid},
       {[](float x) { return sigmoid(x) * 1.00001F; }, [](float x) { return sigmoid(tf32(x)); }}},
      {"softplus", Op::softplus, NoAttributes{}, {softplus, [](float x) { return x > 20 ? x : std::log1p(std::exp(x)); }}, {[](float x) {
         return softplus(x) * 1.00001F;
       }}},
      {"silu",
       Op::silu,
       ActivationAttributes{1, 0},
       {[](float x) { return x * sigmoid(x); }, [](float x) { return x / (1.0F + std::exp(-x)); },
        [](float x) { return x * stable_sigmoid(x); }},
       {[](float x) { return x * sigmoid(1.702F * x); }}},
      {"mish",
       Op::mish,
       NoAttributes{},
       {[](float x) { return x * std::tanh(softplus(x)); },
        [](float x) {
          const float e = std::exp(x), n = e * (e + 2);
          return x > 20 ? x : x * (n / (n + 2));
        }},
       {[](float x) { return x * std::tanh(softplus(x)) + 1e-4F; }}},
      {"gelu",
       Op::gelu,
       GeluAttributes{false},
       {[](float x) { return 0.5F * x * (1.0F + std::erf(x * kRootHalf)); },
        [](float x) { return x * 0.5F * (1.0F + std::erf(x / std::sqrt(2.0F))); },
        [](float x) { return 0.5F * x * std::erfc(-x * kRootHalf); }},
       {tanh_gelu}},
      {"tanh gelu",
       Op::gelu,
       GeluAttributes{true},
       {tanh_gelu, [](float x) { return 0.5F * x * (1.0F + std::tanh(kTwoOverPi * x * (1.0F + 0.044715F * x * x))); },
        [](float x) { return x * sigmoid(2 * kTwoOverPi * (x + 0.044715F * x * x * x)); },
        [](float x) { return x / (1.0F + std::exp(-2 * kTwoOverPi * (x + 0.044715F * x * x * x))); },
        [](float x) { return x * stable_sigmoid(2 * kTwoOverPi * x * (1.0F + 0.044715F * x * x)); },
        [](float x) { return x / (1.0F + std::exp(-x * (2 * kTwoOverPi + 0.0713548163F * x * x))); },
        [](float x) { return x * sigmoid(2 * (kTwoOverPi * x + 0.0356774081F * x * x * x)); }},
       {[](float x) { return 0.5F * x * (1.0F + std::erf(x * kRootHalf)); }, [](float x) { return x * sigmoid(1.702F * x); },
        [](float x) { return x / (1.0F + std::exp(-1.5957F * (x + 0.044715F * x * x * x))); }}},
      {"softsign", Op::softsign, NoAttributes{}, {[](float x) { return x / (1.0F + std::fabs(x)); }}, {[](float x) {
         return x / (1.0001F + std::fabs(x));
       }}},
      {"elu",
       Op::elu,
       ActivationAttributes{0.75, 0},
       {[](float x) { return x > 0 ? x : 0.75F * std::expm1(x); }, [](float x) { return x > 0 ? x : 0.75F * (std::exp(x) - 1.0F); }},
       {[](float x) { return x > 0 ? x : 0.75F * std::exp(x) - 1.0F; }}},
      {"selu",
       Op::selu,
       ActivationAttributes{1.6732632423543772, 1.0507009873554805},
       {[](float x) { return 1.05070098F * (x > 0 ? x : 1.67326324F * std::expm1(x)); },
        [](float x) { return x > 0 ? 1.05070098F * x : (1.67326324F * 1.05070098F) * (std::exp(x) - 1.0F); }},
       {[](float x) { return x > 0 ? 1.05070098F * x : 1.67326324F * std::expm1(x); }}},
      {"celu",
       Op::celu,
       ActivationAttributes{1.5, 0},
       {[](float x) { return std::max(x, 0.0F) + std::min(0.0F, 1.5F * (std::exp(x / 1.5F) - 1.0F)); }},
       {[](float x) { return std::max(x, 0.0F) + std::min(0.0F, 1.5F * (std::exp(x) - 1.0F)); }}},
      {"hard_sigmoid",
       Op::hard_sigmoid,
       ActivationAttributes{0.2, 0.5},
       {[](float x) { return std::min(std::max(0.2F * x + 0.5F, 0.0F), 1.0F); },
        [](float x) { return std::min(std::max(std::fma(0.2F, x, 0.5F), 0.0F), 1.0F); }},
       {[](float x) { return std::min(std::max(0.2001F * x + 0.5F, 0.0F), 1.0F); }}},
      {"hard_swish",
       Op::hard_swish,
       NoAttributes{},
       {[](float x) { return x * std::min(std::max(x + 3.0F, 0.0F), 6.0F) / 6.0F; },
        [](float x) { return x * (std::min(std::max(x + 3.0F, 0.0F), 6.0F) * (1.0F / 6.0F)); }},
       {[](float x) { return x * std::min(std::max(x + 3.0F, 0.0F), 6.0F) / 5.999F; }}},
  };
}

TEST_CASE("activations: every usual form passes, another function or a worse form fails", "[contracts]") {
  std::mt19937_64 random(51);
  for (const ActivationCase& one : activation_cases()) {
    CAPTURE(one.name);
    Floats x = gaussians(random, 3000, 3);
    for (int i = 0; i < 40; ++i) x.push_back(static_cast<float>(i - 20) / 2);
    const Admissible sets = sets_of(one.op, one.attributes, float_model(), {vector_of(x)});
    for (const Function1& f : one.right) {
      Floats y;
      for (const float value : x) y.push_back(f(value));
      CHECK(within(sets, y));
      const Judgement result = judged(sets, y);
      CHECK(result.vacuous < x.size() / 8);
      if (one.op != Op::softsign) CHECK(result.head_room_used > 0.01);  // its steps are all correctly rounded
    }
    for (const Function1& f : one.wrong) {
      Floats y;
      for (const float value : x) y.push_back(f(value));
      CHECK(judged(sets, y).failed > x.size() / 10);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {  // the exact value lies in the hull of the set, up to a rounding
      const Interval& exact = sets.exact[i];
      REQUIRE(!exact.is_undefined());
      CHECK(exact.lo() >= sets.sets.values[i].lo - 1e-6 * std::fabs(sets.sets.values[i].lo) - 1e-44);
      CHECK(exact.hi() <= sets.sets.values[i].hi + 1e-6 * std::fabs(sets.sets.values[i].hi) + 1e-44);
    }
  }
}

TEST_CASE("an activation computed in double and rounded once is no failure", "[contracts]") {
  std::mt19937_64 random(62);
  const Floats x = gaussians(random, 2000, 4);
  Floats logistic, gaussian_unit;
  for (const float value : x) {
    const auto wide = static_cast<double>(value);
    logistic.push_back(static_cast<float>(1 / (1 + std::exp(-wide))));
    gaussian_unit.push_back(static_cast<float>(wide * std::erfc(-wide * std::sqrt(0.5)) / 2));
  }
  CHECK(within(sets_of(Op::sigmoid, NoAttributes{}, float_model(), {vector_of(x)}), logistic));
  CHECK(within(sets_of(Op::gelu, GeluAttributes{false}, float_model(), {vector_of(x)}), gaussian_unit));
}

TEST_CASE("where exp overflows below a quotient, the result is near 0 and nothing else", "[contracts]") {
  const std::vector<std::pair<Op, Attributes>> ops = {
      {Op::sigmoid, NoAttributes{}}, {Op::silu, ActivationAttributes{1, 0}}, {Op::gelu, GeluAttributes{true}}};
  for (const char* table : {"any-library", "pytorch-cpu", "onnxruntime", "cuda-13"}) {
    ExecutionModel model = float_model();
    model.math_table = table;
    for (const auto& [op, attributes] : ops) {
      CAPTURE(table, op_row(op).name);
      const Admissible sets = sets_of(op, attributes, model, {vector_of({-95, -200, -1e10F})});
      CHECK(within(sets, {-0.0F, -0.0F, -0.0F}));
      CHECK(judged(sets, {-1, 1e-3F, NAN}).failed == 3);
    }
  }
}

TEST_CASE("a tanh-based sigmoid has its own class", "[contracts]") {
  std::mt19937_64 random(52);
  ExecutionModel model = float_model();
  model.sigmoid = ExecutionModel::Sigmoid::tanh_form;
  const Floats x = gaussians(random, 500, 4);
  Floats y;
  for (const float value : x) y.push_back(0.5F * std::tanh(0.5F * value) + 0.5F);
  CHECK(within(sets_of(Op::sigmoid, NoAttributes{}, model, {vector_of(x)}), y));
  CHECK(judged(sets_of(Op::sigmoid, NoAttributes{}, float_model(), {vector_of(x)}), y).failed > 20);
}

// ---- softmax ----

Floats softmax(const Floats& x, bool subtract) {
  const float greatest = subtract ? *std::max_element(x.begin(), x.end()) : 0.0F;
  Floats y;
  for (const float value : x) y.push_back(std::exp(value - greatest));
  const float sum = in_order(y);
  for (float& value : y) value /= sum;
  return y;
}
// One pass with rescaling.
Floats online_softmax(const Floats& x) {
  float m = -INFINITY, s = 0;
  for (const float value : x) {
    const float next = std::max(m, value);
    s = s * std::exp(m - next) + std::exp(value - next);
    m = next;
  }
  Floats y;
  for (const float value : x) y.push_back(std::exp(value - m) / s);
  return y;
}
Floats binary_softmax(const Floats& x) {
  constexpr float kLog2E = 1.44269504F;
  float m = -INFINITY, s = 0;
  for (const float value : x) {
    const float next = std::max(m, value);
    s = std::fma(s, std::exp2((m - next) * kLog2E), std::exp2((value - next) * kLog2E));
    m = next;
  }
  Floats y;
  for (const float value : x) y.push_back(std::exp2((value - m) * kLog2E) / s);
  return y;
}

TEST_CASE("softmax with its maximum subtracted, and without", "[contracts]") {
  std::mt19937_64 random(53);
  std::size_t unshifted = 0, elements = 0, online_flagged = 0;
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + random() % 200;
    const float scale = round % 3 == 0 ? 1 : round % 3 == 1 ? 10 : 50;
    const Floats x = gaussians(random, n, scale);
    const Admissible sets = sets_of(Op::softmax, SoftmaxAttributes{0}, float_model(), {vector_of(x)});
    CHECK(within(sets, softmax(x, true)));
    CHECK(judged(sets, softmax(x, true)).vacuous < n / 4 + 1);
    Floats far = x;
    for (float& value : far) value += 100;
    unshifted += judged(sets_of(Op::softmax, SoftmaxAttributes{0}, float_model(), {vector_of(far)}), softmax(far, false)).failed;
    elements += n;
    Floats rounded;
    for (const float value : x) rounded.push_back(rounded_to_half(value));
    if (n > 4 && scale == 10) CHECK(judged(sets, softmax(rounded, true)).failed > n / 3);
    ExecutionModel online = float_model();
    online.softmax = ExecutionModel::Softmax::online;
    const Admissible weak = sets_of(Op::softmax, SoftmaxAttributes{0}, online, {vector_of(x)});
    CHECK(within(weak, online_softmax(x)));
    CHECK(within(weak, binary_softmax(x)));
    CHECK(within(weak, softmax(x, true)));
    online_flagged += judged(sets, binary_softmax(x)).failed;
  }
  CHECK(unshifted > elements / 2);
  CHECK(online_flagged > 5);
}

TEST_CASE("softmax: dropped elements, zeros and NaN", "[contracts]") {
  const Floats x = {1, 2, 3, -INFINITY};
  const Admissible sets = sets_of(Op::softmax, SoftmaxAttributes{0}, float_model(), {vector_of(x)});
  Floats y = softmax({1, 2, 3}, true);
  y.push_back(0);
  CHECK(within(sets, y));
  CHECK(judged(sets, {0, 0, 0, 0}).failed == 3);
  CHECK(judged(sets, {NAN, NAN, NAN, NAN}).failed == 4);
  Floats dropped = softmax({1, 3}, true);
  CHECK(judged(sets, {dropped[0], y[1], dropped[1], 0}).failed == 2);
  const Admissible none = sets_of(Op::softmax, SoftmaxAttributes{0}, float_model(), {vector_of({-INFINITY, -INFINITY})});
  CHECK(within(none, {NAN, NAN}));
}

TEST_CASE("logarithms of softmax and of sums of powers", "[contracts]") {
  std::mt19937_64 random(54);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + random() % 100;
    const Floats x = gaussians(random, n, 5, 100);
    const float greatest = *std::max_element(x.begin(), x.end());
    Floats powers, y, naive;
    for (const float value : x) powers.push_back(std::exp(value - greatest));
    const float log = std::log(in_order(powers));
    for (const float value : x) y.push_back(value - greatest - log);
    for (const float value : x) naive.push_back(value - (greatest + log));
    const Admissible sets = sets_of(Op::log_softmax, SoftmaxAttributes{0}, float_model(), {vector_of(x)});
    CHECK(within(sets, y));
    CHECK(judged(sets, y).vacuous == 0);
    Floats wrong = y;
    for (float& value : wrong) value += 0.01F;
    CHECK(judged(sets, wrong).failed == n);
    const Admissible sum = sets_of(Op::log_sum_exp, ReduceAttributes{{0}, false}, float_model(), {vector_of(x)});
    CHECK(within(sum, {greatest + log}));
    CHECK(judged(sum, {greatest + log + 1e-3F}).failed == 1);
  }
}

TEST_CASE("the log of a sum of exponentials with an infinite term is that infinity, or NaN", "[audit]") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float infinity : {kInf, -kInf}) {
    const Admissible of_infinity = sets_of(Op::log_sum_exp, ReduceAttributes{{0}, false}, float_model(), {vector_of({infinity, infinity})});
    CHECK(within(of_infinity, {infinity}));  // 0 in the place of an infinite maximum
    CHECK(within(of_infinity, {std::numeric_limits<float>::quiet_NaN()}));
    CHECK(judged(of_infinity, {-infinity}).failed == 1);
    CHECK(judged(of_infinity, {0.0F}).failed == 1);
  }
  const Admissible finite = sets_of(Op::log_sum_exp, ReduceAttributes{{0}, false}, float_model(), {vector_of({1, -kInf})});
  CHECK(judged(finite, {kInf}).failed == 1);
  CHECK(judged(finite, {-kInf}).failed == 1);
}

// ---- normalisation ----

TEST_CASE("batch normalisation, folded or not", "[contracts]") {
  std::mt19937_64 random(58);
  const Shape shape = {2, 3, 5};
  const Floats x = gaussians(random, 30), scale = gaussians(random, 3), bias = gaussians(random, 3), mean = gaussians(random, 3);
  Floats var = gaussians(random, 3);
  for (float& value : var) value = value * value + 0.1F;
  const Admissible sets = sets_of(Op::batch_norm, BatchNormAttributes{0.001953125}, float_model(""),
                                  {tensor(shape, x), vector_of(scale), vector_of(bias), vector_of(mean), vector_of(var)});
  Floats plain, folded, wrong;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i / 5 % 3;
    const float root = std::sqrt(var[c] + 0.001953125F), factor = scale[c] / root;
    plain.push_back((x[i] - mean[c]) * factor + bias[c]);
    folded.push_back(std::fma(x[i], factor, bias[c] - mean[c] * factor));
    wrong.push_back((x[i] - mean[c]) * (scale[c] / std::sqrt(var[c])) + bias[c]);
  }
  CHECK(within(sets, plain));
  CHECK(within(sets, folded));
  CHECK(judged(sets, plain).vacuous == 0);
  CHECK(judged(sets, wrong).failed > 25);
}

TEST_CASE("the scale of hard_swish is the size of its terms x x/6 and x/2", "[contracts]") {
  Node node;
  node.op = Op::hard_swish;
  CHECK(floats::size_of_terms<double>(node, -3, 3) == 3.0 * (3.0 / 6 + 0.5));
  CHECK(floats::size_of_terms<double>(node, 1, 3) == 0);
}

TEST_CASE("local response and masked softmax", "[contracts]") {
  std::mt19937_64 random(59);
  const Floats x = gaussians(random, 24, 3);
  const Admissible sets = sets_of(Op::local_response, LocalResponseAttributes{3, 0.5, 0.75, 2}, float_model(), {tensor({1, 6, 4}, x)});
  Floats y, wrong;
  for (int i = 0; i < 24; ++i) {
    float s = 0;
    for (int c = std::max(i / 4 - 1, 0); c <= std::min(i / 4 + 1, 5); ++c)
      s += x[static_cast<std::size_t>(c * 4 + i % 4)] * x[static_cast<std::size_t>(c * 4 + i % 4)];
    y.push_back(x[static_cast<std::size_t>(i)] / std::pow(2.0F + 0.5F / 3.0F * s, 0.75F));
    wrong.push_back(x[static_cast<std::size_t>(i)] / std::pow(2.0F + 0.5F * s, 0.75F));
  }
  CHECK(within(sets, y));
  CHECK(judged(sets, wrong).failed > 20);
  auto bytes = std::make_shared<std::vector<std::byte>>(std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{1}});
  const Admissible masked = sets_of(Op::masked_softmax, MaskedSoftmaxAttributes{0, true}, float_model(),
                                    {vector_of({1, NAN, 2}), Tensor(DType::boolean, {3}, bytes)});
  const Floats open = softmax({1, 2}, true);
  CHECK(within(masked, {open[0], 0, open[1]}));
  CHECK(judged(masked, {open[0], 1e-6F, open[1]}).failed == 1);
  CHECK(judged(masked, {open[0], NAN, open[1]}).failed == 1);
  const Admissible beside_nan = sets_of(Op::masked_softmax, MaskedSoftmaxAttributes{0, true}, float_model(),
                                        {vector_of({NAN, 3, 2}), Tensor(DType::boolean, {3}, bytes)});
  CHECK(within(beside_nan, {NAN, 0, NAN}));    // the masked element takes no part
  CHECK(within(beside_nan, {NAN, NAN, NAN}));  // it is exp(-infinity) divided by the line's sum
  CHECK(judged(beside_nan, {NAN, 0.5F, NAN}).failed == 1);
}

}  // namespace
}  // namespace assay::test
