// Slopes of lines: the chord where it is valid, else the tangent from the far end, else the tangent in the middle.
#include <algorithm>
#include <cmath>

#include "kernel/policy/policy.h"

namespace assay::kernel {
namespace {

constexpr int kBisections = 30;

// A point of the curved piece where the derivative is about `slope`.
double touching_point(const UnaryFunction& f, const Piece& piece, double slope) {
  double b = piece.b, c = piece.c;
  const bool rising = piece.curve == Curve::convex;  // of the derivative
  for (int step = 0; step < kBisections; ++step) {
    const double middle = b + (c - b) / 2;
    const double d = f.derivative(middle);
    if ((d < slope) == rising)
      b = middle;
    else
      c = middle;
  }
  return b + (c - b) / 2;
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
  const double anchor = right ? l : u, far = right ? u : l;
  const double sign = lower ? 1 : -1;
  double near = right ? piece.b : piece.c, end = far;
  const auto overshoots = [&](double p) {  // the tangent at p passes the anchor on the wrong side
    return sign * (f.value(p) + f.derivative(p) * (anchor - p) - f.value(anchor)) > 0;
  };
  if (overshoots(end)) return {chord};
  for (int step = 0; step < kBisections; ++step) {
    const double between = near + (end - near) / 2;
    if (overshoots(between))
      near = between;
    else
      end = between;
  }
  return {f.derivative(end), end};
}

// The line of that slope.
ChosenLine line_of(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, const Slope& slope) {
  ChosenLine line{slope.value, {}};
  if (!std::isfinite(slope.value)) return line;
  for (std::size_t k = 0; k < std::min(pieces.size(), line.touch.size()); ++k) {
    if (pieces[k].curve != (lower ? Curve::convex : Curve::concave) || !(pieces[k].b < pieces[k].c)) continue;
    line.touch[k] = slope.touch ? *slope.touch : touching_point(f, pieces[k], slope.value);
  }
  return line;
}

}  // namespace

ChosenSides Policy::relu_slopes(std::size_t j, double l, double u) const {
  return {proposed(true, j, u > -l ? 1.0 : 0.0), proposed(false, j, u / (u - l))};
}

ChosenLine Policy::line(std::size_t j, const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const {
  return insists(lower) ? line_of(f, pieces, lower, {proposed(lower, j, 0)}) : line_of_step(f, pieces, lower);
}

ChosenLine Policy::line_of_step(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const {
  return line_of(f, pieces, lower, own_slope(f, pieces, lower));
}

}  // namespace assay::kernel
