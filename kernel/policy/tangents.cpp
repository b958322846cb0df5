// Where a linear form is least on a ball and a box. The place for a multiplier m is each element by itself; the constraint's value there falls
// as m grows, and the multiplier that is looked for makes it 0.
#include <algorithm>
#include <cmath>

#include "kernel/policy/policy.h"

namespace assay::kernel {
namespace {

constexpr int kSteps = 30;             // doublings and halvings of the multiplier at most
constexpr double kEnough = 0x1p-20;    // of the squared radius: the constraint's value that is as good as 0
constexpr double kClose = 1 + 0x1p-9;  // between two multipliers that are as good as one

struct Search {
  std::span<const double> a, lo, hi;
  std::vector<double> q, p, points;
  double b = 0;

  // Sum of q x^2 + p x - b at the place for m.
  double place(double m) {
    double value = -b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double slope = a[i] + m * p[i], x = m * q[i] > 0 ? -slope / (2 * m * q[i]) : slope > 0 ? lo[i] : hi[i];
      points[i] = std::clamp(x, lo[i], hi[i]);
      value += (q[i] * points[i] + p[i]) * points[i];
    }
    return value;
  }
};

}  // namespace

Tangents tangents(std::span<const double> a, std::span<const Interval> q, std::span<const Interval> p, const Interval& b,
                  std::span<const double> lo, std::span<const double> hi) {
  Search search{a, lo, hi, {}, {}, std::vector<double>(a.size()), b.midpoint()};
  double radius = search.b, norm = 0;  // squared: of the ball without the box, and of a in the dual norm
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(lo[i] <= hi[i])) return {};
    search.q.push_back(q[i].midpoint());
    search.p.push_back(p[i].midpoint());
    if (!(search.q[i] > 0)) continue;
    radius += search.p[i] * search.p[i] / (4 * search.q[i]);
    norm += a[i] * a[i] / search.q[i];
  }
  if (!(search.place(0) > 0) || !(radius > 0)) return {};
  double on_the_box = 0;
  for (std::size_t i = 0; i < a.size(); ++i) on_the_box += a[i] * search.points[i];
  double m = std::sqrt(norm / radius) / 2, least = 0, most = INFINITY;
  for (int step = 0; step < kSteps && std::isfinite(m) && m > 0; ++step) {
    const double value = search.place(m);
    if (std::fabs(value) <= kEnough * radius || most <= least * kClose) break;
    (value > 0 ? least : most) = m;
    m = least == 0 ? m / 4 : most == INFINITY ? m * 4 : std::sqrt(least) * std::sqrt(most);
  }
  const bool usable = std::isfinite(m) && m > 0 && std::ranges::all_of(search.points, [](double x) { return std::isfinite(x); });
  if (!usable) return {};
  Tangents result{m, m * search.place(m), std::move(search.points)};
  for (std::size_t i = 0; i < a.size(); ++i) result.least += a[i] * result.points[i];
  return result.least > on_the_box ? result : Tangents{};
}

}  // namespace assay::kernel
