// Layout ops on constant tensors: bytes are moved, never computed with.
#include <cstring>

#include "frontends/onnx/lowering/compose.h"
#include "frontends/onnx/lowering/lowering.h"
#include "semantics/demand.h"

namespace assay::onnx {
namespace {

// Calls visit(i, index) for each element i of `shape` with its index, in row-major order.
template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
  const std::size_t count = element_count(shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    visit(i, index);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// Result element at index j = source element start + sum of j * stride.
std::vector<std::byte> strided(const Tensor& source, const Shape& shape, std::int64_t start, const std::vector<std::int64_t>& strides) {
  const std::size_t width = byte_size(source.dtype());
  std::vector<std::byte> bytes(element_count(shape) * width);
  for_each_index(shape, [&](std::size_t i, const std::vector<std::int64_t>& index) {
    std::int64_t from = start;
    for (std::size_t axis = 0; axis < index.size(); ++axis) from += index[axis] * strides[axis];
    std::memcpy(bytes.data() + i * width, source.bytes().data() + static_cast<std::size_t>(from) * width, width);
  });
  return bytes;
}

std::vector<std::byte> permuted(const Tensor& source, const PermuteAttributes& attributes, const Shape& shape) {
  const Ints old = strides_of(source.shape());
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : attributes.axes) strides.push_back(old[static_cast<std::size_t>(axis)]);
  return strided(source, shape, 0, strides);
}

std::vector<std::byte> sliced(const Tensor& source, const SliceAttributes& attributes, const Shape& shape) {
  std::vector<std::int64_t> strides = strides_of(source.shape());
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    start += attributes.starts[axis] * strides[axis];
    strides[axis] = shape[axis] > 1 ? strides[axis] * attributes.steps[axis] : 0;
  }
  return strided(source, shape, start, strides);
}

std::vector<std::byte> expanded(const Tensor& source, const Shape& shape) {
  const Ints old = strides_of(source.shape());
  std::vector<std::int64_t> strides(shape.size(), 0);
  const std::size_t missing = shape.size() - old.size();
  for (std::size_t axis = 0; axis < old.size(); ++axis) {
    if (source.shape()[axis] != 1) strides[axis + missing] = old[axis];
  }
  return strided(source, shape, 0, strides);
}

// Number of elements before (after) an axis.
std::size_t elements_between(const Shape& shape, std::size_t first, std::size_t last) {
  return element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(last)));
}

std::vector<std::byte> concatenated(const std::vector<const Tensor*>& sources, const ConcatAttributes& attributes, const Shape& shape) {
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::size_t width = byte_size(sources.front()->dtype());
  std::vector<std::byte> bytes;
  bytes.reserve(element_count(shape) * width);
  for (std::size_t outer = 0; outer < elements_between(shape, 0, axis); ++outer) {
    for (const Tensor* source : sources) {
      const std::size_t chunk = elements_between(source->shape(), axis, source->shape().size()) * width;
      const auto chunk_bytes = source->bytes().subspan(outer * chunk, chunk);
      bytes.insert(bytes.end(), chunk_bytes.begin(), chunk_bytes.end());
    }
  }
  return bytes;
}

std::vector<std::byte> gathered(const Tensor& source, const GatherAttributes& attributes) {
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::size_t chunk = elements_between(source.shape(), axis + 1, source.shape().size()) * byte_size(source.dtype());
  const auto extent = static_cast<std::size_t>(source.shape()[axis]);
  std::vector<std::byte> bytes;
  bytes.reserve(elements_between(source.shape(), 0, axis) * attributes.indices.size() * chunk);
  for (std::size_t outer = 0; outer < elements_between(source.shape(), 0, axis); ++outer) {
    for (const std::int64_t index : attributes.indices) {
      const auto chunk_bytes = source.bytes().subspan((outer * extent + static_cast<std::size_t>(index)) * chunk, chunk);
      bytes.insert(bytes.end(), chunk_bytes.begin(), chunk_bytes.end());
    }
  }
  return bytes;
}

// The padding value as one element; the caller has checked that it is one.
std::vector<std::byte> element_bytes(DType dtype, double value) {
  const std::vector<double> doubles = {value};
  const std::vector<float> floats = {static_cast<float>(value)};
  Tensor one = tensor_of_ints(DType::int64, {1}, {0});
  if (dtype == DType::float64) one = Tensor::of_doubles({1}, doubles);
  if (dtype == DType::float32) one = Tensor::of_floats({1}, floats);
  if (!is_float(dtype)) one = tensor_of_ints(dtype, {1}, {static_cast<std::int64_t>(value)});
  return {one.bytes().begin(), one.bytes().end()};
}

std::vector<std::byte> padded(const Tensor& source, const PadAttributes& attributes, const Shape& shape) {
  const std::vector<std::byte> fill = element_bytes(source.dtype(), attributes.value);
  const std::vector<std::int64_t> strides = strides_of(source.shape());
  std::vector<std::byte> bytes(element_count(shape) * fill.size());
  for_each_index(shape, [&](std::size_t i, const std::vector<std::int64_t>& index) {
    bool inside = true;
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      const std::int64_t old = index[axis] - attributes.before[axis];
      inside = inside && old >= 0 && old < source.shape()[axis];
      from += old * strides[axis];
    }
    const std::byte* element = inside ? source.bytes().data() + static_cast<std::size_t>(from) * fill.size() : fill.data();
    std::memcpy(bytes.data() + i * fill.size(), element, fill.size());
  });
  return bytes;
}

}  // namespace

Tensor fold_layout(Op op, const std::vector<const Tensor*>& operands, const Attributes& attributes, const Shape& shape) {
  const Tensor& source = *operands.front();
  if (op == Op::reshape) return source.reshaped(shape);
  std::vector<std::byte> bytes;
  if (element_count(shape) != 0) {
    if (op == Op::permute)
      bytes = permuted(source, std::get<PermuteAttributes>(attributes), shape);
    else if (op == Op::slice)
      bytes = sliced(source, std::get<SliceAttributes>(attributes), shape);
    else if (op == Op::expand)
      bytes = expanded(source, shape);
    else if (op == Op::concat)
      bytes = concatenated(operands, std::get<ConcatAttributes>(attributes), shape);
    else if (op == Op::gather)
      bytes = gathered(source, std::get<GatherAttributes>(attributes));
    else if (op == Op::pad)
      bytes = padded(source, std::get<PadAttributes>(attributes), shape);
    else
      demand(false, "fold_layout: not a layout op");
  }
  return {source.dtype(), shape, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace assay::onnx
