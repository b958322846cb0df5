// Rule unary_line: a line with any slope a below or above an elementwise function f of one operand. The operand's range
// [l, u] splits into pieces on which f is linear, convex or concave.
//
//   l <= z <= u        any slope a, any point p of each curved piece
//   ----------------------------------------------------------------
//   f(z) >= a z + t    with t = min over the pieces [b, c] of
//     f concave or linear there:  min(f(b) - a b, f(c) - a c)
//     f convex there:             min of f(p) - a p + (f'(p) - a) ([b, c] - p)
//     f' in [d, e] there:         min of f(p) - a p + ([d, e] - a) ([b, c] - p)
//   f(z) <= a z + t    with max for min, and convex and concave exchanged
//
// Reason: f(z) - a z is concave (convex) on the piece, so its minimum (maximum) is at an end. A convex f lies above its
// tangent at p, and interval arithmetic bounds (f'(p) - a)(z - p) over the piece. The last form is the mean value
// theorem. The point p is a choice, too; the best one has f'(p) = a.
// Pieces: semantics/functions. A function or range without pieces gets slope 0, that is, the node's own box. So does a
// line that is no nearer than the box at the middle of [l, u], unless the choice insists.
// Rounding: f and f' are enclosed (Dual<Interval>), all arithmetic is on intervals, and the outer end is taken.
// Source: derived above; the tangent condition for sigmoidal functions is that of Zhang et al. 2018 (CROWN).

#include <algorithm>
#include <cmath>

#include "kernel/relax/bounded.h"
#include "kernel/relax/relaxation.h"
#include "semantics/interrupt.h"

namespace assay::relax {
namespace {

// An enclosure of a number below (above) all values of f(z) - a z over one piece.
Interval extremum(const UnaryFunction& f, const Piece& piece, const Interval& a, double touch, bool lower) {
  const Interval piece_range(piece.b, piece.c);
  if (piece.curve == Curve::by_derivative) {
    const Interval p(piece.b / 2 + piece.c / 2);
    return piece.at_middle - a * p + (piece.derivative - a) * (piece_range - p);
  }
  const bool tangent = piece.curve == (lower ? Curve::convex : Curve::concave) && piece.b < piece.c;
  if (!tangent) {
    const Interval b = f.on(Dual<Interval>(Interval(piece.b))).value() - a * Interval(piece.b);
    const Interval c = f.on(Dual<Interval>(Interval(piece.c))).value() - a * Interval(piece.c);
    return lower ? min(b, c) : max(b, c);
  }
  const Interval p(std::clamp(touch, piece.b, piece.c));
  const Dual<Interval> at = f.on(Dual<Interval>(p, Interval(1.0)));
  return at.value() - a * p + (at.tangent() - a) * (piece_range - p);
}

}  // namespace

double unary_intercept(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const ChosenLine& line) {
  poll(2000);
  if (pieces.empty() || !std::isfinite(line.slope)) return NAN;
  double result = lower ? INFINITY : -INFINITY;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Interval t = extremum(f, pieces[k], Interval(line.slope), k < line.touch.size() ? line.touch[k] : pieces[k].b, lower);
    if (t.is_undefined()) return NAN;
    result = lower ? std::min(result, t.lo()) : std::max(result, t.hi());
  }
  return result;
}

Relaxation unary_line(const Node& node, const Box& x, const Box& result_box, const Choices& choices) {
  const UnaryFunction f(node);
  const std::size_t size = x.lo.size();
  Relaxation result{{}, result_box.lo, result_box.hi};
  Relaxation::Part part{node.operands[0], {}, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  for (std::size_t j = 0; j < size; ++j) {
    const double l = x.lo[j], u = x.hi[j];
    if (!(std::isfinite(l) && std::isfinite(u))) continue;
    const std::vector<Piece> pieces = f.pieces(l, u);
    for (const bool lower : {true, false}) {
      const ChosenLine line = choices.line(j, f, pieces, lower);
      const double t = unary_intercept(f, pieces, lower, line);
      double& end = (lower ? result.lower_intercept : result.upper_intercept)[j];
      const double centre = line.slope * (l / 2 + u / 2) + t;
      // The node's box stays.
      if (!std::isfinite(t) || (!choices.insists(lower) && !(lower ? centre > end : centre < end))) continue;
      (lower ? part.lower : part.upper)[j] = line.slope;
      end = t;
    }
  }
  result.parts.push_back(std::move(part));
  return result;
}

}  // namespace assay::relax
