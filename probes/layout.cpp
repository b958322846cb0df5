#include "probes/layout.h"

#include <algorithm>
#include <array>
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

// Row-major strides of the axes in this order, the last one the closest in memory, with gaps of `apart` elements behind each axis.
std::vector<std::int64_t> strides_in_order(const Shape& shape, const std::vector<std::size_t>& order, std::int64_t apart) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step = step * shape[order[i]] + apart;
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

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::dense:
      return "dense";
    case Layout::transposed:
      return "transposed";
    case Layout::stepped:
      return "stepped";
    case Layout::broadcast_first:
      return "first axis broadcast";
    case Layout::broadcast_last:
      return "last axis broadcast";
    case Layout::padded:
      return "rows apart";
    case Layout::first_transposed:
      return "first operand alone transposed";
    case Layout::others_transposed:
      return "all operands but the first transposed";
    case Layout::in_turn:
      return "each operand otherwise";
  }
  return "";
}

Layout layout_of(Layout layout, std::size_t operand) {
  constexpr std::array kInTurn = {Layout::padded, Layout::broadcast_last, Layout::stepped, Layout::dense};
  if (layout == Layout::in_turn) return kInTurn[std::min(operand, kInTurn.size() - 1)];
  if (layout == Layout::first_transposed) return operand == 0 ? Layout::transposed : Layout::dense;
  if (layout == Layout::others_transposed) return operand > 0 ? Layout::transposed : Layout::dense;
  return layout;
}

Laid laid_out(const Tensor& tensor, Layout layout, std::byte poison) {
  Laid laid;
  Shape kept = tensor.shape();
  const auto broadcast = broadcast_axis(kept, layout);
  if (broadcast) kept[*broadcast] = 1;
  constexpr std::int64_t kApart = 3;
  laid.strides = strides_in_order(kept, axes_in_order(kept.size(), layout), layout == Layout::padded ? kApart : 0);
  if (broadcast) laid.strides[*broadcast] = 0;
  std::size_t count = element_count(kept);
  if (layout == Layout::padded && !kept.empty()) count = static_cast<std::size_t>(laid.strides[0] * kept[0]);
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
