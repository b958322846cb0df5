// The image of a box under normalise, at 257 bits.
//
// Each y_i is enclosed as a function of its own element and of one number that summarises the others:
// root_mean, l2, l1: y = t / D(t^2 + O) or t / (|t| + O + epsilon) with t = x_i and O the sum over the others. y
//   increases in t, and is nearer to 0 for larger O. Each variable enters once, so the image is exact up to rounding.
// centered, deviation: with t = x_i - (mean of the others), x_i - m = (n-1)/n t, and n v >= (n-1)/n t^2. So for t <= T
//   and V1 <= n v <= V2: y <= y(T, max(V1, (n-1)/n T^2)) if T > 0, y <= y(T, V2) if T <= 0; below by symmetry.
//   V2 = sum of max |x_j - c|^2 for a c near the middle (the mean minimises the sum).
//   V1 = least sum over c of dist(c, X_j)^2, a convex function of c whose minimum lies between two points at which its
//   derivative is enclosed on either side of 0; on boxes of points, the enclosure of n v itself.
//   Up to 256 elements the result is intersected with the mean value form, whose width is right to first order in
//   small boxes.
// The bounds are derived here.

#include <algorithm>
#include <cmath>
#include <limits>

#include "semantics/ops/normalise.h"

namespace assay::ops::normalise {
namespace {

WideInterval lower(const WideInterval& x) { return x.lower_end(); }
WideInterval upper(const WideInterval& x) { return x.upper_end(); }

// Undefined, because some point of the box has no positive divisor.
std::vector<WideInterval> undefined(std::size_t n) { return std::vector<WideInterval>(n, WideInterval::undefined()); }

// x_i / divisor(own size + sum over the others).
std::vector<WideInterval> by_size(const NormaliseAttributes& attributes, const std::vector<WideInterval>& x) {
  const bool is_l1 = attributes.form == Form::l1;
  const auto size = [is_l1](const WideInterval& t) { return is_l1 ? abs(t) : square(t); };
  const WideInterval zero;
  WideInterval total;
  for (const WideInterval& value : x) total += size(value);
  if (!certainly_less(zero, divisor(attributes, max(lower(total), zero), x.size()))) return undefined(x.size());
  std::vector<WideInterval> y;
  for (const WideInterval& value : x) {
    const WideInterval own = size(value);
    const WideInterval least = max(lower(total) - lower(own), zero), most = upper(total) - upper(own);
    const auto at = [&](const WideInterval& t, bool nearer_zero) {
      return t == zero ? zero : t / divisor(attributes, size(t) + (nearer_zero ? most : least), x.size());
    };
    const WideInterval lo = lower(value), hi = upper(value);
    y.push_back(hull(at(lo, certainly_less(zero, lo)), at(hi, certainly_less(hi, zero))));
  }
  return y;
}

// Half the derivative of the sum over j of dist(c, X_j)^2.
WideInterval spread_slope(const std::vector<WideInterval>& x, const WideInterval& c) {
  const WideInterval zero;
  WideInterval slope;
  for (const WideInterval& value : x) slope += max(c - upper(value), zero) - max(lower(value) - c, zero);
  return slope;
}

// A number below the least sum over c of dist(c, X_j)^2.
WideInterval least_spread(const std::vector<WideInterval>& x) {
  constexpr int kHalvings = 40;
  const WideInterval zero;
  double a = std::numeric_limits<double>::infinity(), b = -a;
  for (const WideInterval& value : x) {
    a = std::min(a, value.lo_down());
    b = std::max(b, value.hi_up());
  }
  if (!std::isfinite(a) || !std::isfinite(b)) return zero;
  for (int i = 0; i < kHalvings; ++i) {  // the minimum lies in [a, b]
    const double middle = a + (b - a) / 2;
    const WideInterval slope = spread_slope(x, middle);
    if (certainly_less_equal(slope, zero)) {
      a = middle;
    } else if (certainly_less_equal(zero, slope)) {
      b = middle;
    } else {
      break;
    }
  }
  const WideInterval bracket(a, b);
  WideInterval sum;
  for (const WideInterval& value : x) sum += square(max(lower(max(value - bracket, bracket - value)), zero));
  return lower(sum);
}

// The sum of (x_j - m)^2 over the box: at least the maximum of the two lower bounds, at most the sum around a
// fixed point.
WideInterval spread(const std::vector<WideInterval>& x, const WideInterval& mean) {
  bool points = true;
  WideInterval naive, around;
  const WideInterval c(mean.to_interval().midpoint());
  for (const WideInterval& value : x) {
    points = points && value.is_point();
    naive += square(value - mean);
    around += square(value - c);
  }
  if (points || !mean.is_bounded()) return naive;
  const WideInterval least = max(lower(naive), least_spread(x)), most = min(upper(naive), upper(around));
  return hull(least, most);
}

// Intersects y with y_i(c) + sum_j J_ij (x_j - c_j), where c is the middle of the box and J_ij lies in
// (delta_ij - (1 + q y_i y_j) / n) / s, with s the divisor and q = s / sqrt(v) over the box. In double intervals; the
// cost is n^2.
void meet_mean_value_form(const NormaliseAttributes& attributes, const std::vector<WideInterval>& x, const WideInterval& mean_square,
                          std::vector<WideInterval>& y) {
  constexpr std::size_t kMostElements = 256;
  const WideInterval zero, one(1.0);
  const bool is_centered = attributes.form == Form::centered;
  if (x.size() > kMostElements || !(is_centered || certainly_less(zero, mean_square))) return;
  const WideInterval s = divisor(attributes, WideInterval(mean_square * count_of<WideInterval>(x.size())), x.size());
  const Interval over_s = (one / s).to_interval(), q = is_centered ? Interval(1.0) : (s / sqrt(mean_square)).to_interval();
  const Interval n(static_cast<double>(x.size()));
  std::vector<WideInterval> centre;
  std::vector<Interval> step, image;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Interval side = x[i].to_interval();
    centre.emplace_back(side.midpoint());
    step.push_back(side - Interval(side.midpoint()));
    image.push_back(y[i].to_interval());
  }
  const std::vector<WideInterval> at_centre = by_formula(attributes, centre);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Interval change;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const Interval product = j == i ? square(image[i]) : image[i] * image[j];
      change += (Interval(i == j ? 1.0 : 0.0) - (Interval(1.0) + q * product) / n) * step[j];
    }
    const WideInterval met = at_centre[i] + WideInterval(change * over_s);
    if (met.is_bounded()) y[i] = intersect(y[i], met);
  }
}

