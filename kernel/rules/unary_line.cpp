// Rule unary_line: any slope a for an elementwise function f of one operand whose range [l, u] splits into pieces on which
// f is linear, convex or concave.
//
//   l <= z <= u        any slope a, any point p of each curved piece
//   ----------------------------------------------------------------
//   f(z) >= a z + t    with t = min over the pieces [b, c] of
//     f concave or linear there:  min(f(b) - a b, f(c) - a c)
//     f convex there:             min of f(p) - a p + (f'(p) - a) ([b, c] - p)
//   f(z) <= a z + t    with max for min, and convex and concave exchanged
//
// Reason: f(z) - a z is concave (convex) on the piece, so its minimum (maximum) is at an end; a convex f lies above its
// tangent at p, and (f'(p) - a)(z - p) is bounded over the piece by interval arithmetic. The point p is only a hint: the
// best one has f'(p) = a and is found by bisection in ordinary arithmetic.
// Pieces: relu-like functions at their break points; exp, even powers: convex; log, sqrt: concave; sigmoid, tanh: convex
// left of 0, concave right of it; powers x^r by the sign of r (r - 1) and of x. Functions or ranges not listed here get
// slope 0, i.e. the node's own box.
// Rounding: f and f' are enclosed (Dual<Interval>), all arithmetic is on intervals, the outer end is taken.
// Source: derived above; the tangent condition for sigmoidal functions is that of Zhang et al. 2018 (CROWN).

#include <algorithm>
#include <cmath>

#include "kernel/rules/relaxation.h"
#include "semantics/numbers/dual.h"

namespace assay::kernel {
namespace {

enum class Curve : std::uint8_t { linear, convex, concave };
struct Piece {
  double b, c;
  Curve curve;
};

Dual<Interval> function(const Node& node, const Dual<Interval>& x) {
  switch (node.op) {
    case Op::leaky_relu: {
      const Interval slope(std::get<LeakyReluAttributes>(node.attributes).slope);
      return max(x, Dual<Interval>(Interval(0.0))) + Dual<Interval>(slope) * min(x, Dual<Interval>(Interval(0.0)));
    }
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node.attributes);
      return min(max(x, Dual<Interval>(Interval(a.lo))), Dual<Interval>(Interval(a.hi)));
    }
    case Op::abs:
      return abs(x);
    case Op::exp:
      return exp(x);
    case Op::log:
      return log(x);
    case Op::sqrt:
      return sqrt(x);
    case Op::sigmoid:
      return sigmoid(x);
    case Op::tanh:
      return tanh(x);
    case Op::mul:
      return square(x);  // only reached for mul(x, x)
    case Op::pow: {
      return pow(x, std::get<PowAttributes>(node.attributes).exponent);
    }
    default:
      return Dual<Interval>(Interval::whole());
  }
}

// Pieces of a piecewise linear function with the given break points.
std::vector<Piece> linear_pieces(double l, double u, std::initializer_list<double> breaks) {
  std::vector<Piece> pieces;
  double from = l;
  for (const double at : breaks) {
    if (!(at > from && at < u)) continue;
    pieces.push_back({from, at, Curve::linear});
    from = at;
  }
  pieces.push_back({from, u, Curve::linear});
  return pieces;
}

std::vector<Piece> around_zero(double l, double u, Curve left, Curve right) {
  if (u <= 0) return {{l, u, left}};
  if (l >= 0) return {{l, u, right}};
  return {{l, 0.0, left}, {0.0, u, right}};
}

std::vector<Piece> power_pieces(const Rational& r, double l, double u) {
  const Curve positive = r * (r - Rational(1)) > Rational(0) ? Curve::convex : Curve::concave;  // of x^r on x > 0
  if (!r.is_integer()) return l >= 0 ? std::vector<Piece>{{l, u, positive}} : std::vector<Piece>{};
  const bool even = (r / Rational(2)).is_integer();
  if (r.sign() < 0 && l <= 0 && u >= 0) return {};  // a pole inside
  if (r == Rational(1) || r == Rational(0)) return {{l, u, Curve::linear}};
  return around_zero(l, u, even ? positive : Curve::concave, positive);
}

// The pieces of f on [l, u]; empty when there is no rule for it.
std::vector<Piece> pieces_of(const Node& node, double l, double u) {
  switch (node.op) {
    case Op::leaky_relu:
    case Op::abs:
      return linear_pieces(l, u, {0.0});
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node.attributes);
      return linear_pieces(l, u, {a.lo, a.hi});
    }
    case Op::exp:
    case Op::mul:
      return {{l, u, Curve::convex}};
    case Op::log:
      return l > 0 ? std::vector<Piece>{{l, u, Curve::concave}} : std::vector<Piece>{};
    case Op::sqrt:
      return l >= 0 ? std::vector<Piece>{{l, u, Curve::concave}} : std::vector<Piece>{};
    case Op::sigmoid:
    case Op::tanh:
      return around_zero(l, u, Curve::convex, Curve::concave);
    case Op::pow:
      return power_pieces(std::get<PowAttributes>(node.attributes).exponent, l, u);
    default:
      return {};
  }
}

