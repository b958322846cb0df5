// Reads the state behind the kernel's interface, through const references only.

#include <algorithm>
#include <string>
#include <utility>

#include "kernel/inspect/inspect.h"
#include "kernel/logic/state.h"
#include "policy/policy.h"

namespace assay::inspect {

const rows::AffineForm* affine(const logic::Problem& problem, NodeId node) { return problem.state().network_->state().affine(node); }
const std::vector<NodeId>& pre_activations(const logic::Problem& problem) {
  return problem.state().network_->state().worth_refining_.nodes;
}
const std::vector<NodeId>& active_nodes(const logic::Problem& problem) { return problem.state().network_->state().active_nodes_; }
bool kink_at_zero(const logic::Problem& problem, NodeId node) {
  return problem.state().network_->state().worth_refining_.kink_at_zero[node];
}
const std::vector<statement::Ball>& group_balls(const logic::Problem& problem, std::size_t group) {
  return problem.state().group_balls_[group];
}

std::vector<std::uint32_t> ordered(const logic::Problem& problem, NodeId node, std::vector<std::uint32_t> elements) {
  const std::size_t count = problem.state().network_->state().positions(node);
  if (count > 1) std::ranges::stable_sort(elements, {}, [&](std::uint32_t element) { return element % count; });
  return elements;
}

std::size_t together(const logic::Problem& problem, NodeId node) {
  return problem.state().network_->state().positions(node) > 1 ? logic::kElementsTogether : 1;
}

std::vector<std::uint32_t> selected(const logic::Scope& scope, NodeId node, const Selection& selection) {
  const logic::Problem& problem = scope.state().problem();
  if (!(node < problem.graph().nodes.size()) || !scope.has_box(node)) return {};
  const relax::Box& box = scope.box(node);
  if (selection.kind == Selection::Kind::unstable) return policy::unstable(box.lo, box.hi, kink_at_zero(problem, node));
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < box.lo.size(); ++i) {
    if (selection.kind == Selection::Kind::all || (i < selection.mask.size() && selection.mask[i])) result.push_back(i);
  }
  return result;
}

Outcome<Done> tighten(logic::Scope& scope, NodeId node, const Selection& selection, const logic::Hints& hints, const logic::Claims* claims,
                      bool to_float) {
  const std::vector<std::uint32_t> elements = selected(scope, node, selection);
  const bool has_box = node < scope.state().problem().graph().nodes.size() && scope.has_box(node);
  const std::size_t size = has_box ? scope.box(node).lo.size() : 0;
  if (has_box && selection.kind == Selection::Kind::mask && selection.mask.size() != size && !scope.empty())
    return logic::reject("tighten.S2", logic::at(scope.state().problem().graph(), node, 0), std::to_string(size) + " mask entries",
                         std::to_string(selection.mask.size()));
  const std::vector<std::uint32_t> in_order = has_box ? ordered(scope.state().problem(), node, elements) : elements;
  if (claims == nullptr || claims->lo.size() != elements.size() || claims->hi.size() != elements.size())
    return scope.tighten(node, in_order, hints, claims, to_float);
  logic::Claims moved;
  std::vector<std::size_t> place(size);
  for (std::size_t k = 0; k < elements.size(); ++k) place[elements[k]] = k;
  for (const std::uint32_t element : in_order) {
    moved.lo.push_back(claims->lo[place[element]]);
    moved.hi.push_back(claims->hi[place[element]]);
  }
  return scope.tighten(node, in_order, hints, &moved, to_float);
}

Outcome<logic::Refutation> conclude(const logic::Scope& scope, std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints,
                                    Diagnosis& diagnosis) {
  std::vector<rows::RowBound> found;
  auto refutation = logic::Scope::State::run(scope.state(), &logic::Scope::State::conclude, cases, hints, &found);
  diagnosis = {};
  for (rows::RowBound& bound : found) {
    diagnosis.margins.push_back(bound.estimate);
    diagnosis.losses.push_back(bound.error_bound);
    diagnosis.input_coefficients.push_back(std::move(bound.inputs));
  }
  return refutation;
}

std::optional<LeastPoint> least_point(const statement::Ball& ball, std::span<const double> a, std::span<const double> lo,
                                      std::span<const double> hi) {
  policy::Tangents found = policy::tangents(a, ball.of_squares, ball.q, ball.p, ball.bound, lo, hi);
  if (!(found.multiplier > 0)) return std::nullopt;
  return LeastPoint{found.least, std::move(found.place)};
}

}  // namespace assay::inspect
