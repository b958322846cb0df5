// Forward mode: graphs of tangents against the meaning.
#include "kernel/gradients/adjointness/tangent.h"

#include "tests/catch.h"

using namespace assay;

namespace {

const Shape kShape = {2};

NodeId added(Graph& graph, Op op, std::vector<NodeId> operands) {
  auto node = graph.append(op, std::move(operands));
  if (!node) FAIL(node.rejection().to_text());
  return node.value();
}

// y = f(x), and a rule that reads x and x_dot.
template <class F, class R>
kernel::TangentCase made(const F& forward, const R& rule) {
  kernel::TangentCase one;
  one.one.name = "case";
  one.one.domains = {{0.5, 4}};
  one.tangent_of = {0};
  const NodeId x = one.one.graph.append_input(DType::float32, kShape, "x");
  one.one.graph.mark_output(forward(one.one.graph, x), "y");
  const NodeId again = one.rule.append_input(DType::float32, kShape, "x"), x_dot = one.rule.append_input(DType::float32, kShape, "x_dot");
  one.rule.mark_output(rule(one.rule, again, x_dot), "y_dot");
  return one;
}

std::string code(const kernel::TangentCase& one) {
  const auto outcome = kernel::check_tangent(one, 5);
  return outcome ? std::string("right") : outcome.rejection().code;
}

NodeId times_itself(Graph& graph, NodeId x) { return added(graph, Op::mul, {x, x}); }
NodeId added_twice(Graph& graph, NodeId x) { return added(graph, Op::add, {x, x}); }

}  // namespace

TEST_CASE("tangent: polynomials are probed, functions judged by residues", "[gradients]") {
  const auto right = [](Graph& g, NodeId x, NodeId x_dot) { return added_twice(g, added(g, Op::mul, {x, x_dot})); };
  const auto wrong = [](Graph& g, NodeId x, NodeId x_dot) { return added(g, Op::mul, {x, x_dot}); };
  CHECK(code(made(times_itself, right)) == "right");
  CHECK(code(made(times_itself, wrong)) == "tangent.entry");
  const auto outcome = kernel::check_tangent(made(times_itself, right), 5);
  REQUIRE(outcome);
  CHECK(outcome.value().moves);
  CHECK(outcome.value().proof.miss_log2 < -60);
  const auto exponential = [](Graph& g, NodeId x) { return added(g, Op::exp, {x}); };
  CHECK(code(made(exponential, [](Graph& g, NodeId x, NodeId x_dot) {
          return added(g, Op::mul, {added(g, Op::exp, {x}), x_dot});
        })) == "right");
  CHECK(code(made(exponential, [](Graph& g, NodeId x, NodeId x_dot) { return added(g, Op::mul, {x, x_dot}); })) == "tangent.entry");
}

TEST_CASE("tangent: a rule without a value is wrong, and one that is not linear, too", "[gradients]") {
  CHECK(code(made(times_itself, [](Graph& g, NodeId x, NodeId x_dot) {
          const NodeId none = added(g, Op::sub, {x, x});
          return added(g, Op::mul, {added(g, Op::div, {none, added(g, Op::abs, {none})}), x_dot});
        })) == "div.domain");
  CHECK(code(made(times_itself, [](Graph& g, NodeId x, NodeId x_dot) {
          return added(g, Op::mul, {added_twice(g, x), times_itself(g, x_dot)});
        })) == "tangent.entry");
}

TEST_CASE("tangent: a tensor that does not move has the tangent 0", "[gradients]") {
  kernel::TangentCase one = made(times_itself, [](Graph& g, NodeId, NodeId x_dot) { return added(g, Op::sub, {x_dot, x_dot}); });
  CHECK(code(one) == "tangent.entry");
  one.tangent_of = {std::nullopt};
  const auto outcome = kernel::check_tangent(one, 5);
  REQUIRE(outcome);
  CHECK_FALSE(outcome.value().moves);
}

TEST_CASE("tangent: graphs that do not fit together are refused", "[gradients]") {
  const auto rule = [](Graph& g, NodeId x, NodeId x_dot) { return added_twice(g, added(g, Op::mul, {x, x_dot})); };
  kernel::TangentCase one = made(times_itself, rule);
  one.tangent_of = {1};  // there is one tangent
  CHECK(code(one) == "tangent.graph");
  one = made(times_itself, rule);
  one.tangent_of = {};
  CHECK(code(one) == "tangent.graph");
  one = made(times_itself, rule);
  one.one.domains = {};
  CHECK(code(one) == "tangent.graph");
  one = made(times_itself, rule);
  one.rule.outputs.clear();
  CHECK(code(one) == "tangent.graph");
}
