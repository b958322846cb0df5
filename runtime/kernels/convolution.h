// The shapes of a convolution, for its two implementations. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/kernels/call.h"
#include "runtime/kernels/window.h"

namespace assay::runtime {

// "Coarse" is the side with one position per window (conv's result, conv_transpose's operand), "fine" the other.
struct Convolution {
  std::vector<WindowAxis> axes;  // operand: fine, result: coarse
  std::size_t images, groups;
  std::size_t coarse_channels, fine_channels;  // per group
  std::size_t coarse_size = 1, fine_size = 1, kernel_size = 1;
  [[nodiscard]] std::size_t column_rows() const { return fine_channels * kernel_size; }
};
[[nodiscard]] Convolution convolution_of(const Call& call);

// float32 by oneDNN's direct kernels. False, and nothing is written, where it has none for the shapes.
[[nodiscard]] bool convolve_directly(const Call& call, const Convolution& c);

// The gradient of a convolution in its weights, as a conv of x [N, C, ...] and g [N, M, ...] with the first two axes of each exchanged,
// whose attributes are `w`; the result [M, C, ...] is that conv's with its first two axes exchanged. Only where oneDNN has a kernel.
[[nodiscard]] bool has_weight_gradient(const WindowAttributes& w, const Shape& x, const Shape& g, const Shape& result);
void weight_gradient(const WindowAttributes& w, const Array& x, const Array& g, Array& result);

}  // namespace assay::runtime
