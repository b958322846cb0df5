// The runtime's gradient rules, judged by the kernel: adjoint to the derivative of each op's meaning.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/adjointness/cases.h"
#include "runtime/autodiff/transform.h"
#include "semantics/compositions/compositions.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using gradients::AdjointCase;
using gradients::check_adjointness;
using gradients::Domain;
using gradients::derivatives::Builder;
using gradients::derivatives::Value;

std::vector<std::size_t> real_inputs(const Graph& graph) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (is_float(graph.node(graph.inputs[i]).dtype)) inputs.push_back(i);
  }
  return inputs;
}

Outcome<Graph> own_vjp(const Graph& graph) { return runtime::vjp(graph, 0, real_inputs(graph)); }

std::string verdict(const AdjointCase& one, const Graph& vjp, std::uint64_t seed) {
  const auto outcome = check_adjointness(one, vjp, seed);
  return outcome.ok() ? "proved" : outcome.rejection().to_text();
}

// The same of a rule that has one number at kinks, not the set: it is proved off them, and stands there in its set (`eager`).
std::string verdict_off_kinks(AdjointCase one, const Graph& vjp, std::uint64_t seed) {
  const auto outcome = check_adjointness(one, vjp, seed);
  if (!outcome && outcome.rejection().code == "adjointness.kink") one.kinks.clear();
  return verdict(one, vjp, seed);
}

// y(x0, ...) with the nodes that `make` appends to the inputs; real inputs unless a type is named.
template <class F>
AdjointCase composed(const std::string& name, const std::vector<Shape>& shapes, const F& make, Domain domain = {},
                     DType first = DType::float32) {
  AdjointCase one{name, {}, {}, {}};
  Builder builder(one.graph);
  std::vector<Value> x;
  for (const Shape& shape : shapes) {
    const DType dtype = x.empty() ? first : DType::float32;
    x.push_back(builder.node(one.graph.append_input(dtype, shape, "x" + std::to_string(x.size()))));
    one.domains.push_back(dtype == DType::float32 ? domain : Domain{-2, 1});
  }
  one.graph.mark_output(make(x).id(), "y");
  REQUIRE_FALSE(builder.rejection().has_value());
  return one;
}

using Values = std::vector<Value>;

Value put(Op op, const Values& operands, Attributes attributes = NoAttributes{}) {
  return operands[0].builder().append(op, operands, std::move(attributes));
}

WindowAttributes three_by_three() {
  WindowAttributes w;
  w.kernel = {3, 3};
  w.strides = w.dilations = w.pads_begin = w.pads_end = {1, 1};
  return w;
}

NormaliseAttributes last_axis() { return {{1}, 0.5, NormaliseAttributes::Form::centered}; }

std::vector<AdjointCase> composed_graphs() {
  const Domain small{-0.5, 0.5};
  std::vector<AdjointCase> cases;
  cases.push_back(composed("perceptron", {{2, 3}, {3, 4}, {4}, {4, 2}, {2}}, [](const Values& x) {
    const Value hidden = put(Op::relu, {put(Op::gemm, {x[0], x[1], x[2]}, GemmAttributes{})});
    return put(Op::log_softmax, {put(Op::gemm, {hidden, x[3], x[4]}, GemmAttributes{})}, SoftmaxAttributes{1});
  }));
  cases.push_back(composed("residual block", {{1, 2, 3, 3}, {2, 2, 3, 3}, {2}, {2, 2, 3, 3}, {2}}, [](const Values& x) {
    const Value inner = put(Op::relu, {put(Op::conv, {x[0], x[1], x[2]}, three_by_three())});
    return put(Op::relu, {put(Op::add, {x[0], put(Op::conv, {inner, x[3], x[4]}, three_by_three())})});
  }));
  cases.push_back(composed(
      "normalised attention", {{2, 4}, {3, 4}, {3, 4}},
      [](const Values& x) {
        const Value q = put(Op::normalise, {x[0]}, last_axis()), k = put(Op::normalise, {x[1]}, last_axis());
        return compositions::attention(q, k, x[2], std::nullopt);
      },
      small));
  cases.push_back(composed(
      "cell, two steps", {{1, 2}, {1, 2}, {1, 2}, {2, 8}, {2, 8}, {8}},
      [](const Values& x) {
        compositions::LstmState state{x[1], x[2]};
        for (int t = 0; t < 2; ++t) state = compositions::lstm_cell(x[0], state, x[3], x[4], x[5]);
        return put(Op::concat, {state.h, state.c}, ConcatAttributes{1});
      },
      small));
  cases.push_back(composed("fan-out", {{3}}, [](const Values& x) {
    const Value e = put(Op::exp, {x[0]});
    return put(Op::add, {put(Op::mul, {e, x[0]}), put(Op::sub, {put(Op::tanh, {e}), put(Op::mul, {x[0], x[0]})})});
  }));
  cases.push_back(composed("one operand twice", {{3, 3}}, [](const Values& x) { return put(Op::matmul, {x[0], x[0]}); }));
  cases.push_back(composed("of no use", {{2}, {3}, {2}}, [](const Values& x) { return put(Op::mul, {x[0], x[2]}); }));
  cases.push_back(composed(
      "rows by run-time positions", {{4}, {2, 3}},
      [](const Values& x) {
        return compositions::gather_rows(put(Op::mul, {x[1], x[1]}), x[0]);
      },
      {}, DType::int64));
  return cases;
}

