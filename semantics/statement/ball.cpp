// Finds the rows that are balls.

#include "semantics/statement/ball.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "semantics/numbers/interval.h"
#include "semantics/statement/elements.h"

namespace assay::statement {
namespace {

constexpr std::size_t kMostBalls = 16;  // the most balls that are looked for in a group

// By variable, since canonical bytes do not keep the order of terms either.
using Terms = std::map<std::tuple<Variable::Side, std::uint32_t, std::uint64_t>, Rational>;
Terms terms_of(const Row& row) {
  Terms terms;
  for (const Term& term : row.terms) terms[{term.variable.side, term.variable.tensor, term.variable.element}] = term.coefficient;
  return terms;
}

// The function of the input element x that a term's variable is: x itself, its square (mul), or |x - by| (abs).
struct Function {
  Op op;
  Shifted x;
};
std::optional<Function> function_of(const Graph& graph, const Variable& v) {
  if (v.side == Variable::Side::input) return Function{Op::input, {{graph.inputs[v.tensor], v.element}}};
  const Node& node = graph.node(graph.outputs[v.tensor]);
  if (node.op != Op::abs && (node.op != Op::mul || node.operands[0] != node.operands[1])) return std::nullopt;
  const Function f{node.op, shifted_from(graph, {node.operands[0], v.element})};
  const Node& read = graph.node(f.x.of.node);
  const bool shifts = f.op == Op::abs ? std::isfinite(f.x.by) : f.x.by == 0;
  return read.op == Op::input && is_float(read.dtype) && shifts ? std::optional(f) : std::nullopt;
}

// nullopt: not a ball. Terms of the same kind and element occur twice only through copies; squares then add up.
std::optional<Ball> ball_of(const Graph& graph, const Row& row) {
  std::vector<Rational> q, p;
  Ball ball;
  std::size_t magnitudes = 0;
  bool any = false;
  for (const Term& term : row.terms) {
    const auto f = function_of(graph, term.variable);
    if (!f || (f->op != Op::input && term.coefficient.sign() < 0)) return std::nullopt;
    if (q.empty()) {
      ball.node = f->x.of.node;
      q.resize(graph.size(ball.node));
      p = q;
    }
    if (f->x.of.node != ball.node) return std::nullopt;
    const std::size_t i = f->x.of.element;
    if (f->op == Op::abs && q[i].sign() != 0) return std::nullopt;
    p[i] -= term.coefficient * *Rational::from_double(f->x.by);  // 0 except for magnitudes
    (f->op == Op::input ? p : q)[i] += term.coefficient;
    any = any || f->op != Op::input;
    magnitudes += f->op == Op::abs ? 1 : 0;
  }
  if (!any || (magnitudes != 0 && magnitudes != row.terms.size())) return std::nullopt;
  ball.of_squares = magnitudes == 0;
  bool fits = true;
  const auto nearest = [&](const Rational& exact) {
    const double value = Interval(exact).midpoint(), size = std::fabs(value);
    fits = fits && (exact.sign() == 0 || (size >= 0x1p-300 && size <= 0x1p300));
    return value;
  };
  std::ranges::transform(q, std::back_inserter(ball.q), nearest);
  std::ranges::transform(p, std::back_inserter(ball.p), nearest);
  ball.bound = nearest(row.bound);
  return fits ? std::optional(std::move(ball)) : std::nullopt;
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

}  // namespace assay::statement
