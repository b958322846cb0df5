// Read-only access to the kernel's state beyond its rules, for searches, sessions and tools. Untrusted: nothing here
// can make or change a fact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/inspect/selection.h"
#include "kernel/logic/api.h"
#include "kernel/relax/box.h"
#include "kernel/rows/linear_map.h"
#include "semantics/statement/ball.h"

namespace assay::inspect {

// Set for every linear or layout node that is not constant. Over the reals, all affine nodes before it are folded in;
// in a floating semantics, only one that no other node reads.
[[nodiscard]] const rows::AffineForm* affine(const logic::Problem& problem, NodeId node);
// The nodes whose bounds are worth refining, in order: a non-linear op reads them, and they are no inputs or constants.
[[nodiscard]] const std::vector<NodeId>& pre_activations(const logic::Problem& problem);
// Inputs, outputs and the nodes between them after folding of affine chains, in order, without constants.
[[nodiscard]] const std::vector<NodeId>& active_nodes(const logic::Problem& problem);
// Whether every non-linear op that reads the node is exactly linear on either side of 0.
[[nodiscard]] bool kink_at_zero(const logic::Problem& problem, NodeId node);
// Over the reals: the constraints on an input beyond its box that all cases of the group share. Facts of the group's
// scopes hold at points that satisfy them.
[[nodiscard]] const std::vector<statement::Ball>& group_balls(const logic::Problem& problem, std::size_t group);

// The elements in the order of a step's rows: elements of a feature map at one position are neighbours, since they
// touch the same windows.
[[nodiscard]] std::vector<std::uint32_t> ordered(const logic::Problem& problem, NodeId node, std::vector<std::uint32_t> elements);
// A tighten step may be divided into steps on multiples of this number of elements, in that order, without extra cost.
// It is 1 for nodes without windows.
[[nodiscard]] std::size_t together(const logic::Problem& problem, NodeId node);

// The elements that `selection` names, given the current box.
[[nodiscard]] std::vector<std::uint32_t> selected(const logic::Scope& scope, NodeId node, const Selection& selection);
// Calls scope.tighten() with these elements. Claims are by ascending element. A mask of another size than the node is
// rejected (tighten.S2).
Outcome<Done> tighten(logic::Scope& scope, NodeId node, const Selection& selection, const logic::Hints& hints,
                      const logic::Claims* claims = nullptr, bool to_float = false);

// How close a conclude step came to its goal, per listed case; not rigorous.
struct Diagnosis {
  // Bound - required; above 0 the case is refuted, apart from losses.
  std::vector<double> margins;
  std::vector<double> losses;                           // the most that rounding errors may take off the bound
  std::vector<std::vector<double>> input_coefficients;  // of the back-substituted form, inputs concatenated
};
// Like scope.conclude(cases, hints); `diagnosis` receives how close each case came, whether or not the step succeeds.
Outcome<logic::Refutation> conclude(const logic::Scope& scope, std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints,
                                    Diagnosis& diagnosis);

// The approximate least value of the form with coefficients a over the ball and a box, and a point that reaches it;
// nullopt if the ball does not matter.
struct LeastPoint {
  double value = 0;
  std::vector<double> x;
};
[[nodiscard]] std::optional<LeastPoint> least_point(const statement::Ball& ball, std::span<const double> a, std::span<const double> lo,
                                                    std::span<const double> hi);

}  // namespace assay::inspect
