// CaseBounds: bounds by the rows of each case, and linear programs over the inputs if several rows together
// are stronger.
//
// The kernel concludes each row alone and reports its margin and its form over the inputs. best_rows() takes the best
// row of each case; combine() looks for a better sum of rows; spread() says which inputs a split should cut.
//
// Source: several rows of a property with weights, as specification weights in beta-CROWN (Wang et al. 2021). How this
// version differs: figures come from the kernel's own arithmetic, so cases that look closed here are closed there,
// except for roundings that it reports; and exact arithmetic finds rows that contradict each other for every network.

#include "search/bounds/case_bounds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "kernel/inspect/inspect.h"
#include "search/bounds/lp/small_lp.h"
#include "search/bounds/named_choices.h"

namespace assay::search {
namespace {

using logic::CaseMultipliers;

constexpr std::size_t kMostInputs = 40;  // largest number of free inputs for which the linear program is worth its time

constexpr std::size_t kMostRows = 45;  // rows of a case, which are compared pairwise

constexpr std::size_t kMostEntries = std::size_t{1} << 20;  // multipliers that exist at once, where a case has thousands of rows

bool same(const statement::Variable& a, const statement::Variable& b) {
  return a.side == b.side && a.tensor == b.tensor && a.element == b.element;
}

// The multiplier with which `a` cancels all variables of `b`.
std::optional<Rational> cancelling(const statement::Row& a, const statement::Row& b) {
  if (a.terms.empty() || a.terms.size() != b.terms.size()) return std::nullopt;
  std::optional<Rational> multiplier;
  for (const statement::Term& one : a.terms) {
    const auto other = std::ranges::find_if(b.terms, [&](const statement::Term& each) { return same(each.variable, one.variable); });
    if (other == b.terms.end()) return std::nullopt;
    const Rational needed = -other->coefficient / one.coefficient;
    if (needed.sign() < 0 || (multiplier && !(*multiplier == needed))) return std::nullopt;
    multiplier = needed;
  }
  return multiplier;
}

// Two rows that cannot both hold, such as y < 0 and y >= 0. If the bounds of both tend to 0, no split of the inputs
// closes the case.
std::optional<CaseMultipliers> contradiction(std::uint32_t position, const std::vector<statement::Row>& rows) {
  if (rows.size() > kMostRows) return std::nullopt;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    for (std::size_t a = 0; a < rows.size(); ++a) {
      const std::optional<Rational> multiplier = a == b ? std::nullopt : cancelling(rows[a], rows[b]);
      if (!multiplier) continue;
      const auto rounded = static_cast<float>(multiplier->double_down());
      const auto exact = Rational::from_double(rounded);
      if (!exact || !(*exact == *multiplier)) continue;  // the multiplier of the other order may be a float
      const int right = (*multiplier * rows[a].bound + rows[b].bound).sign();
      if (!(right < 0 || (right == 0 && (rows[a].strict || rows[b].strict)))) continue;
      CaseMultipliers result{position, std::vector<float>(rows.size(), 0.0F)};
      result.rows[a] = rounded;
      result.rows[b] = 1;
      return result;
    }
  }
  return std::nullopt;
}

}  // namespace

CaseBounds::CaseBounds(const Network& network, std::size_t group, std::span<const std::uint32_t> positions) : problem_(*network.problem()) {
  for (const std::uint32_t position : positions) {
    const std::vector<statement::Row>& rows = problem_.statement().property.cases[problem_.group_cases(group)[position]].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) rows_.push_back({position, r, rows.size()});
  }
  for (const NodeId input : problem_.graph().inputs) {
    for (std::size_t i = 0; i < problem_.graph().size(input); ++i) coordinates_.push_back({input, static_cast<std::uint32_t>(i)});
  }
}

CaseMultipliers CaseBounds::multipliers(const SingleRow& one) {
  CaseMultipliers result{one.position, std::vector<float>(one.count, 0.0F)};
  result.rows[one.row] = 1;
  return result;
}

// In batches: a case of n rows has n multipliers for each of them, and the kernel looks at its stop once in a batch.
Outcome<logic::Refutation> CaseBounds::conclude_rows(const logic::Scope& scope, inspect::Diagnosis& diagnosis) const {
  diagnosis = {};
  std::optional<Outcome<logic::Refutation>> all;
  for (std::size_t k = 0; k < rows_.size() || !all;) {
    std::vector<CaseMultipliers> batch;
    for (std::size_t entries = 0; k < rows_.size() && (batch.empty() || entries + rows_[k].count <= kMostEntries); ++k) {
      entries += rows_[k].count;
      batch.push_back(multipliers(rows_[k]));
    }
    inspect::Diagnosis part;
    auto one = inspect::conclude(scope, batch, {}, part);
    if (part.margins.size() != batch.size()) {
      diagnosis = {};
      return one;
    }
    std::ranges::move(part.margins, std::back_inserter(diagnosis.margins));
    std::ranges::move(part.losses, std::back_inserter(diagnosis.losses));
    std::ranges::move(part.input_coefficients, std::back_inserter(diagnosis.input_coefficients));
    if (all && !*all) continue;
    all = !all || !one ? std::move(one) : logic::merge(all->value(), one.value());
  }
  return *std::move(all);
}

