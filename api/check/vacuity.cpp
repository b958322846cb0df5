#include "api/check/vacuity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::check {
namespace {

using statement::InputBox;
using statement::Row;
using statement::Variable;

bool excludes(const Rational& least, const Row& row) { return least > row.bound || (row.strict && least == row.bound); }

// The least value of the row's sum over the box; nothing where it has outputs.
std::optional<Rational> least(const Row& row, const InputBox& box, const std::vector<std::size_t>& first) {
  Rational sum(0);
  for (const statement::Term& term : row.terms) {
    if (term.variable.side == Variable::Side::output) return std::nullopt;
    const std::size_t at = first[term.variable.tensor] + term.variable.element;
    sum = sum + term.coefficient * (term.coefficient.sign() > 0 ? box.lo[at] : box.hi[at]);
  }
  return sum;
}

// The tightest bounds of sums so far, by what they sum: each sum is divided by the magnitude of its first coefficient.
class Bounds {
 public:
  // Returns true if an earlier row about the negative sum excludes this one.
  bool add(const Row& row) {
    Key sum;
    for (const statement::Term& term : row.terms)
      sum.emplace_back(term.variable.side, term.variable.tensor, term.variable.element, term.coefficient);
    std::ranges::sort(sum);
    const Rational first = std::get<Rational>(sum.front()), scale = first.sign() < 0 ? -first : first;
    for (auto& term : sum) std::get<Rational>(term) = std::get<Rational>(term) / scale;
    Key negative = sum;
    for (auto& term : negative) std::get<Rational>(term) = -std::get<Rational>(term);
    Row bound{{}, row.bound / scale, row.strict};
    const auto opposite = bounds_.find(negative);
    if (opposite != bounds_.end() && excludes(-opposite->second.bound, {{}, bound.bound, bound.strict || opposite->second.strict}))
      return true;
    const auto [known, is_new] = bounds_.try_emplace(std::move(sum), bound);
    const bool tighter = bound.bound < known->second.bound || (bound.bound == known->second.bound && bound.strict);
    if (!is_new && tighter) known->second = bound;
    return false;
  }

 private:
  using Key = std::vector<std::tuple<Variable::Side, std::uint32_t, std::uint64_t, Rational>>;
  std::map<Key, Row> bounds_;
};

bool contradict(const std::vector<Row>& rows, const InputBox& box, const std::vector<std::size_t>& first) {
  Bounds bounds;
  return std::ranges::any_of(rows, [&](const Row& row) {
    const auto value = least(row, box, first);
    return (value && excludes(*value, row)) || (!row.terms.empty() && bounds.add(row));
  });
}

}  // namespace

std::string vacuity(const logic::Theorem& theorem) {
  if (theorem.kind() == logic::Theorem::Kind::satisfiable) return "";
  const logic::Problem& problem = *theorem.problem();
  std::vector<std::size_t> first{0};  // element of each input, in the boxes
  for (const NodeId input : problem.graph().inputs) first.push_back(first.back() + element_count(problem.graph().node(input).shape));
  std::size_t empty = 0;
  for (std::size_t group = 0; group < problem.group_count(); ++group) {
    if (problem.group_is_empty(group)) {
      ++empty;
      continue;
    }
    for (const std::uint32_t one : problem.group_cases(group))
      if (!contradict(problem.statement().property.cases[one].rows, problem.group_box(group), first)) return "";
  }
  if (empty == problem.group_count())
    return empty == 1 ? "the input box of the property is empty" : "every input box of the property is empty";
  return empty == 0 ? "the property's assertions contradict each other, whatever the network computes"
                    : "every case of the property has an empty input box or assertions that contradict each other";
}

}  // namespace assay::check