std::vector<WideInterval> by_deviation(const NormaliseAttributes& attributes, const std::vector<WideInterval>& x) {
  const std::size_t n = x.size();
  const WideInterval zero, count = count_of<WideInterval>(n);
  WideInterval total;
  for (const WideInterval& value : x) total += value;
  const WideInterval sum_of_squares = spread(x, total / count);
  if (!certainly_less(zero, divisor(attributes, max(lower(sum_of_squares), zero), n))) return undefined(n);
  const WideInterval share = (count - WideInterval(1.0)) / count;
  std::vector<WideInterval> y;
  for (const WideInterval& value : x) {
    // (n-1)/n t = ((n-1) x_i - sum of the others) / n
    const WideInterval others(lower(total) - lower(value)), others_most(upper(total) - upper(value));
    const WideInterval deviation = share * value - hull(others, others_most) / count;
    const auto at = [&](const WideInterval& d, bool nearer_zero) {
      const WideInterval own = n > 1 ? square(d) / share : zero;  // (n-1)/n t^2 with d = (n-1)/n t
      const WideInterval sum = nearer_zero ? upper(sum_of_squares) : max(lower(sum_of_squares), lower(own));
      return d / divisor(attributes, sum, n);
    };
    const WideInterval lo = lower(deviation), hi = upper(deviation);
    y.push_back(hull(at(lo, certainly_less_equal(zero, lo)), at(hi, certainly_less_equal(hi, zero))));
  }
  const bool has_width = std::any_of(x.begin(), x.end(), [](const WideInterval& value) { return !value.is_point(); });
  if (has_width && sum_of_squares.is_bounded()) {
    const WideInterval least = max(lower(sum_of_squares), zero);
    meet_mean_value_form(attributes, x, hull(least, upper(sum_of_squares)) / count, y);
  }
  return y;
}

}  // namespace

std::vector<WideInterval> enclosure(const NormaliseAttributes& attributes, const std::vector<WideInterval>& x) {
  return is_centered(attributes.form) ? by_deviation(attributes, x) : by_size(attributes, x);
}

}  // namespace assay::ops::normalise
