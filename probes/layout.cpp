#include "probes/layout.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace assay::probes {
namespace {

// Which axis has stride 0; none for other layouts and for tensors of one element along every axis.
std::optional<std::size_t> broadcast_axis(const Shape& shape, Layout layout) {
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] <= 1) continue;
    if (layout == Layout::broadcast_last || (layout == Layout::broadcast_first && !found)) found = axis;
  }
  return found;
}

// Row-major strides of the axes in this order, the last one the closest in memory.
std::vector<std::int64_t> strides_in_order(const Shape& shape, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= shape[order[i]];
  }
  return strides;
}

std::vector<std::size_t> axes_in_order(std::size_t rank, Layout layout) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout == Layout::transposed && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

// Where element i of the tensor lies.
std::size_t place_of(std::size_t i, const Shape& shape, const Laid& laid) {
  std::size_t place = laid.offset;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place += i % extent * static_cast<std::size_t>(laid.strides[axis]);
    i /= extent;
  }
  return place;
}

}  // namespace

Laid laid_out(const Tensor& tensor, Layout layout, std::byte poison) {
  Laid laid;
  Shape kept = tensor.shape();
  const auto broadcast = broadcast_axis(kept, layout);
  if (broadcast) kept[*broadcast] = 1;
  laid.strides = strides_in_order(kept, axes_in_order(kept.size(), layout));
  if (broadcast) laid.strides[*broadcast] = 0;
  std::size_t count = element_count(kept);
  if (layout == Layout::stepped) {
    for (std::int64_t& stride : laid.strides) stride *= 2;
    laid.offset = 1;
    count = 2 * count + 1;
  }
  const std::size_t width = byte_size(tensor.dtype());
  laid.memory.assign(count * width, poison);
  for (std::size_t i = 0; i < tensor.size(); ++i)
    std::memcpy(laid.memory.data() + place_of(i, tensor.shape(), laid) * width, tensor.bytes().data() + i * width, width);
  return laid;
}

Tensor repeated(const Tensor& tensor, Layout layout) {
  const auto axis = broadcast_axis(tensor.shape(), layout);
  if (!axis) return tensor;
  std::size_t inner = 1;
  for (std::size_t k = *axis + 1; k < tensor.shape().size(); ++k) inner *= static_cast<std::size_t>(tensor.shape()[k]);
  const std::size_t width = byte_size(tensor.dtype()), extent = static_cast<std::size_t>(tensor.shape()[*axis]);
  auto bytes = std::make_shared<std::vector<std::byte>>(tensor.bytes().begin(), tensor.bytes().end());
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const std::size_t first = i - i / inner % extent * inner;
    std::memcpy(bytes->data() + i * width, tensor.bytes().data() + first * width, width);
  }
  return {tensor.dtype(), tensor.shape(), std::move(bytes)};
}

}  // namespace assay::probes
