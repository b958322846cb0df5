// The helpers of api/assay/testing.h as a project with GoogleTest uses them.
#include <gtest/gtest.h>

#include "assay/testing.h"

namespace {

using namespace assay;

ExecutionModel float_model() {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  return model;
}

TEST(Testing, ResultsAndGradients) {
  const Tensor x = Tensor::of_floats({2}, std::vector<float>{1, -3}), relu = Tensor::of_floats({2}, std::vector<float>{1, 0});
  EXPECT_TRUE(assay::testing::Holds(assay::testing::check_contract(Op::relu, NoAttributes{}, float_model(), {x}, relu)));
  const ::testing::AssertionResult wrong =
      assay::testing::Holds(assay::testing::check_contract(Op::relu, NoAttributes{}, float_model(), {x}, x));
  EXPECT_FALSE(wrong);
  EXPECT_NE(std::string(wrong.message()).find("first and worst at [1]: received -3"), std::string::npos) << wrong.message();
  const assay::testing::Function f = [](runtime::Session& session, const std::vector<runtime::Value>& v) {
    return session.apply(Op::mul, {v[0], v[0]});
  };
  EXPECT_TRUE(assay::testing::HoldsOrVacuous(assay::testing::check_gradient(f, {x})));
}

}  // namespace
