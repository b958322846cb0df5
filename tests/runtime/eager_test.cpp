// Every op forward and backward on the tape, against enclosures of the reference: two rule books, two sets of kernels.
#include <cmath>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/cases.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "runtime/autodiff/transform.h"
#include "runtime/graph_module.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using gradients::AdjointCase;
using gradients::Domain;
using runtime::RandomKey;

// The same graph over double.
Graph doubled(Graph graph) {
  for (Node& node : graph.nodes) {
    if (node.dtype == DType::float32) node.dtype = DType::float64;
  }
  return graph;
}

// Whole numbers and truth values from the domain; reals inside it, or among the kinks and their neighbours.
Tensor point(const Node& node, const Domain& domain, const std::vector<double>& kinks, const RandomKey& key) {
  const std::vector<double> u = runtime::uniform(key, DType::float64, node.shape).to_tensor().to_doubles();
  std::vector<double> reals;
  std::vector<std::int64_t> wholes;
  for (const double each : u) {
    wholes.push_back(static_cast<std::int64_t>(std::floor(domain.lo + each * (domain.hi - domain.lo + 1))));
    const auto choice = static_cast<std::size_t>(each * static_cast<double>(kinks.size() + 1));
    reals.push_back(choice < kinks.size() ? kinks[choice] : domain.lo + (0.05 + 0.9 * each) * (domain.hi - domain.lo));
  }
  if (is_float(node.dtype)) return Tensor::of_doubles(node.shape, reals);
  if (node.dtype == DType::int64) return Tensor::of_ints(node.shape, wholes);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const std::int64_t whole : wholes) bytes->push_back(static_cast<std::byte>(whole));
  return {node.dtype, node.shape, bytes};
}

Array<Interval> interval_of(const Tensor& tensor) {
  Array<Interval> array{tensor.shape(), {}};
  for (const double value : tensor.to_doubles()) array.values.push_back(ScalarTraits<Interval>::from_double(value));
  return array;
}

// Each element within its enclosure, but for the rounding of a few operations.
void check_within(const Tensor& found, const Array<Interval>& set) {
  constexpr double kSlack = 1e-11;
  REQUIRE(found.shape() == set.shape);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double value = found.as_double(i), lo = set.values[i].lo(), hi = set.values[i].hi();
    INFO("element " << i << ": " << value << ", set [" << lo << ", " << hi << "]");
    CHECK(value >= lo - kSlack * (1 + std::abs(lo)));
    CHECK(value <= hi + kSlack * (1 + std::abs(hi)));
  }
}

void check_case(const AdjointCase& one, const std::vector<double>& kinks, std::uint64_t seed) {
  const Graph graph = doubled(one.graph);
  std::vector<std::size_t> reals;
  std::vector<Tensor> points;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Node& node = graph.node(graph.inputs[k]);
    if (is_float(node.dtype)) reals.push_back(k);
    points.push_back(point(node, one.domains[k], kinks, RandomKey(seed).split(k)));
  }
  const Graph reference = gradients::differentiate(graph, 0, reals).value();
  points.push_back(point(graph.node(graph.outputs[0]), {-2, 2}, {}, RandomKey(seed).split(99)));

  runtime::Session session({.dtype = DType::float64});
  const runtime::GraphModule module(session, graph);
  std::vector<runtime::Value> inputs, of;
  for (const Tensor& tensor : points) inputs.push_back(session.input(tensor));
  const auto y = module(std::span(inputs.data(), inputs.size() - 1));
  REQUIRE(y.ok());
  for (const std::size_t k : reals) of.push_back(inputs[k]);
  const auto bars = session.gradients(y.value()[0], of, {inputs.back(), seed % 2 == 0});
  INFO((bars.ok() ? "" : bars.rejection().to_text()));
  REQUIRE(bars.ok());

  std::vector<Array<Interval>> sets;
  for (const Tensor& tensor : points) sets.push_back(interval_of(tensor));
  const auto values = evaluate<Interval>(reference, sets);
  REQUIRE(values.ok());
  for (std::size_t k = 0; k < of.size(); ++k) {
    INFO("input " << reals[k]);
    check_within(bars.value()[k].array().to_tensor(), values.value()[reference.outputs[k]]);
  }
  sets.pop_back();
  const auto forward = evaluate<Interval>(graph, sets);
  check_within(y.value()[0].array().to_tensor(), forward.value()[graph.outputs[0]]);
}

