// Products of variables in properties: outputs of a graph that computes them from the network's own inputs and outputs.
#include <functional>
#include <random>

#include "kernel/inspect/inspect.h"
#include "semantics/ops/denote.h"
#include "semantics/statement/statement_text.h"
#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;

namespace {

constexpr const char* kHead =
    "(vnnlib-version 2.0)(declare-network f (declare-input X real [1,2]) (declare-input Z real [2]) (declare-output Y real [2]) "
    "(declare-output W real [1,2]))\n(assert (and (<= -2 X[0,0] ) (<= X[0,0] 2) (<= -2 X[0,1]) (<= X[0,1] 2) (<= -1 Z[0]) (<= Z[0] 1) (<= "
    "-1 Z[1]) "
    "(<= Z[1] 1)))\n";

// y = relu(z), w = x + x.
Graph model(DType dtype = DType::float32) {
  Graph graph;
  const NodeId x = graph.append_input(dtype, {1, 2}, "x"), z = graph.append_input(dtype, {2}, "z");
  const auto add = [&](Op op, std::vector<NodeId> operands, const char* name) {
    auto node = graph.append(op, std::move(operands));
    REQUIRE(node.ok());
    graph.mark_output(node.value(), name);
  };
  add(Op::relu, {z}, "y");
  add(Op::add, {x, x}, "w");
  return graph;
}

vnnlib::PropertyFile read(const std::string& asserts, const Graph& graph) {
  auto file = read_text(kHead + asserts, graph, "f");
  if (!file) FAIL(file.rejection().to_text());
  return std::move(file).value();
}

// X[0,0], X[0,1], Z[0], Z[1], Y[0], Y[1], W[0,0], W[0,1].
using Point = std::vector<Rational>;
constexpr const char* kVariables[] = {"X[0,0]", "X[0,1]", "Z[0]", "Z[1]", "Y[0]", "Y[1]", "W[0,0]", "W[0,1]"};

struct Polynomial {
  std::string text;
  std::function<Rational(const Point&)> value;
};

Polynomial random_polynomial(std::mt19937& random, int depth) {
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(3) == 0) {
      const int number = pick(9) - 4;
      return {std::to_string(number), [number](const Point&) { return Rational(number); }};
    }
    const auto v = static_cast<std::size_t>(pick(8));
    return {kVariables[v], [v](const Point& at) { return at[v]; }};
  }
  const char op = "+-**"[pick(4)];
  Polynomial left = random_polynomial(random, depth - 1), right = random_polynomial(random, depth - 1);
  return {"(" + std::string(1, op) + " " + left.text + " " + right.text + ")", [=](const Point& at) {
            const Rational a = left.value(at), b = right.value(at);
            return op == '+' ? a + b : op == '-' ? a - b : a * b;
          }};
}

std::vector<Array<Rational>> values(const Graph& graph, const Point& at) {
  const std::vector<Array<Rational>> inputs = {{{1, 2}, {at[0], at[1]}}, {{2}, {at[2], at[3]}}};
  auto all = evaluate<Rational>(graph, inputs);
  if (!all) FAIL(all.rejection().to_text());
  return std::move(all).value();
}

// The sum of the row's terms, less its bound.
Rational slack(const statement::Row& row, const Graph& graph, const std::vector<Array<Rational>>& values) {
  Rational sum = -row.bound;
  for (const statement::Term& term : row.terms) {
    const auto& ids = term.variable.side == statement::Variable::Side::input ? graph.inputs : graph.outputs;
    sum += term.coefficient * values[ids[term.variable.tensor]].values[term.variable.element];
  }
  return sum;
}

}  // namespace

TEST_CASE("vnnlib: products of variables are outputs with the value that the text has", "[vnnlib]") {
  const Graph network = model();
  std::mt19937 random(7);
  std::size_t with_products = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Polynomial left = random_polynomial(random, 4), right = random_polynomial(random, 2);
    INFO(left.text);
    // A literal that never holds keeps the comparison from being decided alone where it has no variable.
    const vnnlib::PropertyFile file =
        read("(assert (or (<= " + left.text + " " + right.text + ") (and (<= Y[0] -5) (<= Y[1] -7))))", network);
    const Graph& graph = file.graph ? *file.graph : network;
    CHECK(validate(graph).empty());
    with_products += file.graph ? 1 : 0;
    CHECK(file.network_outputs == 4);
    CHECK(validate(statement::Statement{graph, file.property, ExecutionModel{}, {}}).empty());
    const statement::Case& first = file.property.cases.front();
    if (first.rows.size() != 1) continue;  // a constant comparison, or a bound of an input
    for (int k = 0; k < 4; ++k) {
      Point at;
      for (int i = 0; i < 4; ++i) at.push_back(Rational(static_cast<int>(random() % 33) - 16) / Rational(8));
      for (int i = 2; i < 4; ++i) at.push_back(at[static_cast<std::size_t>(i)].sign() > 0 ? at[static_cast<std::size_t>(i)] : Rational(0));
      for (std::size_t i = 0; i < 2; ++i) at.push_back(at[i] + at[i]);
      CHECK(slack(first.rows[0], graph, values(graph, at)) == left.value(at) - right.value(at));
    }
  }
  CHECK(with_products > 100);
}