// Over the reals, the loss of the kernel's filter is small and settled exactly. The loss of floating
// executions remains.
double CaseBounds::proved(const inspect::Diagnosis& diagnosis, std::size_t k) const {
  constexpr double kSettled = 1e-100;  // the filter's own provision for underflow
  const double loss = problem_.floating() ? diagnosis.losses[k] : 0;
  return diagnosis.margins[k] - (loss > kSettled ? loss : 0);
}

double CaseBounds::open_to(const inspect::Diagnosis& diagnosis, std::size_t k) const {
  return problem_.floating() ? 0 : diagnosis.losses[k];
}

// The row with the largest margin of each case, by the kernel's own figures.
std::vector<CaseBound> CaseBounds::best_rows(const logic::Scope& scope, const inspect::Diagnosis& diagnosis) const {
  std::vector<CaseBound> bounds;
  std::vector<std::size_t> best;  // by case, among all rows
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const std::uint32_t position = rows_[k].position;
    if (bounds.empty() || bounds.back().multipliers.position != position) {
      bounds.push_back({{position, {}}, proved(diagnosis, k), k, 0, {}, diagnosis.input_coefficients[k], {}, open_to(diagnosis, k)});
      best.push_back(k);
    }
    CaseBound& bound = bounds.back();
    ++bound.count;
    // A strict row that is met with equality closes its case alone, so it is preferred to other rows with a margin of
    // about 0.
    const std::vector<statement::Row>& rows =
        problem_.statement().property.cases[problem_.group_cases(scope.group())[bound.multipliers.position]].rows;
    const bool is_strict = rows[k - bound.first].strict && !(bound.margin > 0) && proved(diagnosis, k) + open_to(diagnosis, k) >= 0;
    if (!(is_strict || proved(diagnosis, k) > bound.margin)) continue;
    best.back() = k;
    bound.margin = proved(diagnosis, k);
    bound.open_to = open_to(diagnosis, k);
    bound.coefficients = diagnosis.input_coefficients[k];
  }
  const InputBox box = input_box(problem_, scope);
  for (std::size_t c = 0; c < bounds.size(); ++c) {
    CaseBound& bound = bounds[c];
    bound.multipliers = multipliers(rows_[best[c]]);
    for (std::size_t i = 0; i < box.lo.size(); ++i) bound.point.push_back(bound.coefficients[i] > 0 ? box.lo[i] : box.hi[i]);
  }
  return bounds;
}

// Such a case is closed for every network, so it needs no bound.
void CaseBounds::contradict(const logic::Scope& scope, std::vector<CaseBound>& bounds) const {
  for (CaseBound& bound : bounds) {
    if (bound.margin > 0) continue;
    const std::uint32_t position = bound.multipliers.position;
    const std::uint32_t index = problem_.group_cases(scope.group())[position];
    auto found = contradiction(position, problem_.statement().property.cases[index].rows);
    if (!found) continue;
    bound.multipliers = *std::move(found);
    bound.margin = INFINITY;
  }
}

// The inputs that are not fixed, and their box.
struct CaseBounds::FreeInputs {
  InputBox all;  // of all inputs
  std::vector<std::size_t> index;
  std::vector<double> lo, hi;

  [[nodiscard]] LinearForm restrict(const std::vector<double>& a, double constant, double sign) const {
    LinearForm form{std::vector<double>(index.size()), sign * constant};
    std::size_t next = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool free = next < index.size() && index[next] == i;
      (free ? form.a[next] : form.constant) += sign * a[i] * (free ? 1.0 : all.lo[i]);
      next += free ? 1 : 0;
    }
    return form;
  }
};

CaseBounds::FreeInputs CaseBounds::free_inputs(const logic::Scope& scope) const {
  FreeInputs free{input_box(problem_, scope), {}, {}, {}};
  for (std::size_t i = 0; i < free.all.lo.size(); ++i) {
    if (!(free.all.lo[i] < free.all.hi[i])) continue;
    free.index.push_back(i);
    free.lo.push_back(free.all.lo[i]);
    free.hi.push_back(free.all.hi[i]);
  }
  return free;
}

void CaseBounds::combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, std::vector<CaseBound>& bounds,
                         const RegionForms* region) const {
  const FreeInputs free = free_inputs(scope);
  if (free.index.size() > kMostInputs) return;
  const std::vector<logic::Literal> literals = scope.literals();
  std::vector<LinearForm> literal_forms;
  std::vector<std::size_t> literal_of;
  for (std::size_t k = 0; region != nullptr && k < literals.size(); ++k) {
    if (problem_.graph().node(literals[k].node).op == Op::input) continue;
    const auto z = region->form(literals[k].node, literals[k].element);
    if (!z) continue;
    literal_forms.push_back(free.restrict(z->a, z->constant - literals[k].threshold, literals[k].at_least ? -1.0 : 1.0));
    literal_of.push_back(k);
  }
  for (CaseBound& bound : bounds) {
    if (bound.margin > 0 || (bound.count == 1 && literal_forms.empty())) continue;
    combine(scope, diagnosis, free, literal_of, literal_forms, bound);
  }
}

