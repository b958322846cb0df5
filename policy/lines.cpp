// Slopes of lines: the chord where it is valid, else the tangent from the far end, else the tangent in the middle.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "policy/policy.h"

namespace assay::policy {
namespace {

constexpr int kSteps = 60;
constexpr double kNear = 0x1p-30;  // of the distance at first, or of g at its ends

// Finds a point between a and b, near the place where g gets > 0, on b's side. The method is regula falsi, in which an end that
// stays counts half (Illinois); it halves where one stays long. At an end g may report nothing, as derivatives do at kinks. If it
// reports that there is no such place, a point beside the end is asked; if g is not `exact` there either, the interval is halved.
template <class G>
double where_positive(const G& g, double a, double b, bool exact) {
  const double near = kNear * std::fabs(b - a), end = b;
  double at_a = g(a), at_b = g(b);
  const double small = kNear * std::fmin(std::fabs(at_a), std::fabs(at_b)), beside = 2 * kNear * (b - a);
  int moved = 0;  // how often b did at last; negative: a
  for (int step = 0; step < kSteps && std::fabs(b - a) > near; ++step) {
    const bool known = !(at_a > 0) && at_b > 0;
    double x = known ? b - at_b * ((b - a) / (at_b - at_a)) : at_a > 0 ? a + beside : b - beside;
    if (!((a < x && x < b) || (b < x && x < a)) || (known ? std::abs(moved) > 2 : !exact)) x = a + (b - a) / 2;
    const double at_x = g(x);
    const int moves = at_x > 0 ? 1 : -1;
    moved = moves * moved > 0 ? moved + moves : moves;
    if (std::abs(moved) > 1) (moves > 0 ? at_a : at_b) /= 2;
    (moves > 0 ? b : a) = x;
    (moves > 0 ? at_b : at_a) = at_x;
    if (moves > 0 && at_x <= small) break;
  }
  return b == end ? a + (b - a) / 2 : b;
}

// A slope, and the point where the line should touch if that is known.
struct Slope {
  double value;
  std::optional<double> touch = {};
};

Slope own_slope(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) {
  if (pieces.empty() || !(pieces.front().b < pieces.back().c)) return {0};
  const double l = pieces.front().b, u = pieces.back().c;
  const double chord = (f.value(u) - f.value(l)) / (u - l);
  const Curve touching = lower ? Curve::convex : Curve::concave, first = pieces.front().curve;
  if (first == Curve::linear || first == Curve::by_derivative || pieces.size() > 2) return {chord};
  const double middle = l + (u - l) / 2;
  if (pieces.size() == 1) return pieces[0].curve == touching ? Slope{f.derivative(middle), middle} : Slope{chord};
  // Two pieces, one of which can touch: the tangent through the end that lies in the other piece.
  const bool right = pieces[1].curve == touching;
  const Piece& piece = right ? pieces[1] : pieces[0];
  const double anchor = right ? l : u, far = right ? u : l, near = right ? piece.b : piece.c;
  const double sign = lower ? 1 : -1, at_anchor = f.value(anchor);
  // > 0: the tangent at p passes the anchor on the wrong side.
  const auto overshoot = [&](double p) { return sign * (f.value(p) + f.derivative(p) * (anchor - p) - at_anchor); };
  if (overshoot(far) > 0) return {chord};
  const double end = where_positive([&](double p) { return -overshoot(p); }, near, far, f.has_exact_derivative());
  return {f.derivative(end), end};
}

// The line of that slope.
relax::ChosenLine line_of(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const Slope& slope) {
  relax::ChosenLine line{slope.value, {}};
  if (!std::isfinite(slope.value)) return line;
  const auto off = [&](double p) { return (lower ? 1 : -1) * (f.derivative(p) - slope.value); };  // f' rises on a convex piece
  for (std::size_t k = 0; k < std::min(pieces.size(), line.touch.size()); ++k) {
    if (pieces[k].curve != (lower ? Curve::convex : Curve::concave) || !(pieces[k].b < pieces[k].c)) continue;
    line.touch[k] = slope.touch ? *slope.touch : where_positive(off, pieces[k].b, pieces[k].c, f.has_exact_derivative());
  }
  return line;
}

}  // namespace

relax::ChosenSides Policy::relu_slopes(std::size_t j, double l, double u) const {
  return {proposed(true, j, u > -l ? 1.0 : 0.0), proposed(false, j, u / (u - l))};
}

relax::ChosenLine Policy::line(std::size_t j, const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const {
  return insists(lower) ? line_of(f, pieces, lower, {proposed(lower, j, 0)}) : line_of_step(f, pieces, lower);
}

relax::ChosenLine Policy::line_of_step(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const {
  return line_of(f, pieces, lower, own_slope(f, pieces, lower));
}

}  // namespace assay::policy
