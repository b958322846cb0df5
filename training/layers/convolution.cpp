#include "training/layers/convolution.h"

#include <cmath>
#include <numeric>

#include "runtime/functions.h"
#include "semantics/demand.h"
#include "training/initialise.h"
#include "training/layers/shapes.h"

namespace assay::training {

namespace {

Extents per_axis(const Extents& given, std::size_t axes) {
  demand(given.size() == 1 || given.size() == axes, "one number per axis, or one for all");
  return given.size() == axes ? given : Extents(axes, given[0]);
}

WindowAttributes window_of(const Extents& kernel, const ConvOptions& options) {
  WindowAttributes window;
  window.kernel = kernel;
  window.strides = per_axis(options.stride, kernel.size());
  window.dilations = per_axis(options.dilation, kernel.size());
  window.pads_begin = window.pads_end = per_axis(options.padding, kernel.size());
  window.groups = options.groups;
  return window;
}

WindowAttributes window_of(const Value& x, const Extents& kernel, const PoolOptions& options) {
  const std::size_t axes = x.shape().size() > 2 ? x.shape().size() - 2 : 1;
  WindowAttributes window;
  window.kernel = per_axis(kernel, axes);
  window.strides = options.stride.empty() ? window.kernel : per_axis(options.stride, axes);
  window.dilations = per_axis(options.dilation, axes);
  window.pads_begin = window.pads_end = per_axis(options.padding, axes);
  window.ceil_mode = options.ceil_mode;
  return window;
}

Shape weight_shape(std::int64_t first, std::int64_t second, const Extents& kernel) {
  Shape shape{first, second};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return shape;
}

Value convolved(Op op, const Value& x, const Value& weight, const std::optional<Value>& bias, const WindowAttributes& window) {
  return bias ? x.session().apply(op, {x, weight, *bias}, window) : x.session().apply(op, {x, weight}, window);
}

std::vector<std::int64_t> spatial_axes(const Value& x) {
  std::vector<std::int64_t> axes(x.shape().size() > 2 ? x.shape().size() - 2 : 0);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

}  // namespace

Conv::Conv(const Scope& scope, std::int64_t in, std::int64_t out, const Extents& kernel, const ConvOptions& options)
    : window_(window_of(kernel, options)) {
  const Shape shape = weight_shape(out, in / options.groups, kernel);
  weight_ = scope.parameter("weight", uniform_by_fan(scope.session(), shape, fan_in(shape)));
  if (options.bias) bias_ = scope.parameter("bias", uniform_by_fan(scope.session(), {out}, fan_in(shape)));
}

Value Conv::operator()(const Value& x) const { return convolved(Op::conv, x, weight_, bias_, window_); }

ConvTranspose::ConvTranspose(const Scope& scope, std::int64_t in, std::int64_t out, const Extents& kernel, const ConvOptions& options)
    : window_(window_of(kernel, options)) {
  window_.output_padding = per_axis(options.output_padding, kernel.size());
  const Shape shape = weight_shape(in, out / options.groups, kernel);
  weight_ = scope.parameter("weight", uniform_by_fan(scope.session(), shape, fan_in(shape)));
  if (options.bias) bias_ = scope.parameter("bias", uniform_by_fan(scope.session(), {out}, fan_in(shape)));
}

Value ConvTranspose::operator()(const Value& x) const { return convolved(Op::conv_transpose, x, weight_, bias_, window_); }

Value max_pool(const Value& x, const Extents& kernel, const PoolOptions& options) {
  return runtime::apply(Op::max_pool, x, window_of(x, kernel, options));
}

Value avg_pool(const Value& x, const Extents& kernel, const PoolOptions& options) {
  WindowAttributes window = window_of(x, kernel, options);
  window.count_include_pad = options.count_padding;
  return runtime::apply(Op::avg_pool, x, window);
}

// The elements of a window side by side: one slice of x for each place in it.
Value smooth_max_pool(const Value& x, const Extents& kernel, double sharpness, const Extents& stride) {
  const WindowAttributes window = window_of(x, kernel, PoolOptions{.stride = stride});
  SliceAttributes how{std::vector<std::int64_t>(x.shape().size(), 0), std::vector<std::int64_t>(x.shape().size(), 1), x.shape()};
  bool fits = x.shape().size() > 2 && sharpness > 0;
  for (std::size_t k = 0; fits && k < window.kernel.size(); ++k) {
    how.steps[k + 2] = window.strides[k];
    how.extents[k + 2] = (x.shape()[k + 2] - window.kernel[k]) / window.strides[k] + 1;
    fits = window.kernel[k] <= x.shape()[k + 2];
  }
  if (!fits) {
    return x.session().refuse({Rejection::Kind::malformed, "session.shape", "smooth_max_pool",
                               "[N, C, d...] that the window fits, sharpness > 0", to_string(x.shape()),
                               "training/layers/convolution.h says the shapes"});
  }
  const auto taps = static_cast<std::int64_t>(element_count(window.kernel));
  std::vector<Value> parts;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::size_t k = window.kernel.size(), rest = static_cast<std::size_t>(tap); k-- > 0;) {
      const auto extent = static_cast<std::size_t>(window.kernel[k]);
      how.starts[k + 2] = static_cast<std::int64_t>(rest % extent);
      rest /= extent;
    }
    parts.push_back(runtime::apply(Op::slice, x, how));
  }
  const auto last = static_cast<std::int64_t>(x.shape().size());
  const Value sums =
      runtime::apply(Op::log_sum_exp, sharpness * stack(parts, static_cast<std::size_t>(last)), ReduceAttributes{{last}, false});
  return (sums - std::log(static_cast<double>(taps))) * (1 / sharpness);
}

Value global_avg_pool(const Value& x) { return mean(x, spatial_axes(x)); }

Value global_max_pool(const Value& x) { return runtime::apply(Op::reduce_max, x, ReduceAttributes{spatial_axes(x), false}); }

// One axis after the other: a product with a matrix of shares [d, n], the axis brought to the end and back.
Value adaptive_avg_pool(const Value& x, const Extents& results) {
  const Shape shape = x.shape();
  if (shape.size() < 3) return x;
  const Extents wanted = per_axis(results, shape.size() - 2);
  Value y = x;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t axis = k + 2, last = shape.size() - 1;
    const std::int64_t d = shape[axis], n = wanted[k];
    std::vector<double> shares(static_cast<std::size_t>(d * n), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t begin = i * d / n, end = ((i + 1) * d + n - 1) / n;
      for (std::int64_t j = begin; j < end; ++j) shares[static_cast<std::size_t>(j * n + i)] = 1 / static_cast<double>(end - begin);
    }
    const Value matrix = x.session().input(numbers(x.session(), {d, n}, shares), "shares");
    y = transpose(matmul(transpose(y, axis, last), matrix), axis, last);
  }
  return y;
}

}  // namespace assay::training
