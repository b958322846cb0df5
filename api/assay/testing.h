// Tests of other projects check results, gradients and kernels with this header, without a tolerance. Catch2 (2 or 3) gets
// matchers, GoogleTest assertion results, and every other framework functions. Include the header of the framework first.
//
//   REQUIRE_THAT(y, assay::testing::WithinContract(assay::Op::softmax, assay::SoftmaxAttributes{1}, {x}, model));
//   CHECK_THAT(f, assay::testing::HasRightGradient({x, w}));
//   CHECK_THAT(check_kernel(assay::Op::softmax, my_launcher, model), assay::testing::Passes());
//   EXPECT_TRUE(assay::testing::Holds(assay::testing::check_contract(assay::Op::relu, {}, model, {x}, y)));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/contracts/contract.h"
#include "probes/launch.h"
#include "runtime/session.h"

namespace assay::testing {

// The result of a check. Elements whose sets are too wide to mean anything are vacuous: nothing is known of them, which is no failure.
struct Checked {
  enum class Kind : std::uint8_t {
    passed,
    vacuous,    // nothing failed, but more than kMostVacuous of the elements are vacuous; one of kShareOfOne or more is no share
    undecided,  // no contract, or a product that could not be compared
    failed
  } kind = Kind::passed;
  std::size_t passed = 0, failed = 0, vacuous = 0, unsupported = 0;  // elements
  std::string text;  // why, with numbers, formulas and patterns (explain/); of `passed`: the counts
};
inline constexpr double kMostVacuous = 0.01;
inline constexpr std::size_t kShareOfOne = 20;

// Checks the result of one op on these operands.
[[nodiscard]] Checked check_contract(Op op, const Attributes& attributes, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                     const Tensor& received);
// Checks all results of a graph of several ops that ran as one. `stored` says which of them are kept in 16 bits; without it none is.
[[nodiscard]] Checked check_region(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                   const std::vector<Tensor>& received, const std::vector<ExecutionModel::Storage>& stored = {});

// A function of float values that gives a float value of the same session; its gradient is that of the sum of its elements.
using Function = std::function<runtime::Value(runtime::Session&, const std::vector<runtime::Value>&)>;
// Checks the gradients of f with respect to all its inputs at these values. f runs forward and backward and is recorded. Each
// recorded value has to lie within its contract, and each product has to be the adjoint of the derivative (kernel/audit). The
// check runs in the type of the inputs, float32 as well as float64, without a step size.
[[nodiscard]] Checked check_gradient(const Function& f, const std::vector<Tensor>& inputs, std::uint64_t seed = 1);

// A hand-written backward pass: from the operands and the cotangent of the graph's one result, a cotangent for each float operand.
using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>& operands, const Tensor& cotangent)>;
// Checks its results by the contract of the derivative of the graph's meaning.
[[nodiscard]] Checked check_backward(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                     const Tensor& cotangent, const std::vector<Tensor>& received);
// Runs the backward pass where mistakes show: at whole numbers, in full precision, with a cotangent of 0, and at the named kinks.
// Operands are drawn from their domains, or from -4 to 4.
[[nodiscard]] Checked check_backward(const Graph& graph, const ExecutionModel& model, const Backward& backward,
                                     std::vector<gradients::Domain> domains = {}, std::vector<double> kinks = {}, std::uint64_t seed = 1);

// Checks the results of a plan (probes/launch.h) that the caller ran.
[[nodiscard]] Checked check_run(Op op, const probes::PlanRun& run);

// Checks a kernel on the probe plan of its op (probes/plan.h). Every result has to lie within its contract, every element has to
// be written, no operand may be, and a second run has to give the same result. Probes that the launcher declines do not count; if
// it declines all, nothing is decided. The text names the faults of the bank (probes/faults.h) that give the received values of a
// failed probe.
[[nodiscard]] Checked check_kernel(Op op, const probes::Launcher& kernel, const ExecutionModel& model,
                                   const probes::PlanOptions& options = {});

#if defined(CATCH_VERSION_MAJOR)
#if CATCH_VERSION_MAJOR >= 3
template <class T>
using MatcherOf = Catch::Matchers::MatcherBase<T>;
#else
template <class T>
using MatcherOf = Catch::MatcherBase<T>;
#endif

// Matches a Checked that passed. or_vacuous() lets a vacuous one through.
class Passes : public MatcherOf<Checked> {
 public:
  [[nodiscard]] Passes or_vacuous() const {
    Passes other = *this;
    other.vacuous_too_ = true;
    return other;
  }
  [[nodiscard]] bool match(const Checked& checked) const override {
    text_ = checked.text;
    return checked.kind == Checked::Kind::passed || (vacuous_too_ && checked.kind == Checked::Kind::vacuous);
  }
  [[nodiscard]] std::string describe() const override { return text_; }

 private:
  bool vacuous_too_ = false;
  mutable std::string text_;
};

class WithinContract : public MatcherOf<Tensor> {
 public:
  WithinContract(Op op, Attributes attributes, std::vector<Tensor> operands, ExecutionModel model)
      : op_(op), attributes_(std::move(attributes)), operands_(std::move(operands)), model_(std::move(model)) {}
  [[nodiscard]] WithinContract or_vacuous() const {
    WithinContract other = *this;
    other.vacuous_too_ = true;
    return other;
  }
  [[nodiscard]] bool match(const Tensor& received) const override {
    const Checked checked = check_contract(op_, attributes_, model_, operands_, received);
    text_ = checked.text;
    return vacuous_too_ ? Passes().or_vacuous().match(checked) : Passes().match(checked);
  }
  [[nodiscard]] std::string describe() const override { return text_; }

 private:
  Op op_;
  Attributes attributes_;
  std::vector<Tensor> operands_;
  ExecutionModel model_;
  bool vacuous_too_ = false;
  mutable std::string text_;
};

class HasRightGradient : public MatcherOf<Function> {
 public:
  explicit HasRightGradient(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] bool match(const Function& f) const override { return passes_.match(check_gradient(f, inputs_)); }
  [[nodiscard]] std::string describe() const override { return passes_.describe(); }

 private:
  std::vector<Tensor> inputs_;
  Passes passes_;
};
#endif

#if defined(EXPECT_TRUE) && defined(GTEST_TEST)
[[nodiscard]] inline ::testing::AssertionResult Holds(const Checked& checked) {
  const bool holds = checked.kind == Checked::Kind::passed;
  return (holds ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << checked.text;
}
[[nodiscard]] inline ::testing::AssertionResult HoldsOrVacuous(const Checked& checked) {
  const bool holds = checked.kind == Checked::Kind::passed || checked.kind == Checked::Kind::vacuous;
  return (holds ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << checked.text;
}
#endif

}  // namespace assay::testing
