// Contracts of the functions that are defined by formulas, the activations: their forms (kernel/floats/forms.h) on sets.
#include <cmath>

#include "kernel/contracts/families.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"

namespace assay::contracts {

namespace {

// x above 0, the form below, 0 at 0.
FloatSet elu(const Arithmetic& a, const FloatSet& x, double alpha, double outer, double inner) {
  if (x.is_point() && x.lo == 0) return with_both_zeros(x);
  const executions::Forms<Arithmetic> forms(a);
  FloatSet y = forms.times(outer, part_of(x, 0, kInfinity));
  y.nan = y.nan || x.nan;
  const FloatSet below = part_of(x, -kInfinity, 0);
  if (!is_empty(below)) y.include(forms.elu_below(below, alpha, outer, inner));
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
  const auto is_at = [&](double bend) { return x.is_point() && limit.is_point() && x.lo == bend; };  // which is on neither side of it
  const FloatSet above = is_at(limit.lo) ? FloatSet() : part_of(x, limit.lo, kInfinity);
  const FloatSet below = is_at(-limit.lo) ? FloatSet() : part_of(x, -kInfinity, -limit.lo);
  FloatSet y;
  if (!is_empty(above)) y.include(a.sub(above, bias));
  if (!is_empty(below)) y.include(a.add(below, bias));
  if (x.nan || (x.has_finite() && x.lo <= limit.hi && x.hi >= -limit.hi)) y.include(with_both_zeros(point(a.format(), 0)));
  y.nan = y.nan || x.nan;
  return y;
}

FloatSet image(const Call& call, const FloatSet& x) {
  const Arithmetic& a = call.arithmetic;
  const executions::Forms<Arithmetic> forms(a);
  const auto attributes = [&]() -> const ActivationAttributes& { return call.get<ActivationAttributes>(); };
  switch (call.node.op) {
    case Op::sigmoid:
      return forms.sigmoid(x);
    case Op::softplus:
      return forms.softplus(x);
    case Op::softsign:
      return forms.softsign(x);
    case Op::elu:
      return elu(a, x, attributes().alpha, 1, 1);
    case Op::selu:
      return elu(a, x, attributes().alpha, attributes().beta, 1);
    case Op::celu:
      return elu(a, x, attributes().alpha, 1, attributes().alpha);
    case Op::gelu:
      return call.get<GeluAttributes>().tanh_form ? forms.gelu_tanh(x) : forms.gelu(x);
    case Op::silu:
      return forms.silu(x, attributes().alpha);
    case Op::mish:
      return forms.mish(x);
    case Op::hard_sigmoid:
      return forms.hard_sigmoid(x, a.number(attributes().alpha), a.number(attributes().beta));
    case Op::hard_swish:
      return forms.hard_swish(x);
    case Op::thresholded_relu:
      return thresholded(a, x, attributes().alpha);
    default:
      demand(call.node.op == Op::shrink, "image_of_activation: not an activation");
      return shrunk(a, x, attributes());
  }
}

// The size of the terms that a form of the function adds where they cancel: x/2 (1 + erf), alpha (exp - 1), x (x/6 + 1/2).
double size_of_terms(const Call& call, const FloatSet& x) {
  const double size = x.magnitude();
  const bool is_below = x.has_finite() && x.lo < 0;
  switch (call.node.op) {
    case Op::gelu:
    case Op::mish:  // x times a logarithm of 1 + exp
      return size;
    case Op::softplus:
      return 1;
    case Op::elu:
    case Op::celu:
      return is_below ? std::fabs(call.get<ActivationAttributes>().alpha) : 0;
    case Op::selu:
      return is_below ? std::fabs(call.get<ActivationAttributes>().alpha * call.get<ActivationAttributes>().beta) : 0;
    case Op::hard_swish:
      return is_below && x.lo > -6 ? -x.lo * (1 - x.lo / 6) / 2 : 0;
    default:
      return 0;
  }
}

}  // namespace

Image image_of_activation(const Call& call) {
  Image result{combined(call, [&](std::span<const FloatSet> x) { return image(call, x[0]); })};
  for (std::size_t i = 0; i < result.values.size(); ++i)
    result.scales.push_back(std::fmax(result.values[i].magnitude(), size_of_terms(call, call.operand(0).values[i])));
  return result;
}

}  // namespace assay::contracts
