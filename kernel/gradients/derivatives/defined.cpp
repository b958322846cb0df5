// Derivatives of the defined ops. Each rule states the definition that it differentiates.
#include <algorithm>

#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"

namespace assay::gradients::derivatives {

namespace {

std::vector<std::int64_t> softmax_axes(const Value& y) { return {attributes_of<SoftmaxAttributes>(y).axis}; }

// softmax: y = exp(x) / sum exp(x).  log_softmax: y = x - log sum exp(x).
Value of_softmax(const Value& y, const Value& y_bar) {
  const auto axes = softmax_axes(y);
  if (node_of(y).op == Op::softmax) return y * (y_bar - sum_over(y_bar * y, axes));
  const Value share = apply(Op::softmax, operand(y, 0), attributes_of<SoftmaxAttributes>(y));
  return y_bar - share * sum_over(y_bar, axes);
}

// y = log sum exp(x), so dy/dx = exp(x - y).
Value of_log_sum_exp(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto axes = attributes_of<ReduceAttributes>(y).axes;
  const Shape kept = with_kept_axes(x.shape(), axes);
  const Value share = axes.size() == 1 ? apply(Op::softmax, x, SoftmaxAttributes{axes[0]}) : exp(x - reshaped(y, kept));
  return share * reshaped(y_bar, kept);
}

// gelu: y = x P(x). P is the normal distribution function, or in the tanh form sigmoid(2u), u = sqrt(2/pi)
// (x + 0.044715 x^3).
Value slope_of_gelu(const Value& y, const Value& x) {
  const Value pi = apply(Op::acos, x.number(-1));
  if (!attributes_of<GeluAttributes>(y).tanh_form) {
    const Value p = 0.5 * (apply(Op::erf, x / sqrt(x.number(2))) + 1.0);
    return p + x * (exp(-0.5 * square(x)) / sqrt(2.0 * pi));
  }
  const Value c = x.number(44715) / x.number(1000000), two_k = 2.0 * sqrt(2.0 / pi);
  const Value s = sigmoid(two_k * (x * (c * square(x) + 1.0)));
  return s + x * (s * (1.0 - s)) * (two_k * (3.0 * (c * square(x)) + 1.0));
}

// a(exp(z) - 1) below 0 with z = x / d, and x above. Both slopes are 1 + (1 - step)(a/d exp(z) - 1).
Value slope_of_elu(const Value& x, double a, double d) {
  const Value z = apply(Op::min, x, x.number(0)), below = exp(d == 1 ? z : z / d);
  if (a == d) return below;  // exp(0) = 1 above 0
  return (1.0 - step(x)) * (a / x.number(d) * below - 1.0) + 1.0;
}

std::optional<Value> slope_of_function(const Value& y, const Value& x) {
  const auto number = [&](double value) { return x.number(value); };
  const auto alpha = [&] { return attributes_of<ActivationAttributes>(y).alpha; };
  switch (node_of(y).op) {
    case Op::softsign:  // x / (1 + |x|)
      return 1.0 / square(apply(Op::abs, x) + 1.0);
    case Op::elu:
      return slope_of_elu(x, alpha(), 1);
    case Op::selu:
      return attributes_of<ActivationAttributes>(y).beta * slope_of_elu(x, alpha(), 1);
    case Op::celu:
      return slope_of_elu(x, alpha(), alpha());
    case Op::gelu:
      return slope_of_gelu(y, x);
    case Op::silu: {  // x sigmoid(alpha x)
      const Value s = sigmoid(alpha() * x);
      return s + alpha() * (x * (s * (1.0 - s)));
    }
    case Op::mish: {  // x tanh(softplus(x))
      const Value t = apply(Op::tanh, apply(Op::softplus, x));
      return t + x * ((1.0 - square(t)) * sigmoid(x));
    }
    case Op::hard_sigmoid: {  // min(max(alpha x + beta, 0), 1)
      const Value line = alpha() * x + attributes_of<ActivationAttributes>(y).beta;
      return alpha() * (step(line) * step(1.0 - line));
    }
    case Op::hard_swish: {  // x min(max(x + 3, 0), 6) / 6
      const Value gate = apply(Op::clip, x + 3.0, ClipAttributes{0, 6});
      return (gate + x * (step(x + 3.0) * step(3.0 - x))) / 6.0;
    }
    case Op::thresholded_relu:
      return step(x - alpha());
    default:
      demand(node_of(y).op == Op::shrink, "vjp_of_defined: not a defined op");
      return step(x - alpha()) + step(-x - number(alpha()));
  }
}

// prelu: y = x above 0, s x below.
Cotangents of_prelu(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0), s = operand(y, 1);
  return {y_bar * (s + (1.0 - s) * step(x)), summed_to(y_bar * apply(Op::min, x, x.number(0)), s.shape())};
}

// The derivative with respect to each element is the product of the others: the line along the reduced axes without
// this element.
Value of_product(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto axes = attributes_of<ReduceAttributes>(y).axes;
  std::vector<std::int64_t> order;  // kept axes first
  std::vector<bool> reduced(x.shape().size(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  for (const bool wanted : {false, true}) {
    for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
      if (reduced[axis] == wanted) order.push_back(static_cast<std::int64_t>(axis));
    }
  }
  std::int64_t n = 1;
  for (const std::int64_t axis : axes) n *= x.shape()[static_cast<std::size_t>(axis)];
  const Value turned = permuted(x, order);
  const std::int64_t lines = n == 0 ? 0 : static_cast<std::int64_t>(element_count(x.shape())) / n;
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (j != i) others.push_back(j);
    }
  }
  const Value rest = apply(Op::gather, reshaped(turned, {lines, n}), GatherAttributes{1, others, {n, n == 0 ? 0 : n - 1}});
  const Value products = apply(Op::reduce_prod, rest, ReduceAttributes{{2}, false});  // [lines, n]
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) inverse[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return permuted(reshaped(products, turned.shape()), inverse) * reshaped(y_bar, with_kept_axes(x.shape(), axes));
}

