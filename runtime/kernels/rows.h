// Kernels over rows of floats: softmax and its kin, normalisation. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "semantics/graph/op.h"

namespace assay::runtime {

enum class RowForm : std::uint8_t { softmax, log_softmax, log_sum_exp };

template <class T>
struct RowKernels {
  // Of count elements; log_sum_exp writes one. With a mask only elements whose byte is not 0 take part, the others give 0.
  void (*softmax)(RowForm form, const T* x, const std::uint8_t* mask, bool empty_is_zero, std::size_t count, T* y);
  void (*normalise)(NormaliseAttributes::Form form, T epsilon, const T* x, std::size_t count, T* y);
  // y = (x - mean) * factor + bias
  void (*shift_and_scale)(const T* x, T mean, T factor, T bias, std::size_t count, T* y);
};
template <class T>
[[nodiscard]] const RowKernels<T>& row_kernels();

}  // namespace assay::runtime
