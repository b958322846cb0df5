// One application of an op on the memory of a device, and the index arithmetic that launchers share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/portable.h"
#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::gpu {

struct Operand {
  View<const float> data;
  const Shape* shape = nullptr;
};

struct Call {
  Op op;
  const Attributes& attributes;
  std::span<const Operand> operands;
  View<float> result;
  const Shape& shape;  // of the result

  [[nodiscard]] View<const float> data(std::size_t i = 0) const { return operands[i].data; }
  [[nodiscard]] const Shape& shape_of(std::size_t i = 0) const { return *operands[i].shape; }
  template <class A>
  [[nodiscard]] const A& get() const {
    return std::get<A>(attributes);
  }
};

[[nodiscard]] Rejection refused(Op op, std::string what);

// Elements between neighbours along each axis of a dense tensor.
[[nodiscard]] std::vector<std::size_t> dense_strides(const Shape& shape);
// With these an index of `to` reads a tensor of shape `from`: 0 where it is repeated.
[[nodiscard]] std::vector<std::size_t> repeating_strides(const Shape& from, const Shape& to);
// Axes of extent 1 left out, and those merged that continue each other; none if more than kMostAxes remain.
[[nodiscard]] std::optional<Strided> strided(const std::vector<std::size_t>& extents, const std::vector<std::size_t>& strides);
[[nodiscard]] std::optional<Strided> strided(const Shape& extents, const std::vector<std::size_t>& strides);

// A tensor as groups of elements: `kept` counts the groups, `within` the elements of one. Offsets add up.
struct Groups {
  Strided kept, within;
  std::size_t count = 1, size = 1;  // of groups, of elements in each
};
[[nodiscard]] std::optional<Groups> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes);

// Threads for a block that works on one group: a function of its size alone, since the order of sums depends on it.
[[nodiscard]] inline unsigned threads_for(std::size_t size) { return size <= 64 ? kWarp : 4 * kWarp; }

}  // namespace assay::gpu
