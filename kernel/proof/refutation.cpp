// The rules that close contexts and make the unsat theorem: merge, join, unsatisfiable.

#include "kernel/proof/scope_parts.h"

namespace assay::kernel {

bool Refutation::complete() const { return std::ranges::find(cases_, false) == cases_.end(); }

// Rule merge. S1: both refutations are of the same context (identity, not equality).
Outcome<Refutation> merge(const Refutation& a, const Refutation& b) {
  if (a.context_ != b.context_) return reject("merge.S1", "", "two refutations of one context", "different contexts");
  Refutation result = a;
  for (std::size_t i = 0; i < result.cases_.size(); ++i) result.cases_[i] = a.cases_[i] || b.cases_[i];
  result.vacuous_ = a.vacuous_ || b.vacuous_;
  return result;
}

// Rule join.
//
//   (parent, z_e <= t) refuted for C1        (parent, z_e >= t) refuted for C2
//   --------------------------------------------------------------------------
//   parent refuted for the cases in both C1 and C2
//
// S1: both contexts extend one parent (identity). S2: same node, element and threshold (bits). S3: opposite closed halves.
// Reason: every real z_e satisfies one of the two literals.
Outcome<Refutation> join(const Refutation& at_most, const Refutation& at_least) {
  const Context* a = at_most.context_.get();
  const Context* b = at_least.context_.get();
  if (!a->parent || a->parent != b->parent) return reject("join.S1", "", "two children of one context", "unrelated contexts");
  if (a->literal.node != b->literal.node || a->literal.element != b->literal.element || !(a->literal.threshold == b->literal.threshold)) {
    return reject("join.S2", "", "one coordinate and one threshold", "two different literals");
  }
  if (a->literal.at_least || !b->literal.at_least)
    return reject("join.S3", "", "the halves <= t and >= t, in this order", "the same half twice");
  Refutation result;
  result.context_ = a->parent;
  result.cases_ = at_most.cases_;
  for (std::size_t i = 0; i < result.cases_.size(); ++i) result.cases_[i] = at_most.cases_[i] && at_least.cases_[i];
  result.vacuous_ = at_most.vacuous_ && at_least.vacuous_;
  return result;
}

// Rule unsatisfiable. S1: exactly one refutation per group, of that group's root context in this problem.
// S2: each is complete.
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations) {
  std::vector<bool> seen(problem->group_count(), false);
  Theorem theorem;
  theorem.vacuous_ = true;
  for (const Refutation& r : refutations) {
    const Context& context = *r.context_;
    if (context.problem != problem || context.parent)
      return reject("unsatisfiable.S1", "", "root contexts of this problem", "another context");
    if (seen[context.group])
      return reject("unsatisfiable.S1", "", "one refutation per group", "two for group " + std::to_string(context.group));
    if (!r.complete())
      return reject("unsatisfiable.S2", "", "all cases of group " + std::to_string(context.group) + " refuted", "an open case");
    seen[context.group] = true;
    theorem.vacuous_ = theorem.vacuous_ && r.vacuous();
  }
  for (std::size_t group = 0; group < seen.size(); ++group) {
    if (!seen[group]) return reject("unsatisfiable.S1", "", "one refutation per group", "none for group " + std::to_string(group));
  }
  theorem.kind_ = Theorem::Kind::unsatisfiable;
  theorem.problem_ = problem;
  theorem.assumptions_ = problem->assumptions();
  return theorem;
}

}  // namespace assay::kernel
