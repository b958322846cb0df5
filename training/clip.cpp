#include "training/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/functions.h"

namespace assay::training {

namespace {

template <class F>
void for_each_element(std::span<const Value> values, const F& f) {
  for (const Value& value : values) {
    if (value.dtype() == DType::float32) {
      for (const float x : value.array().data<float>()) f(static_cast<double>(x));
    } else {
      for (const double x : value.array().data<double>()) f(x);
    }
  }
}

double norm_on(runtime::Mirror& device, std::span<const Value> gradients) {
  std::vector<const runtime::Array*> arrays;
  for (const Value& gradient : gradients) arrays.push_back(&gradient.array());
  const auto sum = device.sum_of_squares(arrays);
  if (sum) return std::sqrt(sum.value());
  (void)gradients[0].session().refuse(sum.rejection());
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double norm_of(std::span<const Value> gradients) {
  runtime::Mirror* const device = gradients.empty() || !gradients[0].ok() ? nullptr : gradients[0].session().mirror();
  if (device != nullptr) return norm_on(*device, gradients);
  double sum = 0;
  for_each_element(gradients, [&](double x) { sum += x * x; });
  return std::sqrt(sum);
}

double clip_by_norm(std::vector<Value>& gradients, double most) {
  using runtime::operator*;
  const double norm = norm_of(gradients);
  if (norm <= most) return norm;
  for (Value& gradient : gradients) gradient = gradient * (most / norm);
  return norm;
}

void clip_by_value(std::vector<Value>& gradients, double most) {
  for (Value& gradient : gradients) gradient = runtime::apply(Op::clip, gradient, ClipAttributes{-most, most});
}

double PercentileClip::operator()(std::vector<Value>& gradients) {
  seen_.push_back(norm_of(gradients));
  return clip_by_norm(gradients, percentile(seen_, percent_));
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const double at = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), values.size() - 1), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

}  // namespace assay::training