void CaseBounds::combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, const FreeInputs& free,
                         const std::vector<std::size_t>& literal_of, const std::vector<LinearForm>& literal_forms, CaseBound& bound) const {
  std::vector<LinearForm> forms;
  for (std::size_t r = 0; r < bound.count; ++r) {
    const std::vector<double>& a = diagnosis.input_coefficients[bound.first + r];
    double constant = diagnosis.margins[bound.first + r];
    for (std::size_t i = 0; i < a.size(); ++i) constant -= a[i] * (a[i] > 0 ? free.all.lo[i] : free.all.hi[i]);
    forms.push_back(free.restrict(a, constant, 1.0));
  }
  forms.insert(forms.end(), literal_forms.begin(), literal_forms.end());
  const Combination best = strongest_combination(forms, free.lo, free.hi);
  bound.point = free.all.lo;
  for (std::size_t i = 0; i < free.index.size(); ++i) bound.point[free.index[i]] = best.point[i];
  CaseMultipliers weighted{bound.multipliers.position, std::vector<float>(bound.count)};
  for (std::size_t r = 0; r < bound.count; ++r) weighted.rows[r] = static_cast<float>(best.weights[r]);
  logic::Hints hints;
  if (!literal_of.empty()) hints.beta.assign(literal_of.back() + 1, 0.0F);
  for (std::size_t k = 0; k < literal_of.size(); ++k) hints.beta[literal_of[k]] = static_cast<float>(best.weights[bound.count + k]);
  inspect::Diagnosis combined;
  (void)inspect::conclude(scope, std::span(&weighted, 1), hints, combined);
  // The combined bound replaces the single row's if it is positive, or if the case has several rows: then its form is
  // the better guide for branching.
  if (combined.margins.empty() || !(proved(combined, 0) > 0 || bound.count > 1)) return;
  bound.multipliers = std::move(weighted);
  bound.hints = std::move(hints);
  bound.margin = proved(combined, 0);
  bound.open_to = open_to(combined, 0);
  bound.coefficients = spread(diagnosis, bound, best.weights);
}

// For branching: how much of its shortfall each row, and the combination, can gain by a split of each coordinate. Row
// forms enter by magnitude, so that they do not cancel: the best combination is flat exactly in the inputs that should
// be split.
std::vector<double> CaseBounds::spread(const inspect::Diagnosis& diagnosis, const CaseBound& bound,
                                       const std::vector<double>& weights) const {
  std::vector<double> result(coordinates_.size(), 0.0);
  for (std::size_t r = 0; r < bound.count; ++r) {
    const double share = weights[r] / -bound.margin + 1 / -proved(diagnosis, bound.first + r);
    const std::vector<double>& a = diagnosis.input_coefficients[bound.first + r];
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += share * std::fabs(a[i]);
  }
  return result;
}

bool all_closed(const std::vector<CaseBound>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [](const CaseBound& bound) { return bound.may_be_closed(); });
}

static Outcome<logic::Refutation> conclude(const logic::Problem& problem, const logic::Scope& scope, std::span<const CaseMultipliers> cases,
                                           const logic::Hints& hints, certificate::Fragment& steps) {
  const logic::Hints named = with_named_choices(problem, scope, hints);
  if (named.lower.size() + named.upper.size() > hints.lower.size() + hints.upper.size()) {
    if (auto refutation = scope.conclude(cases, named)) {
      steps.conclude(cases, named);
      return refutation;
    }
  }
  auto refutation = scope.conclude(cases, hints);
  if (refutation) steps.conclude(cases, hints);
  return refutation;
}

Outcome<logic::Refutation> conclude(const logic::Problem& problem, const logic::Scope& scope, const std::vector<CaseBound>& bounds,
                                    certificate::Fragment& steps) {
  std::vector<CaseMultipliers> plain;
  std::optional<Outcome<logic::Refutation>> all;
  const auto add = [&](std::span<const CaseMultipliers> cases, const logic::Hints& hints) {
    if (all && !*all) return;
    auto one = conclude(problem, scope, cases, hints, steps);
    all = !all || !one ? std::move(one) : logic::merge(all->value(), one.value());
  };
  for (const CaseBound& bound : bounds) {
    // such multipliers of literals are relative to those of the rows, and such mixes are of this case
    const bool by_policy = bound.hints.beta.empty() && bound.hints.lower.empty() && bound.hints.upper.empty();
    if (!by_policy)
      add(std::span(&bound.multipliers, 1), bound.hints);
    else
      plain.push_back(bound.multipliers.rows.size() == 1 ? CaseMultipliers{bound.multipliers.position, {}} : bound.multipliers);
  }
  if (!plain.empty()) add(plain, {});
  return *std::move(all);
}

}  // namespace assay::search
