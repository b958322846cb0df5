// Activation functions that are defined by the formulas below.
//
// Meaning.     softsign: x / (1 + |x|).  elu: x for x >= 0, alpha (exp(x) - 1) below.  selu: beta elu(x).
//              celu: max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1).  gelu: x Phi(x) with the normal distribution
//              function Phi(x) = erfc(-x / sqrt 2) / 2; in the tanh form x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)),
//              which is x/2 (1 + tanh(...)).  silu: x sigmoid(alpha x).  mish: x tanh(softplus(x)).
//              hard_sigmoid: min(max(alpha x + beta, 0), 1).  hard_swish: x min(max(x + 3, 0), 6) / 6.
//              thresholded_relu: x for x > alpha, else 0.  shrink: x + beta for x < -alpha, x - beta for x > alpha,
//              else 0.
//              prelu: x for x >= 0, slope x below. alpha and beta are the exact numbers of the doubles; 0.044715 is
//              the decimal.
// Shapes.      S -> S; prelu: x S, slope that broadcasts to S -> S
// Domain.      All reals. Float and double: the formula in IEEE 754 arithmetic, so -inf * 0 is NaN. Scalars without exp
//              lack elu, selu, celu, gelu, silu and mish; scalars without an order lack all of these ("denote.scalar").
// Side conditions. With alpha and beta: S1 both are finite. celu: S2 alpha != 0. shrink: S2 alpha >= 0.
//              prelu: S1, S2 the shapes broadcast, S3 to that of x.
// Derivative.  That of the formula (Dual). Kinks: elu, selu and prelu at 0, hard_sigmoid, hard_swish at -3 and 3;
//              jumps: thresholded_relu at alpha, shrink at -alpha and alpha (undefined over sets that contain one).
// Rounding.    Over intervals, point by point at 257 bits, then outward (gelu, silu and mish by polynomials where these
//              are tight: numbers/taylor.h). Between its break points each function is monotone, so the image of a box
//              is the hull of the values at its ends and at the break points inside. Break points: 0 for elu, selu,
//              celu; -3 and -3/2 for hard_swish; for gelu, silu and mish the one minimum, which lies in a bracket
//              [a, b]; bisection on the enclosed sign of the derivative narrows the bracket. Proof that there is only
//              one minimum: write f = x s with s > 0 increasing; f' = s (1 + x s'/s), and for x < 0 the factor 1 + x
//              s'/s is increasing (for x >= 0 it is positive). silu and gelu's tanh form: s = sigmoid(2u), s'/s = 2u'
//              (1 - s), and |x| u' and 1 - s both decrease on x < 0. mish: s'/s = 4(1+e)/((e+2)((1+e)^2+1)) with
//              e = exp(x), which is decreasing in e. gelu: f'' = phi(x) (2 - x^2), so f' falls from 0 to its minimum at
//              -sqrt 2 and then rises through one zero. silu with another alpha: silu(alpha x) / alpha, with the
//              bracket divided by alpha.
// Segments.    softsign: convex left of 0, concave right of it: the second derivative is -2 sign(x) / (1 + |x|)^3. elu,
//              selu, celu: below 0 a multiple c exp(d x) plus a constant, curved by the sign of c d^2; above 0 linear.
//              hard_swish: 0, then the parabola x (x + 3) / 6, then x. hard_sigmoid: linear except at its two bends,
//              which need not be doubles: between the doubles around a bend the range of its derivative is known. gelu,
//              silu, mish: by the range of their derivative. thresholded_relu, shrink: linear between jumps.
// Source.      ONNX operators of the same names, Swish, PRelu; Hendrycks and Gimpel 2016 (gelu), Misra 2019 (mish); the
//              monotonicity arguments are derived here.
#pragma once

#include <optional>
#include <vector>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/numbers/taylor.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"
#include "semantics/ops/wide.h"

