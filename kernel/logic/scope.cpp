// The rules that derive facts: root, assume, meet, hull, cut, propagate_box, tighten.

#include <algorithm>
#include <cmath>

#include "kernel/logic/state.h"
#include "semantics/graph/family.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {
namespace {

constexpr std::size_t kMaxDepth = 10000;  // the most literals of one scope

// Whether the element takes only integers, so that its bounds can be rounded to integers: x <= 1.5 means x <= 1. A
// float node qualifies over the reals only, where its values are exactly those of its op.
bool is_whole(const Problem& problem, NodeId id) {
  const Node& node = problem.graph().node(id);
  return gives_integers(node.op, node.dtype) && !(problem.floating() && is_float(node.dtype));
}

}  // namespace

Outcome<std::unique_ptr<Scope::State>> Scope::State::root(const std::shared_ptr<const Problem>& problem, std::size_t group) {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  if (group >= problem->group_count())
    return reject("root.S1", "root", "a group below " + std::to_string(problem->group_count()), "group " + std::to_string(group));
  std::unique_ptr<State> scope(new State);
  const std::size_t nodes = problem->graph().nodes.size();
  scope->problem_ = problem.get();
  scope->network_ = &problem->state().network_->state();
  scope->boxes_ = scope->network_->root_boxes(problem->group_box(group));
  scope->error_bounds_.resize(nodes);
  scope->linear_bounds_.resize(nodes);
  scope->rounding_.resize(nodes);
  scope->rounding_size_.resize(nodes);
  scope->context_ = std::make_shared<Context>(Context{problem, group, nullptr, {}, 0});
  scope->contradiction_ = problem->group_is_empty(group);
  return scope;
}

std::vector<Literal> Scope::State::literals() const {
  std::vector<Literal> result;
  for (const Context* c = context_.get(); c->parent; c = c->parent.get()) result.push_back(c->literal);
  std::reverse(result.begin(), result.end());
  return result;
}

// Rule assume: the child context with one half of a split. If the node has a box, the literal narrows it. Boxes of
// nodes that depend on it stay valid, since they contain the narrower ones.
// - S1: the node is not constant and the element exists.
// - S2: the threshold is finite.
// - S3: the number of literals is bounded.
Outcome<Done> Scope::State::assume(const Literal& literal) {
  const Graph& graph = problem_->graph();
  if (!(literal.node < graph.nodes.size()) || problem_->is_constant(literal.node) || !(literal.element < graph.size(literal.node)))
    return reject("assume.S1", at(graph, literal.node, literal.element), "an element of a non-constant node",
                  unusable(graph, literal.node, literal.element), kNumbering);
  if (!std::isfinite(literal.threshold))
    return reject("assume.S2", at(graph, literal.node, literal.element), "a finite threshold", exact(literal.threshold));
  if (context_->depth >= kMaxDepth)
    return reject("assume.S3", at(graph, literal.node, literal.element), "at most " + std::to_string(kMaxDepth) + " literals", "one more");
  context_ = std::make_shared<Context>(Context{nullptr, context_->group, context_, literal, context_->depth + 1});
  if (boxes_[literal.node]) narrow(literal.node, *boxes_[literal.node]);
  return Done{};
}

Rejection Scope::State::not_boxed(const char* code, NodeId node) const {
  const std::string name = name_of(problem_->graph(), node);
  return reject(code, name, "a box of " + name, "none in this branch so far", statement::advice_to_box(node));
}