// The derivative along tangents: the tape's, by transposing twice, and the runtime's graph, which the session runs.
void check_forward(const AdjointCase& one, std::uint64_t seed) {
  const Graph graph = doubled(one.graph);
  std::vector<std::size_t> reals;
  std::vector<Tensor> points;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Node& node = graph.node(graph.inputs[k]);
    if (is_float(node.dtype)) reals.push_back(k);
    points.push_back(point(node, one.domains[k], {}, RandomKey(seed).split(k)));
  }
  for (const std::size_t k : reals) points.push_back(point(graph.node(graph.inputs[k]), {-2, 2}, {}, RandomKey(seed).split(50 + k)));
  std::vector<Array<Interval>> sets;
  for (const Tensor& tensor : points) sets.push_back(interval_of(tensor));
  const Graph reference = gradients::jvp(graph, 0, reals).value();
  const auto values = evaluate<Interval>(reference, sets);
  REQUIRE(values.ok());
  const Array<Interval>& wanted = values.value()[reference.outputs[0]];

  runtime::Session session({.dtype = DType::float64});
  std::vector<runtime::Value> given, of;
  for (const Tensor& tensor : points) given.push_back(session.input(tensor));
  for (const std::size_t k : reals) of.push_back(given[k]);
  const auto y = runtime::GraphModule(session, graph)(std::span(given).first(graph.inputs.size()));
  REQUIRE(y.ok());
  const auto on_tape = session.jvp(y.value()[0], of, std::span(given).subspan(graph.inputs.size()));
  REQUIRE(on_tape.ok());
  check_within(on_tape.value().array().to_tensor(), wanted);
  const auto by_graph = runtime::GraphModule(session, runtime::jvp(graph, 0, reals).value())(given);
  REQUIRE(by_graph.ok());
  check_within(by_graph.value()[0].array().to_tensor(), wanted);
}

}  // namespace

TEST_CASE("eager: values and gradients of every op lie in the reference's sets, at kinks as well", "[eager]") {
  for (int k = 0; k < kOpCount; ++k) {
    if (static_cast<Op>(k) == Op::cast) continue;  // between float types, of which this test has one
    for (const AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        INFO(one.name << ", seed " << seed);
        check_case(one, {}, seed);
        if (!one.kinks.empty()) check_case(one, one.kinks, seed + 10);
      }
    }
  }
}

TEST_CASE("eager: derivatives along tangents of every op lie in the reference's sets", "[eager]") {
  for (int k = 0; k < kOpCount; ++k) {
    if (static_cast<Op>(k) == Op::cast) continue;
    for (const AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      INFO(one.name);
      check_forward(one, 4);
    }
  }
}

TEST_CASE("eager: a graph as a module", "[eager]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  const NodeId w = graph.append_constant(Tensor::of_floats({2, 2}, std::vector<float>{1, 2, 3, 4}), "w");
  graph.mark_output(graph.append(Op::relu, {graph.append(Op::matmul, {x, w}).value()}).value(), "y");
  runtime::Session session;
  const runtime::GraphModule module(session, graph);
  REQUIRE(module.parameters().size() == 1);
  CHECK(session.name_of(module.parameters()[0]) == "w");
  const std::vector<runtime::Value> at{session.input(Tensor::of_floats({1, 2}, std::vector<float>{1, -1}))};
  const auto y = module(at);
  REQUIRE(y.ok());
  CHECK(y.value()[0].to_doubles() == std::vector<double>{0, 0});  // 1 - 3 and 2 - 4
  const std::vector<runtime::Value> other{session.input(Tensor::of_floats({2, 1}, std::vector<float>{1, -1}))};
  CHECK(module(other).rejection().code == "session.input");
  CHECK(module({}).rejection().code == "session.input");
}

}  // namespace assay::test
