// conv and conv_transpose, one to three spatial axes, as one product whose second factor is never written out.
//
// Meaning.   conv:           y[n, m, o] = sum over c, k of w[m, c, k] x[n, c, o s - p + k r] + bias[m] (docs/ops/conv.md)
//            conv_transpose: y[n, m, i] = sum over c, k of w[c, m, k] x[n, c, (i + p - k r) / s] + bias[m] (docs/ops/conv_transpose.md)
//            over the channels c of m's group; terms whose position is no position of x are no terms.
// Layout.    x [N, C, I...], y [N, M, O...]. Per group a product of rows m, columns (n, o) and depth (c, k): a block of kTile x kTile
//            threads computes a tile of it; tiles of w and of the elements of x that meet it pass through shared memory, rows of
//            kTile + 1 words. A word that stands for no element holds a NaN of its own (kAbsent), and is passed by.
// Order.     Each element sums its products from first to last, the bias last, whatever the tiles; conv_transpose gathers, so that no two
//            threads add to one element: bit-reproducible.
// Error.     That of a sum of products in any order, fused or not (docs/contracts/sums.md).
// NaN, inf.  As the formula: padding times an infinite weight is no term. Payloads of NaNs are not kept.
#pragma once

#include "gpu/kernels/factor.h"
#include "gpu/kernels/window.h"

namespace assay::gpu {

struct ConvolutionKernel {
  static constexpr const char* kName = "convolution";
  static constexpr std::size_t kTile = 16, kPitch = kTile + 1, kShared = 2 * kTile * kPitch;
  static constexpr std::uint32_t kAbsent = 0xffffdeadU;

  View<const float> x, w, bias;
  View<float> y;
  WindowAxis axes[kMostSpatial];
  std::size_t batch = 0, groups = 1, channels = 0, rows = 0;  // channels and rows of one group
  std::size_t taps = 1, operand_plane = 1, result_plane = 1;
  bool transposed = false, plus_bias = false;
  Factors factors = Factors::none;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t columns = batch * result_plane, depth = channels * taps;
    const std::size_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
    const std::size_t group = t.block() / (across * down), tile = t.block() % (across * down);
    const std::size_t row = t.index() / kTile, column = t.index() % kTile;
    const std::size_t m = tile / across * kTile + row, j = tile % across * kTile + column, x_words = kTile * kPitch;
    float sum = 0;
    for (std::size_t first = 0; first < depth; first += kTile) {
      t.put(row * kPitch + column,
            m < rows && first + column < depth ? rounded_factor(factors, w[weight_at(group, m, first + column)]) : 0.0F);
      t.put(x_words + row * kPitch + column, first + row < depth && j < columns ? element(group, j, first + row) : float_of(kAbsent));
      t.barrier();
      for (std::size_t q = 0; q < kTile; ++q) {
        const float met = t.get(x_words + q * kPitch + column);
        if (bits_of(met) != kAbsent) sum += t.get(row * kPitch + q) * met;
      }
      t.barrier();
    }
    if (m >= rows || j >= columns) return;
    const std::size_t channel = group * rows + m;
    y[(j / result_plane * (groups * rows) + channel) * result_plane + j % result_plane] = plus_bias ? sum + bias[channel] : sum;
  }

 private:
  [[nodiscard]] ASSAY_BOTH std::size_t weight_at(std::size_t group, std::size_t m, std::size_t q) const {
    const std::size_t c = q / taps, k = q % taps;
    return transposed ? ((group * channels + c) * rows + m) * taps + k : ((group * rows + m) * channels + c) * taps + k;
  }
  // The element of x that column j meets at depth q, or kAbsent.
  [[nodiscard]] ASSAY_BOTH float element(std::size_t group, std::size_t j, std::size_t q) const {
    auto o = static_cast<std::int64_t>(j % result_plane), k = static_cast<std::int64_t>(q % taps);
    std::int64_t offset = 0, pitch = 1;
    for (std::size_t axis = kMostSpatial; axis-- > 0;) {
      const WindowAxis& a = axes[axis];
      std::int64_t at =
          transposed ? o % a.result + a.pad - k % a.taps * a.dilation : o % a.result * a.stride - a.pad + k % a.taps * a.dilation;
      if (transposed) {
        if (at < 0 || at % a.stride != 0) return float_of(kAbsent);
        at /= a.stride;
      }
      if (!a.inside(at)) return float_of(kAbsent);
      offset += at * pitch;
      pitch *= a.operand;
      o /= a.result;
      k /= a.taps;
    }
    const std::size_t plane = (j / result_plane * groups + group) * channels + q / taps;
    const float value = x[plane * operand_plane + static_cast<std::size_t>(offset)];
    return is_nan(value) ? kNaN : rounded_factor(factors, value);
  }
};

template <class Queue>
Outcome<Done> run_convolution(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  const auto& w = call.get<WindowAttributes>();
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  ConvolutionKernel kernel{};
  if (!window_axes(w, call.shape_of(), call.shape, kernel.axes)) return refused(call.op, std::to_string(w.kernel.size()) + " spatial axes");
  if (call.result.size == 0) return Done{};
  kernel.x = call.data(0);
  kernel.w = call.data(1);
  kernel.y = call.result;
  kernel.batch = count(call.shape[0]);
  kernel.groups = count(w.groups);
  kernel.channels = count(call.shape_of()[1] / w.groups);
  kernel.rows = count(call.shape[1] / w.groups);
  for (const WindowAxis& axis : kernel.axes) {
    kernel.taps *= count(axis.taps);
    kernel.operand_plane *= count(axis.operand);
    kernel.result_plane *= count(axis.result);
  }
  kernel.factors = call.factors;
  kernel.transposed = call.op == Op::conv_transpose;
  kernel.plus_bias = call.operands.size() == 3;
  if (kernel.plus_bias) kernel.bias = call.data(2);
  constexpr std::size_t kTile = ConvolutionKernel::kTile;
  const std::size_t across = (kernel.batch * kernel.result_plane + kTile - 1) / kTile, down = (kernel.rows + kTile - 1) / kTile;
  return queue.launch({ConvolutionKernel::kName, kernel.groups * across * down, kTile * kTile, ConvolutionKernel::kShared}, kernel);
}

}  // namespace assay::gpu
