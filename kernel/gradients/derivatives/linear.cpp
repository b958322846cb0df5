// Derivatives of the linear and bilinear ops other than windows: sums, scalings, products, batch_norm.
//
// For y = a b (elementwise, or matrices): a_bar = y_bar b^T, b_bar = a^T y_bar, each summed over the axes along which
// the operand was broadcast.
#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"

namespace assay::gradients::derivatives {

namespace {

Value transposed(const Value& x) {
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < x.shape().size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permuted(x, axes);
}

Value product(const Value& a, const Value& b) { return apply(Op::matmul, a, b); }

// A vector counts as a matrix with one row (a) or one column (b).
Cotangents of_matmul(const Value& y, const Value& y_bar) {
  const Value a = operand(y, 0), b = operand(y, 1);
  Shape a_shape = a.shape(), b_shape = b.shape(), y_shape = y.shape();
  if (b_shape.size() == 1) {
    b_shape.push_back(1);
    y_shape.push_back(1);
  }
  if (a_shape.size() == 1) {
    a_shape.insert(a_shape.begin(), 1);
    y_shape.insert(y_shape.end() - 1, 1);
  }
  const Value a_matrix = reshaped(a, a_shape), b_matrix = reshaped(b, b_shape), bar = reshaped(y_bar, y_shape);
  const Value a_bar = summed_to(product(bar, transposed(b_matrix)), a_shape);
  const Value b_bar = summed_to(product(transposed(a_matrix), bar), b_shape);
  return {reshaped(a_bar, a.shape()), reshaped(b_bar, b.shape())};
}

// y = alpha A' B' + beta C
Cotangents of_gemm(const Value& y, const Value& y_bar) {
  const auto [alpha, beta, transpose_a, transpose_b] = attributes_of<GemmAttributes>(y);
  const Value a = operand(y, 0), b = operand(y, 1), bar = alpha == 1 ? y_bar : alpha * y_bar;
  const Value a_right = transpose_a ? transposed(a) : a, b_right = transpose_b ? transposed(b) : b;
  const Value a_bar = product(bar, transposed(b_right)), b_bar = product(transposed(a_right), bar);
  Cotangents result{transpose_a ? transposed(a_bar) : a_bar, transpose_b ? transposed(b_bar) : b_bar};
  if (node_of(y).operands.size() == 3) {
    const Value c_bar = summed_to(y_bar, operand(y, 2).shape());
    result.emplace_back(beta == 1 ? c_bar : beta * c_bar);
  }
  return result;
}

// y = (x - mean) r scale + bias with r = 1 / sqrt(var + epsilon), along the channel axis 1.
Cotangents of_batch_norm(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0), scale = operand(y, 1), bias = operand(y, 2), mean = operand(y, 3), var = operand(y, 4);
  Shape channels(x.shape().size(), 1);
  channels[1] = x.shape()[1];
  const auto along = [&](const Value& v) { return reshaped(v, channels); };
  const auto gathered = [&](const Value& v, const Value& to) { return reshaped(summed_to(v, channels), to.shape()); };
  const Value inner = along(var) + attributes_of<BatchNormAttributes>(y).epsilon;
  const Value r = 1.0 / sqrt(inner), centered = x - along(mean);
  const Value x_bar = y_bar * (r * along(scale));
  const Value var_bar = -0.5 * (x_bar * centered / inner);
  return {x_bar, gathered(y_bar * (centered * r), scale), gathered(y_bar, bias), gathered(-x_bar, mean), gathered(var_bar, var)};
}

Value of_reduction(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto axes = attributes_of<ReduceAttributes>(y).axes;
  const Shape kept = with_kept_axes(x.shape(), axes);
  const Value sum = expanded(reshaped(y_bar, kept), x.shape());
  if (node_of(y).op == Op::reduce_sum) return sum;
  const std::size_t results = element_count(kept);
  // Exact: the kept axes divide the elements.
  return results == 0 ? sum : sum / static_cast<double>(element_count(x.shape()) / results);  // NOLINT(bugprone-integer-division)
}

// The same terms, grouped by the element that they read.
Value of_weighted_gather(const Value& y, const Value& y_bar) {
  const auto [axis, starts, indices, weights] = attributes_of<WeightedGatherAttributes>(y);
  std::vector<std::vector<std::pair<std::int64_t, Rational>>> terms(
      static_cast<std::size_t>(operand(y, 0).shape()[static_cast<std::size_t>(axis)]));
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
    for (auto k = static_cast<std::size_t>(starts[j]); k < static_cast<std::size_t>(starts[j + 1]); ++k)
      terms[static_cast<std::size_t>(indices[k])].emplace_back(static_cast<std::int64_t>(j), weights[k]);
  }
  WeightedGatherAttributes transposed{axis, {0}, {}, {}};
  for (const auto& list : terms) {
    for (const auto& [index, weight] : list) {
      transposed.indices.push_back(index);
      transposed.weights.push_back(weight);
    }
    transposed.starts.push_back(static_cast<std::int64_t>(transposed.indices.size()));
  }
  return apply(Op::weighted_gather, y_bar, std::move(transposed));
}

}  // namespace

Cotangents vjp_of_linear(const Value& y, const Value& y_bar) {
  const Value a = operand(y, 0);
  const auto to = [&](std::size_t k, const Value& bar) { return summed_to(bar, operand(y, k).shape()); };
  switch (node_of(y).op) {
    case Op::add:
      return {to(0, y_bar), to(1, y_bar)};
    case Op::sub:
      return {to(0, y_bar), to(1, -y_bar)};
    case Op::neg:
      return {-y_bar};
    case Op::scale:
      return {attributes_of<ScaleAttributes>(y).factor * y_bar};
    case Op::mul:
      return {to(0, y_bar * operand(y, 1)), to(1, y_bar * a)};
    case Op::div: {  // y = a / b
      const Value a_bar = y_bar / operand(y, 1);
      return {to(0, a_bar), to(1, -(a_bar * y))};
    }
    case Op::reciprocal:
      return {y_bar * -square(y)};
    case Op::matmul:
      return of_matmul(y, y_bar);
    case Op::gemm:
      return of_gemm(y, y_bar);
    case Op::batch_norm:
      return of_batch_norm(y, y_bar);
    case Op::reduce_sum:
    case Op::reduce_mean:
      return {of_reduction(y, y_bar)};
    case Op::weighted_gather:
      return {of_weighted_gather(y, y_bar)};
    default: {
      demand(node_of(y).op == Op::cumsum, "vjp_of_linear: not one of these linear ops");
      auto attributes = attributes_of<CumulativeAttributes>(y);
      attributes.reverse = !attributes.reverse;
      return {apply(Op::cumsum, y_bar, attributes)};
    }
  }
}

}  // namespace assay::gradients::derivatives
