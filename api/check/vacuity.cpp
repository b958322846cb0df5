#include "api/check/vacuity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "semantics/statement/elements.h"

namespace assay::check {
namespace {

using statement::InputBox;
using statement::Row;
using statement::Variable;

bool excludes(const Rational& least, const Row& row) { return least > row.bound || (row.strict && least == row.bound); }

// Between which numbers a value lies; nothing where there is no such number.
struct Range {
  std::optional<Rational> lo, hi;
};

Range magnitude_of(const Range& a) {
  const bool is_positive = a.lo && a.lo->sign() >= 0, is_negative = a.hi && a.hi->sign() <= 0;
  Range result{is_positive ? *a.lo : is_negative ? -*a.hi : Rational(0), std::nullopt};
  if (a.lo && a.hi) result.hi = max(abs(*a.lo), abs(*a.hi));
  return result;
}

Range square_of(const Range& a) {
  Range result = magnitude_of(a);
  result.lo = *result.lo * *result.lo;
  if (result.hi) result.hi = *result.hi * *result.hi;
  return result;
}

Range product_of(const Range& a, const Range& b) {
  if (a.lo && a.hi && b.lo && b.hi) {
    const Rational one = *a.lo * *b.lo, two = *a.lo * *b.hi, three = *a.hi * *b.lo, four = *a.hi * *b.hi;
    return {min(min(one, two), min(three, four)), max(max(one, two), max(three, four))};
  }
  if (a.lo && a.lo->sign() >= 0 && b.lo && b.lo->sign() >= 0) return {*a.lo * *b.lo, std::nullopt};
  return {};
}

// The least value of q t^2 + p t over a range.
Rational least_of(const Rational& q, const Rational& p, const Rational& lo, const Rational& hi) {
  const auto at = [&](const Rational& t) { return (q * t + p) * t; };
  Rational least = min(at(lo), at(hi));
  if (q.sign() <= 0) return least;
  const Rational turn = -p / (Rational(2) * q);
  return turn > lo && turn < hi ? min(least, at(turn)) : least;
}

// What rows say about any network: values of inputs in a box, and of the outputs that a property adds to the network's own, such as
// products and magnitudes. The network's own outputs may have every value.
class Values {
 public:
  Values(const logic::Problem& problem, const InputBox& box)
      : graph_(problem.graph()), box_(box), is_exact_(problem.statement().semantics.kind != ExecutionModel::Kind::floating) {
    std::size_t next = 0;
    for (const NodeId input : graph_.inputs) {
      first_.emplace(input, next);
      next += element_count(graph_.node(input).shape);
    }
  }

  // The values that a variable may have, whatever the network computes.
  [[nodiscard]] Range of(const Variable& variable) const {
    if (variable.side == Variable::Side::output) return added_output(variable.tensor, variable.element);
    const std::size_t at = *input_of(variable);
    return {box_.lo[at], box_.hi[at]};
  }

  // The least value of the row's sum; nothing where outputs of the network make it as small as you like.
  [[nodiscard]] std::optional<Rational> least(const Row& row) const {
    std::map<std::size_t, std::pair<Rational, Rational>> quadratics;  // of inputs: q and p
    Rational sum(0);
    for (const statement::Term& term : row.terms) {
      const bool is_input = term.variable.side == Variable::Side::input;
      if (const auto input = is_input ? input_of(term.variable) : squared_input_of(term.variable)) {
        auto& [q, p] = quadratics[*input];
        (is_input ? p : q) += term.coefficient;
        continue;
      }
      const Range range = added_output(term.variable.tensor, term.variable.element);
      const auto& end = term.coefficient.sign() > 0 ? range.lo : range.hi;
      if (!end) return std::nullopt;
      sum += term.coefficient * *end;
    }
    for (const auto& [input, one] : quadratics) sum += least_of(one.first, one.second, box_.lo[input], box_.hi[input]);
    return sum;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> input_of(const Variable& variable) const {
    return first_.at(graph_.inputs[variable.tensor]) + variable.element;
  }

  // A statement file has no names: what such an output computes from the first ones tells it apart.
  [[nodiscard]] bool is_added(std::size_t output) const {
    const Node& node = graph_.node(graph_.outputs[output]);
    return (node.op == Op::mul || node.op == Op::abs) &&
           (graph_.output_names[output].starts_with(statement::kProductsName) ||
            (output > 0 && graph_.output_names[output] == "output " + std::to_string(output)));
  }

  // Of x * x for an input x. In floats the square is rounded, and nothing is summed up.
  [[nodiscard]] std::optional<std::size_t> squared_input_of(const Variable& variable) const {
    const Node& node = graph_.node(graph_.outputs[variable.tensor]);
    if (!is_exact_ || !is_added(variable.tensor) || node.op != Op::mul || node.operands[0] != node.operands[1]) return std::nullopt;
    const statement::Element factor = statement::copied_from(graph_, {node.operands[0], variable.element});
    const auto input = first_.find(factor.node);
    return input == first_.end() ? std::nullopt : std::optional(input->second + factor.element);
  }

  [[nodiscard]] Range added_output(std::size_t output, std::uint64_t element) const {
    if (!is_added(output)) return {};
    const Node& node = graph_.node(graph_.outputs[output]);
    const Range left = factor(node.operands[0], element);
    if (node.op == Op::abs) return magnitude_of(left);
    return node.operands[0] == node.operands[1] ? square_of(left) : product_of(left, factor(node.operands[1], element));
  }

  [[nodiscard]] Range factor(NodeId node, std::uint64_t element) const {
    const statement::Shifted read = statement::shifted_from(graph_, {node, element});
    if (const auto input = first_.find(read.of.node); input != first_.end()) {
      const auto by = Rational::from_double(read.by);
      if (!is_exact_ || !by) return {};
      const std::size_t at = input->second + read.of.element;
      return {box_.lo[at] - *by, box_.hi[at] - *by};
    }
    const auto output = std::ranges::find(graph_.outputs, read.of.node);
    if (output == graph_.outputs.end() || read.by != 0) return {};
    return added_output(static_cast<std::size_t>(output - graph_.outputs.begin()), read.of.element);
  }

  const Graph& graph_;
  const InputBox& box_;
  const bool is_exact_;                  // whether outputs have the values that real arithmetic gives them
  std::map<NodeId, std::size_t> first_;  // of each input: the place of its first element in boxes
};

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

// Linear inequalities in few variables. Variables are eliminated one by one (Fourier and Motzkin): each row that bounds a variable from
// above is added to each row that bounds it from below, and the sums of all such pairs hold as well. In the end no variable is left.
class System {
 public:
  System(const std::vector<Row>& rows, const Values& values) {
    for (const Row& row : rows) {
      Sum sum{{}, row.bound, row.strict};
      for (const statement::Term& term : row.terms) {
        const Name name{term.variable.side, term.variable.tensor, term.variable.element};
        if (ranges_.try_emplace(name).second && ranges_.size() <= kMostVariables) ranges_[name] = values.of(term.variable);
        sum.terms.emplace(name, term.coefficient);
      }
      if (ranges_.size() > kMostVariables) return;
      sums_.push_back(std::move(sum));
    }
    for (const auto& [name, range] : ranges_) {
      if (range.lo) sums_.push_back({{{name, Rational(-1)}}, -*range.lo, false});
      if (range.hi) sums_.push_back({{{name, Rational(1)}}, *range.hi, false});
    }
  }

