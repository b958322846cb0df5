// The rules that close a scope: conclude and empty.

#include <map>

#include "kernel/logic/state.h"

namespace assay::logic {

// The sum of a case's rows, each times its multiplier: what it has to be above, so that not all rows hold.
struct Scope::State::Asked {
  std::uint32_t position = 0;
  Rational required = {};
  bool strict = false;  // or at least it, since a strict row takes part
  [[nodiscard]] bool proved(double lower) const {
    const auto value = Rational::from_double(lower);
    return value.has_value() && (*value > required || (strict && *value == required));
  }
};

// Adds the entries of the sum to the row of the targets that is being made. S1 and S2 of rule conclude.
Outcome<Scope::State::Asked> Scope::State::add_case(const CaseMultipliers& one, Targets& targets) const {
  const auto& group = problem_->group_cases(context_->group);
  const std::string name = "case " + std::to_string(one.position);
  if (!(one.position < group.size())) return reject("conclude.S1", name, case_of("group", group.size()), "no such case");
  const std::vector<statement::Row>& rows = problem_->statement().property.cases[group[one.position]].rows;
  const bool single = one.rows.empty() && rows.size() == 1;
  if (!single && one.rows.size() != rows.size())
    return reject("conclude.S1", name, std::to_string(rows.size()) + " multipliers, one for each row", std::to_string(one.rows.size()));
  if (!usable(one.rows)) return reject("conclude.S2", name, "multipliers that are finite and at least 0", unusable(one.rows));
  std::map<std::pair<NodeId, std::uint64_t>, Rational> sum;
  Asked asked{one.position};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (auto paid = pay({.kind = Work::Kind::terms, .count = rows[r].terms.size() + 1}); !paid) return paid.rejection();
    const Rational m = single ? Rational(1) : *Rational::from_double(one.rows[r]);
    if (m.sign() == 0) continue;
    asked.required += m * rows[r].bound;
    asked.strict = asked.strict || rows[r].strict;
    for (const statement::Term& term : rows[r].terms)
      sum[{problem_->node_of(term.variable), term.variable.element}] += m * term.coefficient;
  }
  for (const auto& [key, coefficient] : sum) {
    if (!boxes_[key.first]) return not_boxed("back_substitution.S1", key.first);
    targets.add(key.first, key.second, coefficient);
  }
  return asked;
}

// Rule conclude: refutes all listed cases on the scope, or none of them. A case is refuted if the sum of its rows, each
// times a multiplier, has a lower bound that contradicts the right-hand sides.
// - S1: each case exists and has one multiplier per row.
// - S2: multipliers are finite and >= 0.
// - S3: the boxes or back-substitution bound the sum of multipliers times rows from below by more than the sum of the
//   right-hand sides (by at least that sum if a strict row takes part). So not all rows can hold.
// - S4: in a floating semantics, every node on the way to an output has a box, so that all values are finite.
Outcome<Refutation> Scope::State::conclude(std::span<const CaseMultipliers> cases, const Hints& hints,
                                           std::vector<rows::RowBound>* found) const {
  if (contradiction_) return empty();
  for (const NodeId node : network_->active_nodes_) {
    if (problem_->floating() && !boxes_[node]) return not_boxed("conclude.S4", node);
  }
  Targets targets;
  std::vector<Asked> open;  // one per row of `targets`
  for (const CaseMultipliers& one : cases) {
    const std::size_t first = targets.entries.size();
    auto asked = add_case(one, targets);
    if (!asked) return asked.rejection();
    if (found == nullptr && asked.value().proved(by_boxes(std::span(targets.entries).subspan(first)))) {
      targets.entries.resize(first);  // no row where the boxes do
      continue;
    }
    ++targets.rows;
    open.push_back(std::move(asked).value());
  }
  const auto bounds = back_substitute(targets, hints, found != nullptr);
  if (!bounds) return bounds.rejection();
  for (std::size_t k = 0; found != nullptr && k < open.size(); ++k) {
    found->push_back(bounds.value()[k]);
    found->back().estimate -= open[k].required.double_up();
  }
  std::size_t tried = 0;  // rows tried in integers
  for (std::size_t k = 0; k < open.size(); ++k) {
    const rows::RowBound& b = bounds.value()[k];
    if (open[k].proved(b.lower) || open[k].proved(settled(targets, k, hints, b, open[k].required.double_down(), tried))) continue;
    const std::string which = "case " + std::to_string(open[k].position);
    return reject("conclude.S3", which + place(),
                  "a sum of its rows " + std::string(open[k].strict ? "of at least " : "above ") + open[k].required.to_decimal(),
                  "only the lower bound " + exact(b.lower) + ", so " + which + " is not refuted", statement::kProveMore);
  }
  std::vector<bool> refuted(problem_->group_cases(context_->group).size(), false);
  for (const CaseMultipliers& one : cases) refuted[one.position] = true;
  return Refutation(std::make_shared<Refutation::Content>(Refutation::Content{context_, std::move(refuted), false}));
}

// Rule empty. S1: some box of the scope has lo > hi. If the statement's own box has, the refutation is vacuous.
Outcome<Refutation> Scope::State::empty() const {
  if (!contradiction_) return reject("empty.S1", place(), "a box with lo > hi", "none");
  std::vector<bool> all(problem_->group_cases(context_->group).size(), true);
  const bool vacuous = problem_->group_is_empty(context_->group);
  return Refutation(std::make_shared<Refutation::Content>(Refutation::Content{context_, std::move(all), vacuous}));
}

}  // namespace assay::logic
