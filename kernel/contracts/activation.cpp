// Contracts of the activations, which are defined by formulas: their forms (kernel/floats/forms.h) on sets.
#include <cmath>

#include "kernel/contracts/families.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"

namespace assay::contracts {

namespace {

FloatSet thresholded(const Arithmetic& a, const FloatSet& x, double alpha) {
  const FloatSet limit = a.number(alpha);
  FloatSet y = part_of(x, limit.lo, floats::kInfinity);
  if (x.is_point() && limit.is_point() && x.lo == limit.lo) y = FloatSet();  // x is not above the limit
  y.nan = x.nan;
  if (x.minus_infinity || x.nan || (x.has_finite() && x.lo <= limit.hi)) y.include(with_both_zeros(point(a.format(), 0)));
  return y;
}

FloatSet shrunk(const Arithmetic& a, const FloatSet& x, const ActivationAttributes& attributes) {
  const FloatSet limit = a.number(attributes.alpha), bias = a.number(attributes.beta);
  // A point at the bend is on neither side of it.
  const auto is_at = [&](double bend) { return x.is_point() && limit.is_point() && x.lo == bend; };
  const FloatSet above = is_at(limit.lo) ? FloatSet() : part_of(x, limit.lo, floats::kInfinity);
  const FloatSet below = is_at(-limit.lo) ? FloatSet() : part_of(x, -floats::kInfinity, -limit.lo);
  FloatSet y;
  if (!is_empty(above)) y.include(a.sub(above, bias));
  if (!is_empty(below)) y.include(a.add(below, bias));
  if (x.nan || (x.has_finite() && x.lo <= limit.hi && x.hi >= -limit.hi)) y.include(with_both_zeros(point(a.format(), 0)));
  y.nan = y.nan || x.nan;
  return y;
}

FloatSet image(const Call& call, const FloatSet& x) {
  const Arithmetic& a = call.arithmetic;
  if (const auto y = floats::Forms<Arithmetic>(a).activation(call.node, x)) return *y;
  if (call.node.op == Op::thresholded_relu) return thresholded(a, x, call.get<ActivationAttributes>().alpha);
  demand(call.node.op == Op::shrink, "image_of_activation: not an activation");
  return shrunk(a, x, call.get<ActivationAttributes>());
}

}  // namespace

Image image_of_activation(const Call& call) {
  Image result{combined(call, [&](std::span<const FloatSet> x) { return image(call, x[0]); })};
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const FloatSet& x = call.operand(0).values[i];
    const double terms = floats::size_of_terms<double>(call.node, x.has_finite() ? x.lo : 0, x.magnitude());
    result.scales.push_back(std::fmax(result.values[i].magnitude(), terms));
  }
  return result;
}

}  // namespace assay::contracts
