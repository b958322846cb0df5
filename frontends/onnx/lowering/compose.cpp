#include "frontends/onnx/lowering/compose.h"

#include <algorithm>
#include <cmath>

namespace assay::onnx {

Operand slice_axis(Call& call, const Operand& x, std::size_t axis, std::int64_t first, std::int64_t count, std::int64_t step) {
  if (first == 0 && step == 1 && count == x->shape[axis]) return x;
  const std::size_t rank = x->shape.size();
  SliceAttributes slice{Ints(rank, 0), Ints(rank, 1), x->shape};
  slice.starts[axis] = first;
  slice.extents[axis] = count;
  slice.steps[axis] = step;
  return call.emit(Op::slice, {x}, std::move(slice));
}

Operand permute(Call& call, const Operand& x, Ints axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  return call.emit(Op::permute, {x}, PermuteAttributes{std::move(axes)});
}

Operand expand(Call& call, const Operand& x, const Shape& shape) {
  return x->shape == shape ? x : call.emit(Op::expand, {x}, ShapeAttributes{shape});
}

Operand concat(Call& call, const std::vector<Operand>& parts, std::size_t axis) {
  if (parts.size() == 1) return parts.front();
  return call.emit(Op::concat, parts, ConcatAttributes{static_cast<std::int64_t>(axis)});
}

Operand select_flat(Call& call, const Operand& x, Ints indices, const Shape& shape, double fill) {
  const auto count = static_cast<std::int64_t>(element_count(x->shape));
  Operand flat = call.reshape(x, {count});
  if (std::find(indices.begin(), indices.end(), -1) != indices.end()) {
    flat = call.emit(Op::pad, {flat}, PadAttributes{{0}, {1}, fill});
    std::replace(indices.begin(), indices.end(), std::int64_t{-1}, count);
  }
  return call.emit(Op::gather, {flat}, GatherAttributes{0, std::move(indices), shape});
}

std::vector<Operand> split_axis(Call& call, const Operand& x, std::size_t axis, std::size_t pieces) {
  const std::int64_t extent = x->shape[axis] / static_cast<std::int64_t>(pieces);
  std::vector<Operand> parts;
  for (std::size_t i = 0; i < pieces; ++i) parts.push_back(slice_axis(call, x, axis, static_cast<std::int64_t>(i) * extent, extent));
  return parts;
}

Operand reals_like(Call& call, const Operand& x, Shape shape, const std::vector<double>& values) {
  if (x->dtype == DType::float64) return call.make(Tensor::of_doubles(std::move(shape), values));
  return call.make(Tensor::of_floats(std::move(shape), std::vector<float>(values.begin(), values.end())));
}

Ints whole_numbers(const Call& call, std::size_t i, const char* what) {
  const Tensor& tensor = call.constant(i, what);
  if (!is_float(tensor.dtype())) return tensor.to_ints();
  Ints values;
  for (std::size_t at = 0; at < tensor.size(); ++at) {
    const double value = tensor.as_double(at);
    if (!(std::floor(value) == value && std::fabs(value) < 0x1p62))
      call.malformed("onnx.input", std::string(what) + " as whole numbers", std::to_string(value));
    values.push_back(static_cast<std::int64_t>(value));
  }
  return values;
}

std::int64_t resolved_index(const Call& call, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    call.malformed("onnx.index", std::to_string(-extent) + " <= index < " + std::to_string(extent), std::to_string(index));
  return index < 0 ? index + extent : index;
}

bool next_index(Ints& index, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

Ints strides_of(const Shape& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Operand scaled(Call& call, const Operand& x, double factor) { return call.emit(Op::scale, {x}, ScaleAttributes{factor}); }

}  // namespace assay::onnx
