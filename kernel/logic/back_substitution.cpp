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

// What the literals and cuts with a multiplier add to every row. A literal is a cut of one term.
struct Scope::State::Weighted {
  std::vector<Entry> terms;       // times the multiplier, by descending node
  std::vector<double> constants;  // the bounds, times the multiplier
  NodeId start = 0;               // the highest node of a target, or of a literal or cut with a multiplier
};

// Products of two floats are exact in double. That of a float and a threshold is exactly the sum of the product in double
// and of what the product misses, unless these are below the normal range; kLost is more than what is lost there.
Scope::State::Weighted Scope::State::weighted(NodeId start, const Hints& hints) const {
  constexpr double kExact = 0x1p-900, kLost = 0x1p-1000;
  Weighted result{{}, {}, start};
  const std::vector<Literal> context = hints.beta.empty() ? std::vector<Literal>() : literals();
  for (std::size_t i = 0; i < std::min(context.size(), hints.beta.size()); ++i) {
    const auto& [node, element, at_least, threshold] = context[i];
    const double m = at_least ? hints.beta[i] : -hints.beta[i], product = m * threshold;
    if (m == 0) continue;
    result.terms.push_back({0, node, element, m});
    result.constants.insert(result.constants.end(), {product, std::fma(m, threshold, -product)});
    if (threshold != 0 && std::fabs(product) < kExact) result.constants.push_back(-kLost);
  }
  for (std::size_t k = 0; k < std::min(cuts_.size(), hints.cuts.size()); ++k) {
    const double m = hints.cuts[k];
    if (!(m > 0)) continue;
    for (const Cut::Term& term : cuts_[k]->terms)
      result.terms.push_back({0, term.node, term.element, m * static_cast<double>(term.coefficient)});
    result.constants.push_back(m * static_cast<double>(cuts_[k]->bound));
  }
  std::ranges::stable_sort(result.terms, std::greater(), &Entry::node);
  if (!result.terms.empty()) result.start = std::max(start, result.terms.front().node);
  return result;
}

