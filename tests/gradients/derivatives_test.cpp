// The derivative graphs against the dual numbers, whose derivative table is proved elsewhere: every entry of every Jacobian.
#include "kernel/gradients/derivatives/differentiate.h"

#include <string>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {
namespace {

template <class S>
S scalar(const Rational& value) {
  return ScalarTraits<S>::from_rational(value);
}

// No two elements of all operands differ by an integer: no kink, no tie, no jump.
Rational generic(std::mt19937_64& random, Draw from, std::int64_t serial) {
  const Rational shift(serial + 1, 211);
  if (from == Draw::truth || from == Draw::index) return Rational(draw(random, from));
  if (from == Draw::fraction) return Rational(static_cast<std::int64_t>(random() % 9) - 4, 9) + shift * Rational(1, 8);
  return Rational(draw(random, from)) + shift;
}

std::vector<Array<Rational>> generic_operands(const OpCase& one, std::mt19937_64& random) {
  std::vector<Array<Rational>> operands;
  std::int64_t serial = 0;
  for (std::size_t k = 0; k < one.shapes.size(); ++k) {
    operands.push_back({one.shapes[k], {}});
    for (std::size_t i = 0; i < element_count(one.shapes[k]); ++i)
      operands.back().values.push_back(generic(random, draw_of(one, k), serial++));
  }
  return operands;
}

Array<Rational> random_array(const Shape& shape, std::mt19937_64& random) {
  Array<Rational> result{shape, {}};
  for (std::size_t i = 0; i < element_count(shape); ++i) result.values.emplace_back(static_cast<std::int64_t>(random() % 19) - 9, 4);
  return result;
}

template <class S>
Array<S> lifted(const Array<Rational>& values) {
  Array<S> result{values.shape, {}};
  for (const Rational& value : values.values) result.values.push_back(scalar<S>(value));
  return result;
}

template <class S>
std::vector<Array<S>> lifted(const std::vector<Array<Rational>>& arrays) {
  std::vector<Array<S>> result;
  for (const Array<Rational>& array : arrays) result.push_back(lifted<S>(array));
  return result;
}

// Equal, or, for enclosures, both narrow and with a common point.
bool agree(const Rational& a, const Rational& b) { return a == b; }
bool agree(const Interval& a, const Interval& b) {
  if (a.is_undefined() || b.is_undefined()) return false;
  const double scale = 1 + std::fabs(a.hi()) + std::fabs(b.hi());
  return a.lo() <= b.hi() && b.lo() <= a.hi() && a.hi() - a.lo() <= 1e-9 * scale && b.hi() - b.lo() <= 1e-9 * scale;
}
std::string text(const Rational& a) { return a.to_string(); }
std::string text(const Interval& a) { return std::to_string(a.lo()) + ".." + std::to_string(a.hi()); }

std::vector<std::size_t> real_inputs(const Graph& graph) {
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    if (is_float(graph.node(graph.inputs[k]).dtype)) result.push_back(k);
  }
  return result;
}

// J e for the tangent e, by dual numbers.
template <class S>
Outcome<std::vector<S>> tangent_by_duals(const Graph& graph, const std::vector<Array<S>>& x, const std::vector<Array<S>>& x_dot) {
  std::vector<Array<Dual<S>>> duals;
  for (std::size_t k = 0; k < x.size(); ++k) {
    duals.push_back({x[k].shape, {}});
    for (std::size_t i = 0; i < x[k].values.size(); ++i) duals.back().values.emplace_back(x[k].values[i], x_dot[k].values[i]);
  }
  auto nodes = evaluate<Dual<S>>(graph, duals);
  if (!nodes) return nodes.rejection();
  std::vector<S> result;
  for (const Dual<S>& value : nodes.value()[graph.outputs[0]].values) result.push_back(value.tangent());
  return result;
}

template <class S>
Array<S> zeros_like(const Array<S>& x) {
  return {x.shape, std::vector<S>(x.values.size())};
}

