// What other people's tests include: is a result within its contract, is a gradient right, does a kernel survive its probes? For Catch2
// (2 or 3) as matchers, for GoogleTest as assertion results, for any other framework as functions; include the framework's header first.
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

// What came of a check. Elements whose sets are too wide to mean anything are vacuous: nothing is known of them, which is no failure.
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

// One op's result on these operands.
[[nodiscard]] Checked check_contract(Op op, const Attributes& attributes, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                     const Tensor& received);
// What ran as one: a graph of several ops, with all its results. `stored` says which of them are kept in 16 bits; none: all are what was computed.
[[nodiscard]] Checked check_region(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                   const std::vector<Tensor>& received, const std::vector<ExecutionModel::Storage>& stored = {});

// A function of float values that gives a float value of the same session; its gradient is that of the sum of its elements.
using Function = std::function<runtime::Value(runtime::Session&, const std::vector<runtime::Value>&)>;
// The gradients of f with respect to all its inputs at these values: f runs forward and backward and is recorded, each recorded value
// has to lie within its contract, each product has to be the adjoint of the derivative (kernel/audit). In the type of the inputs,
// float32 as well as float64; no step size, no tolerance.
[[nodiscard]] Checked check_gradient(const Function& f, const std::vector<Tensor>& inputs, std::uint64_t seed = 1);

// A backward pass that somebody wrote: from the operands and the cotangent of the graph's one result, a cotangent for each float operand.
using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>& operands, const Tensor& cotangent)>;
// What it gave, by the contract of the derivative of the graph's meaning.
[[nodiscard]] Checked check_backward(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                     const Tensor& cotangent, const std::vector<Tensor>& received);
// The same where mistakes show: whole numbers, full precision, a cotangent of 0, and points at the kinks that are named. Operands are drawn
// from their domains, or from -4 to 4.
[[nodiscard]] Checked check_backward(const Graph& graph, const ExecutionModel& model, const Backward& backward,
                                     std::vector<kernel::Domain> domains = {}, std::vector<double> kinks = {}, std::uint64_t seed = 1);

// What came of running a plan (probes/launch.h), for callers who run it themselves.
[[nodiscard]] Checked check_run(Op op, const probes::PlanRun& run);

// A kernel, by the probe plan of its op (probes/plan.h): every result within its contract, every element written, no operand written, the
// same result twice. Probes that the launcher declines do not count; if it declines all, nothing is decided. The text names the faults of
// the bank (probes/faults.h) that give what a failed probe received.
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

// Of a Checked: it passed. or_vacuous() lets a vacuous one through.
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
