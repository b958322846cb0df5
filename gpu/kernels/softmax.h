// softmax and log_softmax.
//
// Meaning.   y_i = exp(x_i - m) / s and x_i - m - log s along one axis, m the greatest element, s the sum of exp(x_i - m) (docs/ops).
// Layout.    One block per line, whatever the stride of the axis; lines of any length. The line is read twice.
// Order.     Online: thread t of T keeps (m, s) over the elements t, t + T, ...: a new maximum rescales s. The pairs of a warp merge by
//            a butterfly, the warps' from first to last through shared memory. T depends on the length alone: bit-reproducible.
// Error.     The online class (docs/contracts/softmax.md): a term of s carries at most length - 1 merges.
// NaN, inf.  A NaN or +inf makes its line NaN; -inf is an exact 0 (log_softmax: -inf) where the line has a greater element, else all is
//            NaN. Merging two parts without an element above -inf would be exp(-inf + inf): such a part is passed by.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/rows.h"

namespace assay::gpu {

struct SoftmaxKernel {
  static constexpr const char* kName = "softmax";
  static constexpr std::size_t kShared = 2 * 4;  // words: m and s of at most four warps

  View<const float> x;
  View<float> y;
  std::size_t length = 0, inner = 0;  // elements of a line, and between neighbours of it
  bool logarithm = false;

  struct Part {
    float greatest, sum;
  };
  // exp(x - x) is 1, but NaN for +inf, as it is to be.
  ASSAY_BOTH static void take(Part& part, float x) {
    if (x > part.greatest) {
      const float before = part.sum == 0 ? 0.0F : part.sum * ::expf(part.greatest - x);
      part = {x, before + ::expf(x - x)};
    } else if (x != -kInfinity) {
      part.sum += ::expf(x - part.greatest);
    }
  }
  ASSAY_BOTH static Part merged(Part a, Part b) {
    if (b.sum == 0) return a;
    if (a.sum == 0) return b;
    const float greatest = greater_or_nan(a.greatest, b.greatest);
    return {greatest, a.sum * ::expf(a.greatest - greatest) + b.sum * ::expf(b.greatest - greatest)};
  }

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = t.block() / inner * (length * inner) + t.block() % inner;
    Part part{-kInfinity, 0};
    for (std::size_t i = t.index(); i < length; i += t.count()) take(part, x[first + i * inner]);
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2) {
      const float greatest = t.shuffle_xor(part.greatest, mask), sum = t.shuffle_xor(part.sum, mask);
      const bool upper = (t.index() & mask) != 0;  // both sides merge in the same order, and get the same bits
      part = upper ? merged({greatest, sum}, part) : merged(part, {greatest, sum});
    }
    if (t.index() % kWarp == 0) {
      t.put(t.index() / kWarp * 2, part.greatest);
      t.put(t.index() / kWarp * 2 + 1, part.sum);
    }
    t.barrier();
    part = {t.get(0), t.get(1)};
    for (unsigned warp = 1; warp < t.count() / kWarp; ++warp) part = merged(part, {t.get(2 * warp), t.get(2 * warp + 1)});
    const float log = logarithm ? ::logf(part.sum) : 0.0F;
    for (std::size_t i = t.index(); i < length; i += t.count()) {
      const float below = x[first + i * inner] - part.greatest;
      y[first + i * inner] = logarithm ? below - log : ::expf(below) / part.sum;
    }
  }
};

template <class Queue>
Outcome<Done> run_softmax(Queue& queue, const Call& call) {
  const auto axis = static_cast<std::size_t>(call.get<SoftmaxAttributes>().axis);
  SoftmaxKernel kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  kernel.length = static_cast<std::size_t>(call.shape[axis]);
  kernel.inner = dense_strides(call.shape)[axis];
  kernel.logarithm = call.op == Op::log_softmax;
  if (call.result.size == 0) return Done{};
  const std::size_t lines = call.result.size / kernel.length;
  return queue.launch({SoftmaxKernel::kName, lines, threads_for(kernel.length), SoftmaxKernel::kShared}, kernel);
}

}  // namespace assay::gpu
