// Shape rules of the layout ops (side conditions: semantics/ops/layout.h).
#include <algorithm>
#include <cmath>

#include "semantics/graph/shape_rules.h"

namespace assay::shape_rules {

namespace {

bool is_possible(const Shape& shape) {
  std::size_t count = 0;
  return checked_element_count(shape, kMaximumElements, count);
}

bool is_small(Wide number) { return number >= -static_cast<Wide>(kMaximumElements) && number <= static_cast<Wide>(kMaximumElements); }

Outcome<Shape> reshape_shape(const Call& call) {
  const Shape& target = call.get<ShapeAttributes>().shape;
  if (!is_possible(target)) return violated(call, 1, "0 <= extents, at most 2^31 - 1 elements", "shape " + to_string(target));
  if (element_count(target) != element_count(call.shape(0))) {
    return violated(call, 2, "as many elements as the operand: " + std::to_string(element_count(call.shape(0))),
                    "shape " + to_string(target) + " with " + std::to_string(element_count(target)));
  }
  return target;
}

Outcome<Shape> permute_shape(const Call& call) {
  const Shape& operand = call.shape(0);
  const std::vector<std::int64_t>& axes = call.get<PermuteAttributes>().axes;
  std::vector<std::int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = axes.size() == operand.size();
  for (std::size_t i = 0; is_permutation && i < sorted.size(); ++i) is_permutation = sorted[i] == static_cast<std::int64_t>(i);
  if (!is_permutation) return violated(call, 1, "axes is a permutation of 0 .. rank - 1", "axes " + to_string(axes));
  Shape result(operand.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result[i] = operand[static_cast<std::size_t>(axes[i])];
  return result;
}

Outcome<Shape> slice_shape(const Call& call) {
  const Shape& operand = call.shape(0);
  const auto& [starts, steps, extents] = call.get<SliceAttributes>();
  if (starts.size() != operand.size() || steps.size() != operand.size() || extents.size() != operand.size()) {
    return violated(call, 1, "one start, step and extent per axis",
                    "starts " + to_string(starts) + ", steps " + to_string(steps) + ", extents " + to_string(extents));
  }
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    const std::string found = "axis " + std::to_string(axis) + ": start " + std::to_string(starts[axis]) + ", step " +
                              std::to_string(steps[axis]) + ", extent " + std::to_string(extents[axis]) + " of " +
                              std::to_string(operand[axis]);
    if (steps[axis] == 0 || extents[axis] < 0) return violated(call, 2, "step != 0 and extent >= 0", found);
    if (extents[axis] == 0) continue;
    const Wide first = starts[axis];
    const Wide last = first + static_cast<Wide>(extents[axis] - 1) * steps[axis];
    if (first < 0 || first >= operand[axis] || last < 0 || last >= operand[axis]) {
      return violated(call, 3, "first and last index lie in the axis", found);
    }
  }
  return extents;
}

Outcome<Shape> concat_shape(const Call& call) {
  const std::int64_t axis = call.get<ConcatAttributes>().axis;
  Shape result = call.shape(0);
  if (axis < 0 || axis >= static_cast<std::int64_t>(result.size())) {
    return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  }
  const auto along = static_cast<std::size_t>(axis);
  for (std::size_t operand = 1; operand < call.operands.size(); ++operand) {
    Shape other = call.shape(operand);
    const std::int64_t extent = other.size() == result.size() ? other[along] : 0;
    if (other.size() == result.size()) other[along] = result[along];
    if (other != result) return violated(call, 2, "equal extents on every other axis", "operand " + std::to_string(operand) + " differs");
    result[along] += extent;  // both below 2^31: no overflow, checked again after each step
    if (!is_possible(result)) return violated(call, 3, "at most 2^31 - 1 elements", "shape " + to_string(result));
  }
  return result;
}

Outcome<Shape> pad_shape(const Call& call) {
  const Shape& operand = call.shape(0);
  const auto& [before, after, value] = call.get<PadAttributes>();
  if (before.size() != operand.size() || after.size() != operand.size()) {
    return violated(call, 1, "one entry before and after per axis", "before " + to_string(before) + ", after " + to_string(after));
  }
  Shape result(operand.size());
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    const Wide extent = static_cast<Wide>(operand[axis]) + before[axis] + after[axis];
    if (extent < 0 || !is_small(extent) || !is_small(before[axis]) || !is_small(after[axis])) {
      return violated(call, 2, "0 <= before + extent + after, all below 2^31 in magnitude",
                      "axis " + std::to_string(axis) + ": " + std::to_string(before[axis]) + " + " + std::to_string(operand[axis]) + " + " +
                          std::to_string(after[axis]));
    }
    result[axis] = static_cast<std::int64_t>(extent);
  }
  if (!(value - value == 0)) return violated(call, 3, "a finite padding value", std::to_string(value));
  if (!is_float(call.dtype()) && std::floor(value) != value)
    return violated(call, 3, "a whole padding value between integers", std::to_string(value));
  return result;
}

Outcome<Shape> gather_shape(const Call& call) {
  const Shape& operand = call.shape(0);
  const auto& [axis, indices, index_shape] = call.get<GatherAttributes>();
  if (axis < 0 || axis >= static_cast<std::int64_t>(operand.size())) {
    return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  }
  if (!is_possible(index_shape) || element_count(index_shape) != indices.size()) {
    return violated(call, 2, "as many indices as the index shape says",
                    std::to_string(indices.size()) + " for shape " + to_string(index_shape));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= operand[static_cast<std::size_t>(axis)]) {
      return violated(call, 3, "0 <= index < " + std::to_string(operand[static_cast<std::size_t>(axis)]),
                      "index " + std::to_string(i) + " is " + std::to_string(indices[i]));
    }
  }
  Shape result(operand.begin(), operand.begin() + axis);
  result.insert(result.end(), index_shape.begin(), index_shape.end());
  result.insert(result.end(), operand.begin() + axis + 1, operand.end());
  return result;
}

