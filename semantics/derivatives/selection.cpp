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
    default:
      demand(node_of(y).op == Op::where, "vjp_of_selection: not a choice");
      return of_where(y, y_bar);
  }
}

}  // namespace assay::derivatives
