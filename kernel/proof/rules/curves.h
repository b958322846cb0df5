// Elementwise functions, and how their ranges split into pieces of known shape. Private to kernel/proof/rules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/dual.h"

namespace assay::kernel {

// by_derivative: nothing is known but the value in the middle and the range of the derivative, so f(z) lies in
// at_middle + derivative (z - (b/2 + c/2)). At a jump between two pieces f(z) lies between what they say.
enum class Curve : std::uint8_t { linear, convex, concave, by_derivative };
struct Piece {
  double b, c;
  Curve curve;
  Interval at_middle, derivative;  // by_derivative only: f(b/2 + c/2) and f'([b, c])
};

// f on a set and its derivative there (Clarke's at kinks).
[[nodiscard]] Dual<Interval> function(const Node& node, const Dual<Interval>& x);
// About f(p) and f'(p), in ordinary arithmetic.
[[nodiscard]] double value(const Node& node, double p);
[[nodiscard]] double derivative(const Node& node, double p);

// Pieces that cover [l, u] in order; empty when there is no rule for it. l <= u, both finite.
[[nodiscard]] std::vector<Piece> pieces_of(const Node& node, double l, double u);

// Rule unary_line on those pieces: f(z) >= (lower) or <= slope z + t. t is not finite where there is none.
struct LinearBound {
  double slope, t;
};
[[nodiscard]] LinearBound line_over(const Node& node, const std::vector<Piece>& pieces, bool lower, std::optional<double> proposed = {});

}  // namespace assay::kernel