Array<Rational> value_at(const Graph& graph, const std::vector<Array<Rational>>& points) {
  const auto values = evaluate<Rational>(graph, points);
  REQUIRE(values.ok());
  return values.value()[graph.outputs[0]];
}

Array<Rational> numbers(const Shape& shape, std::int64_t first) {
  Array<Rational> array{shape, {}};
  for (std::size_t i = 0; i < element_count(shape); ++i) {
    const auto n = static_cast<std::int64_t>(i) + first;
    array.values.emplace_back(n * n % 11 - 5, 3);
  }
  return array;
}

Rational inner(const Array<Rational>& a, const Array<Rational>& b) {
  REQUIRE(a.shape == b.shape);
  Rational sum;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

// A cubic map of two inputs.
Graph cubic() {
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {2, 3}, "a"), b = graph.append_input(DType::float32, {3, 2}, "b");
  const NodeId product = graph.append(Op::matmul, {a, b}).value();
  const NodeId square = graph.append(Op::mul, {product, product}).value();
  graph.mark_output(graph.append(Op::matmul, {square, a}).value(), "y");
  return graph;
}

}  // namespace

TEST_CASE("autodiff: the runtime's rule of every op is proved on the kernel's representative set", "[autodiff]") {
  for (int k = 0; k < kOpCount; ++k) {
    for (const AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      INFO(one.name);
      const Outcome<Graph> vjp = own_vjp(one.graph);
      REQUIRE(vjp.ok());
      CHECK(validate(vjp.value()).empty());
      CHECK(verdict_off_kinks(one, vjp.value(), 1) == "proved");
      CHECK(verdict_off_kinks(one, vjp.value(), 2) == "proved");
    }
  }
}

TEST_CASE("autodiff: composed graphs", "[autodiff]") {
  for (const AdjointCase& one : composed_graphs()) {
    INFO(one.name);
    const Outcome<Graph> vjp = own_vjp(one.graph);
    REQUIRE(vjp.ok());
    CHECK(validate(vjp.value()).empty());
    CHECK(verdict(one, vjp.value(), 1) == "proved");
  }
}

TEST_CASE("autodiff: pools whose windows lie side by side, with a rest", "[autodiff]") {
  WindowAttributes w;
  w.kernel = w.strides = {2, 3};
  w.dilations = {1, 1};
  w.pads_begin = w.pads_end = {0, 0};
  for (const Op op : {Op::max_pool, Op::avg_pool}) {
    for (const Shape& shape : {Shape{1, 2, 4, 3}, Shape{2, 1, 5, 8}}) {
      AdjointCase one = composed("side by side", {shape}, [&](const Values& x) { return put(op, x, w); });
      if (op == Op::max_pool) one.kinks = {0, 1};
      INFO(op_row(op).name << to_string(shape));
      const Graph vjp = own_vjp(one.graph).value();
      CHECK(verdict_off_kinks(one, vjp, 1) == "proved");
      if (op == Op::avg_pool) CHECK(std::ranges::none_of(vjp.nodes, [](const Node& node) { return node.op == Op::conv_transpose; }));
    }
  }
}

TEST_CASE("autodiff: gradients are differentiated again", "[autodiff]") {
  for (const Op op : {Op::softmax, Op::conv, Op::tanh, Op::normalise, Op::max_pool, Op::avg_pool, Op::cumprod, Op::matmul}) {
    const AdjointCase one = gradients::adjoint_cases(op)[0];
    const Graph first = own_vjp(one.graph).value();
    AdjointCase second{one.name + ", second order", first, one.domains, {}};
    second.domains.emplace_back();
    second.graph.outputs.resize(1);
    second.graph.output_names.resize(1);
    INFO(second.name);
    CHECK(verdict(second, own_vjp(second.graph).value(), 1) == "proved");
  }
}

TEST_CASE("autodiff: a fault in any one node of a gradient is seen", "[autodiff]") {
  const AdjointCase one = composed_graphs()[0];
  const Graph vjp = own_vjp(one.graph).value();
  std::size_t mutants = 0;
  for (std::size_t id = 0; id < vjp.nodes.size(); ++id) {
    Graph mutant = vjp;
    Node& node = mutant.nodes[id];
    if (node.op == Op::mul && node.shape == vjp.nodes[node.operands[0]].shape) {
      node.op = Op::add;
    } else if (node.op == Op::sub) {
      node.op = Op::add;
    } else if (node.op == Op::gemm) {
      std::get<GemmAttributes>(node.attributes).alpha = 2;
    } else {
      continue;
    }
    INFO("node " << id << ", " << op_row(vjp.nodes[id].op).name);
    ++mutants;
    CHECK(verdict(one, mutant, 1) != "proved");
  }
  CHECK(mutants >= 7);
}

