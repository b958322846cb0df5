// Contracts of the functions that are defined by formulas: sigmoid, softplus and the activations.
//
// A defined op has no rounding of its own: an execution computes its formula, in one of the forms below, and every step of it
// has the contract of that step. The forms admitted of each op (docs/contracts/defined-ops.md has the reasons):
//   sigmoid       exponential: 1 / (1 + exp(-x)), or exp(x) / (1 + exp(x)) for x < 0;  tanh_form: (1 + tanh(x / 2)) / 2
//   softplus      max(x, 0) + log1p(exp(-|x|)), or log1p(exp(x)) for x <= 20
//   silu          x sigmoid(alpha x), or x / (1 + exp(-alpha x))
//   mish          x tanh(softplus(x)), or x n / (n + 2), n = e (e + 2), e = exp(x), for x <= 20
//   gelu          x/2 (1 + erf(x / sqrt 2)), or with erfc;  tanh form: x/2 (1 + tanh(k (x + c x^3))), k x (1 + c x^2) inside
//   elu, selu, celu   alpha expm1(z) or alpha (exp(z) - 1) below 0
//   hard_swish    x g / 6, g = min(max(x + 3, 0), 6), divided before or after, or multiplied with the rounded 1/6
// A library table with a row for the whole function (correctly-rounded) is used instead.
#include <cmath>
#include <limits>

#include "kernel/audit/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::contracts {

