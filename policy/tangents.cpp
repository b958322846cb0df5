// Where a linear form is least on a ball and a box.
#include <algorithm>
#include <cmath>

#include "policy/policy.h"

namespace assay::policy {
namespace {

constexpr int kSteps = 30;             // multipliers that are tried at most
constexpr double kEnough = 0x1p-20;    // of the squared radius: the constraint's value that is as good as 0
constexpr double kClose = 1 + 0x1p-9;  // between two multipliers that are as good as one

struct Region {
  std::span<const double> a, q, p, lo, hi;
  double b;
};

// Of squares. The place for a multiplier m is each element by itself; the constraint's value there falls as m grows, and the
// multiplier that is looked for makes it 0. The elements that the box does not cut are as far from the ball's middle as 1 / m:
// that is where the next m comes from.
struct Squares : Region {
  std::vector<double> points, halves;  // halves: 1 / (2 q), or 0
  double radius = b, norm = 0;         // squared: of the ball without the box, and of a in the dual norm
  double value = 0, inside = 0;        // at the place: the constraint's, and the squared distance in the elements that the box does not cut

  void place(double m) {
    const double inverse = 1 / m;
    value = -b;
    inside = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double slope = a[i] * inverse + p[i], x = halves[i] > 0 ? -slope * halves[i] : slope > 0 ? lo[i] : hi[i];
      const double at = points[i] = x < lo[i] ? lo[i] : x > hi[i] ? hi[i] : x;
      value += (q[i] * at + p[i]) * at;
      inside += at == x ? a[i] * a[i] * halves[i] : 0;
    }
    inside *= inverse * inverse / 2;
  }

  // 0: the ball does not matter, or numbers are too large.
  double multiplier() {
    points.resize(a.size());
    value = -b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double half = q[i] > 0 ? 0.5 / q[i] : 0, end = a[i] > 0 ? lo[i] : hi[i];
      halves.push_back(half);
      radius += p[i] * p[i] * half / 2;
      norm += a[i] * a[i] * half * 2;
      value += (q[i] * end + p[i]) * end;
    }
    if (!(value > 0) || !(radius > 0)) return 0;
    double m = std::sqrt(norm / radius) / 2, least = 0, most = INFINITY;
    for (int step = 0; step < kSteps && std::isfinite(m) && m > 0; ++step) {
      place(m);
      if (std::fabs(value) <= kEnough * radius || most <= least * kClose) break;
      (value > 0 ? least : most) = m;
      const double next = m * std::sqrt(inside / (inside - value));
      m = next > least && next < most ? next : least == 0 ? m / 4 : most == INFINITY ? m * 4 : std::sqrt(least) * std::sqrt(most);
    }
    return m;
  }
};

// For magnitudes. The search starts at the place where all of them are least. Elements then move to the ends of the box where the
// form is least, in order of their gain for each unit of b, until b is used up. The last one stays between, and its ratio is the
// multiplier.
Tangents of_magnitudes(const Region& r) {
  const std::size_t n = r.a.size();
  Tangents result{0, 0, std::vector<double>(n), std::vector<double>(n)};
  std::vector<std::pair<double, std::size_t>> gains;
  double left = r.b;
  for (std::size_t i = 0; i < n; ++i) {
    result.place[i] = r.q[i] > 0 ? std::clamp(-r.p[i] / r.q[i], r.lo[i], r.hi[i]) : r.a[i] > 0 ? r.lo[i] : r.hi[i];
    if (!(r.q[i] > 0)) continue;
    left -= std::fabs(r.q[i] * result.place[i] + r.p[i]);
    gains.emplace_back(std::fabs(r.a[i]) / r.q[i], i);
  }
  if (!(left >= 0)) return {};
  for (std::ranges::make_heap(gains); !gains.empty(); gains.pop_back()) {
    std::ranges::pop_heap(gains);
    const auto [gain, i] = gains.back();
    double& x = result.place[i];
    const double end = r.a[i] > 0 ? r.lo[i] : r.hi[i], cost = std::fabs(r.q[i] * (end - x));
    if (cost > left) {
      x += (end - x) * (left / cost);
      result.multiplier = gain;
      break;
    }
    left -= cost;
    x = end;
  }
  if (result.multiplier == 0) return {};
  for (std::size_t i = 0; i < n; ++i) {
    const double least = r.q[i] * r.lo[i] + r.p[i], most = r.q[i] * r.hi[i] + r.p[i];  // of y: on one side of 0 it is |y| or -|y|
    if (r.q[i] > 0) result.touches[i] = least > 0 ? 1 : most < 0 ? -1 : std::clamp(-r.a[i] / (result.multiplier * r.q[i]), -1.0, 1.0);
  }
  return result;
}

}  // namespace

Tangents tangents(std::span<const double> a, bool of_squares, std::span<const double> q, std::span<const double> p, double b,
                  std::span<const double> lo, std::span<const double> hi) {
  const Region region{a, q, p, lo, hi, b};
  double on_the_box = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(lo[i] <= hi[i])) return {};
    on_the_box += a[i] * (a[i] > 0 ? lo[i] : hi[i]);
  }
  Tangents result;
  if (of_squares) {
    Squares squares{region, {}, {}};
    result.multiplier = squares.multiplier();
    result.least = result.multiplier * squares.value;
    result.touches = result.place = std::move(squares.points);
  } else {
    result = of_magnitudes(region);
  }
  if (!(result.multiplier > 0) || !std::isfinite(result.multiplier)) return {};
  for (std::size_t i = 0; i < a.size(); ++i) result.least += a[i] * result.place[i];
  return result.least > on_the_box ? result : Tangents{};
}

}  // namespace assay::policy
