// The helpers for other people's tests, as they would use them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/audit/run.h"

#include "assay/testing.h"

using namespace assay;
using assay::testing::Checked;
using assay::testing::HasRightGradient;
using assay::testing::Passes;
using assay::testing::WithinContract;
using Kind = assay::testing::Checked::Kind;

namespace {

bool mentions(const Checked& checked, const std::string& text) {
  UNSCOPED_INFO(checked.text);
  return checked.text.find(text) != std::string::npos;
}

Tensor float_tensor(const Shape& shape, const std::vector<float>& values) { return Tensor::of_floats(shape, values); }

// y = tanh(x w).
Graph layer() {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2, 3}, "x"), w = graph.append_input(DType::float32, {3, 2}, "w");
  const auto product = graph.append(Op::matmul, {x, w});
  const auto y = graph.append(Op::tanh, {product.value()});
  graph.mark_output(y.value(), "y");
  return graph;
}

}  // namespace

TEST_CASE("testing: results within their contract match, others say where they are wrong", "[testing]") {
  const Tensor x = float_tensor({2, 2}, {1, 2, -3, 0.5F}), relu = float_tensor({2, 2}, {1, 2, 0, 0.5F});
  const ExecutionModel model = test::float_model();
  CHECK_THAT(relu, WithinContract(Op::relu, NoAttributes{}, {x}, model));
  CHECK_THAT(x, !WithinContract(Op::relu, NoAttributes{}, {x}, model));
  const Checked wrong = assay::testing::check_contract(Op::relu, NoAttributes{}, model, {x}, x);
  CHECK(wrong.kind == Kind::failed);
  CHECK(wrong.failed == 1);
  CHECK(wrong.passed == 3);
  CHECK(mentions(wrong, "first and worst at [1, 0]: received -3"));  // the words of explain/
  CHECK(mentions(wrong, "y = max(a, 0), exactly: a = x0[1, 0] = -3"));
  const Checked misshapen = assay::testing::check_contract(Op::relu, NoAttributes{}, model, {x}, relu.reshaped({4}));
  CHECK(misshapen.kind == Kind::failed);
  ExecutionModel bare = model;
  bare.math_table.clear();
  CHECK(assay::testing::check_contract(Op::exp, NoAttributes{}, bare, {x}, x).kind == Kind::undecided);  // no table: nothing can be said
}

TEST_CASE("testing: vacuous elements are a result of their own", "[testing]") {
  // From about 65,000 terms on a sum in any order may be anything.
  const Tensor x = float_tensor({1, 200000}, std::vector<float>(200000, 1.1F)), y = float_tensor({1, 1}, {220000});
  const ReduceAttributes over{{1}, true};
  ExecutionModel model = test::float_model();
  const Checked checked = assay::testing::check_contract(Op::reduce_sum, over, model, {x}, y);
  CHECK(checked.kind == Kind::vacuous);
  CHECK(checked.failed == 0);
  CHECK(checked.vacuous == 1);
  CHECK(mentions(checked, "vacuous: 0 elements passed, 0 failed, 1 have sets too wide to say anything"));
  CHECK_THAT(checked, !Passes());
  CHECK_THAT(checked, Passes().or_vacuous());
  CHECK_THAT(y, WithinContract(Op::reduce_sum, over, {x}, model).or_vacuous());
  CHECK_THAT(float_tensor({1, 1}, {-220000}), !WithinContract(Op::reduce_sum, over, {x}, model).or_vacuous());
}

TEST_CASE("testing: a region of several ops, with its results", "[testing]") {
  const Tensor x = float_tensor({2, 3}, {1, 2, 3, -1, 0.5F, 2}), w = float_tensor({3, 2}, {0.25F, -0.5F, 0.125F, 1, 0.5F, -0.25F});
  const auto nodes = evaluate<float>(layer(), std::vector<Array<float>>{lift<float>(x), lift<float>(w)});
  REQUIRE(nodes);
  const Tensor y = float_tensor({2, 2}, nodes.value().back().values);
  CHECK_THAT(assay::testing::check_region(layer(), test::float_model(), {x, w}, {y}), Passes());
  const Checked wrong = assay::testing::check_region(layer(), test::float_model(), {x, w}, {test::moved(y, 3, 40)});
  CHECK(wrong.kind == Kind::failed);
  CHECK(mentions(wrong, "first and worst at [1, 1]"));
  CHECK(mentions(wrong, "matmul of 3 terms"));
}

TEST_CASE("testing: a backward pass that somebody wrote", "[testing]") {
  Graph product;
  const NodeId x = product.append_input(DType::float32, {3, 4}, "x"), b = product.append_input(DType::float32, {4}, "b");
  product.mark_output(product.append(Op::mul, {x, b}).value(), "y");
  enum class Mistake { none, half, unsummed, missing };
  const auto backward = [](Mistake mistake) {
    return [mistake](const std::vector<Tensor>& operands, const Tensor& y_bar) {
      const std::vector<double> xs = operands[0].to_doubles(), bs = operands[1].to_doubles(), g = y_bar.to_doubles();
      std::vector<float> x_bar(12), b_bar(4);
      for (std::size_t i = 0; i < 12; ++i) {
        x_bar[i] = static_cast<float>(g[i] * bs[i % 4]) * (mistake == Mistake::half ? 0.5F : 1);
        if (mistake != Mistake::unsummed || i < 4) b_bar[i % 4] += static_cast<float>(g[i] * xs[i]);
      }
      std::vector<Tensor> bars = {float_tensor({3, 4}, x_bar), float_tensor({4}, b_bar)};
      if (mistake == Mistake::missing) bars.pop_back();
      return bars;
    };
  };
  const auto told = [&](Mistake mistake) { return assay::testing::check_backward(product, test::float_model(), backward(mistake)); };
  CHECK_THAT(told(Mistake::none), Passes());
  CHECK(mentions(told(Mistake::half), "it is half the derivative"));
  CHECK(mentions(told(Mistake::unsummed), "not summed over the broadcast axes"));
  CHECK(mentions(told(Mistake::missing), "2 cotangents, one per float operand"));
  CHECK(told(Mistake::half).kind == Kind::failed);
  const Tensor at = float_tensor({3, 4}, std::vector<float>(12, 2)), scale = float_tensor({4}, {1, 2, 3, 4}),
               ones = float_tensor({3, 4}, std::vector<float>(12, 1));
  CHECK_THAT(assay::testing::check_backward(product, test::float_model(), {at, scale}, ones, backward(Mistake::none)({at, scale}, ones)),
             Passes());
}