namespace {

constexpr double kThreshold = 20;  // exp(20) is far from overflow, and 1 + exp(-20) rounds to 1 in binary32

FloatSet one(const Arithmetic& a) { return point(a.format(), 1); }
FloatSet half(const Arithmetic& a, const FloatSet& x) { return a.mul(point(a.format(), 0.5), x); }
FloatSet times(const Arithmetic& a, double factor, const FloatSet& x) { return factor == 1 ? x : a.mul(a.number(factor), x); }
bool whole(const Arithmetic& a, std::string_view name) { return a.is_real() || a.has_rows(name); }
bool is_empty(const FloatSet& x) { return x == FloatSet(); }

// y and the numbers nearest to exact values of f: a step may be more accurate than its forms, too.
FloatSet with_nearest(const Arithmetic& a, FloatSet y, Function f, const FloatSet& x) {
  if (!x.is_finite()) return y;
  const Interval exact = a.exact(f, x);
  y.include(a.format(), nearest(a.format(), exact.lo()), nearest(a.format(), exact.hi()));
  return y;
}

FloatSet sigmoid(const Arithmetic& a, const FloatSet& x) {
  if (whole(a, "sigmoid")) return a.function(Function::sigmoid, x);
  if (a.model().sigmoid == ExecutionModel::Sigmoid::tanh_form) {
    const FloatSet t = a.function(Function::tanh, half(a, x));
    const FloatSet y = hull(half(a, a.add(t, one(a))), a.mul_add(point(a.format(), 0.5), t, point(a.format(), 0.5)));
    return with_nearest(a, y, Function::sigmoid, x);
  }
  FloatSet y = a.reciprocal(a.add(one(a), a.exp(a.neg(x))));
  const FloatSet below = part_of(x, -kInfinity, 0);
  if (!is_empty(below)) {
    const FloatSet e = a.exp(below);
    y.include(a.div(e, a.add(one(a), e)));
  }
  return with_nearest(a, y, Function::sigmoid, x);
}

FloatSet softplus(const Arithmetic& a, const FloatSet& x) {
  if (whole(a, "softplus")) return a.function(Function::softplus, x);
  FloatSet y = a.add(a.max(x, point(a.format(), 0)), a.function(Function::log1p, a.exp(a.neg(a.abs(x)))));
  if (x.is_finite() && x.hi <= kThreshold) y.include(a.function(Function::log1p, a.exp(x)));
  return with_nearest(a, y, Function::softplus, x);
}

FloatSet silu(const Arithmetic& a, const FloatSet& x, double alpha) {
  const FloatSet z = times(a, alpha, x);
  FloatSet y = a.mul(x, sigmoid(a, z));
  if (!a.is_real() && a.has_rows("exp")) y.include(a.div(x, a.add(one(a), a.exp(a.neg(z)))));
  return y;
}

FloatSet mish(const Arithmetic& a, const FloatSet& x) {
  FloatSet y = a.mul(x, a.function(Function::tanh, softplus(a, x)));
  if (!a.is_real() && x.is_finite() && x.hi <= kThreshold) {
    const FloatSet two = point(a.format(), 2), e = a.exp(x), n = a.mul(e, a.add(e, two)), n_fused = a.mul_add(e, e, a.mul(two, e));
    for (const FloatSet& numerator : {n, n_fused}) {
      y.include(a.div(a.mul(x, numerator), a.add(numerator, two)));
      y.include(a.mul(x, a.div(numerator, a.add(numerator, two))));
    }
  }
  return y;
}

// An irrational constant of the program.
FloatSet constant(const Arithmetic& a, const Interval& value) { return hull(a.number(value.lo()), a.number(value.hi())); }

FloatSet gelu(const Arithmetic& a, const FloatSet& x) {
  static const Interval kRootHalf = sqrt(WideInterval(0.5)).to_interval(), kRootTwo = sqrt(WideInterval(2.0)).to_interval();
  const FloatSet root_half = constant(a, kRootHalf), root_two = constant(a, kRootTwo);
  const FloatSet z = a.is_real() ? a.mul(x, root_half) : hull(a.mul(x, root_half), a.div(x, root_two));
  if (a.is_real()) return a.mul(half(a, x), a.function(Function::erfc, a.neg(z)));
  const FloatSet erf = a.function(Function::erf, z), cumulative = a.add(one(a), erf);
  FloatSet y = hull(a.mul(half(a, x), cumulative), a.mul(x, half(a, cumulative)));
  if (a.has_rows("erfc")) y.include(a.mul(half(a, x), a.function(Function::erfc, a.neg(z))));
  if (a.model().fused_multiply_add) y.include(a.mul_add(half(a, x), erf, half(a, x)));
  return y;
}

FloatSet gelu_tanh(const Arithmetic& a, const FloatSet& x) {
  static const Interval kFactor = sqrt(WideInterval(2.0) / WideInterval::pi()).to_interval();
  const FloatSet k = constant(a, kFactor), c = a.number(Rational(44715, 1000000));
  const FloatSet square = a.mul(a.abs(x), a.abs(x)), cube = a.mul(square, x);
  FloatSet inner = a.mul(k, a.mul_add(c, cube, x));
  if (a.is_real())
    return a.mul(x, a.function(Function::sigmoid, a.mul(point(a.format(), 2), a.mul(a.mul(k, x), a.add(one(a), a.mul(c, square))))));
  const FloatSet factor = a.mul_add(c, square, one(a));
  inner.include(a.mul(a.mul(k, x), factor));
  inner.include(a.mul(k, a.mul(x, factor)));
  const FloatSet t = a.function(Function::tanh, inner);
  FloatSet y = hull(a.mul(half(a, x), a.add(one(a), t)), a.mul(x, half(a, a.add(one(a), t))));
  if (a.model().fused_multiply_add) y.include(a.mul_add(half(a, x), t, half(a, x)));
  return y;
}

// exp(z) - 1 in both ways.
FloatSet exp_minus_one(const Arithmetic& a, const FloatSet& z) {
  if (a.is_real()) return a.function(Function::expm1, z);
  FloatSet y = a.sub(a.exp(z), one(a));
  if (a.has_rows("expm1")) y.include(a.function(Function::expm1, z));
  return y;
}

// x above 0, alpha (exp(x / inner) - 1) below, all times outer.
FloatSet elu(const Arithmetic& a, const FloatSet& x, double alpha, double outer, double inner) {
  FloatSet y = times(a, outer, part_of(x, 0, kInfinity));
  y.nan = y.nan || x.nan;
  const FloatSet below = part_of(x, -kInfinity, 0);
  if (is_empty(below)) return y;
  FloatSet z = inner == 1 ? below : a.div(below, a.number(inner));
  if (inner != 1 && !a.is_real()) z.include(a.mul(below, a.div(one(a), a.number(inner))));
  const FloatSet e = exp_minus_one(a, z);
  y.include(times(a, outer, times(a, alpha, e)));
  if (outer != 1 && !a.is_real()) y.include(a.mul(a.mul(a.number(outer), a.number(alpha)), e));
  if (!a.is_real() && a.model().fused_multiply_add && outer == 1) {  // alpha exp(z) - alpha
    y.include(a.mul_add(a.number(alpha), a.exp(z), a.neg(a.number(alpha))));
  }
  return y;
}

FloatSet hard_sigmoid(const Arithmetic& a, const FloatSet& x, const FloatSet& alpha, const FloatSet& beta) {
  return a.min(a.max(a.mul_add(alpha, x, beta), point(a.format(), 0)), one(a));
}

FloatSet hard_swish(const Arithmetic& a, const FloatSet& x) {
  const FloatSet six = point(a.format(), 6), zero = point(a.format(), 0);
  const FloatSet gate = a.min(a.max(a.add(x, point(a.format(), 3)), zero), six);
  if (a.is_real()) return a.div(a.mul(x, gate), six);
  const FloatSet sixth = a.number(Rational(1, 6));
  FloatSet y = hull(a.div(a.mul(x, gate), six), a.mul(x, a.div(gate, six)));
  y.include(a.mul(a.mul(x, gate), sixth));
  y.include(a.mul(x, a.mul(gate, sixth)));
  y.include(a.mul(x, hard_sigmoid(a, x, sixth, point(a.format(), 0.5))));
  return y;
}

FloatSet thresholded(const Arithmetic& a, const FloatSet& x, double alpha) {
  const FloatSet limit = a.number(alpha);
  FloatSet y = part_of(x, limit.lo, kInfinity);
  if (x.is_point() && limit.is_point() && x.lo == limit.lo) y = FloatSet();  // not above it
  y.nan = x.nan;
  if (x.minus_infinity || x.nan || (x.has_finite() && x.lo <= limit.hi)) y.include(with_both_zeros(point(a.format(), 0)));
  return y;
}

FloatSet shrunk(const Arithmetic& a, const FloatSet& x, const ActivationAttributes& attributes) {
  const FloatSet limit = a.number(attributes.alpha), bias = a.number(attributes.beta);
  const FloatSet above = part_of(x, limit.lo, kInfinity), below = part_of(x, -kInfinity, -limit.lo);
  FloatSet y;
  if (!is_empty(above)) y.include(a.sub(above, bias));
  if (!is_empty(below)) y.include(a.add(below, bias));
  if (x.nan || (x.has_finite() && x.lo <= limit.hi && x.hi >= -limit.hi)) y.include(with_both_zeros(point(a.format(), 0)));
  y.nan = y.nan || x.nan;
  return y;
}

FloatSet image(const Call& call, const FloatSet& x) {
  const Arithmetic& a = call.arithmetic;
  const auto attributes = [&]() -> const ActivationAttributes& { return call.get<ActivationAttributes>(); };
  switch (call.node.op) {
    case Op::sigmoid:
      return sigmoid(a, x);
    case Op::softplus:
      return softplus(a, x);
    case Op::softsign:
      return a.div(x, a.add(one(a), a.abs(x)));
    case Op::elu:
      return elu(a, x, attributes().alpha, 1, 1);
    case Op::selu:
      return elu(a, x, attributes().alpha, attributes().beta, 1);
    case Op::celu:
      return elu(a, x, attributes().alpha, 1, attributes().alpha);
    case Op::gelu:
      return call.get<GeluAttributes>().tanh_form ? gelu_tanh(a, x) : gelu(a, x);
    case Op::silu:
      return silu(a, x, attributes().alpha);
    case Op::mish:
      return mish(a, x);
    case Op::hard_sigmoid:
      return hard_sigmoid(a, x, a.number(attributes().alpha), a.number(attributes().beta));
    case Op::hard_swish:
      return hard_swish(a, x);
    case Op::thresholded_relu:
      return thresholded(a, x, attributes().alpha);
    default:
      demand(call.node.op == Op::shrink, "image_of_activation: not an activation");
      return shrunk(a, x, attributes());
  }
}

}  // namespace

Image image_of_activation(const Call& call) {
  return {combined(call, [&](std::span<const FloatSet> x) { return image(call, x[0]); })};
}

}  // namespace assay::contracts
