// UnaryFunction: one record for every op that is a function of one variable, element by element. It gives the domain,
// the break points, jumps and turning points, and the shape between them (semantics/ops/segments.h). Lines, branching,
// the search and the audit use it; values and derivatives are those of the op's denotation.
#pragma once

#include <span>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/dual.h"
#include "semantics/ops/segments.h"

namespace assay {

// A part [b, c] of one segment. by_derivative is also used for affine: f(z) lies in at_middle + derivative (z -
// (b/2 + c/2)).
struct Piece {
  double b, c;
  Curve curve;
  // For by_derivative only: f(b/2 + c/2) and f'([b, c]).
  Interval at_middle, derivative;
};

class UnaryFunction {
 public:
  // Ops of Family::function, and mul(x, x).
  [[nodiscard]] static bool is_one(const Node& node);
  explicit UnaryFunction(const Node& node);  // requires is_one(node); the node has to outlive the function

  [[nodiscard]] const Node& node() const { return node_; }
  // In order (semantics/ops/segments.h). Floor, ceil, round and casts to integers have more jumps than are listed:
  // pieces() makes their segments for [l, u].
  [[nodiscard]] std::span<const Segment> segments() const { return segments_.list(); }
  // Exactly linear on either side of 0, and without other breaks.
  [[nodiscard]] bool bends_at_zero_only() const;

  // f on a set and its derivative there (Clarke's at kinks).
  [[nodiscard]] Dual<Interval> on(const Dual<Interval>& x) const;
  // Approximate f(p) and f'(p), in ordinary arithmetic.
  [[nodiscard]] double value(double p) const;
  [[nodiscard]] double derivative(double p) const;
  // Whether derivative() is f'(p), up to rounding, wherever that exists; otherwise it is a difference quotient, even
  // across a near kink.
  [[nodiscard]] bool has_exact_derivative() const;

  // Pieces that cover [l, u] in order; empty if f is not defined on all of it, or nothing is known. Requires l <= u,
  // both finite.
  [[nodiscard]] std::vector<Piece> pieces(double l, double u) const;

 private:
  void add_pieces(std::span<const Segment> segments, double l, double u, std::vector<Piece>& pieces) const;
  void add_parts(double l, double u, std::vector<Piece>& pieces) const;
  void add_steps(Segments::Staircase steps, double l, double u, std::vector<Piece>& pieces) const;

  const Node& node_;
  Segments segments_;
};

}  // namespace assay
