// max_pool.
//
// Meaning.   The greatest element of each window; padding counts for nothing, a window of padding alone gives 0 (docs/ops/max_pool.md).
// Layout.    [N, C, spatial axes], up to three of them. One thread per element of the result, in a loop over the grid.
// Order.     Taps from first to last; a maximum has no rounding: bit-reproducible, and exact.
// NaN, inf.  A window with a NaN gives NaN. Of 0 and -0 either may be given.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

struct PoolKernel {
  static constexpr const char* kName = "max_pool";
  static constexpr unsigned kThreads = 128;
  static constexpr std::size_t kMostSpatial = 3;

  struct Axis {
    std::size_t operand, result, taps, stride, dilation, pad;
  };
  View<const float> x;
  View<float> y;
  Axis axes[kMostSpatial];  // those that are missing have extent, taps and strides 1

  // Position of a tap in the operand, plus the padding before it.
  ASSAY_BOTH static std::size_t padded(const Axis& a, std::size_t o, std::size_t tap) { return o * a.stride + tap * a.dilation; }
  ASSAY_BOTH static bool inside(const Axis& a, std::size_t at) { return at >= a.pad && at - a.pad < a.operand; }

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (std::size_t i = t.block() * t.count() + t.index(); i < y.size; i += t.blocks() * t.count()) y[i] = greatest_of(i);
  }

 private:
  [[nodiscard]] ASSAY_BOTH float greatest_of(std::size_t i) const {
    const Axis &a = axes[0], &b = axes[1], &c = axes[2];
    const std::size_t oc = i % c.result, ob = i / c.result % b.result, oa = i / c.result / b.result % a.result;
    const std::size_t plane = i / c.result / b.result / a.result * (a.operand * b.operand * c.operand);
    bool any = false;
    float greatest = 0;
    for (std::size_t ka = 0; ka < a.taps; ++ka) {
      const std::size_t pa = padded(a, oa, ka);
      for (std::size_t kb = 0; kb < b.taps; ++kb) {
        const std::size_t pb = padded(b, ob, kb);
        for (std::size_t kc = 0; kc < c.taps; ++kc) {
          const std::size_t pc = padded(c, oc, kc);
          if (!inside(a, pa) || !inside(b, pb) || !inside(c, pc)) continue;
          const float value = x[plane + ((pa - a.pad) * b.operand + (pb - b.pad)) * c.operand + (pc - c.pad)];
          greatest = any ? greater_or_nan(greatest, value) : value;
          any = true;
        }
      }
    }
    return greatest;
  }
};

template <class Queue>
Outcome<Done> run_max_pool(Queue& queue, const Call& call) {
  const auto& w = call.get<WindowAttributes>();
  const std::size_t spatial = w.kernel.size();
  if (spatial > PoolKernel::kMostSpatial) return refused(call.op, std::to_string(spatial) + " spatial axes");
  PoolKernel kernel{call.data(), call.result, {}};
  for (PoolKernel::Axis& axis : kernel.axes) axis = {1, 1, 1, 1, 1, 0};
  for (std::size_t k = 0; k < spatial; ++k) {
    const auto extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    kernel.axes[PoolKernel::kMostSpatial - spatial + k] = {
        extent(call.shape_of()[k + 2]), extent(call.shape[k + 2]), extent(w.kernel[k]),
        extent(w.strides[k]),           extent(w.dilations[k]),    extent(w.pads_begin[k])};
    if (w.pads_begin[k] < 0) return refused(call.op, "negative padding");
  }
  if (call.result.size == 0) return Done{};
  return queue.launch({PoolKernel::kName, blocks_for(call.result.size, PoolKernel::kThreads), PoolKernel::kThreads, 0}, kernel);
}

}  // namespace assay::gpu
