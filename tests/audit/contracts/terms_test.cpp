// Roundings of constants and weights, zeros of padding and carried sums are admitted; and terms, against which widths are
// measured.
#include <cmath>

#include "semantics/ops/denote.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

NodeId appended(Graph& graph, Op op, const std::vector<NodeId>& operands, const Attributes& attributes = {}) {
  const Outcome<NodeId> node = graph.append(op, operands, attributes);
  if (!node) FAIL(node.rejection().to_text());
  return node.value();
}
Admissible sets_of_graph(Graph& graph, NodeId output, const ExecutionModel& model, const std::vector<Tensor>& inputs) {
  graph.mark_output(output, "y");
  const auto sets = contracts::admissible(graph, model, inputs);
  if (!sets) FAIL(sets.rejection().to_text());
  return sets.value()[0];
}

TEST_CASE("an exponent that the format lacks is itself or its nearest number", "[contracts]") {
  for (const double r : {2.4, 0.7, -0.1, 3.3}) {
    const Rational exponent(static_cast<std::int64_t>(std::llround(10 * r)), 10);
    Floats x, rounded, exact, beyond, before;
    for (int i = 1; i < 200; ++i) {
      const double base = 0.01 * i * i, middle = std::pow(base, r);
      x.push_back(static_cast<float>(base));
      rounded.push_back(static_cast<float>(std::pow(static_cast<double>(x.back()), static_cast<double>(static_cast<float>(r)))));
      exact.push_back(static_cast<float>(std::pow(static_cast<double>(x.back()), r)));
      beyond.push_back(static_cast<float>(middle * (1 + 0x1p-18)));
      before.push_back(static_cast<float>(middle * (1 - 0x1p-18)));
    }
    CAPTURE(r);
    const Admissible sets = sets_of(Op::pow, PowAttributes{exponent}, float_model("pytorch-cpu"), {vector_of(x)});
    CHECK(within(sets, rounded));
    CHECK(within(sets, exact));
    CHECK(judged(sets, beyond).passed == 0);
    CHECK(judged(sets, before).passed == 0);
  }
}

TEST_CASE("a computed exponent is a set of exponents", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {3}, "x"), r = graph.append_input(DType::float32, {1}, "r");
  const NodeId gather = appended(graph, Op::weighted_gather, {r}, WeightedGatherAttributes{0, {0, 1}, {0}, {Rational(7, 10)}});
  const NodeId power = appended(graph, Op::power, {x, gather});
  const Floats base = {0.25F, 3.0F, 40.0F};
  const Admissible sets = sets_of_graph(graph, power, float_model("pytorch-cpu"), {vector_of(base), vector_of({1})});
  Floats right, wrong;
  for (const float b : base) {
    right.push_back(static_cast<float>(std::pow(static_cast<double>(b), 0.7)));
    wrong.push_back(static_cast<float>(std::pow(static_cast<double>(b), 0.7001)));
  }
  CHECK(judged(sets, right).passed == 3);
  CHECK(judged(sets, wrong).failed == 3);
}

TEST_CASE("what cancels is measured against its terms, behind layout ops and products too", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 4}, "x"), w = graph.append_input(DType::float32, {4, 2}, "w");
  const NodeId product = appended(graph, Op::matmul, {x, w});
  const NodeId turned = appended(graph, Op::permute, {product}, PermuteAttributes{{1, 0}});
  const NodeId scaled = appended(graph, Op::mul, {turned, turned});
  const Floats left = {1.1F, -2.3F, 3.7F, 0.9F}, right = {0.3F, 1, 0.3F, 1, 0.3F, 1, -1.1F, 1};  // the first column nearly cancels
  const Admissible sets = sets_of_graph(graph, turned, float_model(), {tensor({1, 4}, left), tensor({4, 2}, right)});
  CHECK_FALSE(sets.is_vacuous(0));
  CHECK(sets.scales[0] > 3);
  CHECK(judged(sets, {0.01F, 3.4F}).failed == 1);
  Graph again = graph;
  again.outputs.clear();
  again.output_names.clear();
  CHECK_FALSE(sets_of_graph(again, scaled, float_model(), {tensor({1, 4}, left), tensor({4, 2}, right)}).is_vacuous(0));
}

