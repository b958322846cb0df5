#include "search/relax/network.h"

#include <cmath>
#include <random>
#include <vector>

#include "search/attack/candidate_point.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;
using search_test::unary;

std::vector<double> outputs_at(const Network& network, const std::vector<double>& x) {
  Workspace workspace;
  std::vector<double> y(network.output_size());
  network.evaluate(1, x.data(), workspace);
  network.outputs(1, workspace, y.data());
  return y;
}

// A graph with every unary op that has a gradient, a residual sum, a product, a quotient, min, max and softmax.
Graph mixed_graph() {
  Graph graph = random_network({4, 6}, 11);
  const NodeId z = graph.outputs[0];
  graph.outputs.clear();
  graph.output_names.clear();
  const NodeId sigmoid = unary(graph, Op::sigmoid, z), tanh = unary(graph, Op::tanh, z), relu = unary(graph, Op::relu, z);
  const auto sum = graph.append(Op::add, {sigmoid, relu});
  REQUIRE(sum.ok());
  const auto product = graph.append(Op::mul, {sum.value(), tanh});
  REQUIRE(product.ok());
  const auto quotient = graph.append(Op::div, {product.value(), unary(graph, Op::exp, sigmoid)});
  REQUIRE(quotient.ok());
  const auto smallest = graph.append(Op::min, {quotient.value(), unary(graph, Op::sin, z)});
  REQUIRE(smallest.ok());
  const auto largest = graph.append(Op::max, {smallest.value(), unary(graph, Op::abs, tanh)});
  REQUIRE(largest.ok());
  const auto softmax = graph.append(Op::softmax, {largest.value()}, SoftmaxAttributes{1});
  REQUIRE(softmax.ok());
  graph.mark_output(softmax.value(), "y");
  return graph;
}

}  // namespace

TEST_CASE("forward values agree with the denotation", "[search][network]") {
  for (const bool mixed : {false, true}) {
    const auto problem = open(mixed ? mixed_graph() : random_network({4, 7, 5, 3}, 3), {make_case(4, -1, 1, {output_row({{0, 1}}, 0)})});
    const Network network(problem);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> x(4);
      for (double& value : x) value = uniform(random);
      const Array<double> input{{1, 4}, x};
      const auto exact = evaluate<double>(problem->graph(), std::span(&input, 1));
      REQUIRE(exact.ok());
      const std::vector<double> y = outputs_at(network, x), &expected = exact.value()[problem->graph().outputs[0]].values;
      REQUIRE(y.size() == expected.size());
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(y[i] - expected[i]) <= 1e-12 * (1 + std::fabs(expected[i])));
    }
  }
}

TEST_CASE("the cotangent is the derivative along random directions", "[search][network]") {
  const auto problem = open(mixed_graph(), {make_case(4, -1, 1, {output_row({{0, 1}}, 0)})});
  const Network network(problem);
  REQUIRE(network.has_gradient());
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> x(4), direction(4), y_bar(6), x_bar(4);
    for (double& value : x) value = uniform(random);
    for (double& value : direction) value = uniform(random);
    for (double& value : y_bar) value = uniform(random);
    Workspace workspace;
    network.evaluate(1, x.data(), workspace);
    network.vjp(1, workspace, y_bar.data(), x_bar.data());
    constexpr double kStep = 1e-6;
    std::vector<double> ahead = x, behind = x;
    double along = 0, difference = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      ahead[i] += kStep * direction[i];
      behind[i] -= kStep * direction[i];
      along += x_bar[i] * direction[i];
    }
    const std::vector<double> y_ahead = outputs_at(network, ahead), y_behind = outputs_at(network, behind);
    for (std::size_t k = 0; k < 6; ++k) difference += y_bar[k] * (y_ahead[k] - y_behind[k]) / (2 * kStep);
    CHECK(std::fabs(along - difference) <= 1e-5 * (1 + std::fabs(along)));
  }
}

TEST_CASE("bias additions and reshapes are folded into the products", "[search][network]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 3}, "x");
  const NodeId w = graph.append_constant(Tensor::of_floats({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const NodeId b = graph.append_constant(Tensor::of_floats({2}, std::vector<float>{0.5F, -0.5F}));
  const auto product = graph.append(Op::matmul, {x, w});
  REQUIRE(product.ok());
  const auto sum = graph.append(Op::add, {product.value(), b});
  REQUIRE(sum.ok());
  const NodeId relu = unary(graph, Op::relu, sum.value());
  graph.mark_output(relu, "y");
  const auto problem = open(graph, {make_case(3, -1, 1, {output_row({{0, 1}}, 0)})});
  const Network network(problem);
  CHECK(network.steps().size() == 3);  // input, product with bias, relu
  CHECK(outputs_at(network, {1, 0, 0}) == std::vector<double>{1.5, 1.5});
  CHECK(outputs_at(network, {0, -1, 0}) == std::vector<double>{0, 0});
}

TEST_CASE("a row's slack reads outputs and inputs", "[search][network]") {
  statement::Row row = output_row({{1, Rational(2)}}, Rational(3));
  row.terms.push_back({Rational(-1), {statement::Variable::Side::input, 0, 0}});
  const auto problem = open(random_network({2, 2}, 1), {make_case(2, 0, 1, {row})});
  const Network network(problem);
  const double y[] = {100, 0.5}, x[] = {4, 100};
  CHECK(slack(network.rows(0)[0], y, x) == 3 - 2 * 0.5 + 4);
  CHECK(worst_slack(network.rows(0), y, x) == Approx(6 / std::sqrt(5.0)));
  const double undefined[] = {0, std::nan("")};
  CHECK(worst_slack(network.rows(0), undefined, x) == -INFINITY);
}

TEST_CASE("snapped points are float32 where the box holds one, else exact", "[search][candidate]") {
  auto box = std::make_shared<statement::InputBox>();
  const Rational tenth = *Rational::parse("0.1");
  box->lo = {Rational(0), tenth, *Rational::parse("0.1000000001")};
  box->hi = {Rational(1), tenth, *Rational::parse("0.1000000002")};
  const auto problem = open(random_network({3, 1}, 1), {{box, {output_row({{0, 1}}, 100)}}});
  const Network network(problem);
  const CandidateBox candidates(network, 0);
  CHECK(candidates.snap(0, 0.1) == static_cast<double>(0.1F));
  CHECK(candidates.snap(0, 7) == 1);
  CHECK(candidates.snap(0, std::nan("")) == 0);
  const std::vector<double> snapped{candidates.snap(0, 0.3), candidates.snap(1, 0.3), candidates.snap(2, 0.3)};
  const std::vector<Rational> exact = candidates.exact(snapped);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(exact[i] >= box->lo[i]);
    CHECK(exact[i] <= box->hi[i]);
  }
  CHECK(exact[1] == tenth);
  CHECK(exact[0] == *Rational::from_double(static_cast<double>(0.3F)));
  const auto theorem = try_point(network, 0, snapped);
  REQUIRE(theorem.has_value());
  CHECK(theorem->kind() == logic::Theorem::Kind::satisfiable);
  CHECK(theorem->witness().inputs[1] == tenth);
}

}  // namespace assay::search
