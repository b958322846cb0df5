// Forward mode: a graph of tangents is the Jacobian-vector product of a graph's meaning.
//
// Claim. y_dot = J x_dot for all x_dot: J x_dot from the denotations over Dual, which know no rule of
// kernel/gradients/derivatives; y_dot from the graph that is checked. It is decided by equality of exact numbers, as
// adjointness is (adjointness.h says what each method is worth). At each point of the sample, with a random x_dot:
//   J1  both sides are the same number for each element of y that has one at the point; points are drawn until every element had;
//   J2  the graph has a value wherever the meaning has a derivative.
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
  AdjointCase one;                                     // y = f(x); its kinks are not asked for
  Graph rule;                                          // the inputs of f, then tangents; y_dot
  std::vector<std::optional<std::size_t>> tangent_of;  // per input of f: position among the tangents; none: it does not move
};

struct Tangency {
  Adjointness proof;
  bool moves = false;  // y_dot is not 0 at every point
};

// Rejections: "tangent.entry", with both sides, where J1 fails; "tangent.domain" (J2); "tangent.graph" for graphs that do not fit together;
// declined ("adjointness.points") where no points of the domain can be used.
[[nodiscard]] Outcome<Tangency> check_tangent(const TangentCase& one, std::uint64_t seed);

}  // namespace assay::gradients