Outcome<Shape> place_shape(const Call& call) {
  const auto& [indices, shape] = call.get<PlaceAttributes>();
  std::size_t count = 0;
  if (!checked_element_count(shape, kMaximumElements, count)) {
    return violated(call, 1, "0 <= extents, at most 2^31 - 1 elements", to_string(shape));
  }
  if (indices.size() != element_count(call.shape(0))) {
    return violated(call, 2, "one index per element of " + to_string(call.shape(0)), std::to_string(indices.size()));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= static_cast<std::int64_t>(count)) {
      return violated(call, 3, "0 <= index < " + std::to_string(count), "index " + std::to_string(i) + " is " + std::to_string(indices[i]));
    }
  }
  return shape;
}

Outcome<Shape> expand_shape(const Call& call) {
  const Shape& target = call.get<ShapeAttributes>().shape;
  if (!is_possible(target)) return violated(call, 1, "0 <= extents, at most 2^31 - 1 elements", "shape " + to_string(target));
  Shape common;
  if (!broadcast(call.shape(0), target, common) || common != target) {
    return violated(call, 2, "the operand broadcasts to the result shape", "result shape " + to_string(target));
  }
  return target;
}

}  // namespace

Outcome<Shape> layout_shape(const Call& call) {
  if (call.op == Op::reshape) return reshape_shape(call);
  if (call.op == Op::permute) return permute_shape(call);
  if (call.op == Op::slice) return slice_shape(call);
  if (call.op == Op::concat) return concat_shape(call);
  if (call.op == Op::pad) return pad_shape(call);
  if (call.op == Op::gather) return gather_shape(call);
  if (call.op == Op::place) return place_shape(call);
  return expand_shape(call);
}

}  // namespace assay::shape_rules