TEST_CASE("what is divided by a sum that cancelled is vacuous still", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {3}, "x"), y = graph.append_input(DType::float32, {1}, "y");
  const NodeId sum = appended(graph, Op::reduce_sum, {x}, ReduceAttributes{{0}, true});
  const NodeId quotient = appended(graph, Op::div, {y, sum});
  const Admissible sets = sets_of_graph(graph, quotient, float_model(), {vector_of({1.0000001F, 0.3333333F, -1.3333333F}), vector_of({1})});
  CHECK(sets.is_vacuous(0));
}

TEST_CASE("tails of activations are measured against the terms of their forms", "[contracts]") {
  const Floats x = {-5, -4.5F, -4, -1e-6F, -2.9999F};
  Floats y;
  for (const float v : x)
    y.push_back(static_cast<float>(0.5 * static_cast<double>(v) * std::erfc(-static_cast<double>(v) / std::sqrt(2.0))));
  const Admissible gelu = sets_of(Op::gelu, GeluAttributes{false}, float_model("pytorch-cpu"), {vector_of(x)});
  CHECK(judged(gelu, y).passed == x.size());
  CHECK(judged(gelu, {-1e-4F, -1e-3F, -1e-3F, 1e-6F, -1}).failed == 5);
  const Admissible elu = sets_of(Op::elu, ActivationAttributes{1, 0}, float_model("onnxruntime"), {vector_of({-1e-6F, -1e-3F})});
  CHECK(judged(elu, {-1e-6F, static_cast<float>(std::expm1(-1e-3F))}).passed == 2);
  CHECK(judged(elu, {1e-6F, -1.01e-3F}).failed == 2);
  const Admissible zeros = sets_of(Op::selu, ActivationAttributes{1.67, 1.05}, float_model("pytorch-cpu"), {vector_of({0, -0.0F})});
  CHECK(judged(zeros, {0, 0}).passed == 2);  // exp(z) - 1 is for what lies below
  CHECK(judged(zeros, {1e-7F, -1e-9F}).failed == 2);
}

TEST_CASE("padding times an infinite weight is left out or NaN", "[contracts]") {
  WindowAttributes window{{3}, {1}, {1}, {1}, {1}, {}};
  const Floats x = {1, 2, 3};
  const Admissible sets = sets_of(Op::conv, window, float_model(), {tensor({1, 1, 3}, x), tensor({1, 1, 3}, {kInf, 1, 1})});
  CHECK(within(sets, {3, kInf, kInf}));
  CHECK(within(sets, {kNaN, kInf, kInf}));
  CHECK(judged(sets, {3, kNaN, kInf}).failed == 1);
  CHECK(judged(sets, {4, kInf, kInf}).failed == 1);
}

TEST_CASE("elements at a set of positions, and integers beside an undefined one", "[contracts]") {
  Graph graph;
  const NodeId at = graph.append_input(DType::float32, {3}, "at"), x = graph.append_input(DType::float32, {4}, "x");
  const NodeId index = appended(graph, Op::cast, {at}, CastAttributes{static_cast<std::uint8_t>(DType::int64)});
  const NodeId moved = appended(graph, Op::add, {index, index});
  const NodeId taken = appended(graph, Op::take, {moved, x}, ConcatAttributes{0});
  const Admissible sets = sets_of_graph(graph, taken, float_model(), {vector_of({0, kNaN, 1}), vector_of({5, 6, 7, 8})});
  CHECK(judged(sets, {5, 1e9F, 7}).failed == 0);
  CHECK(judged(sets, {6, 1e9F, 7}).failed == 1);
  CHECK(judged(sets, {5, 1e9F, 8}).failed == 1);
}

TEST_CASE("weights of interpolation are as far off as the table says", "[contracts]") {
  const WeightedGatherAttributes sums{0, {0, 2}, {0, 1}, {Rational(3, 10), Rational(7, 10)}};
  const Tensor x = vector_of({1, -1, 2, 4, 8});
  const double exact = 0.3 - 0.7, error = 2 * (0x1p-20 + 5 * 0x1p-21);
  const Admissible sharp = sets_of(Op::weighted_gather, sums, float_model(), {x}),
                   wide = sets_of(Op::weighted_gather, sums, float_model("onnxruntime"), {x});
  const auto at = [&](double share) { return Floats{static_cast<float>(exact + share * error)}; };
  CHECK(within(sharp, at(0)));
  CHECK_FALSE(within(sharp, at(0.5)));
  CHECK(within(wide, at(0.9)));
  CHECK(within(wide, at(-0.9)));
  CHECK_FALSE(within(wide, at(1.5)));
  const WeightedGatherAttributes plain{0, {0, 2}, {0, 1}, {Rational(1), Rational(1)}};
  CHECK_FALSE(within(sets_of(Op::weighted_gather, plain, float_model("onnxruntime"), {x}), {0x1p-21F}));
}

