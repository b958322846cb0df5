// Rule back-substitution (CROWN): linear lower bounds of linear forms of a node's elements, carried back to the inputs.
//
//   target >= sum over nodes n of A_n . z_n + c - e        at every point of the scope
//
// This inequality holds for each row at the start, where A is the target itself. Every step keeps it (rows.h), node by
// node in descending order:
//
//   literal             z >= t in the context, beta >= 0:  A_n -= beta at z, c += beta t              (beta-CROWN)
//   cut                 sum of c_n z >= t holds, m >= 0:   A_n -= m c_n, c += m t
//   through_affine      z_n = M x + b:                     A_x += A_n M, c += A_n b
//   through_relaxation  lower(x) <= z_n <= upper(x):       A_x += A_n+ lower + A_n- upper, by each coefficient's sign
//   ball                sum of q z^2 + p z <= b, q >= 0:   A_n += m (p + 2 q t), c -= m (b + sum of q t^2),
//                                                          for m >= 0 and any t
//                       sum of |q z + p| <= b:             A_n += m t q, c -= m (b - sum of t p),
//                                                          for m >= 0 and |t| <= 1
//   concretize          z_n in its box:                    c += the least of A_n z over the box
//
// e grows by a bound on each step's rounding errors. At the end only c - e is left: a lower bound of the target. The
// inequalities of the relaxations are rules of their own, in kernel/relax. The ball's step holds since q z^2 >= q (2 t
// z - t^2) and |y| >= t y; with the best m and t it gives the dual norm of the coefficients. S1: every node on the way
// has a box.
// Source: Zhang et al. 2018 (CROWN); Wang et al. 2021 (beta-CROWN) for the literals. DeepPoly (Singh et al. 2019) does
// the same back-substitution.

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernel/exact/exact_rows.h"
#include "kernel/logic/state.h"
#include "policy/policy.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {
namespace {

constexpr std::size_t kMaxTileBytes = 8 << 20;  // of one node's block of rows
constexpr std::size_t kBallPoll = 100;          // multiply-adds per element of a ball between two polls of the clock

// Rule ball, applied to each row. The policy chooses the multiplier and the tangent points, near those that minimise
// the row over the ball and the box; any choice is sound. Rounding, with u = 2^-53: the numbers of a ball are within 2
// u. Together with three roundings the error is at most 5 u of the two parts of a slope, and (n + 8) u of the n + 1
// parts of a constant. kSlopeRounding and (n + 16) u cover these errors and their own rounding; kUnderflow covers
// errors below the normal range.
template <class Rows>
void add_ball(Rows& rows, std::size_t count, const statement::Ball& ball, const relax::Box& box) {
  constexpr double kSlopeRounding = 16 * 0x1p-53, kUnderflow = 0x1p-900;
  const std::size_t n = ball.q.size();
  const double sum_rounding = static_cast<double>(n + 16) * 0x1p-53;
  std::vector<double> slopes(n), errors(n);
  for (std::size_t row = 0; row < count; ++row) {
    poll(kBallPoll * n);
    const policy::Tangents chosen =
        policy::tangents(rows.coefficients(row, ball.node), ball.of_squares, ball.q, ball.p, ball.bound, box.lo, box.hi);
    const double m = chosen.multiplier;
    if (!(m > 0) || (!ball.of_squares && std::ranges::any_of(chosen.touches, [](double t) { return !(std::fabs(t) <= 1); }))) continue;
    double constant = ball.bound, size = std::fabs(constant) + kUnderflow, slope_size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double q = ball.q[i], p = ball.p[i], t = chosen.touches[i];
      const double fixed = ball.of_squares ? p : 0, turned = ball.of_squares ? 2 * q * t : q * t,
                   taken = ball.of_squares ? q * t * t : -t * p;
      const double sizes = std::fabs(fixed) + std::fabs(turned) + kUnderflow;
      slopes[i] = m * (fixed + turned);
      errors[i] = m * (kSlopeRounding * sizes) + kUnderflow;
      constant += taken;
      size += std::fabs(taken);
      slope_size += sizes;
    }
    if (!std::isfinite(m * size) || !std::isfinite(m * slope_size)) continue;
    rows.add_row(row, ball.node, slopes, errors);
    rows.add_constant(row, -m * (constant + sum_rounding * size) - kUnderflow);
  }
}

}  // namespace

