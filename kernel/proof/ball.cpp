// Which rows are balls.

#include "kernel/proof/ball.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "semantics/statement/elements.h"

namespace assay::kernel {
namespace {

constexpr std::size_t kMostBalls = 16;  // that are looked for among the rows of a group

// By variable: canonical bytes do not keep the order of terms either.
using Terms = std::map<std::tuple<Variable::Side, std::uint32_t, std::uint64_t>, Rational>;
Terms terms_of(const Row& row) {
  Terms terms;
  for (const Term& term : row.terms) terms[{term.variable.side, term.variable.tensor, term.variable.element}] = term.coefficient;
  return terms;
}

// The input element that is the term's variable, or whose square it is.
struct Power {
  Element of;
  bool squared = false;
};
std::optional<Power> power_of(const Graph& graph, const Variable& v) {
  if (v.side == Variable::Side::input) return Power{{graph.inputs[v.tensor], v.element}, false};
  const Node& node = graph.node(graph.outputs[v.tensor]);
  if (node.op != Op::mul || node.operands[0] != node.operands[1]) return std::nullopt;
  const Element one = copied_from(graph, {node.operands[0], v.element});
  if (graph.node(one.node).op != Op::input) return std::nullopt;
  return Power{one, true};
}

// None: not a ball. Terms of the same kind and element do not occur twice, but through copies: then they add up.
std::optional<Ball> ball_of(const Graph& graph, const Row& row) {
  if (std::ranges::none_of(row.terms, [](const Term& term) { return term.variable.side == Variable::Side::output; })) return std::nullopt;
  Ball ball;
  bool any = false;
  for (const Term& term : row.terms) {
    const auto power = power_of(graph, term.variable);
    if (!power || (power->squared && term.coefficient.sign() < 0)) return std::nullopt;
    if (ball.square.empty()) {
      ball.node = power->of.node;
      ball.square.resize(graph.size(ball.node));
      ball.linear.resize(graph.size(ball.node));
    }
    if (power->of.node != ball.node || !is_float(graph.node(ball.node).dtype)) return std::nullopt;
    (power->squared ? ball.square : ball.linear)[power->of.element] += Interval(term.coefficient);
    any = any || power->squared;
  }
  ball.bound = Interval(row.bound);
  return any ? std::optional(std::move(ball)) : std::nullopt;
}

}  // namespace

std::vector<Ball> shared_balls(const Statement& statement, std::span<const std::uint32_t> cases) {
  std::vector<Ball> balls;
  std::size_t looked_at = 0;
  const auto& all = statement.property.cases;
  for (const Row& row : all[cases.front()].rows) {
    if (looked_at == kMostBalls) break;
    auto ball = ball_of(statement.graph, row);
    if (!ball) continue;
    ++looked_at;
    const Terms terms = terms_of(row);
    const auto is_same = [&](const Row& other) {
      return other.bound == row.bound && other.terms.size() == row.terms.size() && terms_of(other) == terms;
    };
    const bool is_shared = std::ranges::all_of(cases, [&](std::uint32_t index) { return std::ranges::any_of(all[index].rows, is_same); });
    if (is_shared) balls.push_back(*std::move(ball));
  }
  return balls;
}

}  // namespace assay::kernel
