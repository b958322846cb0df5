// Products of elementwise functions where branches meet: what the sides give passes, and nothing else.
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// Nodes by short names, over three numbers.
struct Builder {
  Graph graph;

  NodeId input(const char* name) { return graph.append_input(DType::float32, {3}, name); }
  NodeId number(float value) { return graph.append_constant(Tensor::of_floats({1}, std::vector<float>{value})); }
  NodeId apply(Op op, std::vector<NodeId> operands, const Attributes& attributes = NoAttributes{}) {
    auto node = graph.append(op, std::move(operands), attributes);
    if (!node) FAIL(node.rejection().to_text());
    return node.value();
  }
};

// y = f(x) and x_bar = y_bar slope(x), where the slope at `at` is `value`; x is [0.5, at, 2].
struct Case {
  float at;
  NodeId (*f)(Builder&, NodeId x);
  NodeId (*slope)(Builder&, NodeId x);
};

Array<float> value_of(const Graph& graph, const std::vector<Array<float>>& inputs) {
  auto nodes = evaluate<float>(graph, inputs);
  if (!nodes) FAIL(nodes.rejection().to_text());
  return nodes.value()[graph.outputs[0]];
}

std::string verdict(const Case& one, float value, std::size_t* corners = nullptr) {
  Builder forward, backward;
  const NodeId x = forward.input("x");
  forward.graph.mark_output(one.f(forward, x), "y");
  const NodeId at = backward.input("x"), y_bar = backward.input("y_bar");
  const NodeId here = backward.apply(Op::equal, {at, backward.number(one.at)});
  const NodeId slope = backward.apply(Op::where, {here, backward.number(value), one.slope(backward, at)});
  backward.graph.mark_output(backward.apply(Op::mul, {y_bar, slope}), "x_bar");
  const std::vector<float> place = {one.at - 0.75F, one.at, one.at + 2}, bars = {1, -1.5F, 2};
  const Array<float> operand{{3}, place}, bar{{3}, bars};
  Trace trace;
  const auto of = [](const Array<float>& array) { return Tensor::of_floats(array.shape, array.values); };
  trace.tensors = {{"x", Trace::Origin::input, of(operand)},
                   {"y", Trace::Origin::result, of(value_of(forward.graph, {operand}))},
                   {"y_bar", Trace::Origin::input, of(bar)},
                   {"x_bar", Trace::Origin::result, of(value_of(backward.graph, {operand, bar}))}};
  trace.regions = {{"forward", forward.graph, float_model(), {0}, {1}}, {"product", backward.graph, float_model(), {0, 2}, {3}}};
  trace.outputs = {1, 3};
  trace.vjps = {{0, 0, 2, {{0, 3}}}};
  trace.gradients = {{1, 2, {{0, 3}}}};
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  std::string code = "right";
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) {
    INFO((step.failure ? step.failure->to_text() : ""));
    if (corners != nullptr) *corners += step.corners;
    if (step.failure) code = step.failure->kind == Rejection::Kind::rejected ? step.failure->code : "(" + step.failure->code + ")";
  }
  return code;
}

// x^2 up to 1, 2 x - 1 from there.
const Case kSmooth{
    1,
    [](Builder& b, NodeId x) {
      const NodeId line = b.apply(Op::sub, {b.apply(Op::scale, {x}, ScaleAttributes{2}), b.number(1)});
      return b.apply(Op::where, {b.apply(Op::less_equal, {x, b.number(1)}), b.apply(Op::mul, {x, x}), line});
    },
    [](Builder& b, NodeId x) {
      return b.apply(Op::where, {b.apply(Op::less, {x, b.number(1)}), b.apply(Op::scale, {x}, ScaleAttributes{2}), b.number(2)});
    }};
// x^2 up to 1, 3 x - 2 from there.
const Case kBent{
    1,
    [](Builder& b, NodeId x) {
      const NodeId line = b.apply(Op::sub, {b.apply(Op::scale, {x}, ScaleAttributes{3}), b.number(2)});
      return b.apply(Op::where, {b.apply(Op::less_equal, {x, b.number(1)}), b.apply(Op::mul, {x, x}), line});
    },
    [](Builder& b, NodeId x) {
      return b.apply(Op::where, {b.apply(Op::less, {x, b.number(1)}), b.apply(Op::scale, {x}, ScaleAttributes{2}), b.number(3)});
    }};
// relu(x) - relu(-x), which is x.
const Case kLine{0,
                 [](Builder& b, NodeId x) {
                   return b.apply(Op::sub, {b.apply(Op::relu, {x}), b.apply(Op::relu, {b.apply(Op::neg, {x})})});
                 },
                 [](Builder& b, NodeId) { return b.number(1); }};
// |x| and max(x, 2 - x).
const Case kAbs{0,
                [](Builder& b, NodeId x) {
                  return b.apply(Op::add, {b.apply(Op::abs, {x}), b.number(1)});
                },
                [](Builder& b, NodeId x) { return b.apply(Op::sign, {x}); }};