// The squares of a window, the next one added and the one that leaves taken away.
Floats carried_response(const Floats& x, int size, float alpha, float beta, float bias) {
  const int channels = static_cast<int>(x.size()), half = (size - 1) / 2;
  const auto square = [&](int c) {
    return c < 0 || c >= channels ? 0.0F : x[static_cast<std::size_t>(c)] * x[static_cast<std::size_t>(c)];
  };
  const float share = alpha / static_cast<float>(size);
  float base = bias;
  for (int c = -half; c <= size - 1 - half; ++c) base += share * square(c);
  Floats y;
  for (int c = 0; c < channels; ++c) {
    if (c > 0) base = (base + share * square(c + size - 1 - half)) - share * square(c - 1 - half);
    y.push_back(x[static_cast<std::size_t>(c)] * std::pow(base, -beta));
  }
  return y;
}

TEST_CASE("a local response may carry its sum of squares where moments are of one pass", "[contracts]") {
  const LocalResponseAttributes attributes{3, 0.5, 0.75, 1};
  Floats x;
  for (int c = 0; c < 24; ++c) x.push_back(c % 5 == 0 ? 300.0F + static_cast<float>(c) : 0.1F * static_cast<float>(c % 7) + 0.3F);
  const Tensor input = tensor({1, 24, 1}, x);
  const Floats y = carried_response(x, 3, 0.5F, 0.75F, 1);
  ExecutionModel model = float_model();
  CHECK_FALSE(judged(sets_of(Op::local_response, attributes, model, {input}), tensor({1, 24, 1}, y)).failed == 0);
  model.moments = ExecutionModel::Moments::one_or_two_pass;
  const Admissible sets = sets_of(Op::local_response, attributes, model, {input});
  CHECK(judged(sets, tensor({1, 24, 1}, y)).failed == 0);
  Floats off = y;
  for (float& value : off) value *= 1.5F;
  CHECK(judged(sets, tensor({1, 24, 1}, off)).failed == 24);
}

TEST_CASE("softplus by log(1 + exp) and by better ways is within what the table of ONNX Runtime says", "[contracts]") {
  const Admissible sets = sets_of(Op::softplus, {}, float_model("onnxruntime"), {vector_of({-20, -1, 0.5F, 30})});
  const auto softplus = [](float x) { return x > 0 ? x + std::log(std::exp(-x) + 1) : std::log(std::exp(x) + 1); };
  CHECK(judged(sets, {std::log1p(std::exp(-20.0F)), std::log1p(std::exp(-1.0F)), std::log1p(std::exp(0.5F)), 30}).passed == 4);
  CHECK(judged(sets, {softplus(-20), softplus(-1), softplus(0.5F), softplus(30)}).passed == 4);
  CHECK(judged(sets, {1e-4F, 0.3134F, 0.9742F, 30.01F}).failed == 4);
}

TEST_CASE("products of integers that are written in float64 are exact beside float32", "[contracts]") {
  Graph graph;
  const NodeId a = graph.append_input(DType::uint8, {1, 3}, "a"), b = graph.append_input(DType::uint8, {3, 1}, "b");
  const NodeId wide = appended(graph, Op::matmul,
                               {appended(graph, Op::cast, {a}, CastAttributes{static_cast<std::uint8_t>(DType::float64)}),
                                appended(graph, Op::cast, {b}, CastAttributes{static_cast<std::uint8_t>(DType::float64)})});
  const NodeId y = appended(graph, Op::cast, {wide}, CastAttributes{static_cast<std::uint8_t>(DType::float32)});
  const auto bytes = [](Shape shape, std::vector<std::uint8_t> values) {
    auto data = std::make_shared<std::vector<std::byte>>();
    for (const std::uint8_t value : values) data->push_back(std::byte{value});
    return Tensor(DType::uint8, std::move(shape), data);
  };
  const Admissible sets = sets_of_graph(graph, y, float_model(), {bytes({1, 3}, {200, 3, 7}), bytes({3, 1}, {100, 2, 1})});
  CHECK(judged(sets, tensor({1, 1}, {20013})).passed == 1);
  CHECK(judged(sets, tensor({1, 1}, {20014})).failed == 1);
}

}  // namespace
}  // namespace assay::test
