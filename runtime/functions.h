// Ops on values by name. Shapes as in docs/ops; a layer's weight is [out, in] as in PyTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/session.h"

namespace assay::runtime {

inline Value apply(Op op, const Value& x, Attributes attributes = NoAttributes{}) {
  return x.session().apply(op, {x}, std::move(attributes));
}
inline Value apply(Op op, const Value& a, const Value& b, Attributes attributes = NoAttributes{}) {
  return a.session().apply(op, {a, b}, std::move(attributes));
}

inline Value operator+(const Value& a, const Value& b) { return apply(Op::add, a, b); }
inline Value operator-(const Value& a, const Value& b) { return apply(Op::sub, a, b); }
inline Value operator*(const Value& a, const Value& b) { return apply(Op::mul, a, b); }
inline Value operator/(const Value& a, const Value& b) { return apply(Op::div, a, b); }
inline Value operator-(const Value& a) { return apply(Op::neg, a); }
inline Value operator*(const Value& a, double factor) { return apply(Op::scale, a, ScaleAttributes{factor}); }
inline Value operator*(double factor, const Value& a) { return a * factor; }
inline Value operator+(const Value& a, double b) { return a + a.session().number(b, a.dtype()); }
inline Value operator-(const Value& a, double b) { return a - a.session().number(b, a.dtype()); }
inline Value operator-(double a, const Value& b) { return b.session().number(a, b.dtype()) - b; }
inline Value operator/(double a, const Value& b) { return b.session().number(a, b.dtype()) / b; }

inline Value square(const Value& x) { return x * x; }
inline Value exp(const Value& x) { return apply(Op::exp, x); }
inline Value log(const Value& x) { return apply(Op::log, x); }
inline Value sqrt(const Value& x) { return apply(Op::sqrt, x); }
inline Value sin(const Value& x) { return apply(Op::sin, x); }
inline Value cos(const Value& x) { return apply(Op::cos, x); }
inline Value tanh(const Value& x) { return apply(Op::tanh, x); }
inline Value sigmoid(const Value& x) { return apply(Op::sigmoid, x); }
inline Value relu(const Value& x) { return apply(Op::relu, x); }
inline Value gelu(const Value& x) { return apply(Op::gelu, x, GeluAttributes{}); }
inline Value silu(const Value& x) { return apply(Op::silu, x, ActivationAttributes{1, 0}); }
inline Value softplus(const Value& x) { return apply(Op::softplus, x); }

inline Value reshape(const Value& x, Shape shape) { return apply(Op::reshape, x, ShapeAttributes{std::move(shape)}); }
inline Value expand(const Value& x, Shape shape) { return apply(Op::expand, x, ShapeAttributes{std::move(shape)}); }
inline Value permute(const Value& x, std::vector<std::int64_t> axes) { return apply(Op::permute, x, PermuteAttributes{std::move(axes)}); }
[[nodiscard]] Value concat(const std::vector<Value>& parts, std::int64_t axis);
[[nodiscard]] Value cast(const Value& x, DType dtype);
[[nodiscard]] Value sum(const Value& x);   // of all elements
[[nodiscard]] Value mean(const Value& x);  // of all elements
inline Value sum(const Value& x, std::vector<std::int64_t> axes, bool keep_dims = false) {
  return apply(Op::reduce_sum, x, ReduceAttributes{std::move(axes), keep_dims});
}
inline Value mean(const Value& x, std::vector<std::int64_t> axes, bool keep_dims = false) {
  return apply(Op::reduce_mean, x, ReduceAttributes{std::move(axes), keep_dims});
}

inline Value matmul(const Value& a, const Value& b) { return apply(Op::matmul, a, b); }
// x [B, in], weight [out, in], bias [out]: x weight^T + bias.
[[nodiscard]] Value linear(const Value& x, const Value& weight, const Value& bias);
[[nodiscard]] Value linear(const Value& x, const Value& weight);

struct Conv2d {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
// x [N, C, H, W], weight [M, C / groups, h, w], bias [M].
[[nodiscard]] Value conv2d(const Value& x, const Value& weight, const Value& bias, const Conv2d& how = {});
[[nodiscard]] Value conv2d(const Value& x, const Value& weight, const Conv2d& how = {});
[[nodiscard]] Value max_pool2d(const Value& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0);
[[nodiscard]] Value avg_pool2d(const Value& x, std::int64_t kernel, std::int64_t stride);

inline Value softmax(const Value& x, std::int64_t axis) { return apply(Op::softmax, x, SoftmaxAttributes{axis}); }
inline Value log_softmax(const Value& x, std::int64_t axis) { return apply(Op::log_softmax, x, SoftmaxAttributes{axis}); }
// Over the last axis, then times weight plus bias.
[[nodiscard]] Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon = 1e-5);
// Elements are kept with probability 1 - p and divided by it.
[[nodiscard]] Value dropout(const Value& x, double p);
// Rows of table [n, d] at index [k] (int64 or int32, from either end): [k, d]. As a product with rows of 0 and 1, so that the gradient
// is a product, too.
[[nodiscard]] Value embedding(const Value& index, const Value& table);

// Means over the batch. logits [B, C], target [B] (int64 or int32).
[[nodiscard]] Value cross_entropy(const Value& logits, const Value& target);
[[nodiscard]] Value mean_squared_error(const Value& x, const Value& target);

}  // namespace assay::runtime
