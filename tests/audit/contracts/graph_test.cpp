// Regions and vector-Jacobian products: graphs executed op by op on sets.
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/ops/denote.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

std::vector<Admissible> region_sets(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& inputs) {
  Outcome<std::vector<Admissible>> result = contracts::admissible(graph, model, inputs);
  if (!result) FAIL(result.rejection().to_text());
  return std::move(result).value();
}

TEST_CASE("a product that feeds a sum may be fused with it, if the model says so", "[contracts]") {
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {64}, "a"), b = graph.append_input(DType::float32, {64}, "b");
  const NodeId c = graph.append_input(DType::float32, {64}, "c");
  const NodeId product = graph.append(Op::mul, {a, b}).value();
  graph.mark_output(graph.append(Op::add, {product, c}).value(), "sum");
  graph.mark_output(graph.append(Op::sub, {c, product}).value(), "difference");
  std::mt19937_64 random(91);
  const Floats x = gaussians(random, 64), y = gaussians(random, 64);
  Floats z;
  for (std::size_t i = 0; i < 64; ++i) z.push_back(-x[i] * y[i] + 1e-4F * gaussian(random));
  Floats plain, fused, minus, minus_fused;
  for (std::size_t i = 0; i < 64; ++i) {
    plain.push_back(x[i] * y[i] + z[i]);
    fused.push_back(std::fma(x[i], y[i], z[i]));
    minus.push_back(z[i] - x[i] * y[i]);
    minus_fused.push_back(std::fma(-x[i], y[i], z[i]));
  }
  ExecutionModel strict = float_model("");
  strict.fused_multiply_add = false;
  const std::vector<Tensor> inputs = {vector_of(x), vector_of(y), vector_of(z)};
  const std::vector<Admissible> weak = region_sets(graph, float_model(""), inputs), sharp = region_sets(graph, strict, inputs);
  CHECK(within(weak[0], plain));
  CHECK(within(weak[0], fused));
  CHECK(within(weak[1], minus));
  CHECK(within(weak[1], minus_fused));
  CHECK(within(sharp[0], plain));
  CHECK(within(sharp[1], minus));
  CHECK(judged(sharp[0], fused).failed > 5);
  CHECK(judged(sharp[1], minus_fused).failed > 5);
}

// (a + b) - a, where a is so large that the sum forgets b; and silu(a) * b + c.
TEST_CASE("the number nearest to the exact value of a region is admitted, and none between it and the set", "[contracts]") {
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {64}, "a"), b = graph.append_input(DType::float32, {64}, "b");
  graph.mark_output(graph.append(Op::sub, {graph.append(Op::add, {a, b}).value(), a}).value(), "forgets");
  graph.mark_output(
      graph.append(Op::add, {graph.append(Op::mul, {graph.append(Op::silu, {a}, ActivationAttributes{1, 0}).value(), b}).value(), b})
          .value(),
      "gate");
  std::mt19937_64 random(94);
  Floats y = gaussians(random, 64);
  for (float& each : y) each = std::ldexp(std::round(std::ldexp(each, 12)), -12);  // so that doubles hold the sum
  Floats zero, half, exact_gate, off;
  const auto run = [&](const Floats& x, const ExecutionModel& model) { return region_sets(graph, model, {vector_of(x), vector_of(y)}); };
  const Floats large(64, 0x1p27F), x = gaussians(random, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    zero.push_back(0);
    half.push_back(y[i] / 2);
    const double wide = x[i] / (1 + std::exp(-double{x[i]})) * y[i] + y[i];
    exact_gate.push_back(static_cast<float>(wide));
    off.push_back(std::nextafter(exact_gate[i], wide > exact_gate[i] ? -INFINITY : INFINITY));
  }
  ExecutionModel ordered = float_model(), unfused = float_model();
  ordered.accumulator = ExecutionModel::Accumulator::left_to_right;
  unfused.fused_multiply_add = false;
  const Admissible forgets = run(large, float_model())[0];
  CHECK(within(forgets, zero));
  CHECK(within(forgets, y));
  CHECK(judged(forgets, half).failed == 64);
  CHECK(judged(run(large, ordered)[0], y).failed == 64);
  CHECK(judged(run(large, unfused)[0], y).failed == 64);
  const Admissible gate = run(x, float_model())[1];
  CHECK(within(gate, exact_gate));
  CHECK(judged(run(x, unfused)[1], exact_gate).failed > 0);
  CHECK(judged(gate, off).failed > 5);  // the others lie in the sets
}

