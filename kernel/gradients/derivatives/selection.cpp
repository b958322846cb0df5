// Derivatives of choices: the cotangent goes to the chosen element. At ties the weights are the Clarke set.
#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"

namespace assay::gradients::derivatives {

namespace {

// max(o_0, ..., o_k) is max(max(o_0, ...), o_k), and each maximum of two is differentiated by the step of
// their difference.
Cotangents of_extremum(const Value& y, const Value& y_bar) {
  const Op op = node_of(y).op;
  const std::size_t n = node_of(y).operands.size();
  std::vector<Value> so_far{operand(y, 0)};
  for (std::size_t k = 1; k + 1 < n; ++k) so_far.push_back(apply(op, so_far.back(), operand(y, k)));
  Cotangents result(n);
  Value bar = y_bar;
  for (std::size_t k = n - 1; k > 0; --k) {
    const Value rest = so_far[k - 1], next = operand(y, k);
    const Value share = step(op == Op::max ? next - rest : rest - next);
    result[k] = summed_to(bar * share, next.shape());
    bar = bar * (1.0 - share);
  }
  result[0] = summed_to(bar, operand(y, 0).shape());
  return result;
}

Value of_reduced_extremum(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto axes = attributes_of<ReduceAttributes>(y).axes;
  const Value ordered = node_of(y).op == Op::reduce_max ? x : -x;
  return apply(Op::max_weight, ordered, ReduceAttributes{axes, true}) * reshaped(y_bar, with_kept_axes(x.shape(), axes));
}

// y[i] = x[index[i]] along the axis. x_bar[k] is the sum of y_bar[i] over all i whose index means k, counted from the
// front or from the end.
Value of_take(const Value& index, const Value& y_bar, const Shape& x, std::int64_t axis) {
  const std::int64_t extent = x[static_cast<std::size_t>(axis)];
  Shape chosen = index.shape(), places(x.size() + 1, 1);
  chosen.insert(chosen.begin() + axis + 1, 1);
  places[static_cast<std::size_t>(axis) + 1] = extent;
  std::vector<std::int64_t> from_front, from_end;
  for (std::int64_t k = 0; k < extent; ++k) {
    from_front.push_back(k);
    from_end.push_back(k - extent);
  }
  Builder& builder = y_bar.builder();
  const DType dtype = y_bar.dtype();
  const Value at = reshaped(apply(Op::cast, index, CastAttributes{static_cast<std::uint8_t>(dtype)}), chosen);
  const Value means = builder.append(Op::logical_or, {apply(Op::equal, at, builder.counts(places, from_front, dtype)),
                                                      apply(Op::equal, at, builder.counts(places, from_end, dtype))});
  const Value taken = builder.append(Op::where, {means, reshaped(y_bar, chosen), y_bar.number(0)});
  return apply(Op::reduce_sum, taken, ReduceAttributes{{axis}, false});
}

// R_i = sum over j != i of step(x_j - x_i) elements come before x_i (ascending: step(x_i - x_j)), and y_r = x_i if
// R_i = r. So the weight of x_i in y_r is step(R_i - r + 1/2) step(r + 1/2 - R_i). At ties R_i is a set over sets, and
// so are the weights.
Value of_sort(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto [axis, count, descending] = attributes_of<SortAttributes>(y);
  const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(x.shape().size()); ++k) {
    if (k < axis) outer *= x.shape()[static_cast<std::size_t>(k)];
    if (k > axis) inner *= x.shape()[static_cast<std::size_t>(k)];
  }
  std::vector<std::int64_t> others(static_cast<std::size_t>(n * n), 1), ranks;
  for (std::int64_t i = 0; i < n; ++i) others[static_cast<std::size_t>(i * n + i)] = 0;
  for (std::int64_t r = 0; r < count; ++r) ranks.push_back(r);
  const Value x_j = reshaped(x, {outer, n, 1, inner}), x_i = reshaped(x, {outer, 1, n, inner});  // [outer, j, i, inner]
  const Value before = step(descending ? x_j - x_i : x_i - x_j) * y.builder().counts({1, n, n, 1}, others, x.dtype());
  // R_i - r: [outer, r, i, inner].
  const Value past = sum_over(before, {1}) - y.builder().counts({1, count, 1, 1}, ranks, x.dtype());
  const Value weights = step(past + 0.5) * step(0.5 - past);
  return reshaped(sum_over(weights * reshaped(y_bar, {outer, count, 1, inner}), {1}), x.shape());
}

Cotangents of_where(const Value& y, const Value& y_bar) {
  const Value condition = operand(y, 0), zero = y_bar.number(0);
  Builder& builder = y.builder();
  return {std::nullopt, summed_to(builder.append(Op::where, {condition, y_bar, zero}), operand(y, 1).shape()),
          summed_to(builder.append(Op::where, {condition, zero, y_bar}), operand(y, 2).shape())};
}

}  // namespace

Cotangents vjp_of_selection(const Value& y, const Value& y_bar) {
  switch (node_of(y).op) {
    case Op::min:
    case Op::max:
      return of_extremum(y, y_bar);
    case Op::reduce_max:
    case Op::reduce_min:
      return {of_reduced_extremum(y, y_bar)};
    case Op::take:
      return {std::nullopt, of_take(operand(y, 0), y_bar, operand(y, 1).shape(), attributes_of<ConcatAttributes>(y).axis)};
    case Op::sort:
      return {of_sort(y, y_bar)};
    default:
      demand(node_of(y).op == Op::where, "vjp_of_selection: not a choice");
      return of_where(y, y_bar);
  }
}

}  // namespace assay::gradients::derivatives
