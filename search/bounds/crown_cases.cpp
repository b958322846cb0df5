// close_at_root(): closes cases by single rows, and by rows that contradict each other.
//
// All closed cases go into one conclusion of the certificate. Choices are named first, so that other checkers make the
// same ones; if the kernel refuses that, the conclusion is tried without names.

#include "search/bounds/crown_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel/inspect/inspect.h"
#include "search/bounds/case_bounds.h"
#include "search/bounds/named_choices.h"

namespace assay::search {

// One conclusion for all closed cases costs the checker less than one for each.
Outcome<std::optional<CrownCases>> close_at_root(const Network& network, IntermediateBounds& root, std::vector<std::uint32_t>& open,
                                                 std::optional<logic::Refutation>& refutation) {
  const logic::Scope& scope = root.scope();
  std::optional<CrownCases> result;
  if (auto nothing = scope.empty()) {
    root.steps().empty();
    refutation = std::move(nothing).value();
    open.clear();
    return result;
  }
  const CaseBounds cases(network, scope.group(), open);
  inspect::Diagnosis diagnosis;
  auto concluded = cases.conclude_rows(scope, diagnosis);
  if (diagnosis.margins.size() != cases.row_count()) return result;
  std::vector<logic::CaseMultipliers> refuted;
  std::vector<std::uint32_t> left;
  double worst = INFINITY;
  Frontier frontier;
  frontier.add(0);
  std::vector<CaseBound> bounds = cases.best_rows(scope, diagnosis);
  cases.contradict(scope, bounds);
  for (CaseBound& bound : bounds) {
    const std::uint32_t position = bound.multipliers.position;
    worst = std::min(worst, bound.margin);
    const bool is_closed = bound.margin > 0 || (bound.may_be_closed() && scope.conclude(std::span(&bound.multipliers, 1), {}));
    if (is_closed) {
      refuted.push_back(std::move(bound.multipliers));
    } else {
      frontier.add_case(network.problem()->group_cases(scope.group())[position], bound.margin);
      left.push_back(position);
    }
  }
  result = CrownCases{frontier.unfinished(), worst};
  if (refuted.empty()) return result;
  if (!concluded || refuted.size() != cases.row_count()) concluded = scope.conclude(refuted, {});
  logic::Hints hints = with_named_choices(*network.problem(), scope, {});
  if (!hints.lower.empty() || !hints.upper.empty()) {
    auto named = scope.conclude(refuted, hints);
    if (named)
      concluded = std::move(named);
    else
      hints = {};
  }
  if (concluded && refutation) concluded = logic::merge(*refutation, concluded.value());
  if (!concluded) return result;  // the margins are smaller than the kernel's slack
  root.steps().conclude(refuted, hints);
  refutation = std::move(concluded).value();
  open = std::move(left);
  return result;
}

}  // namespace assay::search