// Back-substitutes `count` rows of the targets: consumes the blocks of all nodes from `weighted.start` down, one after the
// other. Linear bounds are derived at the first row that needs them. Returns the node whose box is missing, if one is.
template <class Rows>
std::optional<NodeId> Scope::State::walk(Rows& rows, const Targets& targets, std::size_t first, std::size_t count, const Hints& hints,
                                         const Weighted& weighted, LinesByNode& bounds_by_node) const {
  for (const Entry& e : targets.of(first, count)) rows.add(e.row - first, e.node, e.element, e.coefficient, e.error);
  for (std::size_t row = 0; row < count; ++row)
    for (const double constant : weighted.constants) rows.add_constant(row, constant);
  bounds_by_node.resize(weighted.start + 1);
  auto term = weighted.terms.begin();
  for (NodeId node = weighted.start + 1; node-- > 0;) {
    for (; term != weighted.terms.end() && term->node == node; ++term) {
      if (!boxes_[node]) return node;
      poll(count);
      for (std::size_t row = 0; row < count; ++row) rows.add(row, node, term->element, -term->coefficient, 0.0);
    }
    if (!rows.has(node)) continue;
    for (const statement::Ball& ball : problem_->state().group_balls_[context_->group]) {
      if (ball.node == node) add_ball(rows, count, ball, *boxes_[node]);
    }
    const rows::AffineForm* form = network_->affine(node);
    if (form != nullptr) {
      if (!error_bounds_[node]) return node;
      for (const rows::AffineForm::Part& part : form->parts) {
        if (!boxes_[part.operand]) return part.operand;
      }
      const std::optional<exact::GridForm>& grid = network_->grids_[node];
      rows.through_affine(node, {form, error_bounds_[node].get(), grid ? &*grid : nullptr});
      continue;
    }
    if (!boxes_[node]) return node;
    const bool bends = problem_->graph().node(node).op != Op::input && !problem_->is_constant(node);
    if (bends && !bounds_by_node[node]) bounds_by_node[node] = linear_bounds(node, hints);
    if (bends && *bounds_by_node[node])
      rows.through_relaxation(node, **bounds_by_node[node]);
    else
      rows.concretize(node);
  }
  return std::nullopt;
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
  auto relaxation = relax::relax(problem_->graph(), n, boxes, rounds ? wider : *boxes_[node], choices, network_->formulas_[node].get());
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

// To the row that is being made, with the error of its coefficient as a double.
void Targets::add(NodeId node, std::size_t element, const Rational& coefficient) {
  const double down = coefficient.double_down();
  entries.push_back({rows, node, static_cast<std::uint32_t>(element), down, sub_up(coefficient.double_up(), down)});
  start = std::max(start, node);
}

std::span<const Entry> Targets::of(std::size_t first, std::size_t count) const {
  const auto begin = std::ranges::lower_bound(entries, first, {}, &Entry::row);
  return {begin, std::ranges::lower_bound(begin, entries.end(), first + count, {}, &Entry::row)};
}

// A lower bound of one row by the boxes alone, which its nodes have.
double Scope::State::by_boxes(std::span<const Entry> row) const {
  Interval sum = 0;
  for (const Entry& e : row) {
    const relax::Box& box = *boxes_[e.node];
    sum += Interval(e.coefficient, add_up(e.coefficient, e.error)) * Interval(box.lo[e.element], box.hi[e.element]);
  }
  return sum.lo();
}

// `derived`, if not null, receives the linear bounds that the rows went through, by node.
Outcome<std::vector<rows::RowBound>> Scope::State::back_substitute(const Targets& targets, const Hints& hints, bool keep_inputs,
                                                                   LinesByNode* derived) const {
  const Graph& graph = problem_->graph();
  for (const Slopes* side : {&hints.lower, &hints.upper}) {
    for (const auto& [node, slopes] : *side) {
      if (node < graph.nodes.size() && !slopes.empty() && slopes.size() != graph.size(node))
        return reject("hints.size", name_of(graph, node), std::to_string(graph.size(node)) + " slopes", std::to_string(slopes.size()));
    }
  }
  if (!usable(hints.beta)) return reject("hints.beta", "multipliers of splits", "finite numbers >= 0", unusable(hints.beta));
  if (!usable(hints.cuts)) return reject("hints.cuts", "multipliers of cuts", "finite numbers >= 0", unusable(hints.cuts));
  const Weighted weighted = this->weighted(targets.start, hints);
  Work work{Work::Kind::rows, weighted.start, targets.rows, 0, targets.entries, weighted.terms, &hints};
  // Rows that start at a feature map are charged tile by tile, for the elements that they touch.
  if (auto paid = targets.windows ? Done{} : pay(work); !paid) return paid.rejection();
  std::size_t widest = 1;
  for (const NodeId node : network_->active_nodes_) widest = std::max(widest, graph.size(node));
  const std::size_t most =
      targets.windows ? 2 * kElementsTogether : std::clamp<std::size_t>(kMaxTileBytes / (widest * sizeof(double)), 8, 256);
  std::vector<rows::RowBound> bounds;
  LinesByNode own;
  for (std::size_t first = 0; first < targets.rows; first += most) {
    if (stop_ && stop_()) return stopped(place());
    work.kind = Work::Kind::tile;
    work.count = std::min(most, targets.rows - first);
    const auto run = [&](auto rows) {
      const auto missing = walk(rows, targets, first, work.count, hints, weighted, derived != nullptr ? *derived : own);
      work.multiply_adds = rows.work();
      for (std::size_t row = 0; !missing && row < work.count; ++row) bounds.push_back(rows.bound(row));
      return missing;
    };
    const auto filter = [&] {
      rows::FilterRows rows(graph, boxes_, work.count, keep_inputs);
      rows::Places at(targets.windows ? graph.size(targets.start) : 0);
      for (const Entry& e : targets.of(first, targets.windows ? work.count : 0)) at.meet(e.element);
      if (targets.windows) rows.open(targets.start, elements_of(at));  // its rows list only these elements
      return rows;
    };
    const auto missing = problem_->options().exact ? run(exact::ExactRows(graph, boxes_, work.count)) : run(filter());
    if (missing) return not_boxed("back_substitution.S1", *missing);
    if (auto paid = targets.windows ? pay(work) : Done{}; !paid) return paid.rejection();
  }
  return bounds;
}

// A second attempt at a row whose lower bound from the filter does not reach `required`. If `required` lies within the
// filter's error bound, the row is computed in integers, provided that the meter allows it.
double Scope::State::settled(const Targets& targets, std::size_t row, const Hints& hints, const rows::RowBound& bound, double required,
                             std::size_t& tried) const {
  if (!(bound.error_bound > 0 && add_up(bound.estimate, bound.error_bound) >= required)) return bound.lower;
  const Weighted weighted = this->weighted(targets.start, hints);
  if (!pay({.kind = Work::Kind::exact_row, .node = weighted.start, .count = tried, .terms = weighted.terms})) return bound.lower;
  ++tried;
  exact::ExactRows rows(problem_->graph(), boxes_, 1);
  LinesByNode bounds_by_node;
  return walk(rows, targets, row, 1, hints, weighted, bounds_by_node) ? bound.lower : rows.bound(0).lower;
}

}  // namespace assay::logic
