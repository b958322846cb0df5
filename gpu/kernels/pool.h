// max_pool and avg_pool.
//
// Meaning.   The greatest element of each window; padding counts for nothing, a window of padding alone gives 0 (docs/ops/max_pool.md).
//            The mean of each window over the positions that count: those inside x, with count_include_pad those inside its padding as
//            well (docs/ops/avg_pool.md).
// Layout.    [N, C, spatial axes], up to three of them. One thread per element of the result, in a loop over the grid.
// Order.     Taps from first to last: bit-reproducible.
// Error.     Maxima are exact; the mean is a sum of the window's elements and one division.
// NaN, inf.  A window with a NaN gives NaN. Of 0 and -0 either may be the greatest. A mean of no element is 0/0, NaN.
#pragma once

#include "gpu/kernels/window.h"

namespace assay::gpu {

// Calls f(offset in the operand's plane) for the taps of the window at position i of the result's plane that lie inside.
template <class F>
ASSAY_BOTH void for_taps(const WindowAxis* axes, std::size_t i, const F& f) {
  const WindowAxis &a = axes[0], &b = axes[1], &c = axes[2];
  const auto at = static_cast<std::int64_t>(i);
  const std::int64_t oc = at % c.result, ob = at / c.result % b.result, oa = at / c.result / b.result;
  const auto position = [](const WindowAxis& axis, std::int64_t o, std::int64_t tap) {
    return o * axis.stride - axis.pad + tap * axis.dilation;
  };
  for (std::int64_t ka = 0; ka < a.taps; ++ka) {
    const std::int64_t pa = position(a, oa, ka);
    for (std::int64_t kb = 0; kb < b.taps; ++kb) {
      const std::int64_t pb = position(b, ob, kb);
      for (std::int64_t kc = 0; kc < c.taps; ++kc) {
        const std::int64_t pc = position(c, oc, kc);
        if (a.inside(pa) && b.inside(pb) && c.inside(pc)) f(static_cast<std::size_t>((pa * b.operand + pb) * c.operand + pc));
      }
    }
  }
}

template <class T>
struct MaxPoolKernel {
  static constexpr const char* kName = "max_pool";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  std::size_t operand_plane = 1, result_plane = 1;
  WindowAxis axes[kMostSpatial];

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t plane = i / result_plane * operand_plane;
      bool any = false;
      T greatest = 0;
      for_taps(axes, i % result_plane, [&](std::size_t offset) {
        const T value = x[plane + offset];
        greatest = any ? greater_or_nan(greatest, value) : value;
        any = true;
      });
      y[i] = greatest;
    }
  }
};

struct AveragePoolKernel {
  static constexpr const char* kName = "avg_pool";
  static constexpr unsigned kThreads = 128;

  View<const float> x;
  View<float> y;
  std::size_t operand_plane = 1, result_plane = 1;
  WindowAxis axes[kMostSpatial];
  bool counts_padding = false;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t plane = i / result_plane * operand_plane;
      float sum = 0;
      for_taps(axes, i % result_plane, [&](std::size_t offset) { sum += x[plane + offset]; });
      y[i] = sum / static_cast<float>(counted(static_cast<std::int64_t>(i % result_plane)));
    }
  }

 private:
  // Positions of the window that count, the product over the axes.
  [[nodiscard]] ASSAY_BOTH std::int64_t counted(std::int64_t i) const {
    std::int64_t product = 1;
    for (std::size_t k = kMostSpatial; k-- > 0;) {
      const WindowAxis& a = axes[k];
      const std::int64_t first = counts_padding ? -a.pad : 0, end = a.operand + (counts_padding ? a.pad_end : 0);
      std::int64_t count = 0;
      for (std::int64_t tap = 0; tap < a.taps; ++tap) {
        const std::int64_t at = i % a.result * a.stride - a.pad + tap * a.dilation;
        count += at >= first && at < end ? 1 : 0;
      }
      product *= count;
      i /= a.result;
    }
    return product;
  }
};

template <class Queue, class Kernel>
Outcome<Done> launch_pool(Queue& queue, const Call& call, Kernel kernel) {
  if (!window_axes(call.get<WindowAttributes>(), call.shape_of(), call.shape, kernel.axes))
    return refused(call.op, "too many spatial axes");
  if (call.result.size == 0) return Done{};
  for (const WindowAxis& axis : kernel.axes) {
    kernel.operand_plane *= static_cast<std::size_t>(axis.operand);
    kernel.result_plane *= static_cast<std::size_t>(axis.result);
  }
  return queue.launch({Kernel::kName, blocks_for(call.result.size, Kernel::kThreads), Kernel::kThreads, 0}, kernel);
}

template <class Queue>
Outcome<Done> run_pool(Queue& queue, const Call& call) {
  if (call.op == Op::avg_pool) {
    if (const auto other = other_than_floats(call)) return refused(call.op, *other);
    AveragePoolKernel kernel{};
    kernel.x = call.data();
    kernel.y = call.result;
    kernel.counts_padding = call.get<WindowAttributes>().count_include_pad;
    return launch_pool(queue, call, kernel);
  }
  return with_elements(call.op, call.result.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    MaxPoolKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    kernel.y = call.result.template as<T>();
    return launch_pool(queue, call, kernel);
  });
}

}  // namespace assay::gpu
