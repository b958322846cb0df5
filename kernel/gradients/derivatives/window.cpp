// Derivatives of convolutions and average pooling.
//
// conv: y[n, m, o] = sum over c, k of w[m, c, k] x[n, c, o stride - pad + k dilation] + b[m]. x_bar is the transposed
// convolution of y_bar with the same weights. w_bar[m, c, k] = sum over n, o of y_bar[n, m, o] x[n, c, o stride -
// pad + k dilation] is one matrix product per group, once the windows of x are laid out. conv_transpose exchanges the
// roles of x and y.
#include <algorithm>
#include <set>

#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"
#include "semantics/ops/indexing.h"

namespace assay::gradients::derivatives {

namespace {

std::int64_t product_of(const std::vector<std::int64_t>& extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
}

std::vector<std::int64_t> spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// For each kernel position k and each of `positions`: the element of the padded operand that they meet;
// [K, P], row-major.
std::vector<std::int64_t> window_elements(const WindowAttributes& w, const std::vector<std::int64_t>& positions,
                                          const std::vector<std::int64_t>& padded) {
  const std::int64_t kernel = product_of(w.kernel), count = product_of(positions);
  std::vector<std::int64_t> elements(static_cast<std::size_t>(kernel * count), 0);
  for (std::int64_t at = 0; at < kernel * count; ++at) {
    std::int64_t k = at / count, p = at % count, stride = 1;
    for (std::size_t axis = padded.size(); axis-- > 0;) {
      const std::int64_t along = p % positions[axis] * w.strides[axis] + k % w.kernel[axis] * w.dilations[axis];
      elements[static_cast<std::size_t>(at)] += along * stride;
      stride *= padded[axis];
      k /= w.kernel[axis];
      p /= positions[axis];
    }
  }
  return elements;
}

// The sum over n, o of coarse[n, m, o] fine[n, c, o stride - pad + k dilation], as [m, c of the group, k...].
Value weight_cotangent(const WindowAttributes& w, const Value& coarse, const Value& fine, const Shape& weight) {
  const Shape f = fine.shape(), c = coarse.shape();
  std::vector<std::int64_t> before{0, 0}, after{0, 0}, padded;
  for (std::size_t axis = 0; axis + 2 < f.size(); ++axis) {
    before.push_back(w.pads_begin[axis]);
    after.push_back(w.pads_end[axis]);
    padded.push_back(f[axis + 2] + w.pads_begin[axis] + w.pads_end[axis]);
  }
  const std::int64_t n = f[0], groups = w.groups, kernel = product_of(w.kernel), positions = product_of(spatial(c));
  const Value lines = reshaped(apply(Op::pad, fine, PadAttributes{before, after, 0}), {n, f[1], product_of(padded)});
  const std::vector<std::int64_t> elements = window_elements(w, spatial(c), padded);
  const Value windows = apply(Op::gather, lines, GatherAttributes{2, elements, {kernel, positions}});  // [n, c, k, o]
  const Value right = permuted(reshaped(windows, {n, groups, f[1] / groups * kernel, positions}), {0, 1, 3, 2});
  const Value left = reshaped(coarse, {n, groups, c[1] / groups, positions});
  return reshaped(sum_over(apply(Op::matmul, left, right), {0}), weight);
}

Value bias_cotangent(const Value& y_bar, const Value& bias) {
  std::vector<std::int64_t> axes{0};
  for (std::size_t axis = 2; axis < y_bar.shape().size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return reshaped(sum_over(y_bar, axes), bias.shape());
}

Cotangents of_conv(const Value& y, const Value& y_bar) {
  const auto w = attributes_of<WindowAttributes>(y);
  const Value x = operand(y, 0), weight = operand(y, 1);
  WindowAttributes back = w;
  back.output_padding.clear();
  for (std::size_t axis = 0; axis < w.kernel.size(); ++axis) {
    const std::int64_t covered = w.dilations[axis] * (w.kernel[axis] - 1) + 1;
    const std::int64_t reached = w.strides[axis] * (y.shape()[axis + 2] - 1) + covered - w.pads_begin[axis] - w.pads_end[axis];
    back.output_padding.push_back(x.shape()[axis + 2] - reached);
  }
  Cotangents result{y.builder().append(Op::conv_transpose, {y_bar, weight}, back), weight_cotangent(w, y_bar, x, weight.shape())};
  if (node_of(y).operands.size() == 3) result.emplace_back(bias_cotangent(y_bar, operand(y, 2)));
  return result;
}

Cotangents of_conv_transpose(const Value& y, const Value& y_bar) {
  auto w = attributes_of<WindowAttributes>(y);
  w.output_padding.clear();
  const Value x = operand(y, 0), weight = operand(y, 1);
  // Output padding may leave room for further positions.
  const Value all = y.builder().append(Op::conv, {y_bar, weight}, w);
  const std::vector<std::int64_t> starts(x.shape().size(), 0), steps(x.shape().size(), 1);
  const Value x_bar = all.shape() == x.shape() ? all : apply(Op::slice, all, SliceAttributes{starts, steps, x.shape()});
  Cotangents result{x_bar, weight_cotangent(w, x, y_bar, weight.shape())};
  if (node_of(y).operands.size() == 3) result.emplace_back(bias_cotangent(y_bar, operand(y, 2)));
  return result;
}

// y[p] = (sum of x over the taps of p) / count[p]: each tap gets an equal part.
Value of_avg_pool(const Value& y, const Value& y_bar) {
  const auto w = attributes_of<WindowAttributes>(y);
  const Shape x = operand(y, 0).shape();
  ops::Window window(w, x, y.shape());
  const std::size_t planes = element_count({x[0], x[1]});
  std::vector<std::int64_t> counts, from, to;
  for (std::size_t p = 0; p < window.result_size(); ++p) {
    const std::vector<ops::Tap>& taps = window.taps(p);
    counts.push_back(static_cast<std::int64_t>(w.count_include_pad ? window.taps_with_padding(p) : taps.size()));
  }
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t p = 0; p < window.result_size(); ++p) {
      for (const ops::Tap& tap : window.taps(p)) {
        from.push_back(static_cast<std::int64_t>(plane * window.result_size() + p));
        to.push_back(static_cast<std::int64_t>(plane * window.operand_size() + tap.operand));
      }
    }
  }
  Shape per_position = y.shape();
  per_position[0] = per_position[1] = 1;
  const Value shares = y_bar / y.builder().counts(per_position, counts, y_bar.dtype());
  return placed(picked(shares, from, {static_cast<std::int64_t>(from.size())}), to, x);
}

// y[p] = max over the taps of p, for the windows with this number of taps.
Value of_windows(const Value& y, const Value& y_bar, ops::Window& window, std::size_t taps) {
  const Shape x = operand(y, 0).shape();
  const std::size_t planes = element_count({x[0], x[1]});
  std::vector<std::int64_t> elements, positions;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t p = 0; p < window.result_size(); ++p) {
      if (window.taps(p).size() != taps) continue;
      positions.push_back(static_cast<std::int64_t>(plane * window.result_size() + p));
      for (const ops::Tap& tap : window.taps(p)) elements.push_back(static_cast<std::int64_t>(plane * window.operand_size() + tap.operand));
    }
  }
  const auto rows = static_cast<std::int64_t>(positions.size()), columns = static_cast<std::int64_t>(taps);
  const Value weights = apply(Op::max_weight, picked(operand(y, 0), elements, {rows, columns}), ReduceAttributes{{1}, true});
  return placed(weights * picked(y_bar, positions, {rows, 1}), elements, x);
}

