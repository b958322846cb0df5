// Kernels over rows of floats: softmax and its kin, normalisation. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "semantics/graph/op.h"

namespace assay::runtime {

enum class RowForm : std::uint8_t { softmax, log_softmax, log_sum_exp };

inline constexpr std::size_t kColumns = 64;

template <class T>
struct RowKernels {
  // Of count elements; log_sum_exp writes one. With a mask only elements whose byte is not 0 take part, the others give 0.
  void (*softmax)(RowForm form, const T* x, const std::uint8_t* mask, bool empty_is_zero, std::size_t count, T* y);
  // softmax or log_softmax of `width` columns side by side, at most kColumns: element i of column j stands at i * stride + j.
  void (*softmax_columns)(RowForm form, const T* x, std::size_t count, std::size_t stride, std::size_t width, T* y);
  void (*normalise)(NormaliseAttributes::Form form, T epsilon, const T* x, std::size_t count, T* y);
  // Per window, whose `taps` elements are x[places[k * count + window]]: the greatest, and the place of the first such.
  void (*greatest_of)(const T* x, const std::int32_t* places, std::size_t taps, std::size_t count, T* most, std::int32_t* at);
  // y = (x - mean) * factor + bias
  void (*shift_and_scale)(const T* x, T mean, T factor, T bias, std::size_t count, T* y);
};
template <class T>
[[nodiscard]] const RowKernels<T>& row_kernels();

enum class Reduction : std::uint8_t { sum, product, greatest, least };  // beside a NaN each gives NaN

template <class T>
struct ReductionKernels {
  // start combined with all elements, in chains side by side and then a tree: an order that depends on `count` alone
  T (*row)(const T* x, std::size_t count, T start);
  // to[j] combined with from[j]
  void (*into)(T* to, const T* from, std::size_t count);
};
template <class T>
[[nodiscard]] const ReductionKernels<T>& reduction_kernels(Reduction reduction);

}  // namespace assay::runtime