// log(1 + exp(x)), whose digits cancel in binary64 as well.
TEST_CASE("a region in binary64 that rounds once is admitted once its sets are refined, and so is the exact value", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {6}, "x"),
               one = graph.append_constant(Tensor::of_floats({}, std::vector<float>{1}), "");
  graph.mark_output(graph.append(Op::log, {graph.append(Op::add, {one, graph.append(Op::exp, {x}).value()}).value()}).value(), "softplus");
  const Floats values = {-17, -19.5F, -22, -25, -28, -31};
  Floats in_double, exact, off;
  for (const float value : values) {
    in_double.push_back(static_cast<float>(std::log(1 + std::exp(double{value}))));
    exact.push_back(static_cast<float>(std::log1p(std::exp(double{value}))));
    off.push_back(exact.back() * 1.01F + 1e-14F);
  }
  const std::vector<Tensor> inputs = {vector_of(values)};
  ExecutionModel ordered = float_model("any-library");
  ordered.accumulator = ExecutionModel::Accumulator::left_to_right;
  const auto refined_to = [&](const ExecutionModel& model, const Floats& received) {
    std::vector<Admissible> sets = region_sets(graph, model, inputs);
    contracts::refine(sets, graph, model, inputs, {}, std::vector<Tensor>{vector_of(received)});
    return sets[0];
  };
  const Admissible refined = refined_to(float_model("any-library"), in_double), strict = refined_to(ordered, in_double);
  const Admissible unrefined = region_sets(graph, float_model("any-library"), inputs)[0];
  Floats admitted;
  for (const contracts::FloatSet& set : unrefined.sets.values) admitted.push_back(static_cast<float>(set.lo));
  CHECK(refined_to(float_model("any-library"), admitted).in_double.empty());
  CHECK(judged(unrefined, in_double).failed > 0);
  CHECK((within(refined, in_double) && within(refined, exact)));
  CHECK(judged(refined, off).failed >= 3);
  CHECK(judged(strict, in_double).failed > 0);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(nearest(contracts::Format::binary32, refined.exact[i].lo()) == double{exact[i]});
}

TEST_CASE("sets of a large region are refined unless an element is too far off for that", "[contracts]") {
  Graph graph;
  constexpr std::int64_t kMany = 3000;
  const NodeId x = graph.append_input(DType::float32, {kMany}, "x"),
               one = graph.append_constant(Tensor::of_floats({}, std::vector<float>{1}), "");
  graph.mark_output(graph.append(Op::log, {graph.append(Op::add, {one, graph.append(Op::exp, {x}).value()}).value()}).value(), "softplus");
  const std::vector<Tensor> inputs = {vector_of(Floats(kMany, -25))};
  Floats received(kMany, static_cast<float>(std::log(1 + std::exp(-25))));
  const auto refined = [&] {
    std::vector<Admissible> sets = region_sets(graph, float_model("any-library"), inputs);
    contracts::refine(sets, graph, float_model("any-library"), inputs, {}, std::vector<Tensor>{vector_of(received)});
    return sets[0];
  };
  CHECK(within(refined(), received));
  received[0] = 1;
  CHECK(refined().in_double.empty());
  CHECK(judged(refined(), received).failed == kMany);
  received[0] = std::numeric_limits<float>::infinity();
  CHECK(judged(refined(), received).failed == 1);
}

TEST_CASE("a zero that is nearest to the exact value has its sign, and one that the set knows has the set's", "[contracts]") {
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {2}, "a"), b = graph.append_input(DType::float32, {2}, "b");
  const NodeId product = graph.append(Op::mul, {a, b}).value();
  graph.mark_output(graph.append(Op::neg, {a}).value(), "negative");
  graph.mark_output(graph.append(Op::mul, {product, a}).value(), "underflows");
  const std::vector<Admissible> sets = region_sets(graph, float_model(), {vector_of({0, 0x1p-100F}), vector_of({1, -0x1p-10F})});
  CHECK(judged(sets[0], Floats{-0.0F, -0x1p-100F}).failed == 0);
  CHECK(judged(sets[0], Floats{0, -0x1p-100F}).failed == 1);
  CHECK(judged(sets[1], Floats{0, -0.0F}).failed == 0);
  CHECK(judged(sets[1], Floats{0, 0}).failed == 1);
}

TEST_CASE("the number nearest to the exact value is not admitted beside a float64, whose neighbours enclose it", "[contracts]") {
  const auto doubles = [](double x) { return Tensor::of_doubles({1}, std::vector<double>{x}); };
  const double sum = 0.1 + 0.2;  // 0.30000000000000004, and 0.3 lies below the exact sum
  for (const Op op : {Op::add, Op::mul, Op::div}) {
    const double right = op == Op::add ? sum : op == Op::mul ? 0.1 * 0.3 : 0.1 / 0.3;
    const Admissible sets = sets_of(op, NoAttributes{}, double_model(), {doubles(0.1), doubles(op == Op::add ? 0.2 : 0.3)});
    CHECK(judged(sets, doubles(right)).failed == 0);
    CHECK(judged(sets, doubles(std::nextafter(right, 0))).failed == 1);
    CHECK(judged(sets, doubles(std::nextafter(right, 1))).failed == 1);
  }
}