TEST_CASE("autodiff: jvp and vjp are transposes of each other", "[autodiff]") {
  const Graph graph = cubic();
  const std::vector<std::size_t> both{0, 1};
  const Graph forward = runtime::jvp(graph, 0, both).value(), reverse = runtime::vjp(graph, 0, both).value();
  CHECK(validate(forward).empty());
  CHECK(forward.input_names == std::vector<std::string>{"a", "b", "a_dot", "b_dot"});
  CHECK(forward.output_names == std::vector<std::string>{"y_dot"});
  CHECK(reverse.input_names == std::vector<std::string>{"a", "b", "y_bar"});
  CHECK(reverse.output_names == std::vector<std::string>{"a_bar", "b_bar"});
  const Array<Rational> a = numbers({2, 3}, 1), b = numbers({3, 2}, 4), a_dot = numbers({2, 3}, 9), b_dot = numbers({3, 2}, 7),
                        y_bar = numbers({2, 3}, 3);
  const Rational left = inner(y_bar, value_at(forward, {a, b, a_dot, b_dot}));
  const auto bars = evaluate<Rational>(reverse, std::vector<Array<Rational>>{a, b, y_bar}).value();
  CHECK(left == inner(bars[reverse.outputs[0]], a_dot) + inner(bars[reverse.outputs[1]], b_dot));
  CHECK(left.sign() != 0);
}

TEST_CASE("autodiff: hvp is symmetric, and that of a sum of cubes is 6 x v", "[autodiff]") {
  const Graph graph = cubic();
  const std::vector<std::size_t> first{0};
  const Graph second = runtime::hvp(graph, 0, first).value();
  CHECK(second.input_names == std::vector<std::string>{"a", "b", "y_bar", "a_dot"});
  CHECK(second.output_names == std::vector<std::string>{"a_bar_dot"});
  const Array<Rational> a = numbers({2, 3}, 1), b = numbers({3, 2}, 4), y_bar = numbers({2, 3}, 3), u = numbers({2, 3}, 2),
                        v = numbers({2, 3}, 8);
  const Rational uv = inner(u, value_at(second, {a, b, y_bar, v}));
  CHECK(uv == inner(v, value_at(second, {a, b, y_bar, u})));
  CHECK(uv.sign() != 0);

  Graph cubes;
  const NodeId x = cubes.append_input(DType::float32, {3}, "x");
  const NodeId cube = cubes.append(Op::pow, {x}, PowAttributes{Rational(3)}).value();
  cubes.mark_output(cubes.append(Op::reduce_sum, {cube}, ReduceAttributes{{0}, false}).value(), "y");
  const Array<Rational> at = numbers({3}, 1), along = numbers({3}, 5), one{{}, {Rational(1)}};
  const Array<Rational> found = value_at(runtime::hvp(cubes, 0, first).value(), {at, one, along});
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.values[i] == Rational(6) * at.values[i] * along.values[i]);
}

TEST_CASE("autodiff: independent inputs have zeros, and what cannot be differentiated is refused", "[autodiff]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x");
  graph.append_input(DType::float32, {3, 1}, "unused");
  const NodeId index = graph.append_input(DType::int64, {2}, "index");
  graph.mark_output(graph.append(Op::take, {index, x}, ConcatAttributes{0}).value(), "y");
  graph.mark_output(index, "whole");
  const std::vector<std::size_t> reals{0, 1}, all{0, 1, 2}, beyond{3};
  const Graph vjp = runtime::vjp(graph, 0, reals).value();
  CHECK(vjp.node(vjp.outputs[1]).shape == Shape{3, 1});
  CHECK(vjp.node(vjp.outputs[1]).op == Op::expand);
  const Array<Rational> at{{2}, {Rational(1), Rational(2)}}, unused{{3, 1}, std::vector<Rational>(3)},
      places{{2}, {Rational(-1), Rational(1)}};
  const Array<Rational> found = value_at(vjp, {at, unused, places, {{2}, {Rational(3), Rational(4)}}});
  CHECK(found.values == std::vector<Rational>{Rational(0), Rational(7)});
  CHECK(runtime::vjp(graph, 0, all).rejection().code == "autodiff.input");
  CHECK(runtime::vjp(graph, 0, beyond).rejection().code == "autodiff.input");
  CHECK(runtime::vjp(graph, 1, reals).rejection().code == "autodiff.output");
  CHECK(runtime::jvp(graph, 2, reals).rejection().code == "autodiff.output");
  CHECK(runtime::hvp(graph, 2, reals).rejection().code == "autodiff.output");
}

}  // namespace assay::test
