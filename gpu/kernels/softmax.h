// softmax, log_softmax, log_sum_exp, masked_softmax.
//
// Meaning.   y_i = exp(x_i - m) / s, x_i - m - log s, and m + log s per group, m the greatest element, s the sum of exp(x_i - m)
//            (docs/ops). A mask lets elements through where it is not 0; the others count for nothing and become 0.
// Layout.    One block per group, whose axes may lie anywhere; groups of any size. A group is read twice.
// Order.     Online: thread t of T keeps (m, s) over the elements t, t + T, ...: a new maximum rescales s. The pairs of a warp merge by
//            a butterfly, the warps' from first to last through shared memory. T depends on the size alone: bit-reproducible.
// Error.     The online class (docs/contracts/softmax.md): a term of s carries at most size - 1 merges.
// NaN, inf.  A NaN or +inf that is let through makes its group NaN; -inf is an exact 0 (log_softmax: -inf) where the group has a greater
//            element, else all is NaN (log_sum_exp: -inf). A group of which nothing is let through is 0 or NaN, as the op says. Merging
//            two parts without an element above -inf would be exp(-inf + inf): such a part is passed by.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/rows.h"

namespace assay::gpu {

struct SoftmaxKernel {
  static constexpr const char* kName = "softmax";
  static constexpr std::size_t kShared = 2 * 4;  // words: m and s of at most four warps
  enum class Form : std::uint8_t { softmax, log_softmax, log_sum_exp, masked };

  View<const float> x;
  View<float> y;
  Groups groups;
  Form form = Form::softmax;
  View<const std::uint8_t> mask;
  Strided mask_at;  // of an index of x
  bool empty_is_zero = false;

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
  [[nodiscard]] ASSAY_BOTH bool passes(std::size_t at) const { return form != Form::masked || mask[mask_at.offset(at)] != 0; }

  // The whole group's part; every thread gets the same bits.
  template <class Thread>
  ASSAY_BOTH static Part over_group(Thread& t, Part part) {
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
    return part;
  }

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = groups.kept.offset(t.block());
    Part part{-kInfinity, 0};
    float some = 0;  // whether anything is let through
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) {
      const std::size_t at = first + groups.within.offset(i);
      if (!passes(at)) continue;
      take(part, x[at]);
      some = 1;
    }
    part = over_group(t, part);
    if (form == Form::log_sum_exp) {
      if (t.index() == 0) y[t.block()] = part.greatest + ::logf(part.sum);
      return;
    }
    const bool empty = form == Form::masked && over_block<Greatest>(t, some) == 0;
    const float log = form == Form::log_softmax ? ::logf(part.sum) : 0.0F, nothing = empty && !empty_is_zero ? 0.0F / part.sum : 0.0F;
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) {
      const std::size_t at = first + groups.within.offset(i);
      if (!passes(at)) {
        y[at] = nothing;
        continue;
      }
      const float below = x[at] - part.greatest;
      y[at] = form == Form::log_softmax ? below - log : ::expf(below) / part.sum;
    }
  }
};

template <class Queue>
Outcome<Done> launch_softmax(Queue& queue, const Call& call, SoftmaxKernel& kernel, const std::vector<std::int64_t>& axes) {
  const auto groups = groups_of(call.shape_of(), axes);
  if (!groups) return refused(call.op, "too many axes");
  if (call.result.size == 0) return Done{};
  kernel.groups = *groups;
  return queue.launch({SoftmaxKernel::kName, groups->count, threads_for(groups->size), SoftmaxKernel::kShared}, kernel);
}

template <class Queue>
Outcome<Done> run_softmax(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  SoftmaxKernel kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  if (call.op == Op::log_sum_exp) {
    kernel.form = SoftmaxKernel::Form::log_sum_exp;
    return launch_softmax(queue, call, kernel, call.get<ReduceAttributes>().axes);
  }
  if (call.op == Op::log_softmax) kernel.form = SoftmaxKernel::Form::log_softmax;
  return launch_softmax(queue, call, kernel, {call.get<SoftmaxAttributes>().axis});
}

template <class Queue>
Outcome<Done> run_masked_softmax(Queue& queue, const Call& call) {
  if (call.dtype() != DType::float32) return refused(call.op, call.dtype());
  const auto mask_at = strided(call.shape, repeating_strides(call.shape_of(1), call.shape));
  if (!mask_at) return refused(call.op, "too many axes to repeat over");
  SoftmaxKernel kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  kernel.form = SoftmaxKernel::Form::masked;
  kernel.mask = call.operands[1].data.template as<std::uint8_t>();
  kernel.mask_at = *mask_at;
  kernel.empty_is_zero = call.get<MaskedSoftmaxAttributes>().empty_is_zero;
  return launch_softmax(queue, call, kernel, {call.get<MaskedSoftmaxAttributes>().axis});
}

}  // namespace assay::gpu