TEST_CASE("vnnlib: each product is computed once, and squares from one factor", "[vnnlib]") {
  const Graph network = model();
  const vnnlib::PropertyFile file =
      read("(assert (<= (* X[0,0] X[0,0] X[0,0] X[0,0]) (+ (* X[0,0] Y[1] X[0,0]) (* Y[1] X[0,0] X[0,0]) (* W[0,1] W[0,1]))))", network);
  REQUIRE(file.graph);
  const Graph& graph = *file.graph;
  // X00^2 and W01^2; X00^4; X00^2 Y1.
  REQUIRE(graph.outputs.size() == 5);
  std::size_t squares = 0, products = 0;
  for (std::size_t k = 2; k < 5; ++k) {
    const Node& node = graph.node(graph.outputs[k]);
    REQUIRE(node.op == Op::mul);
    (node.operands[0] == node.operands[1] ? squares : products) += element_count(node.shape);
  }
  CHECK(squares == 3);
  CHECK(products == 1);
  REQUIRE(file.property.cases.size() == 1);
  CHECK(file.property.cases[0].rows[0].terms.size() == 3);
  CHECK(file.property.cases[0].rows[0].terms[1].coefficient == Rational(-2));

  const statement::Statement statement{graph, file.property, ExecutionModel{}, {}};
  const std::string text = statement_text(statement, statement::graph_digest(statement.graph), statement_digest(statement), false);
  INFO(text);
  CHECK(text.find("case 0: x_0 * x_0 * x_0 * x_0 <= w_1 * w_1 + 2 x_0 * x_0 * y_1\n") != std::string::npos);
}

TEST_CASE("vnnlib: rows are printed without terms below 0, whatever their bounds", "[vnnlib]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 3}, "x");
  graph.mark_output(x, "y");
  const auto text = [&](std::vector<int> coefficients, const char* bound, bool strict) {
    statement::Row row{{}, *Rational::parse(bound), strict};
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] != 0) row.terms.push_back({Rational(coefficients[i]), {statement::Variable::Side::output, 0, i}});
    return statement::row_text(graph, row);
  };
  CHECK(text({1, -1, 0}, "0", false) == "Y_0 <= Y_1");
  CHECK(text({-1, 2, -3}, "0", true) == "2 Y_1 < Y_0 + 3 Y_2");
  CHECK(text({1, -1, 0}, "0.5", false) == "Y_0 <= Y_1 + 0.5");
  CHECK(text({1, -1, 0}, "-0.5", false) == "Y_0 <= Y_1 - 0.5");
  CHECK(text({1, 1, 0}, "-0.5", true) == "Y_0 + Y_1 < -0.5");
  CHECK(text({-1, 0, 0}, "-2.5", false) == "Y_0 >= 2.5");
  CHECK(text({-1, 0, -1}, "3", true) == "Y_0 + Y_2 > -3");
  CHECK(text({}, "-1", false) == "0 <= -1");
}

TEST_CASE("vnnlib: names of products end, whatever the graph says", "[vnnlib]") {
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1}, "x");
  for (int k = 0; k < 200; ++k) {  // x^(2^k)
    auto square = graph.append(Op::mul, {x, x});
    REQUIRE(square.ok());
    x = square.value();
    graph.mark_output(x, std::string(statement::kProductsName) + "squares");
  }
  statement::Property property;
  property.cases.push_back({std::make_shared<statement::InputBox>(statement::InputBox{{Rational(0)}, {Rational(1)}}),
                            {{{{Rational(1), {statement::Variable::Side::output, 199, 0}}}, Rational(0), false}}});
  const statement::Statement statement{graph, property, ExecutionModel{}, {}};
  CHECK(statement_text(statement, statement::graph_digest(statement.graph), statement_digest(statement), true).size() < 4000);
}

TEST_CASE("vnnlib: what cannot be multiplied is refused with its place", "[vnnlib]") {
  const auto code = [&](const std::string& asserts, const Graph& graph) {
    const auto file = read_text(kHead + asserts, graph, "f");
    REQUIRE_FALSE(file.ok());
    CHECK(file.rejection().place.find("line 3") != std::string::npos);
    return file.rejection().code;
  };
  std::string power = "X[0,0]";
  for (int k = 0; k < 32; ++k) power += " X[0,0]";
  CHECK(code("(assert (<= (* " + power + ") 1))", model()) == "vnnlib.polynomial_degree");
  std::string nested = "X[0,0]";
  for (int k = 0; k < 6; ++k) nested = "(* " + nested + " " + nested + ")";
  CHECK(code("(assert (<= " + nested + " 1))", model()) == "vnnlib.polynomial_degree");

  Graph mixed;
  const NodeId x = mixed.append_input(DType::float64, {1, 2}, "x"), z = mixed.append_input(DType::float32, {2}, "z");
  mixed.mark_output(mixed.append(Op::relu, {z}).value(), "y");
  mixed.mark_output(mixed.append(Op::relu, {x}).value(), "w");
  CHECK(code("(assert (<= (* X[0,0] Y[0]) 1))", mixed) == "vnnlib.polynomial");
  CHECK(read_text(std::string(kHead) + "(assert (<= (+ (* X[0,0] 3) Y[0]) 1))", mixed, "f").ok());

  // The square of a sum of 300 variables is 45,150 products.
  const Graph wide = network({300}, {1});
  std::string sum, box = "(vnnlib-version 2.0)(declare-network f (declare-input X real [300]) (declare-output Y real [1]))\n";
  for (int i = 0; i < 300; ++i) sum += " X[" + std::to_string(i) + "]";
  const std::string text = box + "(assert (<= (* (+" + sum + ") (+" + sum + ")) 1))";
  const vnnlib::NetworkShape shape{"f", &wide};
  const auto large =
      vnnlib::read_property_text(text, "t.vnnlib", std::span(&shape, 1), vnnlib::Polynomials::state, MemoryRule::exactly(1 << 20));
  REQUIRE_FALSE(large.ok());
  CHECK(large.rejection().kind == Rejection::Kind::declined);
}
