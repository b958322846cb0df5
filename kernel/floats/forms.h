// The forms in which executions compute defined ops. One text serves sets (contracts) and errors (ErrorArithmetic).
//
// A defined op has no rounding of its own: an execution computes its formula in one of the forms below, and every step
// of the form has the contract of that step. Admitted forms (docs/contracts/defined-ops.md has the reasons):
//   sigmoid       exponential: 1 / (1 + exp(-x)), or exp(x) / (1 + exp(x)) for x < 0;  tanh_form: (1 + tanh(x / 2)) / 2
//   softplus      max(x, 0) + log1p(exp(-|x|)), or log1p(exp(x)) for x <= 20; log(1 + e) by a library without log1p
//   softsign      x / (1 + |x|), or times the rounded reciprocal
//   silu          x sigmoid(alpha x), x / (1 + exp(-alpha x)), or x e / (1 + e) for e = exp(alpha x) and alpha x < 0
//   mish          x tanh(softplus(x)), or x n / (n + 2), n = e (e + 2), e = exp(x), for x <= 20
//   gelu          x/2 (1 + erf(x / sqrt 2)), or with erfc;
//                 tanh form: x/2 (1 + tanh(u)), x sigmoid(2u), or x / (1 + exp(-2u)), where u is k (x + c x^3),
//                 k x (1 + c x^2), x (k + k c x^2) or k x + k c x^3
//   elu, selu, celu   alpha expm1(z) or alpha (exp(z) - 1) below 0
//   hard_swish    x g / 6, g = min(max(x + 3, 0), 6), divided before or after, or multiplied with the rounded 1/6
// A library table with a row for the whole function (correctly-rounded) is used instead.
//
// An arithmetic A has the operations of ErrorArithmetic on A::Value. If is_real(), nothing rounds, and each form is the
// exact value. Functions with jumps, powers and remainders have no common form: sets and errors treat them separately.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/family.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::floats {

inline constexpr double kFormThreshold = 20;  // exp(20) is far from overflow, and 1 + exp(-20) rounds to 1 in binary32

// Whether an execution computes the op by a formula of one operand (Forms::activation).
[[nodiscard]] inline bool has_formula(Op op) {
  return op == Op::sigmoid || op == Op::softplus || (kind_of(op) == OpKind::activation && op_row(op).arity_max == 1);
}

// The functions whose rows of the mathematics table the forms of an op use; a row for the whole op serves, too.
[[nodiscard]] inline std::vector<std::string_view> functions_of(const Node& node, const ExecutionModel& model) {
  switch (node.op) {
    case Op::softmax:
    case Op::masked_softmax:
    case Op::elu:
    case Op::selu:
    case Op::celu:
      return {"exp"};
    case Op::silu:
    case Op::sigmoid:
      return {model.sigmoid == ExecutionModel::Sigmoid::tanh_form ? "tanh" : "exp"};
    case Op::log_softmax:
    case Op::log_sum_exp:
      return {"exp", "log"};
    case Op::softplus:
      return {"exp", "log1p"};
    case Op::mish:
      return {"exp", "log1p", "tanh"};
    case Op::gelu:
      return {std::get<GeluAttributes>(node.attributes).tanh_form ? "tanh" : "erf"};
    case Op::local_response:
      return {"pow"};
    default:
      return {};
  }
}

// The size of the terms that cancel in a form: x/2 (1 + erf), alpha (exp - 1), x (x/6 + 1/2). `least` is the operand's
// lower end, `size` the greatest |x|.
template <class Number>  // always double: a template, so that the trusted files that use it compile it
[[nodiscard]] Number size_of_terms(const Node& node, Number least, Number size) {
  switch (node.op) {
    case Op::gelu:
    case Op::mish:  // x times a logarithm of 1 + exp
      return size;
    case Op::softplus:
      return 1;
    case Op::elu:
    case Op::celu:
      return least < 0 ? std::fabs(std::get<ActivationAttributes>(node.attributes).alpha) : 0;
    case Op::selu: {
      const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
      return least < 0 ? std::fabs(alpha * beta) : 0;
    }
    case Op::hard_swish:
      return least < 0 && least > -6 ? -least * (1 - least / 3) / 2 : 0;
    default:
      return 0;
  }
}

template <class A>
class Forms {
 public:
  using Value = typename A::Value;
  explicit Forms(const A& arithmetic) : a(arithmetic) {}

