// Gradients of activation functions. d is the slope up to a break point and 1 the slope above.
#include "runtime/autodiff/families.h"
#include "semantics/demand.h"

namespace assay::runtime::autodiff {

namespace {

// d up to 0, 1 above.
Term bent(const Term& d, const Term& x) { return d + (1 - d) * above_zero(x); }

// elu' = alpha exp(x) below 0
Term elu_bar(const Applied& a, double beta) {
  const Term d = exp(below_zero(a.x())) * a.get<ActivationAttributes>().alpha;
  const Term bar = a.g() * bent(d, a.x());
  return beta == 1 ? bar : bar * beta;
}

// celu' = exp(min(x, 0) / alpha), which has no kink
Term celu_bar(const Applied& a) {
  const double alpha = a.get<ActivationAttributes>().alpha;
  const Term below = below_zero(a.x());
  return a.g() * exp(alpha == 1 ? below : below / below.exact(alpha));
}

// (x Phi)' = Phi + x phi; tanh form: (x s)' = s + x s (1 - s) u' with s = sigmoid(u), u = k (x + c x^3)
Term gelu_bar(const Applied& a) {
  const Term x = a.x();
  if (!a.get<GeluAttributes>().tanh_form) {
    const Term phi = exp(square(x) * -0.5) * x.fixed(Fixed::normal_peak);
    return a.g() * (((x * x.fixed(Fixed::root_half)).apply(Op::erf) + 1) * 0.5 + x * phi);
  }
  const Term k = x.fixed(Fixed::twice_root_two_over_pi), cx2 = square(x) * x.fixed(Fixed::gelu_cubic);
  const Term s = sigmoid(k * (x * (cx2 + 1)));
  return a.g() * (s + x * (s * (1 - s)) * (k * (cx2 * 3 + 1)));
}

// (x s)' = s + alpha x s (1 - s) with s = sigmoid(alpha x)
Term silu_bar(const Applied& a) {
  const double alpha = a.get<ActivationAttributes>().alpha;
  const Term t = alpha == 1 ? a.x() : a.x() * alpha;
  const Term s = sigmoid(t);
  return a.g() * (s + t * (s * (1 - s)));
}

// (x t)' = t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x))
Term mish_bar(const Applied& a) {
  const Term t = a.x().apply(Op::softplus).apply(Op::tanh);
  return a.g() * (t + a.x() * (1 - square(t)) * sigmoid(a.x()));
}

Term softsign_bar(const Applied& a) { return a.g() / square(a.x().apply(Op::abs) + 1); }

Term hard_sigmoid_bar(const Applied& a) { return a.g() * a.get<ActivationAttributes>().alpha * (sign(a.y()) * sign(1 - a.y())); }

// (x r)' = r + x r' with r = clip(x + 3, 0, 6), and all of it over 6
Term hard_swish_bar(const Applied& a) {
  const Term x = a.x(), six = x.number(6), r = (x + 3).apply(Op::clip, ClipAttributes{0, 6});
  return a.g() * ((r + x * (sign(r) * sign(six - r))) / six);
}

Term shrink_bar(const Applied& a) {
  const double alpha = a.get<ActivationAttributes>().alpha;
  return a.g() * (above_zero(a.x() - alpha) + above_zero(-alpha - a.x()));
}

Cotangents prelu_bars(const Applied& a) {
  return two(
      a, [&] { return a.g() * bent(a.x(1), a.x(0)); }, [&] { return a.g() * below_zero(a.x(0)); });
}

}  // namespace

Cotangents activation_bars(const Applied& a) {
  switch (a.op) {
    case Op::softsign:
      return one(softsign_bar(a));
    case Op::elu:
      return one(elu_bar(a, 1));
    case Op::selu:
      return one(elu_bar(a, a.get<ActivationAttributes>().beta));
    case Op::celu:
      return one(celu_bar(a));
    case Op::gelu:
      return one(gelu_bar(a));
    case Op::silu:
      return one(silu_bar(a));
    case Op::mish:
      return one(mish_bar(a));
    case Op::hard_sigmoid:
      return one(hard_sigmoid_bar(a));
    case Op::hard_swish:
      return one(hard_swish_bar(a));
    case Op::thresholded_relu:
      return one(a.g() * above_zero(a.x() - a.get<ActivationAttributes>().alpha));
    case Op::shrink:
      return one(shrink_bar(a));
    default:
      demand(a.op == Op::prelu, "activation_bars: not an activation");
      return prelu_bars(a);
  }
}

}  // namespace assay::runtime::autodiff
