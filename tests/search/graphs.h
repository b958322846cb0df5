// Small statements for the search tests: dense relu networks with seeded weights, boxes and rows.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernel/inspect/inspect.h"
#include "semantics/graph/graph.h"
#include "tests/catch.h"

namespace assay::search_test {

inline NodeId append(Graph& graph, Op op, std::vector<NodeId> operands, const Attributes& attributes = NoAttributes{}) {
  const auto node = graph.append(op, std::move(operands), attributes);
  REQUIRE(node.ok());
  return node.value();
}

inline NodeId dense(Graph& graph, NodeId x, std::size_t in, std::size_t out, const std::vector<float>& weight,
                    const std::vector<float>& bias) {
  const auto n = static_cast<std::int64_t>(in), m = static_cast<std::int64_t>(out);
  const NodeId w = graph.append_constant(Tensor::of_floats({m, n}, weight));
  const NodeId b = graph.append_constant(Tensor::of_floats({m}, bias));
  GemmAttributes attributes;
  attributes.transpose_b = true;
  return append(graph, Op::gemm, {x, w, b}, attributes);
}

inline NodeId unary(Graph& graph, Op op, NodeId x) { return append(graph, op, {x}); }

// Layers of the given widths with `activation` between them; weights are multiples of 1/16 in [-1, 1].
inline Graph random_network(const std::vector<std::size_t>& widths, std::uint64_t seed, Op activation = Op::relu) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    return values;
  };
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, static_cast<std::int64_t>(widths[0])}, "x");
  for (std::size_t k = 1; k < widths.size(); ++k) {
    if (k > 1) x = unary(graph, activation, x);
    const std::vector<float> bias = draw(widths[k]);  // before the weights: compilers evaluate arguments in different orders
    x = dense(graph, x, widths[k - 1], widths[k], draw(widths[k - 1] * widths[k]), bias);
  }
  graph.mark_output(x, "y");
  return graph;
}

// y = sin(3 x_0) x_1 + x_0 relu(x_1 + x_2): products of functions, least at about -2.279.
inline Graph product_of_functions() {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 3}, "x");
  const NodeId wave = unary(graph, Op::sin, dense(graph, x, 3, 1, {3, 0, 0}, {0}));
  const auto first = graph.append(Op::mul, {wave, dense(graph, x, 3, 1, {0, 1, 0}, {0})});
  REQUIRE(first.ok());
  const NodeId ramp = unary(graph, Op::relu, dense(graph, x, 3, 1, {0, 1, 1}, {0}));
  const auto second = graph.append(Op::mul, {dense(graph, x, 3, 1, {1, 0, 0}, {0}), ramp});
  REQUIRE(second.ok());
  const auto sum = graph.append(Op::add, {first.value(), second.value()});
  REQUIRE(sum.ok());
  graph.mark_output(sum.value(), "y");
  return graph;
}

inline statement::Row output_row(std::vector<std::pair<std::uint64_t, Rational>> terms, Rational bound, bool strict = false) {
  statement::Row row;
  for (auto& [element, coefficient] : terms) row.terms.push_back({coefficient, {statement::Variable::Side::output, 0, element}});
  row.bound = std::move(bound);
  row.strict = strict;
  return row;
}

inline statement::Case make_case(std::size_t inputs, const Rational& lo, const Rational& hi, std::vector<statement::Row> rows) {
  auto box = std::make_shared<statement::InputBox>();
  box->lo.assign(inputs, lo);
  box->hi.assign(inputs, hi);
  return {std::move(box), std::move(rows)};
}

inline std::shared_ptr<const logic::Problem> open(Graph graph, std::vector<statement::Case> cases) {
  statement::Statement statement;
  statement.graph = std::move(graph);
  statement.property.cases = std::move(cases);
  auto problem = logic::Problem::open(std::move(statement));
  if (!problem.ok()) FAIL(problem.rejection().to_text());
  return problem.value();
}

}  // namespace assay::search_test