// The mean and the variance in two passes, in float32; then s = r w, with the factor r off by a share.
Floats folded_norm(const Floats& x, const Floats& w, const Floats& b, float off, bool shifts) {
  const std::size_t n = w.size();
  Floats y;
  for (std::size_t row = 0; row < x.size() / n; ++row) {
    float sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[row * n + i];
    const float m = sum / static_cast<float>(n);
    for (std::size_t i = 0; i < n; ++i) squares += (x[row * n + i] - m) * (x[row * n + i] - m);
    const float r = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5F) * (1 + off);
    for (std::size_t i = 0; i < n; ++i) {
      const float s = r * w[i], value = x[row * n + i];
      y.push_back(shifts ? value * s + (b[i] - m * s) : (value - m) * s + b[i]);
    }
  }
  return y;
}

TEST_CASE("a normalisation may multiply its factor with the weight first, and shift afterwards", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {16, 24}, "x"), w = graph.append_input(DType::float32, {24}, "w");
  const NodeId b = graph.append_input(DType::float32, {24}, "b");
  NormaliseAttributes attributes;
  attributes.axes = {1};
  attributes.epsilon = 1e-5;
  const NodeId normal = graph.append(Op::normalise, {x}, attributes).value();
  graph.mark_output(graph.append(Op::add, {graph.append(Op::mul, {w, normal}).value(), b}).value(), "y");
  std::mt19937_64 random(95);
  Floats values = gaussians(random, 16 * 24);
  for (float& value : values) value += 3;
  const Floats weights = gaussians(random, 24), biases = gaussians(random, 24);
  const Admissible sets = region_sets(graph, float_model(), {tensor({16, 24}, values), vector_of(weights), vector_of(biases)})[0];
  for (const bool shifts : {false, true}) {
    CHECK(within(sets, folded_norm(values, weights, biases, 0, shifts)));
    CHECK(judged(sets, folded_norm(values, weights, biases, 0x1p-17F, shifts)).failed > 20);
  }
}

// A two-layer network with a softmax and a cross entropy: all its gradients.
struct Net {
  Graph graph;
  Net() {
    const NodeId x = graph.append_input(DType::float32, {5, 7}, "x"), w1 = graph.append_input(DType::float32, {7, 9}, "w1");
    const NodeId b1 = graph.append_input(DType::float32, {9}, "b1"), w2 = graph.append_input(DType::float32, {9, 4}, "w2");
    const NodeId hidden = graph.append(Op::gemm, {x, w1, b1}, GemmAttributes{}).value();
    const NodeId active = graph.append(Op::tanh, {hidden}).value();
    const NodeId scores = graph.append(Op::matmul, {active, w2}).value();
    graph.mark_output(graph.append(Op::log_softmax, {scores}, SoftmaxAttributes{1}).value(), "y");
  }
};

TEST_CASE("recorded gradients are judged by the graph that differentiate gives", "[contracts]") {
  std::mt19937_64 random(92);
  const Net net;
  const std::vector<std::size_t> inputs = {0, 1, 2, 3};
  const Outcome<Graph> gradient = gradients::differentiate(net.graph, 0, inputs);
  REQUIRE(gradient.ok());
  const std::vector<Shape> shapes = {{5, 7}, {7, 9}, {9}, {9, 4}, {5, 4}};
  std::size_t elements = 0, vacuous = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> operands;
    std::vector<Array<float>> values;
    for (const Shape& shape : shapes) {
      values.push_back({shape, gaussians(random, element_count(shape), 0.7F)});
      operands.push_back(tensor(shape, values.back().values));
    }
    const std::vector<Admissible> sets = region_sets(gradient.value(), float_model(), operands);
    const std::vector<Array<float>> run = evaluate<float>(gradient.value(), values).value();
    for (std::size_t k = 0; k < sets.size(); ++k) {
      const Floats& y = run[gradient.value().outputs[k]].values;
      CHECK(within(sets[k], y));
      elements += y.size();
      vacuous += judged(sets[k], y).vacuous;
      Floats wrong = y;
      const std::size_t at = random() % wrong.size();
      wrong[at] = wrong[at] * 1.05F + 0.05F;
      CHECK(judged(sets[k], wrong).failed == 1);
    }
  }
  CHECK(vacuous < elements / 20);
}

