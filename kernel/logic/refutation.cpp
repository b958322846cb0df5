// The rules that close contexts and make the unsat theorem: merge, join, unsatisfiable.

#include "kernel/logic/scope_parts.h"

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

Outcome<Done> check_halves(const std::string& rule, const Context* parent, const Context& at_most, const Context& at_least) {
  if (parent == nullptr || at_most.parent.get() != parent || at_least.parent.get() != parent)
    return reject(rule + ".S1", "", "two children of one context", "unrelated contexts");
  const Literal &a = at_most.literal, &b = at_least.literal;
  if (a.node != b.node || a.element != b.element || !(a.threshold == b.threshold))
    return reject(rule + ".S2", "", "one coordinate and one threshold", "two different literals");
  if (a.at_least || !b.at_least) return reject(rule + ".S3", "", "the halves <= t and >= t, in this order", "the same half twice");
  return Done{};
}

// Rule join.
//
//   (parent, z_e <= t) refuted for C1        (parent, z_e >= t) refuted for C2
//   --------------------------------------------------------------------------
//   parent refuted for the cases in both C1 and C2
//
// S1 to S3: of check_halves. Reason: every real z_e satisfies one of the two literals.
Outcome<Refutation> join(const Refutation& at_most, const Refutation& at_least) {
  const std::shared_ptr<const Context> parent = at_most.context_->parent;
  if (auto halves = check_halves("join", parent.get(), *at_most.context_, *at_least.context_); !halves) return halves.rejection();
  Refutation result;
  result.context_ = parent;
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
