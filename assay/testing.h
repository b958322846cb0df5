// What other people's tests include: is a result within its contract, and is a gradient right? For Catch2 (2 or 3) as matchers, for
// GoogleTest as assertion results, for any other framework as functions; include the framework's header before this one.
//
//   REQUIRE_THAT(y, assay::testing::WithinContract(assay::Op::softmax, assay::SoftmaxAttributes{1}, {x}, model));
//   CHECK_THAT(f, assay::testing::HasRightGradient({x, w}));
//   EXPECT_TRUE(assay::testing::IsWithinContract(assay::Op::relu, {}, model, {x}, y));
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"
#include "semantics/contracts/contract.h"

namespace assay::testing {

// What is wrong with a result of one op on these operands, in words: the first element outside its set, a set that is too wide to
// mean anything, an op without a contract. Nothing: every element passes.
[[nodiscard]] std::optional<std::string> outside_contract(Op op, const Attributes& attributes, const ExecutionModel& model,
                                                          const std::vector<Tensor>& operands, const Tensor& received);

// A function of float values that gives a float value of the same session; its gradient is that of the sum of its elements.
using Function = std::function<runtime::Value(runtime::Session&, const std::vector<runtime::Value>&)>;
// What is wrong with the gradients of f with respect to all its inputs at these values: f runs forward and backward and is recorded, each
// recorded value has to lie within its contract, each product has to be the adjoint of the derivative (kernel/audit). In the type
// of the inputs, float32 as well as float64; no step size, no tolerance.
[[nodiscard]] std::optional<std::string> wrong_gradient(const Function& f, const std::vector<Tensor>& inputs, std::uint64_t seed = 1);

#if defined(CATCH_VERSION_MAJOR)
#if CATCH_VERSION_MAJOR >= 3
template <class T>
using MatcherOf = Catch::Matchers::MatcherBase<T>;
#else
template <class T>
using MatcherOf = Catch::MatcherBase<T>;
#endif

class WithinContract : public MatcherOf<Tensor> {
 public:
  WithinContract(Op op, Attributes attributes, std::vector<Tensor> operands, ExecutionModel model)
      : op_(op), attributes_(std::move(attributes)), operands_(std::move(operands)), model_(std::move(model)) {}
  [[nodiscard]] bool match(const Tensor& received) const override {
    problem_ = outside_contract(op_, attributes_, model_, operands_, received);
    return !problem_;
  }
  [[nodiscard]] std::string describe() const override {
    return problem_ ? "is not within its contract: " + *problem_ : "is within its contract";
  }

 private:
  Op op_;
  Attributes attributes_;
  std::vector<Tensor> operands_;
  ExecutionModel model_;
  mutable std::optional<std::string> problem_;
};

class HasRightGradient : public MatcherOf<Function> {
 public:
  explicit HasRightGradient(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] bool match(const Function& f) const override {
    problem_ = wrong_gradient(f, inputs_);
    return !problem_;
  }
  [[nodiscard]] std::string describe() const override { return problem_ ? "has a wrong gradient: " + *problem_ : "has the right gradient"; }

 private:
  std::vector<Tensor> inputs_;
  mutable std::optional<std::string> problem_;
};
#endif

#if defined(EXPECT_TRUE) && defined(GTEST_TEST)
[[nodiscard]] inline ::testing::AssertionResult IsWithinContract(Op op, const Attributes& attributes, const ExecutionModel& model,
                                                                 const std::vector<Tensor>& operands, const Tensor& received) {
  const auto problem = outside_contract(op, attributes, model, operands, received);
  return problem ? ::testing::AssertionFailure() << *problem : ::testing::AssertionSuccess();
}
[[nodiscard]] inline ::testing::AssertionResult GradientIsRight(const Function& f, const std::vector<Tensor>& inputs) {
  const auto problem = wrong_gradient(f, inputs);
  return problem ? ::testing::AssertionFailure() << *problem : ::testing::AssertionSuccess();
}
#endif

}  // namespace assay::testing
