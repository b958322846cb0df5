// Contracts of elementwise ops: correctly rounded operations, piecewise ones, and functions by the mathematics table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/contracts/families.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

// The image under f, which is exact and non-decreasing; NaN stays NaN. Zeros may have either sign.
template <class F>
FloatSet monotone(const FloatSet& x, const F& f) {
  FloatSet y;
  if (x.has_finite()) y.include(floats::Format::real, f(x.lo), f(x.hi));
  if (x.plus_infinity) y.include(floats::Format::real, f(floats::kInfinity), f(floats::kInfinity));
  if (x.minus_infinity) y.include(floats::Format::real, f(-floats::kInfinity), f(-floats::kInfinity));
  y.nan = x.nan;
  return with_both_zeros(y);
}

FloatSet remainder(const Call& call, const FloatSet& x, const FloatSet& y) {
  if (!x.is_point() || !y.is_point() || y.lo == 0 || call.arithmetic.is_real()) return anything(call.arithmetic.format());
  const double rest = std::fmod(x.lo, y.lo);  // exact
  const floats::Format format = call.arithmetic.format();
  if (call.get<ModAttributes>().truncated || rest == 0 || (rest < 0) == (y.lo < 0)) return with_both_zeros(point(format, rest));
  return call.arithmetic.add(point(format, rest), y);
}

FloatSet image(const Call& call, std::span<const FloatSet> x) {
  const Arithmetic& a = call.arithmetic;
  if (const auto y = floats::Forms<Arithmetic>(a).elementwise(call.node, x)) return *y;
  switch (call.node.op) {
    case Op::neg:
      return a.neg(x[0]);
    case Op::abs:
      return a.abs(x[0]);
    case Op::relu:
      return a.max(x[0], point(a.format(), 0));
    case Op::sign:
      return monotone(x[0], [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; });
    case Op::floor:
      return monotone(x[0], [](double v) { return std::floor(v); });
    case Op::ceil:
      return monotone(x[0], [](double v) { return std::ceil(v); });
    case Op::round:
      return monotone(x[0], [](double v) { return std::nearbyint(v); });
    case Op::step:  // at 0 the result may be any number in [0, 1]
      return hull(monotone(x[0], [](double v) { return v > 0 ? 1.0 : 0.0; }), monotone(x[0], [](double v) { return v >= 0 ? 1.0 : 0.0; }));
    case Op::min:
    case Op::max: {
      FloatSet best = x[0];
      for (const FloatSet& value : x.subspan(1)) best = call.node.op == Op::min ? a.min(best, value) : a.max(best, value);
      return best;
    }
    case Op::mod:
      return remainder(call, x[0], x[1]);
    case Op::pow:
      return a.pow(x[0], call.get<PowAttributes>().exponent);
    case Op::power:
      return a.pow(x[0], x[1]);
    default:
      demand(false, "image_of_elementwise: not an elementwise op");
      return {};
  }
}

}  // namespace

Image image_of_elementwise(const Call& call) {
  return {combined(call, [&](std::span<const FloatSet> x) { return image(call, x); })};
}

Image image_of_product(const Call& call) {
  const Sets& x = call.operand(0);
  Image result;
  std::vector<FloatSet> factors;
  const auto product = [&] { return call.arithmetic.product_of(factors); };
  if (call.node.op == Op::reduce_prod) {
    std::vector<std::vector<std::size_t>> groups = groups_of(x.shape, call.get<ReduceAttributes>().axes);
    groups.resize(element_count(call.node.shape));  // the groups without elements have empty products
    for (const std::vector<std::size_t>& group : groups) {
      factors.clear();
      for (const std::size_t i : group) factors.push_back(x.values[i]);
      result.values.push_back(product());
    }
    return result;
  }
  const auto& [axis, exclusive, reverse] = call.get<CumulativeAttributes>();
  result.values.resize(x.values.size());
  for (std::vector<std::size_t> line : groups_of(x.shape, {axis})) {
    if (reverse) std::reverse(line.begin(), line.end());
    factors.clear();
    for (const std::size_t i : line) {
      if (!exclusive) factors.push_back(x.values[i]);
      result.values[i] = product();
      if (exclusive) factors.push_back(x.values[i]);
    }
  }
  return result;
}

}  // namespace assay::contracts
