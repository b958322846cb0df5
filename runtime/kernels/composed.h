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
// Each window hands its g [planes, windows] to the first of its greatest elements: gather, arg_max, a choice by place, and sums at the
// places, in their order. Result [planes, size].
void hand_to_greatest(const Windows& windows, const Array& x, const Array& g, Array& result);

// A part of a tensor along one axis, which has all of the others.
struct Part {
  std::size_t axis;
  std::int64_t start, extent;
};
// The pad that puts a slice back where it was taken from; none where the slice takes steps.
[[nodiscard]] std::optional<PadAttributes> pad_of(const SliceAttributes& slice, const Shape& whole);
// The part that a pad with zeros places in the tensor that it gives; none where it pads several axes, or crops.
[[nodiscard]] std::optional<Part> part_of(const PadAttributes& pad, const Shape& result);
// Returns true if several parts lie along one axis without meeting.
[[nodiscard]] bool are_apart(std::vector<Part> parts);
// The sum of several such parts, each padded with zeros: what lies nowhere is 0. values: one per part.
void put_together(std::span<const Part> parts, std::span<const Array* const> values, Array& result);

// Products of matrices, gemms without a third operand, added up one after the other; `factors`: two per product, and all products' factors
// of the same shapes. The first one is added to what `sum` holds, or begins it. Bits are those of the products and sums one after the other
// where the attributes and the factors' shapes allow it.
[[nodiscard]] inline bool transpose_alike(const GemmAttributes& a, const GemmAttributes& b) {
  return a.transpose_a == b.transpose_a && a.transpose_b == b.transpose_b;
}
[[nodiscard]] bool can_add_products(const GemmAttributes& attributes, const Shape& a, const Shape& b);
void add_products(const GemmAttributes& attributes, std::span<const Array* const> factors, bool adds, Array& sum);

}  // namespace assay::runtime