const Case kMax{1,
                [](Builder& b, NodeId x) {
                  return b.apply(Op::max, {x, b.apply(Op::sub, {b.number(2), x})});
                },
                [](Builder& b, NodeId x) {
                  return b.apply(Op::where, {b.apply(Op::less, {x, b.number(1)}), b.number(-1), b.number(1)});
                }};
// log(x) above 1, and above 0; 0 elsewhere.
NodeId above(Builder& b, NodeId x, float least, NodeId value) {
  return b.apply(Op::where, {b.apply(Op::less, {b.number(least), x}), value, b.number(0)});
}
const Case kLog{0, [](Builder& b, NodeId x) { return above(b, x, 1, b.apply(Op::log, {x})); },
                [](Builder& b, NodeId x) { return above(b, x, 1, b.apply(Op::reciprocal, {x})); }};
const Case kBorder{0, [](Builder& b, NodeId x) { return above(b, x, 0, b.apply(Op::log, {x})); },
                   [](Builder& b, NodeId x) { return above(b, x, 0, b.apply(Op::reciprocal, {x})); }};
// x^2 up to 1, as a region has it that reads a tensor of ones: that is one number, reshaped and repeated.
const Case kPadded{1,
                   [](Builder& b, NodeId x) {
                     const NodeId number = b.graph.append_constant(Tensor::of_floats({}, std::vector<float>{1}));
                     const NodeId one = b.apply(Op::reshape, {number}, ShapeAttributes{{1}});
                     const NodeId ones = b.apply(Op::expand, {one}, ShapeAttributes{{3}});
                     const NodeId line = b.apply(Op::sub, {b.apply(Op::scale, {x}, ScaleAttributes{2}), ones});
                     return b.apply(Op::where, {b.apply(Op::less_equal, {x, ones}), b.apply(Op::mul, {x, x}), line});
                   },
                   kSmooth.slope};
// (exp(x) - 1) / x, and 1 at 0, where the derivative is 1/2 and that of the taken branch is 0.
NodeId shifted(Builder& b, NodeId x, NodeId* here) {
  *here = b.apply(Op::equal, {x, b.number(0)});
  return b.apply(Op::where, {*here, b.number(1), x});
}
const Case kGap{0,
                [](Builder& b, NodeId x) {
                  NodeId here = 0;
                  const NodeId safe = shifted(b, x, &here);
                  const NodeId quotient = b.apply(Op::div, {b.apply(Op::sub, {b.apply(Op::exp, {x}), b.number(1)}), safe});
                  return b.apply(Op::where, {here, b.number(1), quotient});
                },
                [](Builder& b, NodeId x) {
                  NodeId here = 0;
                  const NodeId safe = shifted(b, x, &here), e = b.apply(Op::exp, {x});
                  const NodeId top = b.apply(Op::sub, {b.apply(Op::mul, {e, safe}), b.apply(Op::sub, {e, b.number(1)})});
                  return b.apply(Op::div, {top, b.apply(Op::mul, {safe, safe})});
                }};

}  // namespace

TEST_CASE("corners: where branches agree in slope the derivative is that number", "[gradients]") {
  std::size_t corners = 0;
  CHECK(verdict(kSmooth, 2, &corners) == "right");
  CHECK(corners == 1);
  for (const float value : {0.0F, 1.0F, 1.9F, 2.0000002F, 3.0F, 4.0F, 5.0F, -1.0F}) {
    INFO(value);
    CHECK(verdict(kSmooth, value) == "gradient.value");
  }
  CHECK(verdict(kLine, 1) == "right");
  for (const float value : {0.0F, 0.5F, 1.5F, 2.0F}) CHECK(verdict(kLine, value) == "gradient.value");
  CHECK(verdict(kPadded, 2) == "right");
  for (const float value : {0.0F, 1.9F, 3.0F, 4.0F}) CHECK(verdict(kPadded, value) == "gradient.value");
}

TEST_CASE("corners: at a kink any number between the sides passes, and no sum of them", "[gradients]") {
  for (const float value : {2.0F, 2.5F, 3.0F}) CHECK(verdict(kBent, value) == "right");
  for (const float value : {1.9F, 3.1F, 0.0F, 5.0F}) CHECK(verdict(kBent, value) == "gradient.value");
  for (const Case& one : {kAbs, kMax}) {
    for (const float value : {-1.0F, 0.0F, 0.25F, 1.0F}) CHECK(verdict(one, value) == "right");
    for (const float value : {-1.5F, 2.0F}) CHECK(verdict(one, value) != "right");
  }
}

TEST_CASE("corners: where a branch that is not taken has no derivative, the taken one decides", "[gradients]") {
  CHECK(verdict(kLog, 0) == "right");
  CHECK(verdict(kBorder, 0) == "right");
  for (const float value : {5.0F, -0.25F, 1e6F}) {
    CHECK(verdict(kLog, value) == "gradient.value");
    CHECK(verdict(kBorder, value) == "(gradient.border)");
  }
}

TEST_CASE("corners: at a condition that holds at one point, another number than the taken branch's is not called wrong", "[gradients]") {
  CHECK(verdict(kGap, 0) == "right");
  for (const float value : {0.5F, 3.0F}) CHECK(verdict(kGap, value) == "(gradient.border)");
}