// Windows are grouped by size. Filling a row with copies of a tap would count that element twice, over sets.
Value of_max_pool(const Value& y, const Value& y_bar) {
  const auto w = attributes_of<WindowAttributes>(y);
  const Shape x = operand(y, 0).shape(), result = y.shape();
  ops::Window window(w, x, result);
  std::set<std::size_t> sizes;
  for (std::size_t p = 0; p < window.result_size(); ++p) sizes.insert(window.taps(p).size());
  std::optional<Value> x_bar;
  for (const std::size_t taps : sizes) {
    const Value part = of_windows(y, y_bar, window, taps);
    x_bar = x_bar ? *x_bar + part : part;
  }
  return x_bar ? *x_bar : y.builder().zeros(x, y.dtype());
}

}  // namespace

Cotangents vjp_of_window(const Value& y, const Value& y_bar) {
  switch (node_of(y).op) {
    case Op::conv:
      return of_conv(y, y_bar);
    case Op::conv_transpose:
      return of_conv_transpose(y, y_bar);
    case Op::avg_pool:
      return {of_avg_pool(y, y_bar)};
    default:
      demand(node_of(y).op == Op::max_pool, "vjp_of_window: not a window op");
      return {of_max_pool(y, y_bar)};
  }
}

}  // namespace assay::gradients::derivatives