namespace assay::ops::activation {

template <class S>
S number(std::int64_t numerator, std::int64_t denominator = 1) {
  return denominator == 1 ? ScalarTraits<S>::from_double(double(numerator)) : ScalarTraits<S>::from_rational({numerator, denominator});
}

// Functions with exp, which exact scalars lack.
template <class S>
S smooth_formula(const Node& node, const S& x) {
  const S zero = number<S>(0), two = number<S>(2);
  if (node.op == Op::gelu) {
    if (!std::get<GeluAttributes>(node.attributes).tanh_form) return x * apply(Function::erfc, S(-x / sqrt(two))) / two;
    const S pi = two * apply(Function::acos, zero);
    return x * apply(Function::sigmoid, S(two * sqrt(two / pi) * (x * (number<S>(1) + number<S>(44715, 1000000) * square(x)))));
  }
  if (node.op == Op::mish) return x * apply(Function::tanh, apply(Function::softplus, x));
  const S alpha = ScalarTraits<S>::from_double(std::get<ActivationAttributes>(node.attributes).alpha);
  if (node.op == Op::silu) return x * apply(Function::sigmoid, S(alpha * x));
  if (node.op == Op::celu) return max(x, zero) + alpha * apply(Function::expm1, S(min(x, zero) / alpha));
  const S elu = max(x, zero) + alpha * apply(Function::expm1, S(min(x, zero)));
  return node.op == Op::elu ? elu : S(ScalarTraits<S>::from_double(std::get<ActivationAttributes>(node.attributes).beta) * elu);
}

static inline bool needs_exp(Op op) {
  return op == Op::gelu || op == Op::mish || op == Op::silu || op == Op::celu || op == Op::elu || op == Op::selu;
}

template <class S>
S formula(const Node& node, const S& x) {
  static const S zero = number<S>(0), one = number<S>(1), three = number<S>(3), six = number<S>(6);
  if constexpr (ScalarTraits<S>::has_transcendental) {
    if (needs_exp(node.op)) return smooth_formula(node, x);
  }
  if (node.op == Op::softsign) return x / (one + abs(x));
  if (node.op == Op::hard_swish) return x * min(max(x + three, zero), six) / six;
  const auto& attributes = std::get<ActivationAttributes>(node.attributes);
  const S alpha = ScalarTraits<S>::from_double(attributes.alpha), beta = ScalarTraits<S>::from_double(attributes.beta);
  if (node.op == Op::hard_sigmoid) return min(max(alpha * x + beta, zero), one);
  if (node.op == Op::thresholded_relu) return select(less(alpha, x), S(max(x, alpha)), zero);
  demand(node.op == Op::shrink, "denote_activation: not an activation");
  const S right = select(less(alpha, x), S(max(x, alpha) - beta), zero);
  return select(less(x, S(-alpha)), S(min(x, S(-alpha)) + beta), right);
}

// The bracket of the one point where f' changes its sign from minus to plus.
static inline WideInterval bracket_of_minimum(const Node& node) {
  const auto slope = [&](const Rational& at) { return formula(node, Dual<WideInterval>(WideInterval(at), WideInterval(1.0))).tangent(); };
  constexpr int kHalvings = 230;  // makes the bracket a little wider than the resolution of 257 bits
  const WideInterval zero;
  Rational a(-2), b(-1, 2);
  demand(certainly_less(slope(a), zero) && certainly_less(zero, slope(b)), "bracket_of_minimum: the start brackets the minimum");
  for (int i = 0; i < kHalvings; ++i) {
    const Rational middle = (a + b) * Rational(1, 2);
    const WideInterval at_middle = slope(middle);
    if (certainly_less(at_middle, zero)) {
      a = middle;
    } else if (certainly_less(zero, at_middle)) {
      b = middle;
    } else {
      break;
    }
  }
  return {a, b};
}

static inline WideInterval turning_point(Op op, const Attributes& attributes) {
  Node node;
  node.op = op;
  node.attributes = attributes;
  return bracket_of_minimum(node);
}

// Computed once, since a bracket takes a few hundred derivatives.
static inline WideInterval turning_point(const Node& node) {
  if (node.op == Op::silu) {
    static const WideInterval kSilu = turning_point(Op::silu, ActivationAttributes{1, 0});
    return kSilu;
  }
  if (node.op == Op::mish) {
    static const WideInterval kMish = turning_point(Op::mish, NoAttributes{});
    return kMish;
  }
  demand(node.op == Op::gelu, "turning_point: a function with one minimum");
  if (std::get<GeluAttributes>(node.attributes).tanh_form) {
    static const WideInterval kTanhForm = turning_point(Op::gelu, GeluAttributes{true});
    return kTanhForm;
  }
  static const WideInterval kGelu = turning_point(Op::gelu, GeluAttributes{false});
  return kGelu;
}

// The points where f changes between rising and falling.
static inline std::vector<WideInterval> break_points(const Node& node) {
  if (node.op == Op::elu || node.op == Op::selu || node.op == Op::celu) return {WideInterval()};
  if (node.op == Op::hard_swish) return {WideInterval(-3.0), WideInterval(-1.5)};
  if (node.op == Op::gelu || node.op == Op::mish) return {turning_point(node)};
  if (node.op != Op::silu) return {};
  const double alpha = std::get<ActivationAttributes>(node.attributes).alpha;
  if (alpha == 0) return {};  // x / 2
  return {turning_point(node) / WideInterval(alpha)};
}

static inline WideInterval value_at_end(const Node& node, const WideInterval& end) {
  if (node.op != Op::softsign || end.is_bounded()) return formula(node, end);
  return sign(end);  // the limit at an infinite end
}

static inline WideInterval image(const Node& node, const std::vector<WideInterval>& breaks, const WideInterval& x) {
  if (node.op == Op::thresholded_relu || node.op == Op::shrink) return formula(node, x);  // select takes the hull
  WideInterval result = hull(value_at_end(node, x.lower_end()), value_at_end(node, x.upper_end()));
  for (const WideInterval& at : breaks) {
    const bool outside = certainly_less_equal(x.upper_end(), at.lower_end()) || certainly_less_equal(at.upper_end(), x.lower_end());
    if (!outside) result = hull(result, formula(node, at));
  }
  return result;
}
// The images of gelu, silu and mish between the ends, by polynomials; equal to those at 257 bits where the polynomials
// are tight.
struct Valley {
  Activation f;
  Interval at, value;  // enclosures at the minimum
  Valley(Activation activation, const Node& node)
      : f(activation), at(turning_point(node).to_interval()), value(formula(node, turning_point(node)).to_interval()) {}
};
static inline const Valley* valley(const Node& node) {
  if (node.op == Op::gelu && std::get<GeluAttributes>(node.attributes).tanh_form) {
    static const Valley kTanhForm(Activation::gelu_tanh_form, node);
    return &kTanhForm;
  }
  if (node.op == Op::gelu) {
    static const Valley kGelu(Activation::gelu, node);
    return &kGelu;
  }
  if (node.op == Op::mish) {
    static const Valley kMish(Activation::mish, node);
    return &kMish;
  }
  if (node.op != Op::silu || std::get<ActivationAttributes>(node.attributes).alpha != 1) return nullptr;
  static const Valley kSilu(Activation::silu, node);
  return &kSilu;
}
static inline std::optional<Interval> by_cells(const Node& node, const Interval& x) {
  const Valley* const one = valley(node);
  if (one == nullptr) return std::nullopt;
  const std::optional<Interval> first = tight(one->f, x.lo()), last = x.is_point() ? first : tight(one->f, x.hi());
  if (!first || !last) return std::nullopt;
  const Interval ends = hull(*first, *last);
  return x.hi() <= one->at.lo() || one->at.hi() <= x.lo() ? ends : hull(ends, one->value);
}

static inline Interval image(const Node& node, const std::vector<WideInterval>& breaks, const Interval& x) {
  const std::optional<Interval> fast = by_cells(node, x);
  return fast ? *fast : image(node, breaks, WideInterval(x)).to_interval();
}
static inline Symbolic image(const Node& node, const std::vector<WideInterval>& breaks, const Symbolic& x) {
  return x.is_constant() ? Symbolic(image(node, breaks, x.constant())) : Symbolic::nonlinear();
}
// The value from the image above, and the tangent of the formula.
static inline Dual<Interval> image(const Node& node, const std::vector<WideInterval>& breaks, const Dual<Interval>& x) {
  return {image(node, breaks, x.value()), formula(node, x).tangent()};
}

template <class S>
Array<S> parametric_relu(const Node& node, const Array<S>& x, const Array<S>& slopes) {
  const S zero = number<S>(0);
  Array<S> y{node.shape, {}};
  Walk at = Walk::over(slopes.shape, node.shape);
  for (const S& value : x.values) {
    // In pieces over sets, so that each operand enters each piece once.
    y.values.push_back(select(less(value, zero), S(slopes.values[at.offset()] * min(value, zero)), S(max(value, zero))));
    at.next();
  }
  return y;
}
static inline Array<Dual<Interval>> parametric_relu(const Node& node, const Array<Dual<Interval>>& x, const Array<Dual<Interval>>& slopes) {
  const Dual<Interval> zero;
  Array<Dual<Interval>> y = parametric_relu<Dual<Interval>>(node, x, slopes);
  Walk at = Walk::over(slopes.shape, node.shape);
  // The tangent comes from the continuous form, which has one at 0.
  for (std::size_t i = 0; i < x.values.size(); ++i, at.next()) {
    const Dual<Interval> sum = max(x.values[i], zero) + slopes.values[at.offset()] * min(x.values[i], zero);
    y.values[i] = Dual<Interval>(y.values[i].value(), sum.tangent());
  }
  return y;
}

// x + (slope - 1) min(x, 0): a single product, exact if x has one sign or the slope is a number.
static inline Array<Symbolic> parametric_relu(const Node& node, const Array<Symbolic>& x, const Array<Symbolic>& slopes) {
  if (x.values.empty() || !has_steps(x)) return parametric_relu<Symbolic>(node, x, slopes);
  Array<Symbolic> y = x;
  Walk at = Walk::over(slopes.shape, node.shape);
  for (std::size_t i = 0; i < x.values.size(); ++i, at.next())
    y.values[i] += (slopes.values[at.offset()] - Symbolic(1.0)) * min(x.values[i], Symbolic(0.0));
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    if (needs_exp(node.op) && !ScalarTraits<S>::has_transcendental) return no_function(node, ScalarTraits<S>::name);
    const Array<S>& x = *operands[0];
    if (node.op == Op::prelu) return parametric_relu(node, x, *operands[1]);
    if constexpr (ScalarTraits<S>::is_enclosure) {
      const std::vector<WideInterval> breaks = break_points(node);
      return map(x, [&](const S& value) { return image(node, breaks, value); });
    } else {
      return map(x, [&](const S& value) { return formula(node, value); });
    }
  }
}

