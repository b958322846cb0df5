// Derivatives of choices: the cotangent goes to the element that was chosen. At ties the weights are the Clarke set.
#include "semantics/demand.h"
#include "semantics/derivatives/rules.h"

namespace assay::derivatives {

namespace {

// max(o_0, ..., o_k) as max(max(o_0, ...), o_k), and each maximum of two by the step of their difference.
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

Value of_reduction(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto axes = attributes_of<ReduceAttributes>(y).axes;
  const Value ordered = node_of(y).op == Op::reduce_max ? x : -x;
  return apply(Op::max_weight, ordered, ReduceAttributes{axes, true}) * reshaped(y_bar, with_kept_axes(x.shape(), axes));
}

// y[i] = x[index[i]] along the axis: x_bar[k] is the sum of y_bar[i] over the i whose index means k, from the front or the end.
Value of_choice(const Value& index, const Value& y_bar, const Shape& x, std::int64_t axis) {
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

Cotangents of_order(const Value& y, const Value& y_bar) {
  if (node_of(y).op == Op::take) {
    const std::int64_t axis = attributes_of<ConcatAttributes>(y).axis;
    return {std::nullopt, of_choice(operand(y, 0), y_bar, operand(y, 1).shape(), axis)};
  }
  const auto order = attributes_of<SortAttributes>(y);
  return {of_choice(apply(Op::arg_sort, operand(y, 0), order), y_bar, operand(y, 0).shape(), order.axis)};
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
      return {of_reduction(y, y_bar)};
    case Op::take:
    case Op::sort:
      return of_order(y, y_bar);
    default:
      demand(node_of(y).op == Op::where, "vjp_of_selection: not a choice");
      return of_where(y, y_bar);
  }
}

}  // namespace assay::derivatives
