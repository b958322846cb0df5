// Several ops in one kernel, for compiled programs: the bits are those of the ops one after the other. Private to the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/array.h"
#include "semantics/graph/op.h"

namespace assay::runtime {

// Windows of x [planes, size]: `taps` places each, where `size` is the place of a number outside of x.
struct Windows {
  std::span<const std::int64_t> places;  // per window and tap
  std::size_t taps = 1;
  double outside = 0;
};
// Each window hands its g [planes, windows] to its greatest elements, equal shares to several: gather, max_weight, mul, and sums at the
// places, in their order. Result [planes, size].
void hand_to_greatest(const Windows& windows, const Array& x, const Array& g, Array& result);

// A part of a tensor along one axis, which has all of the others.
struct Part {
  std::size_t axis;
  std::int64_t start, extent;
};
// What a pad with zeros makes a part of the tensor that it gives; none where it pads several axes, or crops.
[[nodiscard]] std::optional<Part> part_of(const PadAttributes& pad, const Shape& result);
// Whether several parts lie along one axis without meeting.
[[nodiscard]] bool are_apart(std::vector<Part> parts);
// The sum of several such parts, each padded with zeros: what lies nowhere is 0. values: one per part.
void put_together(std::span<const Part> parts, std::span<const Array* const> values, Array& result);

// sum += the product of two matrices, a gemm without a third operand, where that gives the bits of the product and of the sum one after the
// other; else false, and nothing is added.
[[nodiscard]] bool add_product(const GemmAttributes& attributes, const Array& a, const Array& b, Array& sum);

}  // namespace assay::runtime