// Stores the intersection of `box` with the node's box and with the scope's literals about the node. A box that the
// node has lies within all literals but the last one, which `assume` adds: each box came through this function.
void Scope::State::narrow(NodeId node, relax::Box box) {
  for (const Context* c = context_.get(); c->parent && (!boxes_[node] || c == context_.get()); c = c->parent.get()) {
    const Literal& literal = c->literal;
    if (literal.node != node) continue;
    double& end = literal.at_least ? box.lo[literal.element] : box.hi[literal.element];
    end = literal.at_least ? std::max(end, literal.threshold) : std::min(end, literal.threshold);
  }
  for (std::size_t i = 0; is_whole(*problem_, node) && i < box.lo.size(); ++i) {
    box.lo[i] = std::ceil(box.lo[i]);
    box.hi[i] = std::floor(box.hi[i]);
  }
  if (const relax::Box* old = boxes_[node].get(); old != nullptr) {
    bool same = true;
    for (std::size_t i = 0; i < box.lo.size(); ++i) {
      box.lo[i] = std::max(box.lo[i], old->lo[i]);
      box.hi[i] = std::min(box.hi[i], old->hi[i]);
      same &= (box.lo[i] == old->lo[i]) & (box.hi[i] == old->hi[i]);
    }
    // Keep the old object: it stays shared with the parent's, as do the linear bounds over it, and any contradiction in
    // it is already recorded.
    if (same) return;
  }
  for (std::size_t i = 0; i < box.lo.size(); ++i) contradiction_ |= box.lo[i] > box.hi[i];
  boxes_[node] = std::make_shared<relax::Box>(std::move(box));
}

// Rule meet: takes over the facts of a scope with the same context, such as a copy that another thread tightened. Nodes
// without a box here get none. S1: both scopes have the same context. The boxes of both then hold on the same points,
// and so do their intersections and the cuts of both.
Outcome<Done> Scope::State::meet(const State& other) {
  if (other.context_ != context_) return reject("meet.S1", "scope", "the same context", "a different one");
  for (NodeId node = 0; node < boxes_.size(); ++node) {
    if (boxes_[node] && other.boxes_[node] && boxes_[node] != other.boxes_[node]) narrow(node, *other.boxes_[node]);
  }
  cuts_.insert(cuts_.end(), std::ranges::mismatch(cuts_, other.cuts_).in2, other.cuts_.end());
  return Done{};
}

// Rule hull: takes over the facts that hold in both halves of a split of this scope. A node that has no box in one of
// the halves keeps its box. For a cut that both halves derived with the same terms, the lesser bound is kept. S1 to S3:
// as in join, with this context as the parent. Reason: each point of the scope lies in one of the halves. There every
// value lies in that half's box, hence in the hull of both boxes, and one of the two bounds of the sum holds. A half
// that contradicts itself has no point, so it counts for nothing.
Outcome<Done> Scope::State::hull(const State& at_most, const State& at_least) {
  if (auto halves = check_halves("hull", context_.get(), *at_most.context_, *at_least.context_); !halves) return halves;
  contradiction_ = contradiction_ || (at_most.contradiction_ && at_least.contradiction_);
  const State& a = at_most.contradiction_ ? at_least : at_most;
  const State& b = at_least.contradiction_ ? at_most : at_least;
  for (NodeId node = 0; node < boxes_.size() && !contradiction_; ++node) {
    if (!a.boxes_[node] || !b.boxes_[node] || a.boxes_[node] == boxes_[node] || b.boxes_[node] == boxes_[node]) continue;
    relax::Box box = *a.boxes_[node];
    if (auto paid = pay({.count = box.lo.size()}); !paid) return paid;
    for (std::size_t i = 0; i < box.lo.size(); ++i) {
      box.lo[i] = std::min(box.lo[i], b.boxes_[node]->lo[i]);
      box.hi[i] = std::max(box.hi[i], b.boxes_[node]->hi[i]);
    }
    narrow(node, std::move(box));
  }
  for (std::size_t k = cuts_.size(); k < std::min(a.cuts_.size(), b.cuts_.size()) && !contradiction_; ++k) {
    const Cut &left = *a.cuts_[k], &right = *b.cuts_[k];
    if (auto paid = pay({.count = left.terms.size()}); !paid) return paid;
    if (left.terms != right.terms) break;
    cuts_.push_back(left.bound <= right.bound ? a.cuts_[k] : b.cuts_[k]);
  }
  return Done{};
}

