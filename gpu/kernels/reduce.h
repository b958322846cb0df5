// reduce_sum, reduce_mean, reduce_prod, reduce_max, reduce_min, and max_weight, the derivative of a maximum. Those of integers are in
// gpu/kernels/integers.h.
//
// Meaning.   Per group of elements: their sum, mean, product, greatest or least one; max_weight: 1/k for each of the k greatest,
//            0 for the others
//            (docs/ops).
// Layout.    One block per group, whose axes may lie anywhere.
// Order.     Thread t of T takes the elements t, t + T, ...; then gpu/kernels/rows.h. T depends on the size alone: bit-reproducible.
// Error.     That of a sum or product in any order; the mean one division more; the others exact.
// NaN, inf.  Extrema with a NaN are NaN, max_weight of such a group is NaN throughout. An empty group has sum 0, product 1,
//            mean NaN, and the infinity that any number beats.
#pragma once

#include "gpu/kernels/integers.h"
#include "gpu/kernels/rows.h"

namespace assay::gpu {

enum class Reduction : std::uint8_t { sum, mean, product, greatest, least };

struct ReduceKernel {
  static constexpr const char* kName = "reduce";
  static constexpr std::size_t kShared = 4;  // words: one per warp

  View<const float> x;
  View<float> y;
  Groups groups;
  Reduction reduction = Reduction::sum;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    if (reduction == Reduction::greatest) return reduce<Greatest>(t, -kInfinity);
    if (reduction == Reduction::least) return reduce<Least>(t, kInfinity);
    if (reduction == Reduction::product) return reduce<Times>(t, 1);
    reduce<Plus>(t, 0);
  }

 private:
  template <class Join, class Thread>
  ASSAY_BOTH void reduce(Thread& t, float value) const {
    const std::size_t first = groups.kept.offset(t.block());
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) value = Join::of(value, x[first + groups.within.offset(i)]);
    value = over_block<Join>(t, value);
    if (t.index() == 0) y[t.block()] = reduction == Reduction::mean ? value / static_cast<float>(groups.size) : value;
  }
};

struct MaxWeightKernel {
  static constexpr const char* kName = "max_weight";
  static constexpr std::size_t kShared = 4;  // words: one per warp

  View<const float> x;
  View<float> y;
  Groups groups;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = groups.kept.offset(t.block());
    float greatest = -kInfinity;
    for (std::size_t i = t.index(); i < groups.size; i += t.count())
      greatest = greater_or_nan(greatest, x[first + groups.within.offset(i)]);
    greatest = over_block<Greatest>(t, greatest);
    float winners = 0;  // a float counts to 2^24, the share of more would not differ in a float
    for (std::size_t i = t.index(); i < groups.size; i += t.count())
      winners += x[first + groups.within.offset(i)] == greatest ? 1.0F : 0.0F;
    winners = over_block<Plus>(t, winners);
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) {
      const std::size_t at = first + groups.within.offset(i);
      y[at] = is_nan(greatest) ? greatest : x[at] == greatest ? 1.0F / winners : 0.0F;
    }
  }
};

template <class Queue>
Outcome<Done> run_reduction(Queue& queue, const Call& call) {
  if (call.result.dtype != DType::float32) return run_integer_reduction(queue, call);
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  const auto groups = groups_of(call.shape_of(), call.get<ReduceAttributes>().axes);
  if (!groups) return refused(call.op, "too many axes");
  if (call.result.size == 0) return Done{};
  if (call.op == Op::max_weight) {
    MaxWeightKernel kernel{call.data(), call.result, *groups};
    return queue.launch({MaxWeightKernel::kName, groups->count, threads_for(groups->size), MaxWeightKernel::kShared}, kernel);
  }
  const Reduction reduction = call.op == Op::reduce_mean   ? Reduction::mean
                              : call.op == Op::reduce_max  ? Reduction::greatest
                              : call.op == Op::reduce_min  ? Reduction::least
                              : call.op == Op::reduce_prod ? Reduction::product
                                                           : Reduction::sum;
  ReduceKernel kernel{call.data(), call.result, *groups, reduction};
  return queue.launch({ReduceKernel::kName, groups->count, threads_for(groups->size), ReduceKernel::kShared}, kernel);
}

}  // namespace assay::gpu