// The line alpha x + beta meets 0 and 1 at these points; outside of them the function is constant.
static inline Segments segments_of_hard_sigmoid(double alpha, double beta) {
  if (alpha == 0) return {};
  const Rational slope = *Rational::from_double(alpha);
  const Rational meets_0 = -*Rational::from_double(beta) / slope, meets_1 = meets_0 + Rational(1) / slope;
  const Rational &first = alpha > 0 ? meets_0 : meets_1, &last = alpha > 0 ? meets_1 : meets_0;
  const double a = first.double_down(), b = first.double_up(), c = last.double_down(), d = last.double_up();
  if (!(std::isfinite(a) && b <= c && std::isfinite(d))) return {};
  using enum Curve;
  return {{-kEverywhere, a, linear}, {a, b, by_derivative}, {b, c, linear}, {c, d, by_derivative}, {d, kEverywhere, linear}};
}

static inline Segments segments_of(const Node& node) {
  using enum Curve;
  const auto two = [&]() -> const ActivationAttributes& { return std::get<ActivationAttributes>(node.attributes); };
  switch (node.op) {
    case Op::softsign:
      return {{-kEverywhere, 0, convex}, {0, kEverywhere, concave}};
    // Below 0: elu alpha exp(x), selu beta alpha exp(x), celu alpha exp(x / alpha), each minus a constant.
    case Op::elu:
    case Op::selu:
    case Op::celu: {
      const bool below_is_convex = (two().alpha > 0) == (node.op != Op::selu || two().beta > 0);
      return {{-kEverywhere, 0, below_is_convex ? convex : concave}, {0, kEverywhere, linear}};
    }
    case Op::hard_sigmoid:
      return segments_of_hard_sigmoid(two().alpha, two().beta);
    case Op::hard_swish:
      return {{-kEverywhere, -3, linear}, {-3, 3, convex}, {3, kEverywhere, linear}};
    case Op::gelu:
    case Op::silu:
    case Op::mish:
      return {{-kEverywhere, kEverywhere, by_derivative}};
    case Op::thresholded_relu:
      return {{-kEverywhere, two().alpha, affine, true, 0, 0.0}, {two().alpha, kEverywhere, affine, false, 1, 0.0}};
    default: {
      demand(node.op == Op::shrink, "segments_of: no activation of one variable");
      const auto& [alpha, beta] = two();
      return {{-kEverywhere, -alpha, affine, true, 1, beta},
              {-alpha, alpha, affine, true, 0, 0.0},
              {alpha, kEverywhere, affine, false, 1, -beta}};
    }
  }
}

}  // namespace assay::ops::activation
