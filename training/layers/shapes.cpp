#include "training/layers/shapes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/functions.h"
#include "semantics/demand.h"

namespace assay::training {

using runtime::Array;

Value slice(const Value& x, std::size_t axis, std::int64_t start, std::int64_t count) {
  const Shape& shape = x.shape();
  SliceAttributes how{std::vector<std::int64_t>(shape.size(), 0), std::vector<std::int64_t>(shape.size(), 1), shape};
  if (axis < shape.size()) {
    how.starts[axis] = start;
    how.extents[axis] = count;
  }
  return runtime::apply(Op::slice, x, std::move(how));
}

Value select(const Value& x, std::size_t axis, std::int64_t place) {
  Shape shape = x.shape();
  if (axis < shape.size()) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return reshape(slice(x, axis, place, 1), std::move(shape));
}

std::vector<Value> split(const Value& x, std::size_t axis, std::int64_t parts) {
  if (!x.ok()) return std::vector<Value>(static_cast<std::size_t>(parts), x);
  const std::int64_t each = x.shape().at(axis) / parts;
  demand(each * parts == x.shape()[axis], "split: equal parts");
  std::vector<Value> values;
  for (std::int64_t k = 0; k < parts; ++k) values.push_back(slice(x, axis, k * each, each));
  return values;
}

Value stack(std::span<const Value> values, std::size_t axis) {
  std::vector<Value> parts;
  for (const Value& value : values) {
    Shape shape = value.shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), 1);
    parts.push_back(reshape(value, std::move(shape)));
  }
  return concat(parts, static_cast<std::int64_t>(axis));
}

Value flatten(const Value& x) {
  const Shape& shape = x.shape();
  return reshape(x, {shape.at(0), std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>())});
}

Value transpose(const Value& x, std::size_t a, std::size_t b) {
  std::vector<std::int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  if (a < axes.size() && b < axes.size()) std::swap(axes[a], axes[b]);
  return permute(x, std::move(axes));
}

Value along_channels(const Value& x, std::size_t rank) {
  Shape shape(rank, 1);
  if (rank > 1) shape[1] = x.shape().at(0);
  return reshape(x, std::move(shape));
}

Array numbers(const runtime::Session& session, const Shape& shape, std::span<const double> values) {
  if (session.options().dtype == DType::float64) return Array::from(Tensor::of_doubles(shape, values));
  const std::vector<float> narrow(values.begin(), values.end());
  return Array::from(Tensor::of_floats(shape, narrow));
}

}  // namespace assay::training