template <class S>
void check_reverse(const Graph& graph, const std::vector<Array<S>>& x, const Array<S>& y_bar) {
  const std::vector<std::size_t> inputs = real_inputs(graph);
  const Outcome<Graph> reverse = gradients::differentiate(graph, 0, inputs);
  REQUIRE(reverse.ok());
  REQUIRE(validate(reverse.value()).empty());
  std::vector<Array<S>> arguments = x;
  arguments.push_back(y_bar);
  const auto nodes = evaluate<S>(reverse.value(), arguments);
  REQUIRE(nodes.ok());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Array<S>& x_bar = nodes.value()[reverse.value().outputs[k]];
    REQUIRE(x_bar.shape == x[inputs[k]].shape);
    for (std::size_t i = 0; i < x_bar.values.size(); ++i) {
      std::vector<Array<S>> unit;
      for (const Array<S>& array : x) unit.push_back(zeros_like(array));
      unit[inputs[k]].values[i] = scalar<S>(Rational(1));
      const auto column = tangent_by_duals<S>(graph, x, unit);
      REQUIRE(column.ok());
      S sum{};
      for (std::size_t j = 0; j < y_bar.values.size(); ++j) sum += y_bar.values[j] * column.value()[j];
      INFO("operand " << inputs[k] << ", element " << i << ": " << text(x_bar.values[i]) << " against " << text(sum));
      CHECK(agree(x_bar.values[i], sum));
    }
  }
}

template <class S>
void check_forward(const Graph& graph, const std::vector<Array<S>>& x, const std::vector<Array<S>>& x_dot) {
  const std::vector<std::size_t> inputs = real_inputs(graph);
  const Outcome<Graph> forward = gradients::jvp(graph, 0, inputs);
  REQUIRE(forward.ok());
  REQUIRE(validate(forward.value()).empty());
  std::vector<Array<S>> arguments = x, tangents;
  for (std::size_t k = 0; k < x.size(); ++k) tangents.push_back(zeros_like(x[k]));
  for (const std::size_t k : inputs) {
    arguments.push_back(x_dot[k]);
    tangents[k] = x_dot[k];
  }
  REQUIRE(forward.value().inputs.size() == arguments.size());
  const auto nodes = evaluate<S>(forward.value(), arguments);
  REQUIRE(nodes.ok());
  const auto expected = tangent_by_duals<S>(graph, x, tangents);
  REQUIRE(expected.ok());
  const Array<S>& y_dot = nodes.value()[forward.value().outputs[0]];
  REQUIRE(y_dot.shape == graph.node(graph.outputs[0]).shape);
  for (std::size_t j = 0; j < y_dot.values.size(); ++j) {
    INFO("element " << j << ": " << text(y_dot.values[j]) << " against " << text(expected.value()[j]));
    CHECK(agree(y_dot.values[j], expected.value()[j]));
  }
}

template <class S>
void check_case(const OpCase& one, const Graph& graph, std::mt19937_64& random) {
  const std::vector<Array<S>> x = lifted<S>(generic_operands(one, random));
  check_reverse<S>(graph, x, lifted<S>(random_array(graph.node(graph.outputs[0]).shape, random)));
  std::vector<Array<Rational>> tangents;
  for (const Shape& shape : one.shapes) tangents.push_back(random_array(shape, random));
  check_forward<S>(graph, x, lifted<S>(tangents));
}

Graph cubic() {  // y = sum of x^3 over two elements
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {2}, "x");
  const NodeId square = graph.append(Op::mul, {x, x}).value();
  const NodeId cube = graph.append(Op::mul, {square, x}).value();
  graph.mark_output(graph.append(Op::reduce_sum, {cube}, ReduceAttributes{{0}, false}).value(), "y");
  return graph;
}

}  // namespace

TEST_CASE("the derivative graphs of every op are its Jacobian, entry by entry", "[derivatives]") {
  std::mt19937_64 random(20260);
  for (const OpCase& one : catalogue()) {
    const Graph graph = graph_of(one);
    if (!is_float(graph.node(graph.outputs[0]).dtype) || real_inputs(graph).empty()) continue;
    CAPTURE(one.name);
    const std::vector<Array<Rational>> x = generic_operands(one, random);
    if (evaluate<Dual<Rational>>(graph, lifted<Dual<Rational>>(x)).ok()) {
      check_case<Rational>(one, graph, random);
    } else {
      check_case<Interval>(one, graph, random);
    }
  }
}

