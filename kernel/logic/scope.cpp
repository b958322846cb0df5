// The rules that derive facts: root, assume, meet, hull, cut, propagate_box, tighten.

#include <algorithm>
#include <cmath>

#include "kernel/logic/state.h"
#include "semantics/graph/family.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {
namespace {

constexpr std::size_t kMaxDepth = 10000;  // the most literals of one scope
// Advice for a claim that does not follow.
constexpr const char* kAdvice = "claim less (round outward), leave the claim out, or give better slopes or a further split";

// Whether the element takes only integers, so that its bounds can be rounded to integers: x <= 1.5 means x <= 1. A
// float node qualifies over the reals only, where its values are exactly those of its op.
bool is_whole(const Problem::State& problem, NodeId id) {
  const Node& node = problem.graph().node(id);
  return gives_integers(node.op, node.dtype) && !(problem.floating() && is_float(node.dtype));
}

}  // namespace

Outcome<std::unique_ptr<Scope::State>> Scope::State::root(const std::shared_ptr<const Problem>& problem, std::size_t group) {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  if (group >= problem->group_count())
    return reject("root.S1", "root", "group < " + std::to_string(problem->group_count()), std::to_string(group));
  std::unique_ptr<State> scope(new State);
  const std::size_t nodes = problem->graph().nodes.size();
  scope->boxes_ = problem->state().root_boxes(group);
  scope->error_bounds_.resize(nodes);
  scope->linear_bounds_.resize(nodes);
  scope->rounding_.resize(nodes);
  scope->rounding_size_.resize(nodes);
  scope->context_ = std::make_shared<Context>(Context{problem, group, nullptr, {}, 0});
  scope->contradiction_ = problem->group_is_empty(group);
  scope->problem_ = &problem->state();
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
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const Graph& graph = problem_->graph();
  if (!(literal.node < graph.nodes.size()) || problem_->is_constant(literal.node) || !(literal.element < graph.size(literal.node))) {
    return reject("assume.S1", at(graph, literal.node, literal.element), "an element of a non-constant node", "a constant, or none");
  }
  if (!std::isfinite(literal.threshold))
    return reject("assume.S2", at(graph, literal.node, literal.element), "a finite threshold", exact(literal.threshold));
  if (context_->depth >= kMaxDepth)
    return reject("assume.S3", at(graph, literal.node, literal.element), "at most " + std::to_string(kMaxDepth) + " literals", "one more");
  const NodeId highest = std::max(context_->highest, literal.node);
  context_ = std::make_shared<Context>(Context{nullptr, context_->group, context_, literal, context_->depth + 1, highest});
  if (!own_error_bounds_.empty())
    inherited_ =
        std::make_shared<std::pair<decltype(own_error_bounds_), decltype(inherited_)>>(std::exchange(own_error_bounds_, {}), inherited_);
  if (!boxes_[literal.node]) return Done{};
  relax::Box box = *boxes_[literal.node];
  double& end = literal.at_least ? box.lo[literal.element] : box.hi[literal.element];
  end = literal.at_least ? std::max(end, literal.threshold) : std::min(end, literal.threshold);
  if (is_whole(*problem_, literal.node)) end = literal.at_least ? std::ceil(end) : std::floor(end);
  contradiction_ = contradiction_ || box.lo[literal.element] > box.hi[literal.element];
  boxes_[literal.node] = std::make_shared<relax::Box>(std::move(box));
  return Done{};
}

Rejection Scope::State::not_boxed(const char* code, NodeId node) const {
  const std::string name = name_of(problem_->graph(), node), page = " (certificates/FORMAT.md, section 2)";
  if (!boxes_[node])
    return reject(code, name, "a box of " + name, "none in this branch so far",
                  "write a box record of node " + std::to_string(node) + " before this step" + page);
  return reject(code, name, "a box of every node that " + name + " is computed from", "one without a box in this branch",
                "write their box records before this step, operands first, or one sweep record" + page);
}

