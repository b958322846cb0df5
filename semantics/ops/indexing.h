// Row-major index arithmetic shared by the denotations. Integers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::ops {

// strides[a] = number of elements between neighbours along axis a.
[[nodiscard]] Shape row_major_strides(const Shape& shape);

// The strides with which an operand of shape `from` is read by an index of `to`, to which it broadcasts. They are 0
// along axes that the operand lacks or has with extent 1.
[[nodiscard]] Shape broadcast_strides(const Shape& from, const Shape& to);

// The strides with which an index of x gives the element of the reduction's result. They are 0 along the reduced axes.
[[nodiscard]] Shape reduction_strides(const Shape& x, const std::vector<std::int64_t>& axes);

// Visits all indices i of `extents` in row-major order; offset() = start + sum_a i_a * strides_a.
class Walk {
 public:
  Walk(Shape extents, Shape strides, std::int64_t start = 0);
  // Visits the elements of an operand of shape `from` that the indices of `to` read, to which it broadcasts. It makes
  // one pass only.
  [[nodiscard]] static Walk over(const Shape& from, const Shape& to);
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(offset_); }
  void next() {
    offset_ += step_;
    for (std::size_t axis = extents_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++index_[axis] < extents_[axis]) return;
      offset_ -= strides_[axis] * extents_[axis];
      index_[axis] = 0;
    }
  }

 private:
  Shape extents_, strides_, index_;
  std::int64_t offset_, step_ = 0;  // step_: 1 if both shapes are equal, so that no axes are needed
};

// A kernel position and the operand position that it reads, both row-major over the spatial axes.
struct Tap {
  std::size_t kernel, operand;
};

// The geometry of convolutions and pools: the operand positions that each result position reads.
class Window {
 public:
  // Full shapes [N, C, spatial...].
  Window(const WindowAttributes& attributes, const Shape& operand, const Shape& result);

  [[nodiscard]] std::size_t kernel_size() const { return kernel_size_; }
  [[nodiscard]] std::size_t operand_size() const { return operand_size_; }  // over the spatial axes
  [[nodiscard]] std::size_t result_size() const { return result_size_; }

  // Along each axis, result position o and kernel position k read operand position i = o*stride -
  // pad_begin + k*dilation. A tap is a k whose i lies in the operand. In the order of k.
  [[nodiscard]] const std::vector<Tap>& taps(std::size_t result_position);
  // The transposed relation: o = i*stride - pad_begin + k*dilation.
  [[nodiscard]] const std::vector<Tap>& transposed_taps(std::size_t result_position);
  // The number of kernel positions whose i lies in the operand or its padding.
  [[nodiscard]] std::size_t taps_with_padding(std::size_t result_position);

 private:
  void set_position(std::size_t result_position);
  template <class First, class Last, class Meets>
  void collect(const First& first, const Last& last, const Meets& meets);

  const WindowAttributes& attributes_;
  Shape operand_, result_, position_;  // spatial axes only
  std::size_t kernel_size_, operand_size_, result_size_;
  std::vector<Tap> taps_, grown_;
};

}  // namespace assay::ops
