// Gradients of reductions and running sums and products.
#include <algorithm>

#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

namespace {

// A value of the result's shape with the axes of extent 1 put back.
Term with_axes(const Term& value, const Applied& a) {
  Shape kept = a.x().shape();
  for (const std::int64_t axis : a.get<ReduceAttributes>().axes) kept[static_cast<std::size_t>(axis)] = 1;
  return reshape(value, kept);
}

Term shifted(const Term& t, std::int64_t axis, std::int64_t by) {  // element i comes from i - by, from outside 0
  std::vector<std::int64_t> before(t.shape().size(), 0), after = before;
  before[static_cast<std::size_t>(axis)] = by;
  after[static_cast<std::size_t>(axis)] = -by;
  return pad(t, before, after);
}

Term running_product(const Term& t, std::int64_t axis, bool reverse) {  // of the elements before each
  return t.apply(Op::cumprod, CumulativeAttributes{axis, true, reverse});
}

}  // namespace

Term reduce_sum_bar(const Applied& a) { return expand(with_axes(a.g(), a), Shape(a.x().shape())); }

Term reduce_mean_bar(const Applied& a) {
  std::int64_t count = 1;
  for (const std::int64_t axis : a.get<ReduceAttributes>().axes) count *= a.x().shape()[static_cast<std::size_t>(axis)];
  const Term g = with_axes(a.g(), a);
  return expand(g / g.exact(static_cast<double>(count)), Shape(a.x().shape()));
}

Term reduce_extremum_bar(const Applied& a) {
  const Term x = a.op == Op::reduce_min ? -a.x() : a.x();
  return with_axes(a.g(), a) * x.apply(Op::max_weight, ReduceAttributes{a.get<ReduceAttributes>().axes, true});
}

// The product of all others: of those before times those behind, without a quotient.
Term reduce_prod_bar(const Applied& a) {
  const Shape shape = a.x().shape();
  const std::vector<std::int64_t>& axes = a.get<ReduceAttributes>().axes;
  std::vector<std::int64_t> order;
  Shape front, moved;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::count(axes, static_cast<std::int64_t>(i)) != 0) continue;
    order.push_back(static_cast<std::int64_t>(i));
    front.push_back(shape[i]);
  }
  const auto last = static_cast<std::int64_t>(front.size());
  for (const std::int64_t axis : axes) order.push_back(axis);
  for (const std::int64_t axis : order) moved.push_back(shape[static_cast<std::size_t>(axis)]);
  Shape lines = front;
  lines.push_back(extent_product(moved, front.size(), moved.size()));
  front.push_back(1);
  const Term line = reshape(permute(a.x(), order), lines);
  const Term others = running_product(line, last, false) * running_product(line, last, true);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return permute(reshape(others * reshape(a.g(), front), moved), back);
}

Term log_sum_exp_bar(const Applied& a) { return with_axes(a.g(), a) * exp(a.x() - with_axes(a.y(), a)); }

Term cumsum_bar(const Applied& a) {
  CumulativeAttributes back = a.get<CumulativeAttributes>();
  back.reverse = !back.reverse;
  return a.g().apply(Op::cumsum, back);
}

// With p_k the product of the elements before k, x_bar_k = p_k r_k, where r_k = g_k + x_(k+1) r_(k+1) (exclusive: g_(k+1) for g_k).
// Elements behind k are `ahead` steps further. The recurrence is a composition of maps r -> b + c r: each doubling of the distance d
// takes in as many again, b_k += c_k b_(k+d), c_k *= c_(k+d). No quotient, so zeros are no exception.
Term cumprod_bar(const Applied& a) {
  const auto& [axis, exclusive, reverse] = a.get<CumulativeAttributes>();
  const std::int64_t extent = a.x().shape()[static_cast<std::size_t>(axis)], ahead = reverse ? 1 : -1;
  Term b = exclusive ? shifted(a.g(), axis, ahead) : a.g();
  Term c = shifted(a.x(), axis, ahead);
  for (std::int64_t d = 1; d < extent; d *= 2) {
    b = b + c * shifted(b, axis, ahead * d);
    if (2 * d < extent) c = c * shifted(c, axis, ahead * d);
  }
  return running_product(a.x(), axis, reverse) * b;
}

}  // namespace assay::runtime::autodiff
