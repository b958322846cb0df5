// Index arithmetic of strided tensors. Private to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "semantics/graph/tensor.h"

namespace assay::runtime {

// Elements between neighbours along each axis of a dense row-major tensor.
[[nodiscard]] Shape dense_strides(const Shape& shape);
// Strides with which an operand of shape `from` is read by an index of `to`: 0 where it is repeated.
[[nodiscard]] Shape repeating_strides(const Shape& from, const Shape& to);

// Extents with the strides of several tensors; axes of extent 1 left out, axes that continue each other in every tensor merged. An empty
// tensor keeps one axis of extent 0, a single element none.
struct Loops {
  Shape extents;
  std::vector<Shape> strides;  // one per tensor
};
[[nodiscard]] Loops merged(const Shape& extents, std::vector<Shape> strides);

// The offsets of all indices of `extents` in row-major order, for K tensors together.
template <std::size_t K>
class Odometer {
 public:
  // The last `skipped` axes are not walked: they are the caller's inner loops.
  Odometer(const Loops& loops, std::size_t skipped) : loops_(&loops), axes_(loops.extents.size() - skipped), index_(axes_, 0) {}
  [[nodiscard]] std::size_t count() const {
    std::size_t result = 1;
    for (std::size_t axis = 0; axis < axes_; ++axis) result *= static_cast<std::size_t>(loops_->extents[axis]);
    return result;
  }
  [[nodiscard]] std::int64_t offset(std::size_t tensor) const { return offset_[tensor]; }
  void seek(std::size_t position) {
    offset_.fill(0);
    for (std::size_t axis = axes_; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(loops_->extents[axis]);
      index_[axis] = static_cast<std::int64_t>(position % extent);
      position /= extent;
      for (std::size_t t = 0; t < K; ++t) offset_[t] += index_[axis] * loops_->strides[t][axis];
    }
  }
  void next() {
    for (std::size_t axis = axes_; axis-- > 0;) {
      for (std::size_t t = 0; t < K; ++t) offset_[t] += loops_->strides[t][axis];
      if (++index_[axis] < loops_->extents[axis]) return;
      for (std::size_t t = 0; t < K; ++t) offset_[t] -= loops_->strides[t][axis] * loops_->extents[axis];
      index_[axis] = 0;
    }
  }

 private:
  const Loops* loops_;
  std::size_t axes_;
  std::array<std::int64_t, K> offset_{};
  std::vector<std::int64_t> index_;
};

// Copies elements of `width` bytes: to[i . to_strides] = from[i . from_strides] for all i of `extents`. Strides count elements and may
// be negative or (from) 0.
void copy_strided(std::size_t width, const Shape& extents, std::byte* to, const Shape& to_strides, const std::byte* from,
                  const Shape& from_strides);

}  // namespace assay::runtime