TEST_CASE("testing: a kernel on its probe plan", "[testing]") {
  const auto relu = [](float least) {
    return [least](const probes::Launch& launch) -> Outcome<Done> {
      if (launch.dtype != DType::float32) return Rejection{Rejection::Kind::unsupported, "relu.type", "", "float32", "another type", ""};
      std::vector<float> values;
      for (const double value : launch.operands[0].to_doubles())
        values.push_back(value < static_cast<double>(least) ? least : static_cast<float>(value));
      std::memcpy(launch.result.data(), values.data(), launch.result.size());
      return Done{};
    };
  };
  probes::PlanOptions small;
  small.large = false;
  CHECK_THAT(assay::testing::check_kernel(Op::relu, relu(0), test::float_model(), small), Passes());
  const Checked wrong = assay::testing::check_kernel(Op::relu, relu(0.25F), test::float_model(), small);
  CHECK(wrong.kind == Kind::failed);
  CHECK(mentions(wrong, "max(a, 0), exactly"));
  const probes::Launcher lazy = [](const probes::Launch&) -> Outcome<Done> { return Done{}; };
  CHECK(mentions(assay::testing::check_kernel(Op::relu, lazy, test::float_model(), small), "probe.unwritten"));
  const probes::Launcher none = [](const probes::Launch&) -> Outcome<Done> {
    return Rejection{Rejection::Kind::declined, "mine.none", "", "a kernel", "none", ""};
  };
  CHECK(assay::testing::check_kernel(Op::relu, none, test::float_model(), small).kind == Kind::undecided);
}

// Halves away from 0, as std::round does it: the bank has that fault.
TEST_CASE("testing: a failed kernel is told the fault of the bank that gives the same bits", "[testing]") {
  const probes::Launcher rounds = [](const probes::Launch& launch) -> Outcome<Done> {
    if (launch.dtype != DType::float32) return Rejection{Rejection::Kind::unsupported, "round.type", "", "float32", "another type", ""};
    std::vector<float> values;
    for (const double value : launch.operands[0].to_doubles()) values.push_back(std::round(static_cast<float>(value)));
    std::memcpy(launch.result.data(), values.data(), launch.result.size());
    return Done{};
  };
  probes::PlanOptions small;
  small.large = false;
  const Checked wrong = assay::testing::check_kernel(Op::round, rounds, test::float_model(), small);
  CHECK(wrong.kind == Kind::failed);
  CHECK(mentions(wrong, "the result equals the reference with halves away from 0, bit for bit"));
  const Checked one =
      assay::testing::check_contract(Op::round, {}, test::float_model(), {float_tensor({2}, {0.5F, 2.5F})}, float_tensor({2}, {1, 3}));
  CHECK(mentions(one, "the result equals the reference with halves away from 0, bit for bit"));
}

TEST_CASE("testing: gradients of functions on sessions", "[testing]") {
  const std::vector<Tensor> inputs = {Tensor::of_floats({2, 3}, std::vector<float>{1, -2, 0.5F, 3, 0.25F, -1}),
                                      Tensor::of_floats({3}, std::vector<float>{0.5F, 2, -1})};
  const assay::testing::Function f = [](runtime::Session& session, const std::vector<runtime::Value>& x) {
    const runtime::Value scaled = session.apply(Op::mul, {x[0], x[1]});
    return session.apply(Op::add, {session.apply(Op::tanh, {scaled}), session.apply(Op::relu, {scaled})});
  };
  CHECK_THAT(f, HasRightGradient(inputs));
  // A hook that changes a gradient on its way: the pass no longer is the adjoint.
  const assay::testing::Function hooked = [](runtime::Session& session, const std::vector<runtime::Value>& x) {
    const runtime::Value scaled = session.apply(Op::mul, {x[0], x[1]});
    session.on_gradient(scaled, [&session](const runtime::Value& bar) { return session.apply(Op::scale, {bar}, ScaleAttributes{2}); });
    return session.apply(Op::exp, {scaled});
  };
  CHECK_THAT(hooked, !HasRightGradient(inputs));
  CHECK(mentions(assay::testing::check_gradient(hooked, inputs), "twice"));
  const assay::testing::Function misfit = [](runtime::Session& session, const std::vector<runtime::Value>& x) {
    return session.apply(Op::matmul, {x[0], x[0]});
  };
  CHECK(mentions(assay::testing::check_gradient(misfit, inputs), "matmul"));
  CHECK(assay::testing::check_gradient(misfit, inputs).kind != Kind::passed);
}