// Rule cut: derives a lower bound of a sum by back-substitution; later steps may give it a multiplier. A scope without
// points derives nothing.
// - S1: each term's node exists and is not constant, and its element exists.
// - S2: coefficients are finite.
// - S3: the sum has a finite lower bound; the stored bound is the derived one, rounded down.
Outcome<Done> Scope::State::cut(std::vector<Cut::Term> terms, const Hints& hints) {
  const Graph& graph = problem_->graph();
  Targets targets{0, 1, {}};
  for (const Cut::Term& term : terms) {
    if (!(term.node < graph.nodes.size()) || problem_->is_constant(term.node) || !(term.element < graph.size(term.node)))
      return reject("cut.S1", at(graph, term.node, term.element), "an element of a non-constant node",
                    unusable(graph, term.node, term.element), kNumbering);
    if (!std::isfinite(term.coefficient))
      return reject("cut.S2", at(graph, term.node, term.element), "a finite coefficient", exact(term.coefficient));
    if (!contradiction_ && !boxes_[term.node]) return not_boxed("back_substitution.S1", term.node);
    targets.entries.push_back({0, term.node, term.element, term.coefficient, 0.0});
    targets.start = std::max(targets.start, term.node);
  }
  if (contradiction_) return Done{};
  if (auto paid = pay({.kind = Work::Kind::cut, .entries = targets.entries}); !paid) return paid;
  const auto bounds = back_substitute(targets, hints);
  if (!bounds) return bounds.rejection();
  const float bound = float_down(bounds.value()[0].lower);
  if (!std::isfinite(bound)) return reject("cut.S3", "cut " + std::to_string(cuts_.size()), "a finite lower bound", exact(bound));
  cuts_.push_back(std::make_shared<const Cut>(Cut{std::move(terms), bound}));
  return Done{};
}

// Rule propagate_box (IBP): intersects the node's box with the interval denotation of its operands' boxes.
// - S1: the node exists.
// - S2: every operand has a box.
// - S3: the op is defined on the operands' boxes.
// - S4: in a floating semantics, every execution's result is finite, and the box is widened by the node's
//   rounding errors.
Outcome<Done> Scope::State::propagate_box(NodeId node) {
  const Graph& graph = problem_->graph();
  if (!(node < graph.nodes.size())) return reject("propagate_box.S1", name_of(graph, node), "a node of the graph", "no such node");
  if (contradiction_ || problem_->is_constant(node) || graph.node(node).op == Op::input) return Done{};
  const rows::AffineForm* form = network_->affine(node);
  if (auto paid = pay({.kind = Work::Kind::box, .node = node}); !paid) return paid;
  if (form != nullptr) {
    const std::optional<NodeId> inner = network_->folded_into(node);
    if (auto done = inner ? propagate_box(*inner) : Done{}; !done || contradiction_) return done;
    for (const rows::AffineForm::Part& part : form->parts) {
      if (!boxes_[part.operand]) return not_boxed("propagate_box.S2", part.operand);
    }
    // Both steps have the same maps.
    std::shared_ptr<const rows::Sizes> sizes = inner ? error_bounds_[*inner]->sizes : nullptr;
    if (auto found = find_rounding(node, nullptr, &sizes); !found) return found;
    std::vector<double> rounding = step_rounding(node);
    if (!error_bounds_[node] || error_bounds_[node]->rounding != rounding) {
      const auto x = operand_magnitudes(form->parts, boxes_);
      if (!sizes) sizes = std::make_shared<rows::Sizes>(affine_sizes(*form, x));
      error_bounds_[node] = std::make_shared<rows::ErrorBound>(affine_error_bound(*form, x, std::move(sizes), std::move(rounding)));
    }
    narrow(node, inner                              ? shifted_box(node, *inner)
                 : is_float(graph.node(node).dtype) ? rows::affine_box(*form, boxes_, *error_bounds_[node])
                                                    : rows::copied_box(*form, boxes_));
    return Done{};
  }
  std::vector<Array<Interval>> operands;
  for (const NodeId operand : graph.node(node).operands) {
    if (!boxes_[operand]) return not_boxed("propagate_box.S2", operand);
    operands.push_back(network_->values_at(operand, boxes_));
  }
  const auto result = denote<Interval>(graph.node(node), pointers_to(operands));
  if (!result) return result.rejection();
  for (std::size_t i = 0; i < result.value().values.size(); ++i) {
    if (result.value().values[i].is_undefined())
      return reject("propagate_box.S3", at(graph, node, i),
                    "operands inside the domain of " + std::string(op_row(graph.node(node).op).name), "a box that reaches outside");
  }
  if (auto found = find_rounding(node, &result.value(), nullptr); !found) return found;
  relax::Box box = box_of(result.value());
  if (rounding_[node]) widen(box, *rounding_[node]);
  narrow(node, std::move(box));
  return Done{};
}

