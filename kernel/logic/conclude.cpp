// The rules that close a scope: conclude and empty.

#include <algorithm>
#include <map>

#include "kernel/logic/state.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {

// Rule conclude: refutes all listed cases on the scope, or none of them. A case is refuted if the sum of its rows, each
// times a multiplier, has a lower bound that contradicts the right-hand sides.
// - S1: each case exists and has one multiplier per row.
// - S2: multipliers are finite and >= 0.
// - S3: the boxes or back-substitution bound the sum of multipliers times rows from below by more than the sum of the
//   right-hand sides (by at least that sum if a strict row takes part). So not all rows can hold.
// - S4: in a floating semantics, every node on the way to an output has a box, so that all values are finite.
Outcome<Refutation> Scope::State::conclude(std::span<const CaseMultipliers> cases, const Hints& hints, Diagnosis* diagnosis) const try {
  const StopScope watch(stop_);
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const auto& group = problem_->groups_[context_->group];
  if (diagnosis != nullptr) *diagnosis = {};
  if (contradiction_) return empty();
  for (const NodeId node : problem_->network_->active_nodes_) {
    if (problem_->floating() && !boxes_[node]) return not_boxed("conclude.S4", node);
  }
  Targets targets;
  struct Open {
    std::uint32_t position;
    Rational required;
    bool strict;
    [[nodiscard]] bool proved(double lower) const {
      const auto value = Rational::from_double(lower);
      return value.has_value() && (*value > required || (strict && *value == required));
    }
  };
  std::vector<Open> open;  // one per row of `targets`
  for (const CaseMultipliers& c : cases) {
    if (!(c.position < group.size()))
      return reject("conclude.S1", "case " + std::to_string(c.position), "a case of the group", "no such case");
    const std::vector<statement::Row>& rows = problem_->statement_.property.cases[group[c.position]].rows;
    const bool single = c.rows.empty() && rows.size() == 1;
    if (!single && c.rows.size() != rows.size())
      return reject("conclude.S1", "case " + std::to_string(c.position), std::to_string(rows.size()) + " multipliers",
                    std::to_string(c.rows.size()));
    if (!usable(c.rows))
      return reject("conclude.S2", "case " + std::to_string(c.position), "multipliers finite and >= 0", "a negative or non-finite one");
    std::map<std::pair<NodeId, std::uint64_t>, Rational> sum;
    Open asked{c.position, {}, false};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (auto paid = pay({.kind = Work::Kind::terms, .count = rows[r].terms.size() + 1}); !paid) return paid.rejection();
      const Rational m = single ? Rational(1) : *Rational::from_double(c.rows[r]);
      if (m.sign() == 0) continue;
      asked.required += m * rows[r].bound;
      asked.strict = asked.strict || rows[r].strict;
      for (const statement::Term& term : rows[r].terms) {
        sum[{problem_->node_of(term.variable), term.variable.element}] += m * term.coefficient;
      }
    }
    Interval known = 0;  // the bound that the boxes alone give; where it suffices, the case needs no row
    const std::size_t first = targets.entries.size();
    for (const auto& [key, coefficient] : sum) {
      if (!boxes_[key.first]) return not_boxed("back_substitution.S1", key.first);
      const double down = coefficient.double_down(), up = coefficient.double_up();
      known += Interval(down, up) * Interval(boxes_[key.first]->lo[key.second], boxes_[key.first]->hi[key.second]);
      targets.entries.push_back({targets.rows, key.first, static_cast<std::uint32_t>(key.second), down, sub_up(up, down)});
    }
    if (diagnosis == nullptr && asked.proved(known.lo())) {
      targets.entries.resize(first);
      continue;
    }
    if (!sum.empty()) targets.start = std::max(targets.start, sum.rbegin()->first.first);
    ++targets.rows;
    open.push_back(std::move(asked));
  }
  auto bounds = back_substitute(targets, hints, diagnosis);
  if (!bounds) return bounds.rejection();
  for (std::size_t k = 0; diagnosis != nullptr && k < open.size(); ++k) {
    diagnosis->margins.push_back(bounds.value()[k].estimate - open[k].required.double_up());
    diagnosis->losses.push_back(bounds.value()[k].error_bound);
  }
  std::size_t tried = 0;  // rows tried in integers
  for (std::size_t k = 0; k < open.size(); ++k) {
    const RowBound& b = bounds.value()[k];
    if (open[k].proved(b.lower) || open[k].proved(settled(targets, k, hints, b, open[k].required.double_down(), tried))) continue;
    const std::string which = "case " + std::to_string(open[k].position), group = std::to_string(context_->group);
    return reject("conclude.S3", which + " of group " + group + ", depth " + std::to_string(context_->depth),
                  "a sum of its rows " + std::string(open[k].strict ? "of at least " : "above ") + open[k].required.to_decimal(),
                  "only the lower bound " + exact(b.lower) + ", so " + which + " stays open",
                  "give better slopes or split further; if the case can happen, weaken the claim");
  }
  std::vector<bool> refuted(group.size(), false);
  for (const CaseMultipliers& c : cases) refuted[c.position] = true;
  return Refutation(std::make_shared<Refutation::Content>(Refutation::Content{context_, std::move(refuted), false}));
} catch (const Stopped&) {
  return stopped("group " + std::to_string(context_->group) + ", depth " + std::to_string(context_->depth));
}

// Rule empty: refutes all cases of the group. S1: some box of the scope has lo > hi. If the statement's own box is
// empty, the refutation is vacuous.
Outcome<Refutation> Scope::State::empty() const {
  if (!contradiction_)
    return reject("empty.S1", "group " + std::to_string(context_->group) + ", depth " + std::to_string(context_->depth),
                  "a box with lo > hi", "none");
  std::vector<bool> all(problem_->groups_[context_->group].size(), true);
  const bool vacuous = problem_->group_is_empty_[context_->group];
  return Refutation(std::make_shared<Refutation::Content>(Refutation::Content{context_, std::move(all), vacuous}));
}

}  // namespace assay::logic
