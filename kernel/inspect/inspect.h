// What searches, sessions and tools ask of the kernel beyond its rules. Untrusted, and read-only: no fact can be made or changed here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/logic/api.h"
#include "kernel/relax/box.h"
#include "kernel/rows/linear_map.h"
#include "semantics/statement/ball.h"

namespace assay::inspect {

// Set for every linear or layout node that is not constant, with affine nodes before it folded in: all of them over the reals, one that
// nothing else reads in a floating semantics.
[[nodiscard]] const rows::AffineForm* affine(const logic::Problem& problem, NodeId node);
// Nodes whose elements enter a non-linear op and are not inputs or constants, in order: worth refining.
[[nodiscard]] const std::vector<NodeId>& pre_activations(const logic::Problem& problem);
// Inputs, outputs and what lies between them once affine chains are folded, in order; constants excluded.
[[nodiscard]] const std::vector<NodeId>& active_nodes(const logic::Problem& problem);
// Every non-linear op that the node enters is exactly linear on either side of 0.
[[nodiscard]] bool kink_at_zero(const logic::Problem& problem, NodeId node);
// Over the reals: what all cases of the group say about an input beyond its box. Facts of the group's scopes hold where these do.
[[nodiscard]] const std::vector<statement::Ball>& group_balls(const logic::Problem& problem, std::size_t group);

// Elements in the order in which a step has their rows: of a feature map those at one position side by side, since they touch the same
// windows.
[[nodiscard]] std::vector<std::uint32_t> ordered(const logic::Problem& problem, NodeId node, std::vector<std::uint32_t> elements);
// Steps on multiples of this number of elements, in that order, take what one on all takes. 1 where there are no windows.
[[nodiscard]] std::size_t together(const logic::Problem& problem, NodeId node);

// The elements that `selection` names on the current box.
[[nodiscard]] std::vector<std::uint32_t> selected(const logic::Scope& scope, NodeId node, const logic::Selection& selection);

// How a conclude step went, per listed case; not rigorous.
struct Diagnosis {
  std::vector<double> margins;                          // bound - required; > 0 is closed, but for losses
  std::vector<double> losses;                           // what roundings may take off the bound
  std::vector<std::vector<double>> input_coefficients;  // of the back-substituted form, inputs concatenated
};
// The same as scope.conclude(cases, hints), and how each case went, success or not.
Outcome<logic::Refutation> conclude(const logic::Scope& scope, std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints,
                                    Diagnosis& diagnosis);

// Nearly the least value of the form of coefficients a on the ball and a box, and where it is; nothing where the ball does not matter.
struct LeastPoint {
  double value = 0;
  std::vector<double> x;
};
[[nodiscard]] std::optional<LeastPoint> least_point(const statement::Ball& ball, std::span<const double> a, std::span<const double> lo,
                                                    std::span<const double> hi);

}  // namespace assay::inspect
