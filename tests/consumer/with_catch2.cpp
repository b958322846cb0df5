// A test of another project, with Catch2 and assay::testing.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include "assay/testing.h"

TEST_CASE("a right result passes, a wrong one and a wrong backward pass do not") {
  using namespace assay;
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  const Tensor x = Tensor::of_floats({2}, std::vector<float>{1, -3}), relu = Tensor::of_floats({2}, std::vector<float>{1, 0});
  CHECK_THAT(relu, testing::WithinContract(Op::relu, NoAttributes{}, {x}, model));
  CHECK_THAT(x, !testing::WithinContract(Op::relu, NoAttributes{}, {x}, model));
  const testing::Function square = [](runtime::Session& session, const std::vector<runtime::Value>& v) {
    return session.apply(Op::mul, {v[0], v[0]});
  };
  CHECK_THAT(testing::check_gradient(square, {x}), testing::Passes());
}