// Rule tighten: bounds the elements by back-substitution and intersects the node's box with the bounds. With claims, the
// step is accepted only if the derived bounds imply the claims, and the claims are stored. Without claims, the derived
// bounds are stored, rounded outward to float32 if `to_float`.
// - S1: the node exists and is not constant.
// - S2: the elements exist, and there is one claim per element.
// - S3: each claimed bound is implied by the derived one, or by the box that the node has.
Outcome<Done> Scope::State::tighten(NodeId node, std::span<const std::uint32_t> elements, const Hints& hints, const Claims* claims,
                                    bool to_float) {
  const Graph& graph = problem_->graph();
  if (!(node < graph.nodes.size()) || problem_->is_constant(node))
    return reject("tighten.S1", name_of(graph, node), "a non-constant node of the graph", unusable(graph, node, 0), kNumbering);
  if (contradiction_) return Done{};
  if (!boxes_[node]) return not_boxed("back_substitution.S1", node);
  if (std::ranges::any_of(elements, [&](std::uint32_t element) { return !(element < graph.size(node)); }))
    return reject("tighten.S2", name_of(graph, node), std::to_string(graph.size(node)) + " elements", "one beyond them");
  if (claims != nullptr && (claims->lo.size() != elements.size() || claims->hi.size() != elements.size()))
    return reject("tighten.S2", name_of(graph, node), std::to_string(elements.size()) + " claims", std::to_string(claims->lo.size()));
  if (elements.empty()) return Done{};
  Targets targets{node, 0, {}, network_->positions(node) > 1};
  for (const std::uint32_t element : elements)
    for (const double sign : {1.0, -1.0}) targets.entries.push_back({targets.rows++, node, element, sign, 0.0});
  LinesByNode derived;
  const auto bounds = back_substitute(targets, hints, false, &derived);
  if (!bounds) return bounds.rejection();
  for (NodeId i = 0; i <= node; ++i) {
    if (derived[i] && *derived[i] && proposed(hints.lower, i).empty() && proposed(hints.upper, i).empty()) linear_bounds_[i] = *derived[i];
  }
  relax::Box box = *boxes_[node];
  std::size_t tried = 0;                                  // rows tried in integers
  for (std::size_t row = 0; row < targets.rows; ++row) {  // of an element, then of its negative, whose lower bound is the upper one
    const bool lower = row % 2 == 0;
    double& end = (lower ? box.lo : box.hi)[elements[row / 2]];
    double bound = bounds.value()[row].lower;
    if (claims != nullptr) {
      const double claim = lower ? claims->lo[row / 2] : -claims->hi[row / 2], known = lower ? end : -end;
      if (!(std::max(bound, known) >= claim) && !(settled(targets, row, hints, bounds.value()[row], claim, tried) >= claim))
        return reject(
            "tighten.S3", at(graph, node, elements[row / 2]),
            lower ? "a lower bound of at least the claim " + exact(claim) : "an upper bound of at most the claim " + exact(-claim),
            exact(lower ? bound : -bound) + " is derived", statement::kClaimLess);
      bound = claim;
    } else if (to_float) {
      bound = float_down(bound);
    }
    end = lower ? bound : -bound;
  }
  narrow(node, std::move(box));
  return Done{};
}

}  // namespace assay::logic