// y_i is the product of the x_j with j in S_i, a prefix or suffix of the line. dy_i/dx_k is the product without x_k for
// k in S_i, and 0 otherwise. Each line gets two extra elements, 1 and 0, that replace omitted factors and products
// without x_k.
Value of_running_product(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto [axis, exclusive, reverse] = attributes_of<CumulativeAttributes>(y);
  const std::int64_t rank = static_cast<std::int64_t>(x.shape().size()), n = x.shape()[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> order;  // exchanges the axis with the last one; its own inverse
  for (std::int64_t k = 0; k < rank; ++k) order.push_back(k == axis ? rank - 1 : k == rank - 1 ? axis : k);
  const Value turned = permuted(x, order);
  const std::int64_t lines = n == 0 ? 0 : static_cast<std::int64_t>(element_count(x.shape())) / n, one = n, zero = n + 1;
  std::vector<std::int64_t> factors;  // [i, k, j]
  for (std::int64_t i = 0; i < n; ++i) {
    const auto holds = [&, r = reverse, e = exclusive](std::int64_t j) { return e ? (r ? j > i : j < i) : (r ? j >= i : j <= i); };
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t j = 0; j < n; ++j) factors.push_back(j == k ? (holds(k) ? one : zero) : holds(j) ? j : one);
    }
  }
  const Value ones = expanded(x.number(1), {lines, 1}), zeros = x.builder().zeros({lines, 1}, x.dtype());
  const Value extended = x.builder().append(Op::concat, {reshaped(turned, {lines, n}), ones, zeros}, ConcatAttributes{1});
  const Value chosen = apply(Op::gather, extended, GatherAttributes{1, factors, {n, n, n}});
  const Value jacobian = apply(Op::reduce_prod, chosen, ReduceAttributes{{3}, false});  // [lines, i, k]
  const Value bars = reshaped(permuted(y_bar, order), {lines, 1, n});
  return permuted(reshaped(apply(Op::matmul, bars, jacobian), turned.shape()), order);
}

