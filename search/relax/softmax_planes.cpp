// SoftmaxPlanes: the steps of the formula in the kernel's order. Each step is bounded by its plane, or by its range if
// the range is tighter at the centre of the box.
//
// log_sum_exp() bounds s by a tangent plane below, and by chords and a tangent of log above. Each x_j - s then has
// planes. exp of it has a tangent below and a chord above. The composition of these steps gives the planes of y_j.
//
// Source: Wei et al. 2023. How this version differs: after each step, a plane that is looser in the middle of the box
// than the end of the range is replaced by that end, as the kernel does.

#include "search/relax/softmax_planes.h"

#include <algorithm>
#include <cmath>

namespace assay::search {
namespace {

struct Form {
  std::vector<double> slopes;
  double constant = 0;
};

// The box of a row, stored contiguously.
struct RowBox {
  std::vector<double> lo, hi, middle;

  [[nodiscard]] double at_centre(const Form& form) const {
    double value = form.constant;
    for (std::size_t k = 0; k < lo.size(); ++k) value += form.slopes[k] * middle[k];
    return value;
  }
  // The least (greatest) value of the form over the box.
  [[nodiscard]] double end(const Form& form, bool least) const {
    double value = form.constant;
    for (std::size_t k = 0; k < lo.size(); ++k) value += form.slopes[k] * ((form.slopes[k] > 0) == least ? lo[k] : hi[k]);
    return value;
  }
  // The form, or the end of the range if that is tighter at the centre.
  [[nodiscard]] Form nearer(Form form, double end, bool below) const {
    if (below ? at_centre(form) > end : at_centre(form) < end) return form;
    return {std::vector<double>(lo.size(), 0.0), end};
  }
};

struct LogSum {
  double least = 0, most = 0;
  Form below, above;
};

LogSum log_sum_exp(const RowBox& x) {
  const std::size_t n = x.lo.size();
  const double common = *std::ranges::max_element(x.middle);
  double low = 0, high = 0, total = 0;
  for (std::size_t k = 0; k < n; ++k) {
    low += std::exp(x.lo[k] - common);
    high += std::exp(x.hi[k] - common);
    total += std::exp(x.middle[k] - common);
  }
  LogSum sum{common + std::log(low), common + std::log(high), {std::vector<double>(n), 0}, {std::vector<double>(n), 0}};
  const double half = low / 2 + high / 2;
  sum.above.constant = common + std::log(half) - 1;
  for (std::size_t k = 0; k < n; ++k) {
    const double weight = std::exp(x.middle[k] - common) / total;
    sum.below.slopes[k] = weight;
    if (weight > 0) sum.below.constant -= weight * std::log(weight);
    const double from = std::exp(x.lo[k] - common) / half, to = std::exp(x.hi[k] - common) / half;
    const double slope = x.lo[k] < x.hi[k] ? (to - from) / (x.hi[k] - x.lo[k]) : 0;
    sum.above.slopes[k] = slope;
    sum.above.constant += std::max(from - slope * x.lo[k], to - slope * x.hi[k]);
  }
  sum.below = x.nearer(std::move(sum.below), sum.least, true);
  sum.above = x.nearer(std::move(sum.above), sum.most, false);
  return sum;
}

// x_j minus the form.
Form less(std::size_t j, Form form) {
  for (double& slope : form.slopes) slope = -slope;
  form.slopes[j] += 1;
  form.constant = -form.constant;
  return form;
}

Form on_line(double slope, double intercept, Form form) {
  for (double& each : form.slopes) each *= slope;
  form.constant = slope * form.constant + intercept;
  return form;
}

}  // namespace

SoftmaxPlanes::SoftmaxPlanes(std::size_t first, std::size_t extent, const Boxes& boxes)
    : first_(first), extent_(extent), stride_(boxes.stride) {
  RowBox x;
  for (std::size_t k = 0; k < extent; ++k) {
    x.lo.push_back(boxes.x_lo[k * stride_]);
    x.hi.push_back(boxes.x_hi[k * stride_]);
    x.middle.push_back(x.lo[k] / 2 + x.hi[k] / 2);
  }
  const LogSum sum = log_sum_exp(x);
  const auto keep = [](Side& side, const Form& form) {
    side.slopes.insert(side.slopes.end(), form.slopes.begin(), form.slopes.end());
    side.intercepts.push_back(form.constant);
  };
  for (std::size_t j = 0; j < extent; ++j) {
    const Form v_below = less(j, sum.above), v_above = less(j, sum.below);
    const double y_lo = std::max(0.0, boxes.y_lo[j * stride_]), y_hi = std::min(1.0, boxes.y_hi[j * stride_]);
    const double l = std::max({x.lo[j] - sum.most, x.end(v_below, true), std::log(y_lo)});
    const double u = std::min({x.hi[j] - sum.least, x.end(v_above, false), std::log(y_hi)});
    const double middle = l / 2 + u / 2, tangent = l < u ? std::exp(middle) : 0, chord = l < u ? (std::exp(u) - std::exp(l)) / (u - l) : 0;
    const Form below = x.nearer(on_line(tangent, l < u ? tangent * (1 - middle) : std::exp(l), v_below), std::exp(l), true);
    const Form above = x.nearer(on_line(chord, std::exp(l) - chord * l, v_above), std::exp(u), false);
    keep(below_, x.nearer(below, y_lo, true));
    keep(above_, x.nearer(above, y_hi, false));
  }
}

double SoftmaxPlanes::back(const double* a, double* a_x) const {
  double sum = 0;
  for (std::size_t j = 0; j < extent_; ++j) {
    const double factor = a[first_ + j * stride_];
    if (factor == 0) continue;
    const Side& plane = side(factor);
    sum += factor * plane.intercepts[j];
    for (std::size_t k = 0; k < extent_; ++k) a_x[first_ + k * stride_] += factor * plane.slopes[j * extent_ + k];
  }
  return sum;
}

void SoftmaxPlanes::forward(const double* a, const double* x, double* y) const {
  for (std::size_t j = 0; j < extent_; ++j) {
    const Side& plane = side(a[first_ + j * stride_]);
    double value = plane.intercepts[j];
    for (std::size_t k = 0; k < extent_; ++k) value += plane.slopes[j * extent_ + k] * x[first_ + k * stride_];
    y[first_ + j * stride_] = value;
  }
}

}  // namespace assay::search