TEST_CASE("a Hessian-vector product is the derivative of a derivative", "[derivatives]") {
  const std::vector<std::size_t> first{0};
  const Graph gradient = gradients::differentiate(cubic(), 0, first).value();  // x, y_bar -> 3 x^2 y_bar
  const Graph hessian = gradients::jvp(gradient, 0, first).value();            // x, y_bar, x_dot -> 6 x x_dot y_bar
  REQUIRE(hessian.input_names == std::vector<std::string>{"x", "y_bar", "x_dot"});
  const auto vector = [](std::vector<Rational> values) {
    return Array<Rational>{{static_cast<std::int64_t>(values.size())}, std::move(values)};
  };
  const std::vector<Array<Rational>> arguments{
      vector({Rational(2), Rational(-5)}), {{}, {Rational(1)}}, vector({Rational(1), Rational(1, 3)})};
  const auto nodes = evaluate<Rational>(hessian, arguments).value();
  CHECK(nodes[hessian.outputs[0]].values == std::vector<Rational>{Rational(12), Rational(-10)});
}

TEST_CASE("an operand that is used twice collects both cotangents, one that is not used has none", "[derivatives]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x"), unused = graph.append_input(DType::float32, {3}, "unused");
  graph.mark_output(graph.append(Op::mul, {x, graph.append(Op::scale, {x}, ScaleAttributes{3}).value()}).value(), "y");
  const std::vector<std::size_t> both{0, 1};
  const Graph reverse = gradients::differentiate(graph, 0, both).value();
  const std::vector<Array<Rational>> arguments{
      {{2}, {Rational(5), Rational(-1)}}, {{3}, {Rational(0), Rational(0), Rational(0)}}, {{2}, {Rational(1), Rational(2)}}};
  const auto nodes = evaluate<Rational>(reverse, arguments).value();
  CHECK(nodes[reverse.outputs[0]].values == std::vector<Rational>{Rational(30), Rational(-12)});
  CHECK(nodes[reverse.outputs[1]].values == std::vector<Rational>(3));
  CHECK(graph.node(unused).shape == nodes[reverse.outputs[1]].shape);
}

TEST_CASE("at a kink the derivative encloses the Clarke set", "[derivatives]") {
  for (const Op op : {Op::relu, Op::abs}) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {}, "x");
    graph.mark_output(graph.append(op, {x}).value(), "y");
    const std::vector<std::size_t> first{0};
    const Graph reverse = gradients::differentiate(graph, 0, first).value();
    const auto slope = [&](double at) {
      const std::vector<Array<Interval>> arguments{{{}, {Interval(at)}}, {{}, {Interval(1.0)}}};
      const Interval result = evaluate<Interval>(reverse, arguments).value()[reverse.outputs[0]].values[0];
      return std::pair(result.lo(), result.hi());
    };
    const double left = op == Op::relu ? 0 : -1;
    CHECK(slope(0) == std::pair(left, 1.0));
    CHECK(slope(5e-324) == std::pair(1.0, 1.0));
    CHECK(slope(-5e-324) == std::pair(left, left));
  }
}

TEST_CASE("what cannot be differentiated is refused by name", "[derivatives]") {
  Graph graph;
  const NodeId k = graph.append_input(DType::int64, {2}, "k"), x = graph.append_input(DType::float32, {2}, "x");
  graph.mark_output(x, "y");
  graph.mark_output(k, "m");
  const auto code = [&](std::size_t output, std::vector<std::size_t> inputs) {
    const Outcome<Graph> result = gradients::differentiate(graph, output, inputs);
    return result.ok() ? std::string("differentiated") : result.rejection().code + ": " + result.rejection().found;
  };
  CHECK(code(0, {1}) == "differentiated");
  CHECK(code(0, {0}) == "derivative.arguments: 'k'");
  CHECK(code(1, {1}) == "derivative.arguments: 'm'");
  CHECK(code(2, {1}) == "derivative.arguments: 2");
  CHECK(code(0, {2}) == "derivative.arguments: 2");
}

}  // namespace assay::test
