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
gradients::TangentCase made(const F& forward, const R& rule) {
  gradients::TangentCase one;
  one.one.name = "case";
  one.one.domains = {{0.5, 4}};
  one.tangent_of = {0};
  const NodeId x = one.one.graph.append_input(DType::float32, kShape, "x");
  one.one.graph.mark_output(forward(one.one.graph, x), "y");
  const NodeId again = one.rule.append_input(DType::float32, kShape, "x"), x_dot = one.rule.append_input(DType::float32, kShape, "x_dot");
  one.rule.mark_output(rule(one.rule, again, x_dot), "y_dot");
  return one;
}

std::string code(const gradients::TangentCase& one) {
  const auto outcome = gradients::check_tangent(one, 5);
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
  const auto outcome = gradients::check_tangent(made(times_itself, right), 5);
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
  gradients::TangentCase one = made(times_itself, [](Graph& g, NodeId, NodeId x_dot) { return added(g, Op::sub, {x_dot, x_dot}); });
  CHECK(code(one) == "tangent.entry");
  one.tangent_of = {std::nullopt};
  const auto outcome = gradients::check_tangent(one, 5);
  REQUIRE(outcome);
  CHECK_FALSE(outcome.value().moves);
}

TEST_CASE("tangent: graphs that do not fit together are refused", "[gradients]") {
  const auto rule = [](Graph& g, NodeId x, NodeId x_dot) { return added_twice(g, added(g, Op::mul, {x, x_dot})); };
  gradients::TangentCase one = made(times_itself, rule);
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
  one = made(times_itself, rule);
  one.rule = made(times_itself, [](Graph& g, NodeId x, NodeId) { return added(g, Op::less, {x, x}); }).rule;  // truth values
  CHECK(code(one) == "tangent.graph");
  one = made(times_itself, rule);
  one.one.graph.mark_output(one.one.graph.inputs[0], "x");  // two results
  CHECK(code(one) == "tangent.graph");
}

namespace {

NodeId constant(Graph& graph, const Shape& shape, const std::vector<float>& values) {
  return graph.append_constant(Tensor::of_floats(shape, values));
}

// The first element is x, the second one a product of x and many roots of others, of which few points have residues.
NodeId seldom(Graph& graph, NodeId x) {
  NodeId y = x;
  for (int k = 1; k <= 7; ++k) {
    const auto shift = static_cast<float>(k);
    const NodeId moved =
        added(graph, Op::add, {added(graph, Op::mul, {x, constant(graph, kShape, {0, 1})}), constant(graph, kShape, {1, shift})});
    y = added(graph, Op::mul, {y, added(graph, Op::sqrt, {moved})});
  }
  return y;
}

// Its derivative by the quotient: y (1 / x + sum of 1 / 2 (x + k)).
NodeId slope_of_seldom(Graph& graph, NodeId x) {
  NodeId sum = added(graph, Op::reciprocal, {x});
  for (int k = 1; k <= 7; ++k) {
    const auto shift = static_cast<float>(k);
    const NodeId moved =
        added(graph, Op::add, {added(graph, Op::mul, {x, constant(graph, kShape, {0, 1})}), constant(graph, kShape, {1, shift})});
    const NodeId half = added(graph, Op::mul, {added(graph, Op::reciprocal, {moved}), constant(graph, kShape, {0, 0.5F})});
    sum = added(graph, Op::add, {sum, half});
  }
  return added(graph, Op::mul, {seldom(graph, x), sum});
}

}  // namespace

TEST_CASE("tangent: every element is compared, however seldom it has a residue", "[gradients]") {
  CHECK(code(made(seldom, [](Graph& g, NodeId x, NodeId x_dot) { return added(g, Op::mul, {slope_of_seldom(g, x), x_dot}); })) == "right");
  // Too small a difference for an enclosure in double, and for a float32 to show: it is no proof, and accuses nobody.
  for (const std::vector<float>& wrong : {std::vector{0.0F, 1e-30F}, std::vector{1e-30F, 0.0F}}) {
    CHECK(code(made(seldom, [&](Graph& g, NodeId x, NodeId x_dot) {
            const NodeId slope = added(g, Op::add, {slope_of_seldom(g, x), constant(g, kShape, wrong)});
            return added(g, Op::mul, {slope, x_dot});
          })) == "tangent.identity");
  }
}

TEST_CASE("tangent: a rule without a real value where the meaning has one", "[gradients]") {
  const auto exponential = [](Graph& g, NodeId x) { return added(g, Op::exp, {x}); };
  CHECK(code(made(exponential, [](Graph& g, NodeId x, NodeId x_dot) {
          const NodeId root = added(g, Op::sqrt, {added(g, Op::sub, {constant(g, kShape, {0, -9}), x})});  // of a negative number
          const NodeId none = added(g, Op::sub, {root, root});
          return added(g, Op::mul, {added(g, Op::add, {added(g, Op::exp, {x}), none}), x_dot});
        })) == "tangent.domain");
}

TEST_CASE("tangent: certainly different numbers are wrong without residues, too", "[gradients]") {
  const auto roots = [](Graph& g, NodeId x) {  // of so many that no point has a residue
    NodeId y = x;
    for (int k = 1; k <= 24; ++k) {
      const auto shift = static_cast<float>(k);
      y = added(g, Op::add, {y, added(g, Op::sqrt, {added(g, Op::add, {x, constant(g, kShape, {shift, shift})})})});
    }
    return y;
  };
  CHECK(code(made(roots, [](Graph& g, NodeId x, NodeId x_dot) {
          return added(g, Op::mul, {added(g, Op::add, {x, constant(g, kShape, {9, 9})}), x_dot});
        })) == "tangent.entry");
}
