// Rows of floats, per instruction set. Sums run in kLanes chains side by side, whatever the processor: the order of additions is fixed.
#include "runtime/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/rows.cpp"  // NOLINT
#include <cmath>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "runtime/kernels/lane_math-inl.h"
#include "runtime/kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kLanes = 64;  // four vectors of floats at most: enough chains to hide the latency of a comparison

// combine(..., f(x[i])) over all i: kLanes chains, then a tree.
template <class T, class F, class C>
HWY_INLINE T folded(const T* x, std::size_t count, T start, const F& f, const C& combine) {
  T chains[kLanes];  // NOLINT
  for (T& chain : chains) chain = start;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) chains[lane] = combine(chains[lane], f(x[i + lane]));
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) chains[lane] = combine(chains[lane], f(x[i]));
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) chains[lane] = combine(chains[lane], chains[lane + width]);
  }
  return chains[0];
}
template <class T, Reduction kReduction>
HWY_INLINE T combined(T a, T b) {
  if constexpr (kReduction == Reduction::sum) return a + b;
  if constexpr (kReduction == Reduction::product) return a * b;
  if constexpr (kReduction == Reduction::greatest) return (a > b || a != a) ? a : b;
  return (a < b || a != a) ? a : b;
}
template <class T, Reduction kReduction>
T reduce_row(const T* x, std::size_t count, T start) {
  return folded<T>(
      x, count, start, [](T v) HWY_ATTR { return v; }, [](T a, T b) HWY_ATTR { return combined<T, kReduction>(a, b); });
}
template <class T, Reduction kReduction>
void reduce_into(T* to, const T* from, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t j = 0; j < count; ++j) to[j] = combined<T, kReduction>(to[j], from[j]);
}
template <class T>
HWY_INLINE T greatest(const T* x, std::size_t count) {
  return reduce_row<T, Reduction::greatest>(x, count, -std::numeric_limits<T>::infinity());
}
template <class T, class F>
HWY_INLINE T sum_of(const T* x, std::size_t count, const F& f) {
  return folded<T>(x, count, T(0), f, [](T a, T b) HWY_ATTR { return a + b; });
}
template <class T>
HWY_INLINE T sum_of(const T* x, std::size_t count) {
  return sum_of<T>(x, count, [](T v) HWY_ATTR { return v; });
}

// y = x with -infinity where the mask is 0; whether anything is let through.
template <class T>
bool apply_mask(const T* x, const std::uint8_t* mask, std::size_t count, T* y) {
  bool some = false;
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = mask[i] != 0 ? x[i] : -std::numeric_limits<T>::infinity();
    some = some || mask[i] != 0;
  }
  return some;
}

template <class T>
void softmax_row(RowForm form, const T* x, const std::uint8_t* mask, bool empty_is_zero, std::size_t count, T* y) {
  if (mask != nullptr) {
    if (!apply_mask(x, mask, count, y)) {
      for (std::size_t i = 0; i < count; ++i) y[i] = empty_is_zero ? T(0) : std::numeric_limits<T>::quiet_NaN();
      return;
    }
    x = y;
  }
  const T most = greatest(x, count);
  if (form == RowForm::softmax) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = exp_of(x[i] - most);
    const T scale = 1 / sum_of<T>(y, count);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] *= scale;
    if (mask == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) y[i] = mask[i] != 0 ? y[i] : T(0);  // also beside a NaN
    return;
  }
  const T log = log_of(sum_of<T>(x, count, [most](T v) HWY_ATTR { return exp_of(v - most); }));
  if (form == RowForm::log_sum_exp) {
    *y = most + log;
    return;
  }
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - most) - log;
}

