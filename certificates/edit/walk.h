// Walk: the branches of a proof, step by step, for tools that show what a checker has at a step. A refused step is passed over, so that
// one walk finds every step that a rule refuses. A walk proves nothing, and does not count which cases are refuted.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "certificates/format/record.h"
#include "kernel/logic/api.h"
#include "kernel/logic/meter.h"
#include "semantics/outcome.h"

namespace assay::certificate {

class Walk {
 public:
  // The steps together may take `work` multiply-adds.
  Walk(std::shared_ptr<const logic::Problem> problem, double work);

  // Takes one record. A rejection is that of the kernel, or says that the record stands in a wrong place; it changes no fact.
  [[nodiscard]] Outcome<Done> take(const Record& record);
  // The innermost branch; null outside of groups.
  [[nodiscard]] const logic::Scope* scope() const { return branches_.empty() ? nullptr : &branches_.back(); }

 private:
  class Steps;

  std::shared_ptr<const logic::Problem> problem_;
  std::shared_ptr<logic::Meter> meter_;
  std::vector<logic::Scope> branches_;   // the root first
  std::vector<logic::Literal> at_most_;  // of each split around the innermost branch, its first half
};

}  // namespace assay::certificate
