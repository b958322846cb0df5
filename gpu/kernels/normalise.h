// normalise: the centre of layer, instance, RMS and Lp normalisation.
//
// Meaning.   Per group of n elements, with m their mean and v the mean of (x - m)^2 (docs/ops/normalise.md):
//            centered (x - m) / sqrt(v + e), deviation (x - m) / (sqrt v + e), root_mean x / sqrt(mean x^2 + e), l2 x / sqrt(sum x^2 + e),
//            l1 x / (sum |x| + e).
// Layout.    One block per group, whose axes may lie anywhere. The group is read three times, twice where there is no mean.
// Order.     Two passes: the mean first, then the squares of the differences to it. Thread t of T adds the elements t, t + T, ...; then
//            gpu/kernels/rows.h. T depends on n alone: bit-reproducible.
// Error.     The two-pass class (docs/contracts/normalise.md): a large mean beside a small variance costs nothing.
// NaN, inf.  A NaN or an infinity makes its group NaN where there is a mean, else as the formula.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/rows.h"

namespace assay::gpu {

struct NormaliseKernel {
  using Form = NormaliseAttributes::Form;
  static constexpr const char* kName = "normalise";
  static constexpr std::size_t kShared = 4;  // words: one per warp

  View<const float> x;
  View<float> y;
  Groups groups;
  float epsilon = 0;
  Form form = Form::centered;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = groups.kept.offset(t.block());
    const auto count = static_cast<float>(groups.size);
    const bool centres = form == Form::centered || form == Form::deviation;
    float mean = 0;
    if (centres) {
      float sum = 0;
      for (std::size_t i = t.index(); i < groups.size; i += t.count()) sum += x[first + groups.within.offset(i)];
      mean = over_block<Plus>(t, sum) / count;
    }
    float sum = 0;
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) {
      const float c = x[first + groups.within.offset(i)] - mean;
      sum += form == Form::l1 ? ::fabsf(c) : c * c;
    }
    const float moment = over_block<Plus>(t, sum);
    const float divisor = divisor_of(form == Form::l1 || form == Form::l2 ? moment : moment / count);
    for (std::size_t i = t.index(); i < groups.size; i += t.count()) {
      const std::size_t at = first + groups.within.offset(i);
      y[at] = (centres ? x[at] - mean : x[at]) / divisor;
    }
  }

  [[nodiscard]] ASSAY_BOTH float divisor_of(float moment) const {
    if (form == Form::l1) return moment + epsilon;
    return form == Form::deviation ? ::sqrtf(moment) + epsilon : ::sqrtf(moment + epsilon);
  }
};

template <class Queue>
Outcome<Done> run_normalise(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  const auto& attributes = call.get<NormaliseAttributes>();
  const auto groups = groups_of(call.shape, attributes.axes);
  if (!groups) return refused(call.op, "too many axes");
  if (call.result.size == 0) return Done{};
  NormaliseKernel kernel{call.data(), call.result, *groups, static_cast<float>(attributes.epsilon), attributes.form};
  return queue.launch({NormaliseKernel::kName, groups->count, threads_for(groups->size), NormaliseKernel::kShared}, kernel);
}

}  // namespace assay::gpu