// Stores the intersection of `box` with the node's box and with the scope's literals about the node. The literals
// matter for a node that had no box when they were assumed.
void Scope::State::meet(NodeId node, relax::Box box) {
  for (const Context* c = context_.get(); c->parent && c->highest >= node; c = c->parent.get()) {
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
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  if (other.context_ != context_) return reject("meet.S1", "scope", "the same context", "a different one");
  for (NodeId node = 0; node < boxes_.size(); ++node) {
    if (boxes_[node] && other.boxes_[node] && boxes_[node] != other.boxes_[node]) meet(node, *other.boxes_[node]);
  }
  const auto own = std::ranges::mismatch(cuts(), other.cuts()).in2;
  append({own, other.cuts().end()});
  return Done{};
}

void Scope::State::append(std::span<const std::shared_ptr<const Cut>> more) {
  if (more.empty()) return;
  Cuts all = cuts();
  all.insert(all.end(), more.begin(), more.end());
  cuts_ = std::make_shared<const Cuts>(std::move(all));
}

// Rule hull: takes over the facts that hold in both halves of a split of this scope. A node that has no box in one of
// the halves keeps its box. For a cut that both halves derived with the same terms, the lesser bound is kept. S1 to S3:
// as in join, with this context as the parent. Reason: each point of the scope lies in one of the halves. There every
// value lies in that half's box, hence in the hull of both boxes, and one of the two bounds of the sum holds. A half
// that contradicts itself has no point, so it counts for nothing.
Outcome<Done> Scope::State::hull(const State& at_most, const State& at_least) {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
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
    meet(node, std::move(box));
  }
  Cuts both;
  for (std::size_t k = cuts().size(); k < std::min(a.cuts().size(), b.cuts().size()) && !contradiction_; ++k) {
    const Cut &left = *a.cuts()[k], &right = *b.cuts()[k];
    if (auto paid = pay({.count = left.terms.size()}); !paid) return paid;
    if (left.terms != right.terms) break;
    both.push_back(left.bound <= right.bound ? a.cuts()[k] : b.cuts()[k]);
  }
  append(both);
  return Done{};
}