  // False where it would take many variables or rows, too.
  [[nodiscard]] bool has_no_solution() {
    if (ranges_.size() > kMostVariables) return false;
    while (!ranges_.empty()) {
      const auto cost = [&](const auto& one) { return pairs(one.first); };
      const Name name = std::ranges::min_element(ranges_, {}, cost)->first;
      if (pairs(name) + sums_.size() > kMostRows) return false;
      eliminate(name);
      ranges_.erase(name);
    }
    return std::ranges::any_of(sums_, [](const Sum& one) { return excludes(Rational(0), {{}, one.bound, one.strict}); });
  }

 private:
  static constexpr std::size_t kMostVariables = 16, kMostRows = 128;
  using Name = std::tuple<Variable::Side, std::uint32_t, std::uint64_t>;
  struct Sum {  // of the terms: at most the bound, or below it
    std::map<Name, Rational> terms;
    Rational bound;
    bool strict = false;
  };

  [[nodiscard]] std::size_t pairs(const Name& name) const {
    std::size_t above = 0, below = 0;
    for (const Sum& one : sums_)
      if (const auto term = one.terms.find(name); term != one.terms.end()) ++(term->second.sign() > 0 ? above : below);
    return above * below;
  }

  void eliminate(const Name& name) {
    std::vector<Sum> above, below, rest;
    for (Sum& one : sums_) {
      const auto term = one.terms.find(name);
      const bool is_above = term != one.terms.end() && term->second.sign() > 0;
      (term == one.terms.end() ? rest : is_above ? above : below).push_back(std::move(one));
    }
    for (const Sum& upper : above)
      for (const Sum& lower : below) rest.push_back(sum_of(upper, -lower.terms.at(name), lower, upper.terms.at(name)));
    sums_ = std::move(rest);
  }

  // a one + b other, without the terms that cancel.
  static Sum sum_of(const Sum& one, const Rational& a, const Sum& other, const Rational& b) {
    Sum sum{{}, a * one.bound + b * other.bound, one.strict || other.strict};
    for (const auto& [name, coefficient] : one.terms) sum.terms[name] += a * coefficient;
    for (const auto& [name, coefficient] : other.terms) sum.terms[name] += b * coefficient;
    std::erase_if(sum.terms, [](const auto& term) { return term.second.sign() == 0; });
    return sum;
  }

  std::map<Name, Range> ranges_;  // of the variables that are left
  std::vector<Sum> sums_;
};

bool contradict(const std::vector<Row>& rows, const Values& values) {
  Bounds bounds;
  const bool do_two = std::ranges::any_of(rows, [&](const Row& row) {
    const auto value = values.least(row);
    return (value && excludes(*value, row)) || (!row.terms.empty() && bounds.add(row));
  });
  return do_two || (rows.size() > 1 && System(rows, values).has_no_solution());
}

}  // namespace

std::string vacuity(const logic::Theorem& theorem) {
  if (theorem.kind() == logic::Theorem::Kind::satisfiable) return "";
  const logic::Problem& problem = *theorem.problem();
  std::size_t empty = 0;
  for (std::size_t group = 0; group < problem.group_count(); ++group) {
    if (problem.group_is_empty(group)) {
      ++empty;
      continue;
    }
    const Values values(problem, problem.group_box(group));
    for (const std::uint32_t one : problem.group_cases(group))
      if (!contradict(problem.statement().property.cases[one].rows, values)) return "";
  }
  if (empty == problem.group_count())
    return empty == 1 ? "the input box of the property is empty" : "every input box of the property is empty";
  return empty == 0 ? "the property's assertions contradict each other, whatever the network computes"
                    : "every case of the property has an empty input box or assertions that contradict each other";
}

}  // namespace assay::check