// The literals and cuts that a step's hints give a multiplier. Products of two floats are exact in double.
struct Scope::State::Weighted {
  std::vector<Literal> literals;  // the context's literals, as many as have a multiplier
  std::vector<Entry> terms;       // the terms of the cuts that have a multiplier, times it, by descending node
  std::vector<double> constants;  // the bounds of these cuts, times the multiplier
  NodeId highest = 0;             // the highest node of a literal or cut with a multiplier
};

Scope::State::Weighted Scope::State::weighted(const Hints& hints) const {
  Weighted result;
  if (!hints.beta.empty()) result.literals = literals();
  result.literals.resize(std::min(result.literals.size(), hints.beta.size()));
  for (std::size_t i = 0; i < result.literals.size(); ++i)
    if (hints.beta[i] > 0) result.highest = std::max(result.highest, result.literals[i].node);
  for (std::size_t k = 0; k < std::min(cuts().size(), hints.cuts.size()); ++k) {
    const double m = hints.cuts[k];
    if (!(m > 0)) continue;
    for (const Cut::Term& term : cuts()[k]->terms)
      result.terms.push_back({0, term.node, term.element, m * static_cast<double>(term.coefficient)});
    result.constants.push_back(m * static_cast<double>(cuts()[k]->bound));
  }
  std::ranges::stable_sort(result.terms, std::greater(), &Entry::node);
  if (!result.terms.empty()) result.highest = std::max(result.highest, result.terms.front().node);
  return result;
}

// Back-substitutes all rows: consumes the blocks of all nodes from `start` down, one after the other. Linear bounds are
// derived at the first row that needs them. False: a premise is missing.
template <class Rows>
bool Scope::State::walk(Rows& rows, std::size_t count, NodeId start, const Hints& hints, const Weighted& weighted,
                        LinesByNode& bounds_by_node) const {
  const std::vector<Literal>& context = weighted.literals;
  for (std::size_t row = 0; row < count; ++row)
    for (const double constant : weighted.constants) rows.add_constant(row, constant);
  auto term = weighted.terms.begin();
  std::vector<double> slopes, errors;  // of the node's elements
  for (NodeId node = start + 1; node-- > 0;) {
    if (term != weighted.terms.end() && term->node == node) {
      if (!boxes_[node]) return false;
      slopes.assign(problem_->graph().size(node), 0.0);
      errors.assign(slopes.size(), 0.0);
      for (; term != weighted.terms.end() && term->node == node; ++term) {
        double& slope = slopes[term->element];
        const bool is_first = slope == 0;
        slope -= term->coefficient;
        // The sum of two numbers is off by at most half of this.
        if (!is_first) errors[term->element] += 0x1p-52 * std::fabs(slope);
        poll(1);
      }
      for (std::size_t row = 0; row < count; ++row) rows.add_row(row, node, slopes, errors);
    }
    for (std::size_t i = 0; i < context.size(); ++i) {
      if (context[i].node != node || hints.beta[i] == 0) continue;
      if (!boxes_[node]) return false;
      rows.literal(node, context[i].element, context[i].at_least, context[i].threshold, hints.beta[i]);
    }
    if (!rows.has(node)) continue;
    for (const statement::Ball& ball : problem_->group_balls_[context_->group]) {
      if (ball.node == node) add_ball(rows, count, ball, *boxes_[node]);
    }
    const rows::AffineForm* form = problem_->affine(node);
    if (form != nullptr) {
      if (!error_bounds_[node]) return false;
      for (const rows::AffineForm::Part& part : form->parts) {
        if (!boxes_[part.operand]) return false;
      }
      const std::optional<exact::GridForm>& grid = problem_->network_->grids_[node];
      rows.through_affine(node, {form, error_bounds_[node], grid ? &*grid : nullptr});
      continue;
    }
    if (!boxes_[node]) return false;
    const bool bends = problem_->graph().node(node).op != Op::input && !problem_->is_constant(node);
    if (bends && !bounds_by_node[node]) bounds_by_node[node] = linear_bounds(node, hints);
    if (bends && *bounds_by_node[node])
      rows.through_relaxation(node, **bounds_by_node[node]);
    else
      rows.concretize(node);
  }
  return true;
}

