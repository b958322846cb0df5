// The rules that combine refutations and make the unsat theorem: merge, join, unsatisfiable.

#include "kernel/logic/state.h"

namespace assay::logic {

// Rule merge. S1: both refutations are of the same context (identity, not equality).
Outcome<Refutation> merge(const Refutation& a, const Refutation& b) {
  if (a.content_->context != b.content_->context) return reject("merge.S1", "", "two refutations of one context", "different contexts");
  Refutation::Content both = *a.content_;
  for (std::size_t i = 0; i < both.cases.size(); ++i) both.cases[i] = a.cases()[i] || b.cases()[i];
  both.vacuous = a.vacuous() || b.vacuous();
  return Refutation(std::make_shared<Refutation::Content>(std::move(both)));
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
// S1 to S3: those of check_halves. Reason: every real z_e satisfies one of the two literals.
Outcome<Refutation> join(const Refutation& at_most, const Refutation& at_least) {
  const std::shared_ptr<const Context> parent = at_most.content_->context->parent;
  if (auto halves = check_halves("join", parent.get(), *at_most.content_->context, *at_least.content_->context); !halves)
    return halves.rejection();
  Refutation::Content both{parent, at_most.cases(), at_most.vacuous() && at_least.vacuous()};
  for (std::size_t i = 0; i < both.cases.size(); ++i) both.cases[i] = at_most.cases()[i] && at_least.cases()[i];
  return Refutation(std::make_shared<Refutation::Content>(std::move(both)));
}

// Rule unsatisfiable. S1: there is exactly one refutation per group, of that group's root context in this problem. S2:
// each refutation is complete.
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations) {
  std::vector<bool> seen(problem->group_count(), false);
  Theorem::Content theorem{Theorem::Kind::unsatisfiable, true, problem, problem->assumptions(), {}, {}};
  for (const Refutation& r : refutations) {
    const Context& context = *r.content_->context;
    if (context.problem != problem || context.parent)
      return reject("unsatisfiable.S1", "", "root contexts of this problem", "another context");
    if (seen[context.group])
      return reject("unsatisfiable.S1", "", "one refutation per group", "two for group " + std::to_string(context.group));
    if (!r.complete())
      return reject("unsatisfiable.S2", "", "a refutation of every case of group " + std::to_string(context.group), "a case without one");
    seen[context.group] = true;
    theorem.vacuous = theorem.vacuous && r.vacuous();
  }
  const auto none = std::ranges::find(seen, false);
  if (none != seen.end())
    return reject("unsatisfiable.S1", "", "one refutation per group", "none for group " + std::to_string(none - seen.begin()));
  return Theorem(std::make_shared<Theorem::Content>(std::move(theorem)));
}

}  // namespace assay::logic
