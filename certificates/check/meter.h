// Estimates the work of steps in multiply-adds, for budgets and for callers that plan steps. No verdict depends on it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernel/logic/api.h"
#include "kernel/logic/meter.h"

namespace assay::certificate {

class Costs {
 public:
  explicit Costs(const logic::Problem& problem);
  // The work of back-substituting one row from the node to the inputs.
  [[nodiscard]] double row_work(NodeId node) const { return row_work_[node]; }
  [[nodiscard]] double whole_row() const { return row_work_.back(); }  // from the last node
  [[nodiscard]] double of(const logic::Work& work) const;

 private:
  [[nodiscard]] double beside(const logic::Work& rows) const;  // of one row, in addition to back-substitution
  [[nodiscard]] double of_terms(const logic::Work& rows) const;
  const logic::Problem& problem_;
  std::vector<double> row_work_;  // by node: work at the node and at all nodes before it, including balls
  // By node: the work at an affine node that is not active, in which a row may still start; 0 for other nodes.
  std::vector<double> idle_work_;
};

// Subtracts the work of each step from the budget. Declines (code "kernel.work") a step that needs more than is left.
// Rows in integers, for steps that the double filter leaves undecided, have an additional limit per step.
class Meter final : public logic::Meter {
 public:
  static constexpr std::uint64_t kExactBudget = 2'000'000'000;
  // left: null means no limit.
  explicit Meter(std::shared_ptr<const Costs> costs, std::shared_ptr<double> left = nullptr, double exact_budget = kExactBudget)
      : costs_(std::move(costs)), left_(std::move(left)), exact_budget_(exact_budget) {}
  Outcome<Done> before(const logic::Work& work) override;

 private:
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<double> left_;
  double exact_budget_;
};

// A meter for a problem on its own. The search passes no `left`.
[[nodiscard]] std::shared_ptr<Meter> meter_of(const logic::Problem& problem, std::shared_ptr<double> left = nullptr);
// Subtracts the work, or declines (code "kernel.work") if less is left.
[[nodiscard]] Outcome<Done> spend(double work, double& left);
// The number of word operations that the exact fractions of a witness may take.
[[nodiscard]] double exact_work_of(const Costs& costs);

}  // namespace assay::certificate
