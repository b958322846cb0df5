// Shape rules of the computing ops other than convolutions and pools.
#include <algorithm>

#include "semantics/graph/shape_rules.h"

namespace assay::shape_rules {

namespace {

bool is_finite(double value) { return value - value == 0; }  // false for NaN and infinities

}  // namespace

// semantics/ops/arithmetic.h, piecewise.h, rounding.h, activation.h: S1, S2; prelu: S3.
Outcome<Shape> broadcast_shape(const Call& call) {
  Shape result = call.shape(0);
  for (std::size_t operand = 1; operand < call.operands.size(); ++operand) {
    if (!broadcast(result, call.shape(operand), result)) {
      return violated(call, 1, "shapes that broadcast", "operand " + std::to_string(operand) + " does not match those before it");
    }
    std::size_t count = 0;
    if (!checked_element_count(result, kMaximumElements, count)) {
      return violated(call, 2, "at most 2^31 - 1 elements", "shape " + to_string(result));
    }
  }
  if (call.op == Op::prelu && result != call.shape(0)) {
    return violated(call, 3, "slopes that broadcast to x", to_string(call.shape(1)) + " against " + to_string(call.shape(0)));
  }
  return result;
}

namespace {

// semantics/ops/product.h
Outcome<Shape> gemm_shape(const Call& call) {
  const Shape &a = call.shape(0), &b = call.shape(1);
  const auto& attributes = call.get<GemmAttributes>();
  if (a.size() != 2 || b.size() != 2) return violated(call, 1, "a and b are matrices", to_string(a) + " and " + to_string(b));
  const std::int64_t m = a[attributes.transpose_a ? 1 : 0], k = a[attributes.transpose_a ? 0 : 1];
  const std::int64_t k_b = b[attributes.transpose_b ? 1 : 0], n = b[attributes.transpose_b ? 0 : 1];
  if (k != k_b) return violated(call, 2, "inner extents agree", std::to_string(k) + " and " + std::to_string(k_b));
  Shape result = {m, n};
  if (call.operands.size() == 3) {
    Shape common;
    if (!broadcast(call.shape(2), result, common) || common != result) {
      return violated(call, 3, "c broadcasts to the shape " + to_string(result), "c has the shape " + to_string(call.shape(2)));
    }
  }
  if (!is_finite(attributes.alpha) || !is_finite(attributes.beta)) {
    return violated(call, 4, "finite alpha and beta", std::to_string(attributes.alpha) + " and " + std::to_string(attributes.beta));
  }
  return result;
}

// semantics/ops/product.h
Outcome<Shape> matmul_shape(const Call& call) {
  Shape a = call.shape(0), b = call.shape(1);
  if (a.empty() || b.empty()) return violated(call, 1, "rank >= 1", to_string(a) + " and " + to_string(b));
  const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
  if (a_is_vector) a.insert(a.begin(), 1);
  if (b_is_vector) b.push_back(1);
  const std::int64_t k = a.back(), k_b = b[b.size() - 2];
  if (k != k_b) return violated(call, 2, "inner extents agree", std::to_string(k) + " and " + std::to_string(k_b));
  Shape result;
  if (!broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), result)) {
    return violated(call, 3, "batch axes broadcast", to_string(call.shape(0)) + " and " + to_string(call.shape(1)));
  }
  if (!a_is_vector) result.push_back(a[a.size() - 2]);
  if (!b_is_vector) result.push_back(b.back());
  return result;
}

}  // namespace

Outcome<Shape> product_shape(const Call& call) { return call.op == Op::gemm ? gemm_shape(call) : matmul_shape(call); }

// semantics/ops/batch_norm.h
Outcome<Shape> normalise_shape(const Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 2) return violated(call, 1, "x has a batch and a channel axis", to_string(x));
  for (std::size_t operand = 1; operand < 5; ++operand) {
    if (call.shape(operand) != Shape{x[1]}) {
      return violated(call, 2, "scale, bias, mean and variance have the shape [" + std::to_string(x[1]) + "]",
                      "operand " + std::to_string(operand) + " has " + to_string(call.shape(operand)));
    }
  }
  const double epsilon = call.get<BatchNormAttributes>().epsilon;
  if (!is_finite(epsilon) || !(epsilon >= 0)) return violated(call, 3, "epsilon finite and >= 0", std::to_string(epsilon));
  return x;
}

namespace {

// S1: distinct axes of x. Returns the number of elements per result, or the rejection.
Outcome<std::size_t> terms_along(const Call& call, const std::vector<std::int64_t>& axes) {
  const Shape& x = call.shape(0);
  std::vector<bool> reduced(x.size(), false);
  std::size_t terms = 1;
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.size()) || reduced[static_cast<std::size_t>(axis)]) {
      return violated(call, 1, "distinct axes, each in 0 .. rank - 1", "axes " + to_string(axes));
    }
    reduced[static_cast<std::size_t>(axis)] = true;
    terms *= static_cast<std::size_t>(x[static_cast<std::size_t>(axis)]);
  }
  return terms;
}

Shape without(const Shape& x, const std::vector<std::int64_t>& axes, bool keep_dims) {
  Shape result;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    if (!reduced) result.push_back(x[axis]);
    if (reduced && keep_dims) result.push_back(1);
  }
  return result;
}

}  // namespace

