// Shape rules of weighted_gather, take, sort and arg_sort (side conditions: semantics/ops/weighted_gather.h, order.h).
#include "semantics/graph/shape_rules.h"

namespace assay::shape_rules {

namespace {

bool is_axis(std::int64_t axis, const Shape& x) { return axis >= 0 && axis < static_cast<std::int64_t>(x.size()); }

Outcome<Shape> weighted_gather_shape(const Call& call) {
  const auto& [axis, starts, indices, weights] = call.get<WeightedGatherAttributes>();
  Shape result = call.shape(0);
  if (!is_axis(axis, result)) return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  bool ascends = !starts.empty() && starts.front() == 0 && indices.size() == weights.size();
  for (std::size_t i = 1; ascends && i < starts.size(); ++i) ascends = starts[i - 1] <= starts[i];
  if (!ascends || starts.back() != static_cast<std::int64_t>(indices.size())) {
    return violated(call, 2, "starts from 0, ascending, to the number of indices and weights",
                    std::to_string(starts.size()) + " starts, " + std::to_string(indices.size()) + " indices, " +
                        std::to_string(weights.size()) + " weights");
  }
  const std::int64_t extent = result[static_cast<std::size_t>(axis)];
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= extent) return violated(call, 3, "0 <= index < " + std::to_string(extent), std::to_string(index));
  }
  result[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(starts.size()) - 1;
  return result;
}

Outcome<Shape> take_shape(const Call& call) {
  const std::int64_t axis = call.get<ConcatAttributes>().axis;
  Shape x = call.shape(1);
  if (!is_axis(axis, x)) return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  if (call.shape(0).size() == x.size()) x[static_cast<std::size_t>(axis)] = call.shape(0)[static_cast<std::size_t>(axis)];
  if (x != call.shape(0)) {
    return violated(call, 2, "an index of the shape of x but for the axis", to_string(call.shape(0)) + " and " + to_string(call.shape(1)));
  }
  return x;
}

Outcome<Shape> sort_shape(const Call& call) {
  const auto& [axis, count, descending] = call.get<SortAttributes>();
  Shape result = call.shape(0);
  if (!is_axis(axis, result)) return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  std::int64_t& extent = result[static_cast<std::size_t>(axis)];
  if (count < 0 || count > extent) return violated(call, 2, "0 <= count <= " + std::to_string(extent), std::to_string(count));
  extent = count;
  return result;
}

}  // namespace

Outcome<Shape> selection_shape(const Call& call) {
  if (call.op == Op::weighted_gather) return weighted_gather_shape(call);
  if (call.op == Op::take) return take_shape(call);
  return sort_shape(call);
}

}  // namespace assay::shape_rules
