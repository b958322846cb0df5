// Value: operators that append nodes.

#include "semantics/graph/value.h"

#include <algorithm>

namespace assay::gradients::derivatives {

Value Builder::node(NodeId id) { return {*this, id}; }

Value Builder::constant(const Tensor& tensor) { return {*this, graph_.append_constant(tensor)}; }

Value Builder::number(double value, DType dtype) {
  if (dtype == DType::float64) return {*this, graph_.append_constant(Tensor::of_doubles({}, std::vector<double>{value}))};
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value) return {*this, graph_.append_constant(Tensor::of_floats({}, std::vector<float>{nearest}))};
  return value * number(1, dtype);  // scale has an exact factor
}

Value Builder::counts(const Shape& shape, const std::vector<std::int64_t>& values, DType dtype) {
  if (dtype == DType::float64)
    return {*this, graph_.append_constant(Tensor::of_doubles(shape, std::vector<double>(values.begin(), values.end())))};
  return {*this, graph_.append_constant(Tensor::of_floats(shape, std::vector<float>(values.begin(), values.end())))};
}

Value Builder::zeros(const Shape& shape, DType dtype) { return counts(shape, std::vector<std::int64_t>(element_count(shape), 0), dtype); }

void Builder::refuse(Rejection why) {
  if (!rejection_) rejection_ = std::move(why);
}

Value Builder::append(Op op, const std::vector<Value>& operands, Attributes attributes) {
  std::vector<NodeId> ids;
  for (const Value& operand : operands) ids.push_back(operand.id());
  Outcome<NodeId> id = graph_.append(op, std::move(ids), std::move(attributes));
  if (id) return {*this, id.value()};
  if (!rejection_) rejection_ = id.rejection();
  return operands[0];
}

Value reshaped(const Value& x, const Shape& shape) { return x.shape() == shape ? x : apply(Op::reshape, x, ShapeAttributes{shape}); }
Value expanded(const Value& x, const Shape& shape) { return x.shape() == shape ? x : apply(Op::expand, x, ShapeAttributes{shape}); }
Value permuted(const Value& x, std::vector<std::int64_t> axes) { return apply(Op::permute, x, PermuteAttributes{std::move(axes)}); }

Value summed_to(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const std::size_t missing = x.shape().size() - shape.size();
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
    if (axis < missing || (shape[axis - missing] == 1 && x.shape()[axis] != 1)) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return reshaped(sum_over(x, axes), shape);
}

Value sum_over(const Value& x, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? x : apply(Op::reduce_sum, x, ReduceAttributes{axes, true});
}
Value mean_over(const Value& x, const std::vector<std::int64_t>& axes) { return apply(Op::reduce_mean, x, ReduceAttributes{axes, true}); }

Value picked(const Value& x, const std::vector<std::int64_t>& indices, const Shape& shape) {
  const Value flat = reshaped(x, {static_cast<std::int64_t>(element_count(x.shape()))});
  return apply(Op::gather, flat, GatherAttributes{0, indices, shape});
}

Value placed(const Value& x, const std::vector<std::int64_t>& indices, const Shape& shape) {
  return apply(Op::place, x, PlaceAttributes{indices, shape});
}

Shape with_kept_axes(const Shape& x, const std::vector<std::int64_t>& axes) {
  Shape result = x;
  for (const std::int64_t axis : axes) result[static_cast<std::size_t>(axis)] = 1;
  return result;
}

}  // namespace assay::gradients::derivatives
