// Forward mode: proves that a graph of tangents computes the Jacobian-vector product of another graph's meaning.
//
// Claim. y_dot = J x_dot for all x_dot. J x_dot comes from the denotations over Dual, independently of the rules in
// kernel/gradients/derivatives. y_dot comes from the graph that is checked. Both sides are compared as exact
// numbers, as for adjointness (adjointness.h states the strength of each method). At each point of the sample, with
// a random x_dot:
//   J1  Both sides are the same number for each element of y that has one at the point. Points are drawn until every
//       element had one.
//   J2  The graph has a value wherever the meaning has a derivative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::gradients {

struct TangentCase {
  AdjointCase one;  // y = f(x); its kinks are not used
  Graph rule;       // its inputs are those of f, then tangents; its output is y_dot
  // Per input of f: its position among the tangents; nullopt: the input is constant.
  std::vector<std::optional<std::size_t>> tangent_of;
};

struct Tangency {
  Adjointness proof;
  bool moves = false;  // y_dot is not 0 at every point
};

// Rejection codes: "tangent.entry", with both sides, if J1 fails; "tangent.domain" (J2); "tangent.graph" for graphs
// that do not fit together; declined: "adjointness.points" if no points of the domain can be used, and
// "tangent.identity" if only residues differ.
[[nodiscard]] Outcome<Tangency> check_tangent(const TangentCase& one, std::uint64_t seed);

}  // namespace assay::gradients