// The linear bounds of one node. With the policy's slopes they come from the cache if the operands' boxes are
// unchanged. Null: back-substitution stops at the box.
std::shared_ptr<const rows::LinearBounds> Scope::State::linear_bounds(NodeId node, const Hints& hints) const {
  const Node& n = problem_->graph().node(node);
  const policy::Policy choices({proposed(hints.lower, node), proposed(hints.upper, node)});
  const auto unchanged = [this](NodeId operand, const std::shared_ptr<const relax::Box>& box) { return boxes_[operand] == box; };
  if (!choices.insists(true) && !choices.insists(false) && linear_bounds_[node] &&
      std::ranges::equal(n.operands, linear_bounds_[node]->operands, unchanged))
    return linear_bounds_[node];
  auto result = std::make_shared<rows::LinearBounds>();
  std::vector<const relax::Box*> boxes;
  for (const NodeId operand : n.operands) {
    if (!boxes_[operand]) return nullptr;
    boxes.push_back(result->operands.emplace_back(boxes_[operand]).get());
  }
  if (problem_->floating() && !rounding_[node]) return nullptr;
  // The executions' values lie within rounding_ of the denotation, and the denotation within rounding_ of these values.
  const bool rounds = rounding_[node] && !rounding_[node]->empty();
  relax::Box wider;
  if (rounds) widen(wider = *boxes_[node], *rounding_[node]);
  auto relaxation =
      relax::relax(problem_->graph(), n, boxes, rounds ? wider : *boxes_[node], choices, problem_->network_->formulas_[node].get());
  if (!relaxation) return nullptr;
  for (std::size_t i = 0; rounds && i < wider.lo.size(); ++i) {
    relaxation->lower_intercept[i] = sub_down(relaxation->lower_intercept[i], (*rounding_[node])[i]);
    relaxation->upper_intercept[i] = add_up(relaxation->upper_intercept[i], (*rounding_[node])[i]);
  }
  result->error_bound = rows::line_error_bound(*relaxation, boxes_);
  if (problem_->options().exact) result->grid = exact::grid_line(*relaxation, rows::operand_magnitudes(relaxation->parts, boxes_));
  result->relaxation = *std::move(relaxation);
  return result;
}

Work Scope::State::work_of(const Targets& targets, const Hints& hints, const Weighted& weighted) const {
  return {Work::Kind::rows,
          std::max(targets.start, weighted.highest),
          targets.rows,
          0,
          targets.windows,
          targets.entries,
          weighted.terms,
          weighted.literals,
          &hints};
}

