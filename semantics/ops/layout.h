// Layout ops move elements and compute nothing: exact over every scalar, and index maps (index_map).
//
// Derivative: the same map without the padding value; its adjoint adds each result element to the one it came from.
// Rounding: none. Domain: everywhere, any dtype; NaN, infinities and -0 pass through bit for bit.
//
// reshape         Meaning: the same elements in row-major order.            Shapes: S -> shape
//   S1 the shape is possible; S2 it has as many elements as S.              Source: ONNX Reshape, 0 and -1 resolved
// permute         Meaning: y[i] = x[j] with j[axes[a]] = i[a].              Shapes: S -> (S[axes[0]], S[axes[1]], ...)
//   S1 axes is a permutation of 0 .. rank-1.                                Source: ONNX Transpose
// slice           Meaning: y[i] = x[starts + i*steps].                      Shapes: S -> extents
//   S1 one start, step, extent per axis; S2 steps != 0, extents >= 0; S3 every index read lies in x.
//                                                                           Source: ONNX Slice, clamping resolved
// concat          Meaning: the operands one after the other along axis.     Shapes: S_1, ..., S_n -> sum along axis
//   S1 axis < rank; S2 other extents agree; S3 the result is possible.      Source: ONNX Concat
// pad             Meaning: y[i] = x[i - before] inside x, else value.       Shapes: S -> before + S + after
//   S1 one entry per axis; S2 extents of the result >= 0 (negative entries crop); S3 value finite.
//                                                                           Source: ONNX Pad, mode constant
// gather          Meaning: y[o, j, r] = x[o, indices[j], r], o before axis, r behind it.
//   S1 axis < rank; S2 one index per element of index_shape; S3 indices in the axis.
//                                                                       Source: ONNX Gather, indices constant, resolved
// expand          Meaning: y[i] = x[i'], i' = i with 0 on broadcast axes.   Shapes: S -> shape
//   S1 the shape is possible; S2 S broadcasts to it.                        Source: ONNX Expand
#pragma once

#include <algorithm>

#include "semantics/demand.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops::layout {

// y[i] = x[start + sum_a i_a * strides_a]
template <class T>
std::vector<T> read(const std::vector<T>& x, const Shape& extents, const Shape& strides, std::int64_t start) {
  std::vector<T> y;
  const std::size_t count = element_count(extents);
  y.reserve(count);
  Walk from(extents, strides, start);
  for (std::size_t i = 0; i < count; ++i, from.next()) y.push_back(x[from.offset()]);
  return y;
}

template <class T>
std::vector<T> permute(const PermuteAttributes& attributes, const Array<T>& x, const Shape& result) {
  const Shape of_x = row_major_strides(x.shape);
  Shape strides(result.size());
  for (std::size_t i = 0; i < strides.size(); ++i) strides[i] = of_x[static_cast<std::size_t>(attributes.axes[i])];
  return read(x.values, result, strides, 0);
}

template <class T>
std::vector<T> slice(const SliceAttributes& attributes, const Array<T>& x, const Shape& result) {
  Shape strides = row_major_strides(x.shape);
  if (element_count(result) == 0) return {};
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    start += attributes.starts[axis] * strides[axis];
    // With one element along the axis the step does not matter, whatever its size.
    strides[axis] = attributes.extents[axis] == 1 ? 0 : attributes.steps[axis] * strides[axis];
  }
  return read(x.values, result, strides, start);
}

template <class T>
std::vector<T> concat(const ConcatAttributes& attributes, std::span<const Array<T>* const> operands, const Shape& result) {
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::size_t outer = element_count(Shape(result.begin(), result.begin() + attributes.axis));
  const std::size_t inner = element_count(Shape(result.begin() + attributes.axis + 1, result.end()));
  std::vector<T> y;
  y.reserve(element_count(result));
  for (std::size_t o = 0; o < outer; ++o) {
    for (const Array<T>* x : operands) {
      const std::size_t block = static_cast<std::size_t>(x->shape[axis]) * inner;
      for (std::size_t i = 0; i < block; ++i) y.push_back(x->values[o * block + i]);
    }
  }
  return y;
}

template <class T>
std::vector<T> pad(const PadAttributes& attributes, const Array<T>& x, const Shape& result, const T& value) {
  const Shape to_strides = row_major_strides(result), from_strides = row_major_strides(x.shape);
  std::vector<T> y(element_count(result), value);
  Shape kept(result.size());  // the result indices first .. first + kept - 1 lie in x
  std::int64_t to_start = 0, from_start = 0;
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    const std::int64_t before = attributes.before[axis];
    const std::int64_t first = std::max<std::int64_t>(before, 0);
    kept[axis] = std::max<std::int64_t>(std::min(before + x.shape[axis], result[axis]) - first, 0);
    if (kept[axis] == 0) return y;
    to_start += first * to_strides[axis];
    from_start += (first - before) * from_strides[axis];
  }
  Walk to(kept, to_strides, to_start), from(kept, from_strides, from_start);
  for (std::size_t i = element_count(kept); i > 0; --i, to.next(), from.next()) y[to.offset()] = x.values[from.offset()];
  return y;
}

template <class T>
std::vector<T> gather(const GatherAttributes& attributes, const Array<T>& x) {
  const std::size_t outer = element_count(Shape(x.shape.begin(), x.shape.begin() + attributes.axis));
  const std::size_t inner = element_count(Shape(x.shape.begin() + attributes.axis + 1, x.shape.end()));
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(attributes.axis)]);
  std::vector<T> y;
  y.reserve(outer * attributes.indices.size() * inner);
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : attributes.indices) {
      for (std::size_t r = 0; r < inner; ++r) y.push_back(x.values[(o * extent + static_cast<std::size_t>(index)) * inner + r]);
    }
  }
  return y;
}

// `value` is the padding value on T.
template <class T>
std::vector<T> move_elements(const Node& node, std::span<const Array<T>* const> operands, const T& value) {
  const Array<T>& x = *operands[0];
  if (node.op == Op::reshape) return x.values;
  if (node.op == Op::permute) return permute(std::get<PermuteAttributes>(node.attributes), x, node.shape);
  if (node.op == Op::slice) return slice(std::get<SliceAttributes>(node.attributes), x, node.shape);
  if (node.op == Op::concat) return concat(std::get<ConcatAttributes>(node.attributes), operands, node.shape);
  if (node.op == Op::pad) return pad(std::get<PadAttributes>(node.attributes), x, node.shape, value);
  if (node.op == Op::gather) return gather(std::get<GatherAttributes>(node.attributes), x);
  demand(node.op == Op::expand, "move_elements: not a layout op");
  return read(x.values, node.shape, broadcast_strides(x.shape, node.shape), 0);
}

static inline double padding_value(const Node& node) { return node.op == Op::pad ? std::get<PadAttributes>(node.attributes).value : 0.0; }

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const double value = padding_value(node);
  demand(ScalarTraits<S>::can_hold(value), "denote_layout: the padding value is finite");
  return Array<S>{node.shape, move_elements<S>(node, operands, ScalarTraits<S>::from_double(value))};
}

}  // namespace assay::ops::layout
