// Which rows are balls.

#include "kernel/proof/ball.h"

#include <algorithm>
#include <optional>

#include "semantics/statement/elements.h"

namespace assay::kernel {
namespace {

constexpr std::size_t kMostBalls = 16;  // that are looked for among the rows of a group

bool is_same(const Row& a, const Row& b) {
  return a.bound == b.bound && a.terms.size() == b.terms.size() && std::ranges::equal(a.terms, b.terms, [](const Term& x, const Term& y) {
           return x.coefficient == y.coefficient && x.variable.side == y.variable.side && x.variable.tensor == y.variable.tensor &&
                  x.variable.element == y.variable.element;
         });
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
    const bool is_shared = std::ranges::all_of(cases, [&](std::uint32_t index) {
      return std::ranges::any_of(all[index].rows, [&](const Row& other) { return is_same(row, other); });
    });
    if (is_shared) balls.push_back(*std::move(ball));
  }
  return balls;
}

}  // namespace assay::kernel
