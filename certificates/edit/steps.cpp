// take_step(): each kind of step is one call of a rule.

#include "certificates/edit/steps.h"

#include "certificates/check/refutations.h"
#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"

namespace assay::certificate {
namespace {

class OneStep : public StructureAlike<OneStep> {
 public:
  OneStep(const logic::Problem& problem, logic::Scope& scope, std::optional<logic::Refutation>& closed)
      : problem_(problem), scope_(scope), closed_(closed) {}

  Outcome<Done> sweep(const Record& record) { return certificate::sweep(problem_, scope_, record.node, record.round_to_float); }
  Outcome<Done> boxes(const Record& record) { return propagate_boxes(problem_, scope_, record.node); }
  Outcome<Done> box(const Record& record) { return scope_.propagate_box(record.node); }
  Outcome<Done> tighten(const Record& record) {
    return inspect::tighten(scope_, record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr,
                            record.round_to_float);
  }
  Outcome<Done> tighten_by_cases(const Record& record) {
    return certificate::tighten_by_cases(scope_, record.node, record.selection, record.tree, record.round_to_float);
  }
  Outcome<Done> cut(const Record& record) { return cut_by_cases(scope_, record.terms, record.tree); }
  Outcome<Done> define_hints(const Record&) { return Done{}; }  // definitions are in the records that use them
  Outcome<Done> conclude(const Record& record) { return merge_into(closed_, scope_.conclude(record.cases, record.hints)); }
  Outcome<Done> conclude_with(const Record& record) { return conclude(record); }
  Outcome<Done> empty(const Record&) { return merge_into(closed_, scope_.empty()); }
  Outcome<Done> structure(const Record&) { demand_failed("take_step: a record that is no step"); }

 private:
  const logic::Problem& problem_;
  logic::Scope& scope_;
  std::optional<logic::Refutation>& closed_;
};

}  // namespace

Outcome<Done> take_step(const logic::Problem& problem, const Record& record, logic::Scope& scope,
                        std::optional<logic::Refutation>& closed) {
  return visit(record, OneStep(problem, scope, closed));
}

}  // namespace assay::certificate
