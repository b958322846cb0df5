// One application of an op on the memory of a device, and the index arithmetic that launchers share.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/portable.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::gpu {

// Elements in the memory of the device, of the type that `dtype` says. Converts to a view of floats, which the caller has checked
// them to be.
template <class Void>
struct Elements {
  template <class T>
  using Same = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;
  std::size_t size = 0;
  DType dtype = DType::float32;

  template <class T>
  [[nodiscard]] View<Same<T>> as() const {
    return {static_cast<Same<T>*>(data), size};
  }
  operator View<Same<float>>() const { return as<float>(); }  // NOLINT: most kernels take floats
};

struct Operand {
  Elements<const void> data;
  const Shape* shape = nullptr;
};

struct Call {
  Op op;
  const Attributes& attributes;
  std::span<const Operand> operands;
  Elements<void> result;
  const Shape& shape;                                                           // of the result
  ExecutionModel::InputRounding factors = ExecutionModel::InputRounding::none;  // the rounding of products' factors

  [[nodiscard]] View<const float> data(std::size_t i = 0) const { return operands[i].data; }
  [[nodiscard]] DType dtype(std::size_t i = 0) const { return operands[i].data.dtype; }
  [[nodiscard]] const Shape& shape_of(std::size_t i = 0) const { return *operands[i].shape; }
  template <class A>
  [[nodiscard]] const A& get() const {
    return std::get<A>(attributes);
  }
};

[[nodiscard]] Rejection refused(Op op, std::string what);
// An op on elements of a type that no kernel holds.
[[nodiscard]] Rejection refused(Op op, DType dtype);
// Returns the first type of the operands and the result that is not float32; nothing if all are.
[[nodiscard]] std::optional<DType> other_than_floats(const Call& call);

template <class T>
struct Type {
  using type = T;
};
// f(Type<T>()) for the type that holds the elements: float, std::int64_t, std::int32_t, std::int8_t, std::uint8_t (truth values, too).
template <class F>
Outcome<Done> with_elements(Op op, DType dtype, const F& f) {
  if (dtype == DType::float32) return f(Type<float>());
  if (dtype == DType::int64) return f(Type<std::int64_t>());
  if (dtype == DType::int32) return f(Type<std::int32_t>());
  if (dtype == DType::int8) return f(Type<std::int8_t>());
  if (dtype == DType::uint8 || dtype == DType::boolean) return f(Type<std::uint8_t>());
  return refused(op, dtype);
}
// The same for what moves elements and never reads them: types of one byte share a kernel.
template <class F>
Outcome<Done> with_width(Op op, DType dtype, const F& f) {
  if (dtype == DType::float32) return f(Type<float>());
  if (dtype == DType::int64) return f(Type<std::int64_t>());
  if (dtype == DType::int32) return f(Type<std::int32_t>());
  if (dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::boolean) return f(Type<std::uint8_t>());
  return refused(op, dtype);
}

// Elements between neighbours along each axis of a dense tensor.
[[nodiscard]] std::vector<std::size_t> dense_strides(const Shape& shape);
// With these an index of `to` reads a tensor of shape `from`: 0 where it is repeated.
[[nodiscard]] std::vector<std::size_t> repeating_strides(const Shape& from, const Shape& to);
// Axes of extent 1 left out, and those merged that continue each other; none if more than kMostAxes remain.
[[nodiscard]] std::optional<Strided> strided(const std::vector<std::size_t>& extents, const std::vector<std::size_t>& strides);
[[nodiscard]] std::optional<Strided> strided(const Shape& extents, const std::vector<std::size_t>& strides);

// Lines along one axis of a dense tensor: element k of line i stands at start(i) + k * stride.
struct Lines {
  std::size_t count = 0, extent = 1, stride = 1;
  ASSAY_BOTH std::size_t start(std::size_t line) const { return line / stride * (extent * stride) + line % stride; }
};
[[nodiscard]] Lines lines_of(const Shape& shape, std::int64_t axis);

// A tensor as groups of elements: `kept` counts the groups, `within` the elements of one. Offsets add up.
struct Groups {
  Strided kept, within;
  std::size_t count = 1, size = 1;  // of groups, of elements in each
};
[[nodiscard]] std::optional<Groups> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes);

// The float nearest to a weight, ties to even.
[[nodiscard]] std::vector<float> floats_of(const std::vector<Rational>& weights);

// Which elements go to each position, in ascending order (a counting sort): those of position j are elements[starts[j]] ..
// elements[starts[j + 1] - 1].
struct Segments {
  std::vector<std::int64_t> starts, elements;
};
[[nodiscard]] Segments elements_by_position(const std::vector<std::int64_t>& positions, std::size_t count);

// Threads for a block that works on one group: a function of its size alone, since the order of sums depends on it.
[[nodiscard]] inline unsigned threads_for(std::size_t size) { return size <= 64 ? kWarp : 4 * kWarp; }

}  // namespace assay::gpu