// y = x s^-beta, s = bias + a (sum of x^2 over the neighbours). So x_bar = y_bar s^-beta - 2 a beta x (sum of y_bar x
// s^(-beta-1) over the elements that have x as a neighbour).
Value of_local_response(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0);
  const auto attributes = attributes_of<LocalResponseAttributes>(y);
  const std::int64_t size = attributes.size, before = (size - 1) / 2, after = size - 1 - before;
  const Shape lines{x.shape()[0], 1, x.shape()[1],
                    static_cast<std::int64_t>(element_count(x.shape())) / std::max<std::int64_t>(x.shape()[0] * x.shape()[1], 1)};
  const auto sum_of_neighbours = [&](const Value& v, std::int64_t first, std::int64_t last) {
    WindowAttributes window{{size, 1}, {1, 1}, {1, 1}, {first, 0}, {last, 0}, {}, 1, false, false};
    const Value kernel = expanded(x.number(1), {1, 1, size, 1});
    return reshaped(x.builder().append(Op::conv, {reshaped(v, lines), kernel}, window), x.shape());
  };
  const Rational beta = Rational::from_double(attributes.beta).value_or(Rational());
  const Value a = x.number(attributes.alpha) / x.number(static_cast<double>(size));
  const Value s = a * sum_of_neighbours(square(x), before, after) + attributes.bias;
  const Value direct = y_bar * apply(Op::pow, s, PowAttributes{-beta});
  const Value others = sum_of_neighbours(y_bar * x * apply(Op::pow, s, PowAttributes{-beta - Rational(1)}), after, before);
  return direct - (2 * attributes.beta) * (a * (x * others));
}

// y = z / d(z), where z is the operand, centred first in two of the forms. Let d depend on the size q, and d' = dd/dq:
// z_bar = y_bar / d - (dq/dz) d' sum(y_bar z) / d^2. Then the centring follows, which is its own adjoint.
Value of_normalise(const Value& y, const Value& y_bar) {
  using Form = NormaliseAttributes::Form;
  const auto [axes, epsilon, form] = attributes_of<NormaliseAttributes>(y);
  const Value x = operand(y, 0);
  const bool centers = form == Form::centered || form == Form::deviation;
  const Value z = centers ? x - mean_over(x, axes) : x;
  const auto back = [&, axes = axes](const Value& bar) { return centers ? bar - mean_over(bar, axes) : bar; };
  if (form == Form::l1) {  // d = sum |z| + epsilon
    const Value d = sum_over(apply(Op::abs, z), axes) + epsilon;
    return back(y_bar / d - (2.0 * step(z) - 1.0) * (sum_over(y_bar * z, axes) / square(d)));
  }
  const bool sums = form == Form::l2;
  const Value size = sums ? sum_over(square(z), axes) : mean_over(square(z), axes);
  // D inner / dz = z / (n inner), with n = 1 for sums.
  const Value inner = form == Form::deviation ? sqrt(size) : sqrt(size + epsilon);
  const Value d = form == Form::deviation ? inner + epsilon : inner;
  const Value weighted = sums ? sum_over(y_bar * z, axes) : mean_over(y_bar * z, axes);
  return back(y_bar / d - z * (weighted / (inner * square(d))));
}

}  // namespace

Cotangents vjp_of_defined(const Value& y, const Value& y_bar) {
  switch (node_of(y).op) {
    case Op::softmax:
    case Op::log_softmax:
      return {of_softmax(y, y_bar)};
    case Op::log_sum_exp:
      return {of_log_sum_exp(y, y_bar)};
    case Op::prelu:
      return of_prelu(y, y_bar);
    case Op::reduce_prod:
      return {of_product(y, y_bar)};
    case Op::normalise:
      return {of_normalise(y, y_bar)};
    case Op::cumprod:
      return {of_running_product(y, y_bar)};
    case Op::local_response:
      return {of_local_response(y, y_bar)};
    case Op::masked_softmax: {  // a softmax whose masked elements are 0
      const std::vector<std::int64_t> axes{attributes_of<MaskedSoftmaxAttributes>(y).axis};
      return {y * (y_bar - sum_over(y_bar * y, axes)), std::nullopt};
    }
    default:
      return {y_bar * *slope_of_function(y, operand(y, 0))};
  }
}

}  // namespace assay::gradients::derivatives
