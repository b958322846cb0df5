// Strides, walks and windows.

#include "semantics/ops/indexing.h"

#include <algorithm>

namespace assay::ops {

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
  const Shape own = row_major_strides(from);
  Shape strides(to.size(), 0);
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[axis + to.size() - from.size()] = own[axis];
  }
  return strides;
}

Shape reduction_strides(const Shape& x, const std::vector<std::int64_t>& axes) {
  Shape kept = x;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  Shape strides = row_major_strides(kept);
  for (const std::int64_t axis : axes) strides[static_cast<std::size_t>(axis)] = 0;
  return strides;
}

Walk::Walk(Shape extents, Shape strides, std::int64_t start)
    : extents_(std::move(extents)), strides_(std::move(strides)), index_(extents_.size(), 0), offset_(start) {}

Walk Walk::over(const Shape& from, const Shape& to) {
  if (from != to) return {to, broadcast_strides(from, to)};
  Walk walk({}, {});
  walk.step_ = 1;
  return walk;
}

Window::Window(const WindowAttributes& attributes, const Shape& operand, const Shape& result)
    : attributes_(attributes),
      operand_(operand.begin() + 2, operand.end()),
      result_(result.begin() + 2, result.end()),
      position_(result_.size(), 0),
      kernel_size_(element_count(attributes.kernel)),
      operand_size_(element_count(operand_)),
      result_size_(element_count(result_)) {}

void Window::set_position(std::size_t result_position) {
  for (std::size_t axis = result_.size(); axis-- > 0;) {
    position_[axis] = static_cast<std::int64_t>(result_position) % result_[axis];
    result_position /= static_cast<std::size_t>(result_[axis]);
  }
}

// The taps of several axes are the products of the taps of each axis. Along one axis these are the k from first(axis)
// to last(axis) whose operand position meets(axis, k) is not -1.
template <class First, class Last, class Meets>
void Window::collect(const First& first, const Last& last, const Meets& meets) {
  taps_.assign(1, Tap{0, 0});
  for (std::size_t axis = 0; axis < operand_.size(); ++axis) {
    const std::int64_t begin = first(axis), end = last(axis);
    grown_.clear();
    for (const Tap& tap : taps_) {
      for (std::int64_t k = begin; k <= end; ++k) {
        const std::int64_t i = meets(axis, k);
        if (i < 0) continue;
        grown_.push_back({tap.kernel * static_cast<std::size_t>(attributes_.kernel[axis]) + static_cast<std::size_t>(k),
                          tap.operand * static_cast<std::size_t>(operand_[axis]) + static_cast<std::size_t>(i)});
      }
    }
    taps_.swap(grown_);
  }
}

const std::vector<Tap>& Window::taps(std::size_t result_position) {
  set_position(result_position);
  const auto start = [this](std::size_t axis) { return position_[axis] * attributes_.strides[axis] - attributes_.pads_begin[axis]; };
  const auto first = [&](std::size_t axis) {  // the first k with i >= 0
    const std::int64_t dilation = attributes_.dilations[axis];
    return start(axis) >= 0 ? 0 : (-start(axis) + dilation - 1) / dilation;
  };
  const auto last = [&](std::size_t axis) {  // the last k with i < extent
    const std::int64_t room = operand_[axis] - 1 - start(axis);
    return room < 0 ? -1 : std::min(room / attributes_.dilations[axis], attributes_.kernel[axis] - 1);
  };
  collect(first, last, [&](std::size_t axis, std::int64_t k) { return start(axis) + k * attributes_.dilations[axis]; });
  return taps_;
}

const std::vector<Tap>& Window::transposed_taps(std::size_t result_position) {
  set_position(result_position);
  const auto first = [](std::size_t) { return std::int64_t{0}; };
  const auto last = [this](std::size_t axis) { return attributes_.kernel[axis] - 1; };
  collect(first, last, [this](std::size_t axis, std::int64_t k) {
    const std::int64_t scaled = position_[axis] + attributes_.pads_begin[axis] - k * attributes_.dilations[axis];
    const std::int64_t stride = attributes_.strides[axis];
    return scaled >= 0 && scaled % stride == 0 && scaled / stride < operand_[axis] ? scaled / stride : -1;
  });
  return taps_;
}

std::size_t Window::taps_with_padding(std::size_t result_position) {
  set_position(result_position);
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < operand_.size(); ++axis) {
    const std::int64_t start = position_[axis] * attributes_.strides[axis];  // counted from the first padding element
    const std::int64_t end = attributes_.pads_begin[axis] + operand_[axis] + attributes_.pads_end[axis];
    const std::int64_t room = (end - start + attributes_.dilations[axis] - 1) / attributes_.dilations[axis];
    count *= static_cast<std::size_t>(room < attributes_.kernel[axis] ? room : attributes_.kernel[axis]);
  }
  return count;
}

}  // namespace assay::ops
