// Rule relu_line.
//
//   l <= z <= u        any slope a
//   -------------------------------------------------------------
//   relu(z) <= a z + t   with t = max(relu(l) - a l, relu(u) - a u), rounded up
//   relu(z) >= a z + t   with t = min(relu(l) - a l, relu(u) - a u, 0 if l < 0 < u), rounded down
//
// Reason: relu(z) - a z is convex, so its maximum over [l, u] is at an end. It is piecewise linear, so its minimum is
// at an end or at the kink. The rule holds for stable and unstable neurons alike. If l >= 0 or u <= 0 the line is relu
// itself, whatever the choice.
// Rounding: each product and difference is rounded away from the function.
// Source: Zhang et al. 2018 (CROWN), section 3; the intercept for an arbitrary slope is derived above.

#include <algorithm>
#include <cmath>

#include "kernel/relax/choices.h"
#include "kernel/relax/relaxation.h"
#include "semantics/numbers/directed.h"

namespace assay::relax {
namespace {

// Both need l < 0 < u.
double upper_intercept(double slope, double l, double u) { return std::max(-mul_down(slope, l), sub_up(u, mul_down(slope, u))); }

double lower_intercept(double slope, double l, double u) { return std::min({-mul_up(slope, l), sub_down(u, mul_up(slope, u)), 0.0}); }

}  // namespace

Relaxation relu_line(const Node& node, const Box& x, const Choices& choices) {
  const std::size_t size = x.lo.size();
  Relaxation result;
  result.lower_intercept.assign(size, 0.0);
  result.upper_intercept.assign(size, 0.0);
  Relaxation::Part part{node.operands[0], {}, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  for (std::size_t j = 0; j < size; ++j) {
    const double l = x.lo[j], u = x.hi[j];
    if (l >= 0) {
      part.lower[j] = part.upper[j] = 1;  // relu(z) = z, exactly
      continue;
    }
    if (u <= 0) continue;  // relu(z) = 0, exactly
    if (!(std::isfinite(l) && std::isfinite(u))) {
      result.upper_intercept[j] = u;  // 0 <= relu(z) <= u
      continue;
    }
    const auto [below, above] = choices.relu_slopes(j, l, u);
    part.upper[j] = above;
    result.upper_intercept[j] = upper_intercept(above, l, u);
    part.lower[j] = below;
    if (!(below >= 0 && below <= 1)) result.lower_intercept[j] = lower_intercept(below, l, u);  // otherwise exactly 0
  }
  result.parts.push_back(std::move(part));
  return result;
}

}  // namespace assay::relax