// semantics/ops/reduce.h, softmax.h, extremum.h
Outcome<Shape> reduce_shape(const Call& call) {
  const auto& [axes, keep_dims] = call.get<ReduceAttributes>();
  const Outcome<std::size_t> terms = terms_along(call, axes);
  if (!terms) return terms.rejection();
  const bool may_be_empty = call.op == Op::reduce_sum || call.op == Op::reduce_prod;
  if (!may_be_empty && terms.value() == 0) return violated(call, 2, "at least one element per result", "an empty axis");
  return without(call.shape(0), axes, keep_dims);
}

// semantics/ops/extremum.h
Outcome<Shape> position_shape(const Call& call) {
  const auto& [axis, keep_dims, last] = call.get<ArgAttributes>();
  const Outcome<std::size_t> terms = terms_along(call, {axis});
  if (!terms) return terms.rejection();
  if (terms.value() == 0) return violated(call, 2, "at least one element per result", "an empty axis");
  return without(call.shape(0), {axis}, keep_dims);
}

// semantics/ops/masked_softmax.h
Outcome<Shape> masked_shape(const Call& call) {
  const Shape& x = call.shape(0);
  const std::int64_t axis = call.get<MaskedSoftmaxAttributes>().axis;
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.size())) return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  Shape result;
  if (!broadcast(x, call.shape(1), result) || result != x) {
    return violated(call, 2, "a mask that broadcasts to x", to_string(call.shape(1)) + " against " + to_string(x));
  }
  return x;
}

// semantics/ops/normalise.h
Outcome<Shape> normalise_axes_shape(const Call& call) {
  const auto& attributes = call.get<NormaliseAttributes>();
  const Outcome<std::size_t> terms = terms_along(call, attributes.axes);
  if (!terms) return terms.rejection();
  if (terms.value() == 0) return violated(call, 2, "at least one element per group", "an empty axis");
  if (!is_finite(attributes.epsilon) || !(attributes.epsilon >= 0)) {
    return violated(call, 3, "epsilon finite and >= 0", std::to_string(attributes.epsilon));
  }
  return call.shape(0);
}

namespace {

// semantics/ops/activation.h
Outcome<Shape> activation_shape(const Call& call) {
  const auto& [alpha, beta] = call.get<ActivationAttributes>();
  if (!is_finite(alpha) || !is_finite(beta)) {
    return violated(call, 1, "finite alpha and beta", std::to_string(alpha) + " and " + std::to_string(beta));
  }
  if (call.op == Op::celu && !(alpha != 0)) return violated(call, 2, "alpha != 0", std::to_string(alpha));
  if (call.op == Op::shrink && !(alpha >= 0)) return violated(call, 2, "alpha >= 0", std::to_string(alpha));
  return call.shape(0);
}

}  // namespace

// semantics/ops/piecewise.h, transcendental.h, arithmetic.h, softmax.h, rounding.h
Outcome<Shape> elementwise_shape(const Call& call) {
  const Shape& x = call.shape(0);
  if (std::holds_alternative<ActivationAttributes>(call.attributes)) return activation_shape(call);
  if (call.op == Op::scale && !is_finite(call.get<ScaleAttributes>().factor)) {
    return violated(call, 1, "a finite factor", std::to_string(call.get<ScaleAttributes>().factor));
  }
  if (call.op == Op::leaky_relu && !is_finite(call.get<LeakyReluAttributes>().slope)) {
    return violated(call, 1, "a finite slope", std::to_string(call.get<LeakyReluAttributes>().slope));
  }
  if (call.op == Op::clip) {
    const auto& [lo, hi] = call.get<ClipAttributes>();
    const bool some_value_between = lo <= hi && !(lo - lo != 0 && lo > 0) && !(hi - hi != 0 && hi < 0);
    if (!some_value_between) {
      return violated(call, 1, "lo <= hi, lo < +inf, hi > -inf", "lo " + std::to_string(lo) + ", hi " + std::to_string(hi));
    }
  }
  if (call.op == Op::local_response) {
    const auto& [size, alpha, beta, bias] = call.get<LocalResponseAttributes>();
    if (x.size() < 2) return violated(call, 1, "x has a batch and a channel axis", to_string(x));
    if (size < 1 || size >= std::int64_t{1} << 31) return violated(call, 2, "1 <= size < 2^31", std::to_string(size));
    const bool fine = is_finite(alpha) && is_finite(beta) && is_finite(bias) && alpha >= 0 && beta >= 0 && bias > 0;
    if (!fine) return violated(call, 3, "finite alpha >= 0, beta >= 0, bias > 0", std::to_string(alpha) + ", " + std::to_string(bias));
  }
  if (call.op == Op::pow && !is_float(call.dtype())) {
    const Rational& exponent = call.get<PowAttributes>().exponent;
    if (!exponent.is_integer() || exponent.sign() < 0) return violated(call, 1, "an exponent that keeps integers", exponent.to_string());
  }
  if (call.op == Op::max_weight) {
    const Outcome<std::size_t> terms = terms_along(call, call.get<ReduceAttributes>().axes);
    if (!terms) return terms.rejection();
  }
  if (call.op == Op::softmax || call.op == Op::log_softmax || call.op == Op::cumsum || call.op == Op::cumprod) {
    const bool is_softmax = call.op == Op::softmax || call.op == Op::log_softmax;
    const std::int64_t axis = is_softmax ? call.get<SoftmaxAttributes>().axis : call.get<CumulativeAttributes>().axis;
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.size()))
      return violated(call, 1, "0 <= axis < rank", "axis " + std::to_string(axis));
  }
  return x;
}

}  // namespace assay::shape_rules