// Rule cut: derives a lower bound of a sum by back-substitution; later steps may give it a multiplier. A scope without
// points derives nothing.
// - S1: each term's node exists and is not constant, and its element exists.
// - S2: coefficients are finite.
// - S3: the sum has a finite lower bound; the stored bound is the derived one, rounded down.
Outcome<Done> Scope::State::cut(std::vector<Cut::Term> terms, const Hints& hints) try {
  const StopScope watch(stop_);
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const Graph& graph = problem_->graph();
  Targets targets{0, 1, {}};
  for (const Cut::Term& term : terms) {
    if (!(term.node < graph.nodes.size()) || problem_->is_constant(term.node) || !(term.element < graph.size(term.node)))
      return reject("cut.S1", at(graph, term.node, term.element), "an element of a non-constant node", "a constant, or none");
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
  if (!std::isfinite(bound)) return reject("cut.S3", "cut " + std::to_string(cuts().size()), "a finite lower bound", exact(bound));
  const auto derived = std::make_shared<const Cut>(Cut{std::move(terms), bound});
  append({&derived, 1});
  return Done{};
} catch (const Stopped&) {
  return stopped("cut " + std::to_string(cuts().size()));
}

// Rule propagate_box (IBP): intersects the node's box with the interval denotation of its operands' boxes.
// - S1: the node exists.
// - S2: every operand has a box.
// - S3: the op is defined on the operands' boxes.
// - S4: in a floating semantics, every execution's result is finite, and the box is widened by the node's
//   rounding errors.
Outcome<Done> Scope::State::propagate_box(NodeId node) try {
  const StopScope watch(stop_);
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const Graph& graph = problem_->graph();
  if (!(node < graph.nodes.size())) return reject("propagate_box.S1", at(graph, node, 0), "a node of the graph", "no such node");
  if (contradiction_ || problem_->is_constant(node) || graph.node(node).op == Op::input) return Done{};
  const rows::AffineForm* form = problem_->affine(node);
  if (auto paid = pay({.kind = Work::Kind::box, .node = node}); !paid) return paid;
  if (form != nullptr) {
    const std::optional<NodeId> inner = problem_->network_->folded_into(node);
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
      own_error_bounds_.resize(error_bounds_.size());
      own_error_bounds_[node] = std::make_shared<rows::ErrorBound>(affine_error_bound(*form, x, std::move(sizes), std::move(rounding)));
      error_bounds_[node] = own_error_bounds_[node].get();
    }
    const bool is_sum = is_float(graph.node(node).dtype);
    meet(node, inner    ? shifted_box(node, *inner)
               : is_sum ? rows::affine_box(*form, boxes_, *error_bounds_[node])
                        : rows::copied_box(*form, boxes_));
    return Done{};
  }
  std::vector<Array<Interval>> operands;
  for (const NodeId operand : graph.node(node).operands) {
    if (!boxes_[operand]) return not_boxed("propagate_box.S2", operand);
    operands.push_back(problem_->network_->values_at(operand, boxes_));
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
  meet(node, std::move(box));
  return Done{};
} catch (const Stopped&) {
  return stopped(at(problem_->graph(), node, 0));
}

std::vector<std::uint32_t> Scope::State::selected(NodeId node, const Selection& selection) const {
  std::vector<std::uint32_t> result;
  if (boxes_[node] == nullptr) return result;
  const relax::Box& box = *boxes_[node];
  const bool kink_at_zero = problem_->network_->kink_at_zero_[node];
  for (std::uint32_t i = 0; i < box.lo.size(); ++i) {
    const bool unstable = kink_at_zero ? box.lo[i] < 0 && box.hi[i] > 0 : box.lo[i] < box.hi[i];
    const bool take = selection.kind == Selection::Kind::all || (selection.kind == Selection::Kind::unstable && unstable) ||
                      (selection.kind == Selection::Kind::mask && i < selection.mask.size() && selection.mask[i]);
    if (take) result.push_back(i);
  }
  return result;
}

// Rule tighten: bounds the selected elements by back-substitution and intersects the node's box with the bounds. With
// claims, the step is accepted only if the derived bounds imply the claims, and the claims are stored. Without claims,
// the derived bounds are stored, rounded outward to float32 if `to_float`.
// - S1: the node exists and is not constant.
// - S2: the mask has one entry per element of the node, and the claims one per selected element.
// - S3: each claimed bound is implied by the derived one.
Outcome<Done> Scope::State::tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims, bool to_float) try {
  const StopScope watch(stop_);
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const Graph& graph = problem_->graph();
  if (!(node < graph.nodes.size()) || problem_->is_constant(node))
    return reject("tighten.S1", at(graph, node, 0), "a non-constant node of the graph", "a constant, or none");
  if (contradiction_) return Done{};
  if (!boxes_[node]) return not_boxed("back_substitution.S1", node);
  if (selection.kind == Selection::Kind::mask && selection.mask.size() != graph.size(node)) {
    return reject("tighten.S2", at(graph, node, 0), std::to_string(graph.size(node)) + " mask entries",
                  std::to_string(selection.mask.size()));
  }
  const std::vector<std::uint32_t> elements = selected(node, selection);
  if (claims != nullptr && (claims->lo.size() != elements.size() || claims->hi.size() != elements.size())) {
    return reject("tighten.S2", at(graph, node, 0), std::to_string(elements.size()) + " claims", std::to_string(claims->lo.size()));
  }
  if (elements.empty()) return Done{};
  Targets targets{node, 0, {}, problem_->positions(node) > 1};
  targets.entries.reserve(2 * elements.size());
  std::vector<std::size_t> first_row(graph.size(node));
  for (const std::uint32_t element : problem_->ordered(node, elements)) {
    first_row[element] = targets.rows;
    for (const double sign : {1.0, -1.0}) targets.entries.push_back({targets.rows++, node, element, sign, 0.0});
  }
  LinesByNode derived;
  const auto bounds = back_substitute(targets, hints, nullptr, &derived);
  if (!bounds) return bounds.rejection();
  for (NodeId i = 0; i <= node; ++i) {
    if (derived[i] && *derived[i] && proposed(hints.lower, i).empty() && proposed(hints.upper, i).empty()) linear_bounds_[i] = *derived[i];
  }
  relax::Box box = *boxes_[node];
  std::size_t tried = 0;  // rows tried in integers
  // The box that the node already has may imply a claim, too.
  const auto implied = [&](std::size_t row, double known, double claim) {
    const RowBound& b = bounds.value()[row];
    return std::max(b.lower, known) >= claim || settled(targets, row, hints, b, claim, tried) >= claim;
  };
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const std::size_t row = first_row[elements[k]];
    double lo = bounds.value()[row].lower, hi = -bounds.value()[row + 1].lower;
    if (claims != nullptr) {
      if (!implied(row, box.lo[elements[k]], claims->lo[k]))
        return reject("tighten.S3", at(graph, node, elements[k]), "a lower bound of at least the claim " + exact(claims->lo[k]),
                      exact(lo) + " is derived", kAdvice);
      if (!implied(row + 1, -box.hi[elements[k]], -claims->hi[k]))
        return reject("tighten.S3", at(graph, node, elements[k]), "an upper bound of at most the claim " + exact(claims->hi[k]),
                      exact(hi) + " is derived", kAdvice);
      lo = claims->lo[k];
      hi = claims->hi[k];
    } else if (to_float) {
      lo = float_down(lo);
      hi = float_up(hi);
    }
    box.lo[elements[k]] = lo;
    box.hi[elements[k]] = hi;
  }
  meet(node, std::move(box));
  return Done{};
} catch (const Stopped&) {
  return stopped(at(problem_->graph(), node, 0));
}

}  // namespace assay::logic
