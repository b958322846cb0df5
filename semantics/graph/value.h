// Value: a node under construction, with the operators in which derivative rules are written. Private to this folder.
//
// Every operation appends a node. The builder remembers the first node that shape inference refuses, and returns its
// operand instead. The caller asks for the rejection once, at the end.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::gradients::derivatives {

class Value;

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const std::optional<Rejection>& rejection() const { return rejection_; }
  [[nodiscard]] Value node(NodeId id);
  // A constant of rank 0 with exactly this number, which is finite.
  [[nodiscard]] Value number(double value, DType dtype);
  [[nodiscard]] Value zeros(const Shape& shape, DType dtype);
  [[nodiscard]] Value constant(const Tensor& tensor);
  // A constant of integers below 2^24.
  [[nodiscard]] Value counts(const Shape& shape, const std::vector<std::int64_t>& values, DType dtype);
  void refuse(Rejection why);
  Value append(Op op, const std::vector<Value>& operands, Attributes attributes = NoAttributes{});

 private:
  Graph& graph_;
  std::optional<Rejection> rejection_;
};

class Value {
 public:
  Value(Builder& builder, NodeId id) : builder_(&builder), id_(id) {}
  [[nodiscard]] NodeId id() const { return id_; }
  [[nodiscard]] Builder& builder() const { return *builder_; }
  [[nodiscard]] Shape shape() const { return builder_->graph().node(id_).shape; }  // a copy: appending moves nodes
  [[nodiscard]] DType dtype() const { return builder_->graph().node(id_).dtype; }
  [[nodiscard]] Value number(double value) const { return builder_->number(value, dtype()); }

 private:
  Builder* builder_;
  NodeId id_;
};

[[nodiscard]] inline Value apply(Op op, const Value& x, Attributes attributes = NoAttributes{}) {
  return x.builder().append(op, {x}, std::move(attributes));
}
[[nodiscard]] inline Value apply(Op op, const Value& a, const Value& b) { return a.builder().append(op, {a, b}); }

inline Value operator-(const Value& x) { return apply(Op::neg, x); }
inline Value operator+(const Value& a, const Value& b) { return apply(Op::add, a, b); }
inline Value operator-(const Value& a, const Value& b) { return apply(Op::sub, a, b); }
inline Value operator*(const Value& a, const Value& b) { return apply(Op::mul, a, b); }
inline Value operator/(const Value& a, const Value& b) { return apply(Op::div, a, b); }
inline Value operator+(const Value& a, double b) { return a + a.number(b); }
inline Value operator-(const Value& a, double b) { return a - a.number(b); }
inline Value operator-(double a, const Value& b) { return b.number(a) - b; }
inline Value operator/(const Value& a, double b) { return a / a.number(b); }
inline Value operator/(double a, const Value& b) { return b.number(a) / b; }
inline Value operator*(double factor, const Value& x) { return apply(Op::scale, x, ScaleAttributes{factor}); }
inline Value square(const Value& x) { return x * x; }
inline Value sqrt(const Value& x) { return apply(Op::sqrt, x); }
inline Value exp(const Value& x) { return apply(Op::exp, x); }
inline Value sigmoid(const Value& x) { return apply(Op::sigmoid, x); }
// 1 above 0, 0 below; the Clarke set at 0 (semantics/ops/selector.h).
inline Value step(const Value& x) { return apply(Op::step, x); }

[[nodiscard]] Value reshaped(const Value& x, const Shape& shape);
[[nodiscard]] Value expanded(const Value& x, const Shape& shape);
[[nodiscard]] Value permuted(const Value& x, std::vector<std::int64_t> axes);
// The adjoint of broadcasting a tensor of the given shape to that of x.
[[nodiscard]] Value summed_to(const Value& x, const Shape& shape);
// Over the axes, which stay with extent 1.
[[nodiscard]] Value sum_over(const Value& x, const std::vector<std::int64_t>& axes);
[[nodiscard]] Value mean_over(const Value& x, const std::vector<std::int64_t>& axes);
// Element i of the result of picked is x[indices[i]], with x read as a vector. placed is its adjoint, a tensor of the
// given shape.
[[nodiscard]] Value picked(const Value& x, const std::vector<std::int64_t>& indices, const Shape& shape);
[[nodiscard]] Value placed(const Value& x, const std::vector<std::int64_t>& indices, const Shape& shape);

// The shape of a reduction's result if the reduced axes are kept.
[[nodiscard]] Shape with_kept_axes(const Shape& x, const std::vector<std::int64_t>& axes);

}  // namespace assay::gradients::derivatives
