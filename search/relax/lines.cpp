// Lines of a given slope, and the slopes that the optimisation starts from.
//
// Sources: CROWN (Zhang et al. 2018) for relu and for sigmoid and tanh, whose tangents from an end are found by
// bisection. How this version differs: the slope is the parameter of every line, and the intercept is the tightest one
// that holds at the ends, at break points, and at points whose derivative is the slope.

#include "search/relax/lines.h"

#include <algorithm>
#include <cmath>

#include "search/relax/elementwise.h"

namespace assay::search {
namespace {

// Points of [l, u] at which f(z) - slope z can have an extremum: the ends, break points, and points with f' = slope.
struct Candidates {
  double points[5];
  int count = 0;
  void add(double point, double l, double u) {
    if (point >= l && point <= u) points[count++] = point;
  }
};

// The points at which a line of this slope may touch the function on its box.
Candidates candidates(const Step& step, double slope, double l, double u) {
  Candidates found;
  found.add(l, l, u);
  found.add(u, l, u);
  switch (step.op) {
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
      found.add(0, l, u);
      break;
    case Op::clip:
      found.add(step.constants.first, l, u);
      found.add(step.constants.second, l, u);
      break;
    default:  // sigmoid and tanh
      for (const bool negative : {false, true}) found.add(formula_of(step.op)->touching_point(slope, negative, step.constants), l, u);
      break;
  }
  return found;
}

Line extreme_line(const Step& step, double slope, double l, double u, bool below) {
  const Candidates found = candidates(step, slope, l, u);
  Line line{slope, 0, 0};
  for (int k = 0; k < found.count; ++k) {
    const double gap = unary_value(step, found.points[k]) - slope * found.points[k];
    if (k > 0 && (below ? gap >= line.intercept : gap <= line.intercept)) continue;
    line.intercept = gap;
    line.point = found.points[k];
  }
  return line;
}

bool is_sigmoidal(Op op) { return op == Op::sigmoid || op == Op::tanh; }

// The slope of the tangent that passes through the end (e, f(e)) and touches on the other side of the inflection at 0,
// found by bisection between 0 and the far end. If no such tangent touches inside the box, the slope of the chord.
double slope_from_end(const Step& step, double end, double far) {
  const double at_end = unary_value(step, end);
  const double chord = (unary_value(step, far) - at_end) / (far - end);
  // On the far side, the tangent at d passes beyond the value of the end if and only if its slope is larger than that
  // of the chord to d.
  double near = 0, beyond = far;
  const auto too_flat = [&](double d) {
    const double value = unary_value(step, d);
    return unary_derivative(step, d, value) < (value - at_end) / (d - end);
  };
  if (!too_flat(far)) return chord;
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (near + beyond);
    (too_flat(middle) ? beyond : near) = middle;
  }
  return unary_derivative(step, near, unary_value(step, near));
}

double chord_slope(const Step& step, double l, double u) {
  return u > l ? (unary_value(step, u) - unary_value(step, l)) / (u - l) : unary_derivative(step, l, unary_value(step, l));
}

double middle_slope(const Step& step, double l, double u) {
  const double middle = 0.5 * (l + u);
  return unary_derivative(step, middle, unary_value(step, middle));
}

}  // namespace

bool has_closed_lines(Op op) {
  return op == Op::relu || op == Op::leaky_relu || op == Op::abs || op == Op::clip || op == Op::tanh || op == Op::sigmoid;
}

SlopeRange slope_range(const Step& step) {
  if (step.op == Op::abs) return {-1, 1};
  if (step.op == Op::leaky_relu) return {std::min(step.constants.first, 1.0), std::max(step.constants.first, 1.0)};
  return {0, 1};
}

Line line_below(const Step& step, double slope, double l, double u) { return extreme_line(step, slope, l, u, true); }
Line line_above(const Step& step, double slope, double l, double u) { return extreme_line(step, slope, l, u, false); }

// The slope that the kernel's policy takes if a certificate names none.
double first_slope_below(const Step& step, double l, double u) {
  if (is_sigmoidal(step.op)) {
    if (l >= 0) return chord_slope(step, l, u);
    if (u <= 0) return middle_slope(step, l, u);
    return slope_from_end(step, u, l);
  }
  if (step.op == Op::relu || step.op == Op::leaky_relu) return u > -l ? 1 : step.op == Op::relu ? 0 : step.constants.first;
  if (step.op == Op::abs) return u > -l ? 1 : -1;
  return chord_slope(step, l, u);
}

double first_slope_above(const Step& step, double l, double u) {
  if (is_sigmoidal(step.op)) {
    if (l >= 0) return middle_slope(step, l, u);
    if (u <= 0) return chord_slope(step, l, u);
    return slope_from_end(step, l, u);
  }
  return chord_slope(step, l, u);
}

}  // namespace assay::search