  // Ops with has_formula(); nullopt for those with jumps.
  [[nodiscard]] std::optional<Value> activation(const Node& node, const Value& x) const {
    const auto two = [&]() -> const ActivationAttributes& { return std::get<ActivationAttributes>(node.attributes); };
    switch (node.op) {
      case Op::sigmoid:
        return sigmoid(x);
      case Op::softplus:
        return softplus(x);
      case Op::softsign:
        return softsign(x);
      case Op::elu:
        return elu(x, two().alpha, 1, 1);
      case Op::selu:
        return elu(x, two().alpha, two().beta, 1);
      case Op::celu:
        return elu(x, two().alpha, 1, two().alpha);
      case Op::gelu:
        return std::get<GeluAttributes>(node.attributes).tanh_form ? gelu_tanh(x) : gelu(x);
      case Op::silu:
        return gated(x, times(two().alpha, x));
      case Op::mish:
        return mish(x);
      case Op::hard_sigmoid:
        return hard_sigmoid(x, a.number(two().alpha), a.number(two().beta));
      case Op::hard_swish:
        return hard_swish(x);
      default:
        return std::nullopt;
    }
  }

  // Ops with at most one rounding.
  [[nodiscard]] std::optional<Value> elementwise(const Node& node, std::span<const Value> x) const {
    switch (node.op) {
      case Op::add:
        return a.add(x[0], x[1]);
      case Op::sub:
        return a.sub(x[0], x[1]);
      case Op::mul:
        return a.mul(x[0], x[1]);
      case Op::div:
        return a.div(x[0], x[1]);
      case Op::scale:
        return a.mul(a.number(std::get<ScaleAttributes>(node.attributes).factor), x[0]);
      case Op::reciprocal:
        return a.reciprocal(x[0]);
      case Op::sqrt:
        return a.sqrt(x[0]);
      case Op::leaky_relu:
        return leaky(x[0], a.number(std::get<LeakyReluAttributes>(node.attributes).slope));
      case Op::prelu:
        return leaky(x[0], x[1]);
      case Op::clip:
        return clipped(x[0], std::get<ClipAttributes>(node.attributes));
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] Value sigmoid(const Value& x) const {
    if (whole("sigmoid")) return a.function(Function::sigmoid, x);
    if (a.model().sigmoid == ExecutionModel::Sigmoid::tanh_form) {
      const Value t = a.function(Function::tanh, half(x));
      const Value y = hull(half(a.add(t, one())), a.mul_add(a.point(0.5), t, a.point(0.5)));
      return a.with_nearest(y, Function::sigmoid, x);
    }
    Value y = a.over_one_plus_exp(nullptr, x);
    const Value below = part_of(x, -kBeyond, 0);
    if (!is_empty(below)) {
      const Value e = a.exp(below);
      y.include(a.div(e, a.add(one(), e)));
    }
    return a.with_nearest(y, Function::sigmoid, x);
  }

  [[nodiscard]] Value softplus(const Value& x) const {
    if (whole("softplus")) return a.function(Function::softplus, x);
    // A library without log1p computes the logarithm of the sum.
    const auto log1p = [&](const Value& e) {
      return a.has_rows("log1p") || !a.has_rows("log") ? a.function(Function::log1p, e) : a.function(Function::log, a.add(one(), e));
    };
    Value y = a.add(a.max(x, a.point(0)), log1p(a.exp(a.neg(a.abs(x)))));
    const Value low = part_of(x, -kBeyond, kFormThreshold);
    if (x.is_finite() && !is_empty(low)) y.include(log1p(a.exp(low)));
    return a.with_nearest(y, Function::softplus, x);
  }

  [[nodiscard]] Value softsign(const Value& x) const {
    const Value below = a.add(one(), a.abs(x));
    return a.is_real() ? a.div(x, below) : hull(a.div(x, below), a.mul(x, a.reciprocal(below)));
  }

  // x sigmoid(z), x / (1 + exp(-z)), or x e / (1 + e) for z < 0 and e = exp(z).
  [[nodiscard]] Value gated(const Value& x, const Value& z) const {
    Value y = a.mul(x, sigmoid(z));
    if (a.is_real() || !a.has_rows("exp")) return y;
    y.include(a.over_one_plus_exp(&x, z));
    const Value below = part_of(z, -kBeyond, 0);
    if (!is_empty(below)) {
      const Value e = a.exp(below);
      y.include(a.div(a.mul(x, e), a.add(one(), e)));
    }
    return y;
  }

  [[nodiscard]] Value mish(const Value& x) const {
    Value y = a.mul(x, a.function(Function::tanh, softplus(x)));
    const Value low = part_of(x, -kBeyond, kFormThreshold);
    if (!a.is_real() && x.is_finite() && !is_empty(low)) {
      const Value two = a.point(2), e = a.exp(low), n = a.mul(e, a.add(e, two)), n_fused = a.mul_add(e, e, a.mul(two, e));
      for (const Value& numerator : {n, n_fused}) {
        y.include(a.div(a.mul(low, numerator), a.add(numerator, two)));
        y.include(a.mul(low, a.div(numerator, a.add(numerator, two))));
      }
    }
    return y;
  }

  [[nodiscard]] Value gelu(const Value& x) const {
    static const Interval kRootHalf = sqrt(WideInterval(0.5)).to_interval(), kRootTwo = sqrt(WideInterval(2.0)).to_interval();
    const Value root_half = a.constant(kRootHalf), root_two = a.constant(kRootTwo);
    const Value z = a.is_real() ? a.mul(x, root_half) : hull(a.mul(x, root_half), a.div(x, root_two));
    if (a.is_real()) return a.mul(half(x), a.function(Function::erfc, a.neg(z)));
    const Value erf = a.function(Function::erf, z), cumulative = a.add(one(), erf);
    Value y = hull(a.mul(half(x), cumulative), a.mul(x, half(cumulative)));
    if (a.has_rows("erfc")) y.include(a.mul(half(x), a.function(Function::erfc, a.neg(z))));
    if (a.model().fused_multiply_add) y.include(a.mul_add(half(x), erf, half(x)));
    return y;
  }

  [[nodiscard]] Value gelu_tanh(const Value& x) const {
    static const Interval kFactor = sqrt(WideInterval(2.0) / WideInterval::pi()).to_interval();
    const Value k = a.constant(kFactor), c = a.number(Rational(44715, 1000000));
    const Value square = a.mul(a.abs(x), a.abs(x)), cube = a.mul(square, x);
    Value inner = a.mul(k, a.mul_add(c, cube, x));
    if (a.is_real()) return a.mul(x, a.function(Function::sigmoid, a.mul(a.point(2), a.mul(a.mul(k, x), a.add(one(), a.mul(c, square))))));
    const Value factor = a.mul_add(c, square, one());
    inner.include(a.mul(a.mul(k, x), factor));
    inner.include(a.mul(k, a.mul(x, factor)));
    const Value kc = a.constant(kFactor * Interval(Rational(44715, 1000000)));
    inner.include(hull(a.mul(x, a.mul_add(kc, square, k)), a.mul_add(kc, cube, a.mul(k, x))));
    const Value t = a.function(Function::tanh, inner);
    Value y = hull(a.mul(half(x), a.add(one(), t)), a.mul(x, half(a.add(one(), t))));
    if (a.model().fused_multiply_add) y.include(a.mul_add(half(x), t, half(x)));
    if (a.has_rows("exp")) y.include(gated(x, a.mul(a.point(2), inner)));
    return y;
  }

  // outer x above 0, outer alpha (exp(x / inner) - 1) below, and 0 at 0.
  [[nodiscard]] Value elu(const Value& x, double alpha, double outer, double inner) const {
    if (a.is_only_zero(x)) return a.with_zeros_of(x, x);
    return a.joined(x, times(outer, part_of(x, 0, kBeyond)), [&](const Value& below) { return elu_below(below, alpha, outer, inner); });
  }

  // x above 0, slope x below.
  [[nodiscard]] Value leaky(const Value& x, const Value& slope) const {
    return a.with_zeros_of(x, a.joined(x, part_of(x, 0, kBeyond), [&](const Value& below) { return a.mul(slope, below); }));
  }

  [[nodiscard]] Value clipped(const Value& x, const ClipAttributes& limits) const {
    Value y = x;
    if (std::isfinite(limits.lo)) y = a.max(y, a.number(limits.lo));
    if (std::isfinite(limits.hi)) y = a.min(y, a.number(limits.hi));
    return y;
  }

  // alpha (exp(x / inner) - 1), all times outer, for x <= 0.
  [[nodiscard]] Value elu_below(const Value& below, double alpha, double outer, double inner) const {
    Value z = inner == 1 ? below : a.div(below, a.number(inner));
    if (inner != 1 && !a.is_real()) z.include(a.mul(below, a.div(one(), a.number(inner))));
    const Value e = exp_minus_one(z);
    Value y = times(outer, times(alpha, e));
    if (outer != 1 && !a.is_real()) y.include(a.mul(a.mul(a.number(outer), a.number(alpha)), e));
    if (!a.is_real() && a.model().fused_multiply_add && outer == 1) {  // alpha exp(z) - alpha
      y.include(a.mul_add(a.number(alpha), a.exp(z), a.neg(a.number(alpha))));
    }
    return y;
  }

  [[nodiscard]] Value hard_sigmoid(const Value& x, const Value& alpha, const Value& beta) const {
    return a.min(a.max(a.mul_add(alpha, x, beta), a.point(0)), one());
  }

  [[nodiscard]] Value hard_swish(const Value& x) const {
    const Value six = a.point(6), zero = a.point(0);
    const Value gate = a.min(a.max(a.add(x, a.point(3)), zero), six);
    if (a.is_real()) return a.div(a.mul(x, gate), six);
    const Value sixth = a.number(Rational(1, 6));
    Value y = hull(a.div(a.mul(x, gate), six), a.mul(x, a.div(gate, six)));
    y.include(a.mul(a.mul(x, gate), sixth));
    y.include(a.mul(x, a.mul(gate, sixth)));
    y.include(a.mul(x, hard_sigmoid(x, sixth, a.point(0.5))));
    return y;
  }

  // With r = scale / sqrt(variance + epsilon): (x - mean) r + bias, or ((x - mean) / root) scale + bias, or x r + (bias
  // - mean r).
  struct BatchNorm {
    Value y, r;
  };
  [[nodiscard]] BatchNorm batch_norm(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                                     const Value& epsilon) const {
    const Value under = a.add(variance, epsilon), root = a.sqrt(under), centre = a.sub(x, mean);
    Value r = a.div(scale, root), y = a.mul_add(centre, r, bias);
    if (!a.is_real()) {
      const Value inverse = hull(a.reciprocal(root), a.reciprocal_sqrt(under));
      r.include(a.mul(scale, inverse));
      y = hull(a.mul_add(centre, r, bias), a.mul_add(x, r, a.mul_add(a.neg(mean), r, bias)));
      y.include(a.mul_add(hull(a.div(centre, root), a.mul(centre, inverse)), scale, bias));
    }
    return {y, r};
  }

  // x / (bias + (alpha / size) s)^beta, or times the power -beta; alpha s / size in either order. s is the sum of
  // the squares.
  [[nodiscard]] Value local_response(const Value& x, const Value& s, const Value& alpha, const Value& bias, const Value& size,
                                     const Rational& beta) const {
    Value base = a.mul_add(a.div(alpha, size), s, bias);
    if (!a.is_real()) {
      base.include(a.add(bias, a.div(a.mul(alpha, s), size)));
      base.include(a.mul_add(alpha, a.div(s, size), bias));
    }
    Value y = a.div(x, a.pow(base, beta));
    if (!a.is_real()) y.include(a.mul(x, a.pow(base, -beta)));
    return y;
  }

  [[nodiscard]] Value times(double factor, const Value& x) const { return factor == 1 ? x : a.mul(a.number(factor), x); }

 private:
  static constexpr double kBeyond = std::numeric_limits<double>::infinity();
  [[nodiscard]] Value one() const { return a.point(1); }
  [[nodiscard]] Value half(const Value& x) const { return a.mul(a.point(0.5), x); }
  [[nodiscard]] bool whole(std::string_view name) const { return a.is_real() || a.has_rows(name); }
  // exp(z) - 1, by a subtraction or by expm1.
  [[nodiscard]] Value exp_minus_one(const Value& z) const {
    if (a.is_real()) return a.function(Function::expm1, z);
    Value y = a.sub(a.exp(z), one());
    if (a.has_rows("expm1")) y.include(a.function(Function::expm1, z));
    return y;
  }

  const A& a;
};

}  // namespace assay::floats