TEST_CASE("the gradient of relu at its kink is a set, elsewhere a number", "[contracts]") {
  Graph graph;
  graph.mark_output(graph.append(Op::relu, {graph.append_input(DType::float32, {3}, "x")}).value(), "y");
  const std::size_t first = 0;
  const Graph gradient = gradients::differentiate(graph, 0, std::span(&first, 1)).value();
  const Admissible sets = region_sets(gradient, float_model(""), {vector_of({1, -1, 0}), vector_of({3, 3, 3})})[0];
  for (const float convention : {0.0F, 1.5F, 3.0F}) CHECK(judged(sets, {3, 0, convention}).failed == 0);
  CHECK(judged(sets, {3, 0, 3.5F}).first_failure == 2U);
  CHECK(judged(sets, {3, 1, 0}).first_failure == 1U);
  CHECK(judged(sets, {0, 0, 0}).first_failure == 0U);
}

TEST_CASE("a reduction over products may be fused with them", "[contracts]") {
  std::mt19937_64 random(93);
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {20}, "a"), b = graph.append_input(DType::float32, {20}, "b");
  const NodeId minus = graph.append(Op::neg, {graph.append(Op::mul, {a, b}).value()}).value();
  graph.mark_output(graph.append(Op::reduce_sum, {minus}, ReduceAttributes{{0}, false}).value(), "y");
  graph.mark_output(graph.append(Op::add, {minus, a}).value(), "z");
  ExecutionModel strict = float_model("");
  strict.fused_multiply_add = false;
  std::size_t flagged = 0;
  for (int round = 0; round < 200; ++round) {
    const Floats x = gaussians(random, 20), y = sparse(random, 20, 3);
    Floats minus_x = x, fused;
    for (float& value : minus_x) value = -value;
    for (std::size_t i = 0; i < 20; ++i) fused.push_back(std::fma(minus_x[i], y[i], x[i]));
    const std::vector<Admissible> sets = region_sets(graph, float_model(""), {vector_of(x), vector_of(y)});
    CHECK(within(sets[0], {fused_dot(minus_x, y)}));
    CHECK(within(sets[0], {in_order(products(minus_x, y))}));
    CHECK(within(sets[1], fused));
    const std::vector<Admissible> sharp = region_sets(graph, strict, {vector_of(x), vector_of(y)});
    CHECK(within(sharp[0], {in_order(products(minus_x, y))}));
    flagged += judged(sharp[1], fused).failed;
  }
  CHECK(flagged > 0);
}

TEST_CASE("a recorded intermediate result is what later nodes are judged by", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {3}, "x");
  const NodeId e = graph.append(Op::exp, {x}).value();
  graph.mark_output(e, "e");
  graph.mark_output(graph.append(Op::mul, {e, e}).value(), "y");
  const Floats input = {0.5F, 1.5F, -2.0F};
  Floats saved, result;
  for (const float value : input) {
    saved.push_back(std::exp(value));
    result.push_back(saved.back() * saved.back());
  }
  const std::vector<Tensor> inputs = {vector_of(input)};
  const auto sets_with = [&](const Floats& value) {
    const contracts::Recording recording{e, vector_of(value)};
    return contracts::admissible(graph, float_model(), inputs, std::span(&recording, 1)).value();
  };
  const std::vector<Admissible> loose = region_sets(graph, float_model(), inputs), sharp = sets_with(saved);
  CHECK(within(loose[1], result));
  CHECK(loose[1].sets.values[0].lo < loose[1].sets.values[0].hi);
  CHECK(within(sharp[0], saved));
  CHECK(within(sharp[1], result));
  CHECK(sharp[1].sets.values[0].is_point());
  Floats off = saved;
  off[0] *= 2;
  CHECK(judged(sets_with(off)[0], off).first_failure == 0U);
  const contracts::Recording misfit{e, vector_of({1})};
  CHECK(contracts::admissible(graph, float_model(), inputs, std::span(&misfit, 1)).rejection().code == "contract.inputs");
  const contracts::Recording nowhere{99, vector_of({1})};
  CHECK(contracts::admissible(graph, float_model(), inputs, std::span(&nowhere, 1)).rejection().code == "contract.recording");
}

TEST_CASE("an overflow inside a region is carried on, and admitted only then", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x");
  const NodeId square = graph.append(Op::mul, {x, x}).value();
  graph.mark_output(graph.append(Op::sub, {square, square}).value(), "y");
  const Admissible sets = region_sets(graph, float_model(""), {vector_of({0x1p100F, 2})})[0];
  CHECK(judged(sets, {NAN, 0}).failed == 0);
  CHECK(judged(sets, {INFINITY, 0}).failed == 0);  // fused: x x is exact, and minus infinity is not
  CHECK(judged(sets, {NAN, NAN}).first_failure == 1U);
  CHECK(judged(sets, {0, 0}).failed == 0);  // the exact value
  CHECK(judged(sets, {1, 0}).first_failure == 0U);
  ExecutionModel unfused = float_model("");
  unfused.fused_multiply_add = false;
  CHECK(judged(region_sets(graph, unfused, {vector_of({0x1p100F, 2})})[0], {0, 0}).first_failure == 0U);
}

}  // namespace
}  // namespace assay::test