double value(const Node& node, double p) { return function(node, Dual<Interval>(Interval(p))).value().midpoint(); }
double derivative(const Node& node, double p) { return function(node, Dual<Interval>(Interval(p), Interval(1.0))).tangent().midpoint(); }

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

// f(z) - a z over one piece: an enclosure of a number below (above) all its values.
Interval extremum(const Node& node, const Piece& piece, double slope, bool lower) {
  const Interval a(slope);
  const bool tangent = piece.curve == (lower ? Curve::convex : Curve::concave) && piece.b < piece.c;
  if (!tangent) {
    const Interval b = function(node, Dual<Interval>(Interval(piece.b))).value() - a * Interval(piece.b);
    const Interval c = function(node, Dual<Interval>(Interval(piece.c))).value() - a * Interval(piece.c);
    return lower ? min(b, c) : max(b, c);
  }
  const double p = touching_point(node, piece, slope);
  const Dual<Interval> at = function(node, Dual<Interval>(Interval(p), Interval(1.0)));
  return at.value() - a * Interval(p) + (at.tangent() - a) * (Interval(piece.b, piece.c) - Interval(p));
}

double intercept(const Node& node, const std::vector<Piece>& pieces, double slope, bool lower) {
  double result = lower ? INFINITY : -INFINITY;
  for (const Piece& piece : pieces) {
    const Interval t = extremum(node, piece, slope, lower);
    if (t.is_undefined()) return NAN;
    result = lower ? std::min(result, t.lo()) : std::max(result, t.hi());
  }
  return result;
}

// Slopes by policy: the chord where it is valid, else the tangent from the far end (found by bisection).
double policy_slope(const Node& node, const std::vector<Piece>& pieces, bool lower) {
  const double l = pieces.front().b, u = pieces.back().c;
  if (!(l < u)) return 0;
  const double chord = (value(node, u) - value(node, l)) / (u - l);
  const bool linear = pieces.front().curve == Curve::linear;
  const Curve touching = lower ? Curve::convex : Curve::concave;
  if (linear) return chord;
  if (pieces.size() == 1) return pieces[0].curve == touching ? derivative(node, l + (u - l) / 2) : chord;
  // Two pieces, one of which can touch: the tangent through the end that lies in the other piece.
  const bool right = pieces[1].curve == touching;
  const Piece& piece = right ? pieces[1] : pieces[0];
  const double anchor = right ? l : u, far = right ? u : l;
  const double sign = lower ? 1 : -1;
  double near = right ? piece.b : piece.c, end = far;
  const auto overshoots = [&](double p) {  // the tangent at p passes the anchor on the wrong side
    return sign * (value(node, p) + derivative(node, p) * (anchor - p) - value(node, anchor)) > 0;
  };
  if (overshoots(end)) return chord;
  for (int step = 0; step < 30; ++step) {
    const double middle = near + (end - near) / 2;
    if (overshoots(middle))
      near = middle;
    else
      end = middle;
  }
  return derivative(node, end);
}

}  // namespace

Relaxation unary_line(const Node& node, const Box& x, const Box& result_box, const SlopeHints& hints) {
  const std::size_t size = x.lo.size();
  Relaxation result{{}, result_box.lo, result_box.hi};
  Relaxation::Part part{node.operands[0], {}, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  for (std::size_t j = 0; j < size; ++j) {
    const double l = x.lo[j], u = x.hi[j];
    if (!(std::isfinite(l) && std::isfinite(u))) continue;
    const std::vector<Piece> pieces = pieces_of(node, l, u);
    if (pieces.empty()) continue;
    for (const bool lower : {true, false}) {
      const auto& hint = lower ? hints.lower : hints.upper;
      const double slope = hint.empty() ? policy_slope(node, pieces, lower) : static_cast<double>(hint[j]);
      if (!std::isfinite(slope)) continue;
      const double t = intercept(node, pieces, slope, lower);
      if (!std::isfinite(t)) continue;  // keep the box
      (lower ? part.lower : part.upper)[j] = slope;
      (lower ? result.lower_intercept : result.upper_intercept)[j] = t;
    }
  }
  result.parts.push_back(std::move(part));
  return result;
}

}  // namespace assay::kernel