// `derived`, if not null, receives the linear bounds that the rows went through, by node.
Outcome<std::vector<RowBound>> Scope::State::back_substitute(const Targets& targets, const Hints& hints, Diagnosis* diagnosis,
                                                             LinesByNode* derived) const {
  const Graph& graph = problem_->graph();
  for (const Slopes* side : {&hints.lower, &hints.upper}) {
    for (const auto& [node, slopes] : *side) {
      if (node < graph.nodes.size() && !slopes.empty() && slopes.size() != graph.size(node))
        return reject("hints.size", at(graph, node, 0), std::to_string(graph.size(node)) + " slopes", std::to_string(slopes.size()));
    }
  }
  if (!usable(hints.beta)) return reject("hints.beta", "literal multipliers", "finite and >= 0", "a negative or non-finite one");
  if (!usable(hints.cuts)) return reject("hints.cuts", "multipliers of cuts", "finite and >= 0", "a negative or non-finite one");
  const Weighted weighted = this->weighted(hints);
  const NodeId start = std::max(targets.start, weighted.highest);
  Work work = work_of(targets, hints, weighted);
  const bool windows = targets.windows;  // rows that are charged tile by tile
  if (auto paid = pay(work); !paid) return paid.rejection();
  LinesByNode own, &bounds_by_node = derived != nullptr ? *derived : own;
  bounds_by_node.resize(start + 1);
  std::size_t widest = 1;
  for (const NodeId node : problem_->network_->active_nodes_) {
    if (node <= start) widest = std::max(widest, graph.size(node));
  }
  const std::size_t tile = windows ? 2 * kElementsTogether : std::clamp<std::size_t>(kMaxTileBytes / (widest * sizeof(double)), 8, 256);
  std::vector<RowBound> bounds;
  auto entry = targets.entries.begin();
  std::size_t touched = 0;  // multiply-adds of the last tile
  const auto run = [&]<class Rows>(Rows rows, std::size_t first, std::size_t count) {
    if constexpr (std::is_same_v<Rows, rows::FilterRows>) {
      rows::Places at(windows ? graph.size(targets.start) : 0);
      for (auto e = entry; windows && e != targets.entries.end() && e->row < first + count; ++e) at.meet(e->element);
      if (windows) rows.open(targets.start, elements_of(at));  // its rows list only these elements
    }
    for (; entry != targets.entries.end() && entry->row < first + count; ++entry) {
      rows.add(entry->row - first, entry->node, entry->element, entry->coefficient, entry->error);
    }
    if (!walk(rows, count, start, hints, weighted, bounds_by_node)) return false;
    if constexpr (std::is_same_v<Rows, rows::FilterRows>) touched = rows.work();
    for (std::size_t row = 0; row < count; ++row) {
      if (diagnosis != nullptr) diagnosis->input_coefficients.push_back(rows.input_coefficients(row));
      if constexpr (std::is_same_v<Rows, rows::FilterRows>)
        bounds.push_back({rows.lower(row), rows.estimate(row), rows.error_bound(row)});
      else
        bounds.push_back({rows.lower(row), rows.lower(row), 0});
    }
    return true;
  };
  for (std::size_t first = 0; first < targets.rows; first += tile) {
    if (stop_ && stop_()) return stopped(at(graph, start, 0));
    const std::size_t count = std::min(tile, targets.rows - first);
    const bool done = problem_->options().exact ? run(exact::ExactRows(graph, boxes_, count), first, count)
                                                : run(rows::FilterRows(graph, boxes_, count, diagnosis != nullptr), first, count);
    if (!done) return not_boxed("back_substitution.S1", start);
    work.kind = Work::Kind::tile;
    work.count = count;
    work.multiply_adds = touched;
    if (auto paid = windows ? pay(work) : Done{}; !paid) return paid.rejection();
  }
  return bounds;
}

// A second attempt at a row whose lower bound from the filter does not reach `required`. If `required` lies within the
// filter's error bound, the row is computed in integers, provided that the meter allows it.
double Scope::State::settled(const Targets& targets, std::size_t row, const Hints& hints, const RowBound& bound, double required,
                             std::size_t& tried) const {
  if (!(bound.error_bound > 0 && add_up(bound.estimate, bound.error_bound) >= required)) return bound.lower;
  const Weighted weighted = this->weighted(hints);
  const NodeId start = std::max(targets.start, weighted.highest);
  Work work = work_of(targets, hints, weighted);
  work.kind = Work::Kind::exact_row;
  work.count = tried;
  if (!pay(work)) return bound.lower;
  ++tried;
  exact::ExactRows rows(problem_->graph(), boxes_, 1);
  for (const Entry& e : targets.entries) {
    if (e.row == row) rows.add(0, e.node, e.element, e.coefficient, e.error);
  }
  LinesByNode bounds_by_node(start + 1);
  return walk(rows, 1, start, hints, weighted, bounds_by_node) ? rows.lower(0) : bound.lower;
}

}  // namespace assay::logic
