// Estimates the work of steps in multiply-adds, for budgets and for callers that plan steps. No verdict rests on it.
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
  // Of one row on its way from the node to the inputs.
  [[nodiscard]] double row_work(NodeId node) const { return row_work_[node]; }
  [[nodiscard]] double whole_row() const { return row_work_.back(); }  // from the last node
  [[nodiscard]] double of(const logic::Work& work) const;

 private:
  [[nodiscard]] double beside(const logic::Work& rows) const;  // of one row, beside its way
  [[nodiscard]] double of_terms(const logic::Work& rows) const;
  const logic::Problem& problem_;
  std::vector<double> row_work_;   // by node: of the node and all before it, balls included
  std::vector<double> idle_work_;  // by node: of an affine one that is not active, in which a row may start all the same; else 0
};

// Subtracts the work of each step from the rest of the budget, and declines (code "kernel.work") a step that needs more than
// that. Rows in integers, for steps that the double filter leaves open, have a further limit for each step.
class Meter final : public logic::Meter {
 public:
  static constexpr std::uint64_t kExactBudget = 2'000'000'000;
  // left: null for any number.
  explicit Meter(std::shared_ptr<const Costs> costs, std::shared_ptr<double> left = nullptr, double exact_budget = kExactBudget)
      : costs_(std::move(costs)), left_(std::move(left)), exact_budget_(exact_budget) {}
  Outcome<Done> before(const logic::Work& work) override;

 private:
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<double> left_;
  double exact_budget_;
};

// For one problem by itself. A search passes no `left`.
[[nodiscard]] std::shared_ptr<Meter> meter_of(const logic::Problem& problem, std::shared_ptr<double> left = nullptr);
// Declined (code "kernel.work") where less is left; else taken off.
[[nodiscard]] Outcome<Done> spend(double work, double& left);
// Word operations that exact fractions of a witness may take.
[[nodiscard]] double exact_work_of(const Costs& costs);

}  // namespace assay::certificate
