// Rule unary_line: any slope a for an elementwise function f of one operand whose range [l, u] splits into pieces on which
// f is linear, convex or concave.
//
//   l <= z <= u        any slope a, any point p of each curved piece
//   ----------------------------------------------------------------
//   f(z) >= a z + t    with t = min over the pieces [b, c] of
//     f concave or linear there:  min(f(b) - a b, f(c) - a c)
//     f convex there:             min of f(p) - a p + (f'(p) - a) ([b, c] - p)
//     f' in [d, e] there:         min of f(p) - a p + ([d, e] - a) ([b, c] - p)
//   f(z) <= a z + t    with max for min, and convex and concave exchanged
//
// Reason: f(z) - a z is concave (convex) on the piece, so its minimum (maximum) is at an end; a convex f lies above its
// tangent at p, and (f'(p) - a)(z - p) is bounded over the piece by interval arithmetic; the last form is the mean value
// theorem. The point p is only a hint: the best one has f'(p) = a; it is the policy's own, or found by bisection in ordinary arithmetic.
// Pieces: curves.cpp. Functions or ranges not listed there get slope 0, i.e. the node's own box; so does, without a proposed slope,
// a line that is no nearer than the box at the middle of [l, u].
// Rounding: f and f' are enclosed (Dual<Interval>), all arithmetic is on intervals, the outer end is taken.
// Source: derived above; the tangent condition for sigmoidal functions is that of Zhang et al. 2018 (CROWN).

#include <algorithm>
#include <cmath>

#include "kernel/proof/rules/curves.h"
#include "kernel/proof/rules/relaxation.h"
#include "semantics/interrupt.h"

namespace assay::kernel {
namespace {

// A point of the curved piece where the derivative is about `slope`; any answer is sound.
double touching_point(const Node& node, const Piece& piece, double slope) {
  double b = piece.b, c = piece.c;
  const bool rising = piece.curve == Curve::convex;  // of the derivative
  for (int step = 0; step < 30; ++step) {
    const double middle = b + (c - b) / 2;
    const double d = derivative(node, middle);
    if ((d < slope) == rising)
      b = middle;
    else
      c = middle;
  }
  return std::clamp(b + (c - b) / 2, piece.b, piece.c);
}

// A slope, and the point where the line should touch if that is known.
struct Slope {
  double value;
  std::optional<double> touch = {};
};

// f(z) - a z over one piece: an enclosure of a number below (above) all its values.
Interval extremum(const Node& node, const Piece& piece, const Slope& slope, bool lower) {
  const Interval a(slope.value);
  if (piece.curve == Curve::by_derivative) {
    const Interval p(piece.b / 2 + piece.c / 2);
    return piece.at_middle - a * p + (piece.derivative - a) * (Interval(piece.b, piece.c) - p);
  }
  const bool tangent = piece.curve == (lower ? Curve::convex : Curve::concave) && piece.b < piece.c;
  if (!tangent) {
    const Interval b = function(node, Dual<Interval>(Interval(piece.b))).value() - a * Interval(piece.b);
    const Interval c = function(node, Dual<Interval>(Interval(piece.c))).value() - a * Interval(piece.c);
    return lower ? min(b, c) : max(b, c);
  }
  const double p = slope.touch ? std::clamp(*slope.touch, piece.b, piece.c) : touching_point(node, piece, slope.value);
  const Dual<Interval> at = function(node, Dual<Interval>(Interval(p), Interval(1.0)));
  return at.value() - a * Interval(p) + (at.tangent() - a) * (Interval(piece.b, piece.c) - Interval(p));
}

double intercept(const Node& node, const std::vector<Piece>& pieces, const Slope& slope, bool lower) {
  double result = lower ? INFINITY : -INFINITY;
  for (const Piece& piece : pieces) {
    const Interval t = extremum(node, piece, slope, lower);
    if (t.is_undefined()) return NAN;
    result = lower ? std::min(result, t.lo()) : std::max(result, t.hi());
  }
  return result;
}

// Slopes by policy: the chord where it is valid, else the tangent from the far end (found by bisection).
Slope policy_slope(const Node& node, const std::vector<Piece>& pieces, bool lower) {
  const double l = pieces.front().b, u = pieces.back().c;
  if (!(l < u)) return {0};
  const double chord = (value(node, u) - value(node, l)) / (u - l);
  const Curve touching = lower ? Curve::convex : Curve::concave, first = pieces.front().curve;
  if (first == Curve::linear || first == Curve::by_derivative || pieces.size() > 2) return {chord};
  const double middle = l + (u - l) / 2;
  if (pieces.size() == 1) return pieces[0].curve == touching ? Slope{derivative(node, middle), middle} : Slope{chord};
  // Two pieces, one of which can touch: the tangent through the end that lies in the other piece.
  const bool right = pieces[1].curve == touching;
  const Piece& piece = right ? pieces[1] : pieces[0];
  const double anchor = right ? l : u, far = right ? u : l;
  const double sign = lower ? 1 : -1;
  double near = right ? piece.b : piece.c, end = far;
  const auto overshoots = [&](double p) {  // the tangent at p passes the anchor on the wrong side
    return sign * (value(node, p) + derivative(node, p) * (anchor - p) - value(node, anchor)) > 0;
  };
  if (overshoots(end)) return {chord};
  for (int step = 0; step < 30; ++step) {
    const double between = near + (end - near) / 2;
    if (overshoots(between))
      near = between;
    else
      end = between;
  }
  return {derivative(node, end), end};
}

}  // namespace

LinearBound line_over(const Node& node, const std::vector<Piece>& pieces, bool lower, std::optional<double> proposed) {
  poll(2000);
  if (pieces.empty()) return {0, NAN};
  const Slope slope = proposed ? Slope{*proposed} : policy_slope(node, pieces, lower);
  return {slope.value, std::isfinite(slope.value) ? intercept(node, pieces, slope, lower) : NAN};
}

Relaxation unary_line(const Node& node, const Box& x, const Box& result_box, const SlopeHints& hints) {
  const std::size_t size = x.lo.size();
  Relaxation result{{}, result_box.lo, result_box.hi};
  Relaxation::Part part{node.operands[0], {}, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  for (std::size_t j = 0; j < size; ++j) {
    const double l = x.lo[j], u = x.hi[j];
    if (!(std::isfinite(l) && std::isfinite(u))) continue;
    const std::vector<Piece> pieces = pieces_of(node, l, u);
    for (const bool lower : {true, false}) {
      const auto& hint = lower ? hints.lower : hints.upper;
      const auto [slope, t] = line_over(node, pieces, lower, hint.empty() ? std::nullopt : std::optional<double>(hint[j]));
      double& end = (lower ? result.lower_intercept : result.upper_intercept)[j];
      const double centre = slope * (l / 2 + u / 2) + t;
      if (!std::isfinite(t) || (hint.empty() && !(lower ? centre > end : centre < end))) continue;  // keep the box
      (lower ? part.lower : part.upper)[j] = slope;
      end = t;
    }
  }
  result.parts.push_back(std::move(part));
  return result;
}

}  // namespace assay::kernel
