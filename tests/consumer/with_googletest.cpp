// A test of another project, with GoogleTest and assay::testing.
#include <gtest/gtest.h>

#include "assay/testing.h"

TEST(Consumer, ARightResultPassesAWrongOneDoesNot) {
  using namespace assay;
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  const Tensor x = Tensor::of_floats({2}, std::vector<float>{1, -3}), relu = Tensor::of_floats({2}, std::vector<float>{1, 0});
  EXPECT_TRUE(assay::testing::Holds(assay::testing::check_contract(Op::relu, NoAttributes{}, model, {x}, relu)));
  EXPECT_FALSE(assay::testing::Holds(assay::testing::check_contract(Op::relu, NoAttributes{}, model, {x}, x)));
}
