// The helpers for other people's tests, as they would use them.
#include "tests/audit/run.h"

#include "assay/testing.h"

using namespace assay;
using assay::testing::HasRightGradient;
using assay::testing::WithinContract;

TEST_CASE("testing: results within their contract match, others say where they are wrong", "[testing]") {
  const Tensor x = Tensor::of_floats({2, 2}, std::vector<float>{1, 2, -3, 0.5F}),
               relu = Tensor::of_floats({2, 2}, std::vector<float>{1, 2, 0, 0.5F});
  const ExecutionModel model = test::float_model();
  CHECK_THAT(relu, WithinContract(Op::relu, NoAttributes{}, {x}, model));
  CHECK_THAT(x, !WithinContract(Op::relu, NoAttributes{}, {x}, model));
  const auto problem = assay::testing::outside_contract(Op::relu, NoAttributes{}, model, {x}, x);
  REQUIRE(problem);
  CHECK(problem->find("1 elements; element 2: received -0x1.8p+1") == 0);
  CHECK(assay::testing::outside_contract(Op::relu, NoAttributes{}, model, {x}, relu.reshaped({4})));
  ExecutionModel bare = model;
  bare.math_table.clear();
  CHECK(assay::testing::outside_contract(Op::exp, NoAttributes{}, bare, {x}, x));  // no table: nothing can be said
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
  const assay::testing::Function misfit = [](runtime::Session& session, const std::vector<runtime::Value>& x) {
    return session.apply(Op::matmul, {x[0], x[0]});
  };
  CHECK(assay::testing::wrong_gradient(misfit, inputs)->find("matmul") != std::string::npos);
}
