// Reads the state behind the kernel's interface, through const references only.

#include <utility>

#include "kernel/inspect/inspect.h"
#include "kernel/logic/state.h"
#include "policy/policy.h"

namespace assay::inspect {

const rows::AffineForm* affine(const logic::Problem& problem, NodeId node) { return problem.state().affine(node); }
const std::vector<NodeId>& pre_activations(const logic::Problem& problem) { return problem.state().network_->pre_activations_; }
const std::vector<NodeId>& active_nodes(const logic::Problem& problem) { return problem.state().network_->active_nodes_; }
bool kink_at_zero(const logic::Problem& problem, NodeId node) { return problem.state().network_->kink_at_zero_[node]; }
const std::vector<statement::Ball>& group_balls(const logic::Problem& problem, std::size_t group) {
  return problem.state().group_balls_[group];
}

std::vector<std::uint32_t> ordered(const logic::Problem& problem, NodeId node, std::vector<std::uint32_t> elements) {
  return problem.state().ordered(node, std::move(elements));
}

std::size_t together(const logic::Problem& problem, NodeId node) {
  return problem.state().positions(node) > 1 ? logic::kElementsTogether : 1;
}

std::vector<std::uint32_t> selected(const logic::Scope& scope, NodeId node, const logic::Selection& selection) {
  return scope.state().selected(node, selection);
}

Outcome<logic::Refutation> conclude(const logic::Scope& scope, std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints,
                                    Diagnosis& diagnosis) {
  logic::Diagnosis found;
  auto refutation = scope.state().conclude(cases, hints, &found);
  diagnosis = {std::move(found.margins), std::move(found.losses), std::move(found.input_coefficients)};
  return refutation;
}

std::optional<LeastPoint> least_point(const statement::Ball& ball, std::span<const double> a, std::span<const double> lo,
                                      std::span<const double> hi) {
  policy::Tangents found = policy::tangents(a, ball.of_squares, ball.q, ball.p, ball.bound, lo, hi);
  if (!(found.multiplier > 0)) return std::nullopt;
  return LeastPoint{found.least, std::move(found.place)};
}

}  // namespace assay::inspect
