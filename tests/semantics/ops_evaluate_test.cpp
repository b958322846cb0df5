// lift and evaluate: constants on every scalar, whole graphs.
#include "kernel/gradients/numbers/modular.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// y = relu(W x + b), then softmax; W and b are float32 numbers without a short decimal.
struct Network {
  Graph graph;
  NodeId pre_activation = 0, hidden = 0, output = 0;

  Network() {
    const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
    const float weights[] = {0.1F, -0.7F, 0.3F, 0.9F}, biases[] = {0.2F, -0.4F};
    const NodeId w = graph.append_constant(Tensor::of_floats({2, 2}, weights));
    const NodeId b = graph.append_constant(Tensor::of_floats({2}, biases));
    pre_activation = graph.append(Op::gemm, {x, w, b}, GemmAttributes{1, 1, false, true}).value();
    hidden = graph.append(Op::relu, {pre_activation}).value();
    output = graph.append(Op::softmax, {hidden}, SoftmaxAttributes{1}).value();
    graph.mark_output(output, "y");
  }
};

template <class S>
std::vector<Array<S>> input_of(const std::vector<S>& values) {
  return {{{1, 2}, values}};
}

}  // namespace

TEST_CASE("lift gives the exact values of a constant", "[ops]") {
  const float floats[] = {0.1F, -0.0F};
  const Array<Rational> r = lift<Rational>(Tensor::of_floats({2}, floats));
  CHECK(r.values[0] == Rational(13421773, 134217728));
  CHECK(r.values[1].sign() == 0);
  const std::int64_t ints[] = {std::numeric_limits<std::int64_t>::max(), -5};
  const Tensor integers = Tensor::of_ints({2}, ints);
  CHECK(lift<Rational>(integers).values[0] == Rational(ints[0]));
  CHECK(lift<Interval>(integers).values[0] == Interval(0x1.fffffffffffffp62, 0x1p63));  // not a double: enclosed
  CHECK(lift<Modular>(integers).values[1] == Modular(-5));
  CHECK(lift<double>(Tensor::of_floats({2}, floats)).values[0] == static_cast<double>(0.1F));
}

TEST_CASE("evaluate runs a graph over points, sets and fractions", "[ops]") {
  const Network network;
  const std::vector<Array<Rational>> exact_input = input_of<Rational>({Rational(1, 2), Rational(-1, 4)});
  const std::vector<Array<Interval>> box = input_of<Interval>({Interval(0.25, 0.75), Interval(-0.5, 0)});
  const std::vector<Array<double>> point = input_of<double>({0.5, -0.25});

  const auto sets = evaluate<Interval>(network.graph, box);
  const auto points = evaluate<double>(network.graph, point);
  REQUIRE(sets.ok());
  REQUIRE(points.ok());
  REQUIRE(sets.value().size() == network.graph.nodes.size());
  for (const NodeId id : {network.pre_activation, network.hidden, network.output}) {
    for (std::size_t i = 0; i < 2; ++i) CHECK(sets.value()[id].values[i].contains(points.value()[id].values[i]));
  }
  // exp leaves the rationals, so the whole graph is declined; its affine part alone is exact.
  const auto declined = evaluate<Rational>(network.graph, exact_input);
  REQUIRE_FALSE(declined.ok());
  CHECK(declined.rejection().code == "denote.scalar");
  Graph affine = network.graph;
  affine.nodes.pop_back();
  affine.outputs = {network.hidden};
  const Array<Rational> hidden = evaluate<Rational>(affine, exact_input).value()[network.hidden];
  const Rational w00 = lift<Rational>(affine.nodes[1].value).values[0], w01 = lift<Rational>(affine.nodes[1].value).values[1];
  const Rational b0 = lift<Rational>(affine.nodes[2].value).values[0];
  CHECK(hidden.values[0] == w00 * Rational(1, 2) + w01 * Rational(-1, 4) + b0);
  CHECK(hidden.values[1].sign() == 0);
  CHECK(sets.value()[network.hidden].values[0].contains(hidden.values[0]));
}

TEST_CASE("a complex constant has no real value", "[ops]") {
  Graph graph;
  graph.append_input(DType::float32, {1}, "x");
  graph.append_constant(Tensor(DType::complex64, {1}, std::make_shared<std::vector<std::byte>>(8)));
  graph.mark_output(0, "y");
  const std::vector<Array<double>> input = {{{1}, {0.0}}};
  const auto result = evaluate<double>(graph, input);
  REQUIRE_FALSE(result.ok());
  CHECK(result.rejection().code == "denote.scalar");
}

TEST_CASE("inputs that are outputs and constants that are outputs are evaluated", "[ops]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x");
  const float values[] = {3, 4};
  const NodeId c = graph.append_constant(Tensor::of_floats({2}, values));
  graph.mark_output(x, "x");
  graph.mark_output(c, "c");
  const std::vector<Array<double>> input = {{{2}, {1, 2}}};
  const auto result = evaluate<double>(graph, input).value();
  CHECK(result[x].values == std::vector<double>{1, 2});
  CHECK(result[c].values == std::vector<double>{3, 4});
}
