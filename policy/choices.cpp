// Mixes of products, weights of sums of exponentials, and candidates of maxima.
#include <cmath>

#include "policy/policy.h"

namespace assay::policy {

constexpr double kMix = 0.5;

relax::ChosenSides Policy::mixes(std::size_t j) const { return {proposed(true, j, kMix), proposed(false, j, kMix)}; }

relax::ExponentialWeights Policy::weights(std::span<const Interval> ranges) const {
  double greatest = -INFINITY;
  for (const Interval& range : ranges) greatest = std::max(greatest, range.midpoint());
  relax::ExponentialWeights result{std::isfinite(greatest) ? greatest : 0.0, {}};
  for (const Interval& range : ranges) result.weights.push_back(std::exp(range.midpoint() - result.common));
  return result;
}

double Policy::shift(double common, const Interval& low, const Interval& high) const {
  return -common - std::log(low.midpoint() / 2 + high.midpoint() / 2);
}

double Policy::chord(const Interval& x0, const Interval& y0, const Interval& x1, const Interval& y1) const {
  const double slope = (y1.midpoint() - y0.midpoint()) / (x1.hi() - x0.lo());
  return std::isfinite(slope) ? slope : 0.0;
}

// With u_p >= u_q the greatest upper ends: a_p = (u_p - u_q) / (u_p - l_p), the chord of max(x_p, u_q). The chord of x_q +
// relu(x_p - x_q) is (u_p + u_q) / 2 high at the centre, too. Given both, rounding would choose, and the choice of exact mode
// would differ from the filter's.
std::vector<relax::Weighted> Policy::weighted(std::span<const Interval> x, std::span<const std::size_t> left) const {
  if (left.empty()) return {};
  const std::size_t p = left[0], q = left[left.size() > 1 ? 1 : 0];
  const double u_p = x[p].hi(), l_p = x[p].lo(), u_q = x[q].hi();
  if (!std::isfinite(u_p) || !std::isfinite(l_p)) return {};
  if (left.size() == 1) return {{p, p, 1, 0}};
  return {{p, q, (u_p - u_q) / (u_p - l_p), 0}};
}

std::optional<std::size_t> Policy::candidate(std::size_t j, std::span<const Interval> x, std::span<const std::size_t> left, double bound,
                                             bool lower) const {
  const auto finite = [&](std::size_t k) { return std::isfinite(x[k].lo()) && std::isfinite(x[k].hi()); };
  const double hint = proposed(lower, j, NAN);
  if (hint >= 0 && hint < static_cast<double>(x.size()) && finite(static_cast<std::size_t>(hint))) return static_cast<std::size_t>(hint);
  std::optional<std::size_t> chosen;
  for (const std::size_t k : left) {
    if (!finite(k) || (left.size() > 1 && !(x[k].midpoint() >= bound))) continue;
    bound = x[k].midpoint();
    chosen = k;
  }
  return chosen;
}

}  // namespace assay::policy