template <class T>
void softmax_columns(RowForm form, const T* x, std::size_t count, std::size_t stride, std::size_t width, T* y) {
  T most[kColumns], sum[kColumns], last[kColumns];  // NOLINT
  for (std::size_t j = 0; j < width; ++j) most[j] = -std::numeric_limits<T>::infinity();
  for (std::size_t j = 0; j < width; ++j) sum[j] = 0;
  for (std::size_t i = 0; i < count; ++i) reduce_into<T, Reduction::greatest>(most, x + i * stride, width);
  const bool is_log = form == RowForm::log_softmax;
  for (std::size_t i = 0; i < count; ++i) {
    const T* const from = x + i * stride;
    T* const to = y + i * stride;
#pragma GCC ivdep
    for (std::size_t j = 0; j < width; ++j) {
      const T below = from[j] - most[j], power = exp_of(below);
      sum[j] += power;
      to[j] = is_log ? below : power;
    }
  }
#pragma GCC ivdep
  for (std::size_t j = 0; j < width; ++j) last[j] = is_log ? log_of(sum[j]) : 1 / sum[j];
  for (std::size_t i = 0; i < count; ++i) {
    T* const to = y + i * stride;
#pragma GCC ivdep
    for (std::size_t j = 0; j < width; ++j) to[j] = is_log ? to[j] - last[j] : to[j] * last[j];
  }
}

template <class T>
void normalise_row(NormaliseAttributes::Form form, T epsilon, const T* x, std::size_t count, T* y) {
  using Form = NormaliseAttributes::Form;
  const auto square = [](T v) HWY_ATTR { return v * v; };
  const T n = static_cast<T>(count);
  T factor = 0;
  if (form == Form::centered || form == Form::deviation) {
    const T mean = sum_of<T>(x, count) / n;
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] - mean;
    const T variance = sum_of<T>(y, count, square) / n;
    factor = 1 / (form == Form::centered ? std::sqrt(variance + epsilon) : std::sqrt(variance) + epsilon);
    x = y;
  } else if (form == Form::l1) {
    factor = 1 / (sum_of<T>(x, count, [](T v) HWY_ATTR { return std::fabs(v); }) + epsilon);
  } else {
    const T squares = sum_of<T>(x, count, square);
    factor = 1 / std::sqrt((form == Form::root_mean ? squares / n : squares) + epsilon);
  }
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * factor;
}

template <class T>
void shift_and_scale_row(const T* x, T mean, T factor, T bias, std::size_t count, T* y) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor + bias;
}

template <class T>
void greatest_of(const T* x, const std::int32_t* places, std::size_t taps, std::size_t count, T* most, std::int32_t* at) {
  for (std::size_t w = 0; w < count; ++w) most[w] = x[places[w]];
  for (std::size_t w = 0; w < count; ++w) at[w] = places[w];
  for (std::size_t k = 1; k < taps; ++k) {
    const std::int32_t* const tap = places + k * count;
#pragma GCC ivdep
    for (std::size_t w = 0; w < count; ++w) {
      const T value = x[tap[w]];
      const bool more = value > most[w];
      at[w] = more ? tap[w] : at[w];
      most[w] = more ? value : most[w];
    }
  }
}

template <class T>
constexpr RowKernels<T> kKernels = {&softmax_row<T>, &softmax_columns<T>, &normalise_row<T>, &greatest_of<T>, &shift_and_scale_row<T>};
template <class T, Reduction kReduction>
constexpr ReductionKernels<T> kReducer = {&reduce_row<T, kReduction>, &reduce_into<T, kReduction>};
template <class T>
const ReductionKernels<T>& reducer(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return kReducer<T, Reduction::sum>;
    case Reduction::product:
      return kReducer<T, Reduction::product>;
    case Reduction::greatest:
      return kReducer<T, Reduction::greatest>;
    case Reduction::least:
      break;
  }
  return kReducer<T, Reduction::least>;
}
const ReductionKernels<float>& float_reducer(Reduction reduction) { return reducer<float>(reduction); }
const ReductionKernels<double>& double_reducer(Reduction reduction) { return reducer<double>(reduction); }
const RowKernels<float>& float_rows() { return kKernels<float>; }
const RowKernels<double>& double_rows() { return kKernels<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::runtime {

HWY_EXPORT(float_rows);
HWY_EXPORT(double_rows);
HWY_EXPORT(float_reducer);
HWY_EXPORT(double_reducer);

template <>
const ReductionKernels<float>& reduction_kernels<float>(Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(float_reducer)(reduction);
}
template <>
const ReductionKernels<double>& reduction_kernels<double>(Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(double_reducer)(reduction);
}

template <>
const RowKernels<float>& row_kernels<float>() {
  return HWY_DYNAMIC_DISPATCH(float_rows)();
}
template <>
const RowKernels<double>& row_kernels<double>() {
  return HWY_DYNAMIC_DISPATCH(double_rows)();
}

}  // namespace assay::runtime
#endif
