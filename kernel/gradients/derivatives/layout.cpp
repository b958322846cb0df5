// Derivatives of layout ops: y is x in another order, so x_bar is y_bar in the inverse order, summed where y
// repeats an element.
#include <algorithm>
#include <numeric>

#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"

namespace assay::gradients::derivatives {

namespace {

std::vector<std::int64_t> negated(std::vector<std::int64_t> values) {
  for (std::int64_t& value : values) value = -value;
  return values;
}

// y[i] = x[start + i step]. If all steps are 1, x_bar is y_bar padded with zeros; otherwise each element goes to
// its place.
Value of_slice(const Value& y, const Value& y_bar, const Shape& x) {
  const auto [starts, steps, extents] = attributes_of<SliceAttributes>(y);
  if (std::ranges::all_of(steps, [](std::int64_t step) { return step == 1; })) {
    std::vector<std::int64_t> after;
    for (std::size_t axis = 0; axis < x.size(); ++axis) after.push_back(x[axis] - starts[axis] - extents[axis]);
    return apply(Op::pad, y_bar, PadAttributes{starts, after, 0});
  }
  std::vector<std::int64_t> indices(element_count(y.shape()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::size_t rest = i;
    std::int64_t stride = 1;
    for (std::size_t axis = x.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(extents[axis]);
      indices[i] += (starts[axis] + static_cast<std::int64_t>(rest % extent) * steps[axis]) * stride;
      rest /= extent;
      stride *= x[axis];
    }
  }
  return placed(y_bar, indices, x);
}

// y[o, j, r] = x[o, indices[j], r]
Value of_gather(const Value& y, const Value& y_bar, const Shape& x) {
  const auto attributes = attributes_of<GatherAttributes>(y);
  std::int64_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(attributes.axis) + 1; axis < x.size(); ++axis) inner *= x[axis];
  const std::int64_t extent = x[static_cast<std::size_t>(attributes.axis)], chosen = static_cast<std::int64_t>(attributes.indices.size());
  std::vector<std::int64_t> indices(element_count(y.shape()));
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const std::int64_t j = i / inner % chosen;
    indices[k] = (i / inner / chosen * extent + attributes.indices[static_cast<std::size_t>(j)]) * inner + i % inner;
  }
  return placed(y_bar, indices, x);
}

Cotangents of_concat(const Value& y, const Value& y_bar) {
  const auto axis = static_cast<std::size_t>(attributes_of<ConcatAttributes>(y).axis);
  Cotangents result;
  std::vector<std::int64_t> starts(y.shape().size(), 0);
  for (std::size_t k = 0; k < node_of(y).operands.size(); ++k) {
    const Shape extents = operand(y, k).shape();
    result.emplace_back(apply(Op::slice, y_bar, SliceAttributes{starts, std::vector<std::int64_t>(starts.size(), 1), extents}));
    starts[axis] += extents[axis];
  }
  return result;
}

}  // namespace

Cotangents vjp_of_layout(const Value& y, const Value& y_bar) {
  const Shape x = operand(y, 0).shape();
  switch (node_of(y).op) {
    case Op::reshape:
      return {reshaped(y_bar, x)};
    case Op::permute: {
      const auto axes = attributes_of<PermuteAttributes>(y).axes;
      std::vector<std::int64_t> inverse(axes.size());
      for (std::size_t k = 0; k < axes.size(); ++k) inverse[static_cast<std::size_t>(axes[k])] = static_cast<std::int64_t>(k);
      return {permuted(y_bar, inverse)};
    }
    case Op::slice:
      return {of_slice(y, y_bar, x)};
    case Op::concat:
      return of_concat(y, y_bar);
    case Op::pad: {
      const auto attributes = attributes_of<PadAttributes>(y);
      return {apply(Op::pad, y_bar, PadAttributes{negated(attributes.before), negated(attributes.after), 0})};
    }
    case Op::gather:
      return {of_gather(y, y_bar, x)};
    case Op::expand:
      return {summed_to(y_bar, x)};
    default:
      demand(node_of(y).op == Op::place, "vjp_of_layout: not a layout op");
      return {reshaped(picked(y_bar, attributes_of<PlaceAttributes>(y).indices, x), x)};
  }
}

}  // namespace assay::gradients::derivatives
