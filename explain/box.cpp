#include "explain/box.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::explain {

Box whole(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

Box one_element(const Shape& shape, std::size_t element) {
  Box box{index_of(shape, element), index_of(shape, element)};
  for (std::int64_t& end : box.end) ++end;
  return box;
}

Box hull(const Box& a, const Box& b) {
  Box box = a;
  for (std::size_t axis = 0; axis < box.begin.size(); ++axis) {
    box.begin[axis] = std::min(a.begin[axis], b.begin[axis]);
    box.end[axis] = std::max(a.end[axis], b.end[axis]);
  }
  return box;
}

Shape extents(const Box& box) {
  Shape shape = box.end;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) shape[axis] -= box.begin[axis];
  return shape;
}

Shape index_of(const Shape& shape, std::size_t element) {
  Shape index(shape.size(), 0);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    index[axis] = static_cast<std::int64_t>(element % extent);
    element /= extent;
  }
  return index;
}

std::size_t element_at(const Shape& shape, const Shape& index) {
  std::size_t element = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    element = element * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(index[axis]);
  return element;
}

Tensor cut_to(const Tensor& tensor, const Box& box) {
  const Shape shape = extents(box);
  if (shape == tensor.shape()) return tensor;
  const std::size_t width = byte_size(tensor.dtype()), count = element_count(shape);
  std::vector<std::byte> bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    Shape index = index_of(shape, i);
    for (std::size_t axis = 0; axis < index.size(); ++axis) index[axis] += box.begin[axis];
    std::memcpy(bytes.data() + i * width, tensor.bytes().data() + element_at(tensor.shape(), index) * width, width);
  }
  return {tensor.dtype(), shape, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace assay::explain
