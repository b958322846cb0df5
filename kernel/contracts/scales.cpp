// Scales: the sizes of the terms that an element is made of. The width of a set is compared with its scale.
//
// Meaning.     A sum whose terms cancel is small compared with them, and so may be values computed from it; the bound
//              of its error is proportional to the terms. To first order a step multiplies the errors of its operands
//              by its slopes. So a scale is the operand's, times the other factor in a product, divided by the divisor
//              in a quotient, and the sum of both in a sum. A logarithm's scale is at least 1, since an absolute width
//              of 2^-8 is a relative width of its argument. So is that of a sine or cosine, which are sides in a circle
//              of radius 1. All other functions, divisors and roots start anew: a value that has lost its digits there
//              is vacuous.
// Trust.       Scales only decide between "passed" and "vacuous": they make no set larger.
#include <algorithm>
#include <cmath>

#include "kernel/contracts/contract.h"
#include "kernel/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

// The scale of an element of an operand.
double scale_at(const Call& call, std::size_t operand, std::size_t element) {
  const std::span<const double> scales = call.scales.empty() ? std::span<const double>() : call.scales[operand];
  return scales.empty() ? call.operand(operand).values[element].magnitude() : scales[element];
}

// One operand as an elementwise operation reads it.
struct Part {
  double size, scale;  // size: the largest magnitude of its set
  const FloatSet* set;
};

double scale_of(const Call& call, std::span<const Part> x) {
  switch (call.node.op) {
    case Op::add:
    case Op::sub:
      return x[0].scale + x[1].scale;
    case Op::mul:
      return std::fmax(x[0].scale * x[1].size, x[0].size * x[1].scale);
    case Op::div:
      return x[0].scale / x[1].size;
    case Op::scale:
      return std::fabs(call.get<ScaleAttributes>().factor) * x[0].scale;
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::clip:
    case Op::cast:
      return x[0].scale;
    case Op::min:
    case Op::max:
      return std::ranges::max_element(x, {}, &Part::scale)->scale;
    case Op::where: {
      const bool may_hold = !x[0].set->has_finite() || x[0].set->hi > 0, may_fail = !x[0].set->has_finite() || x[0].set->lo <= 0;
      return std::fmax(may_hold ? x[1].scale : 0, may_fail ? x[2].scale : 0);
    }
    case Op::log:
    case Op::sin:
    case Op::cos:
      return 1;
    default:
      return 0;
  }
}

std::vector<double> elementwise(const Call& call) {
  std::vector<ops::Walk> walks;
  for (const Sets* sets : call.operands) walks.push_back(ops::Walk::over(sets->shape, call.node.shape));
  std::vector<double> result(element_count(call.node.shape));
  std::vector<Part> parts(walks.size());
  for (double& scale : result) {
    for (std::size_t k = 0; k < walks.size(); ++k) {
      const std::size_t at = walks[k].offset();
      const FloatSet& set = call.operand(k).values[at];
      parts[k] = {set.magnitude(), scale_at(call, k, at), &set};
      walks[k].next();
    }
    scale = scale_of(call, parts);
  }
  return result;
}

std::vector<double> moved(const Call& call) {
  std::vector<Array<double>> operands;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    operands.push_back({call.operand(k).shape, {}});
    for (std::size_t i = 0; i < call.operand(k).values.size(); ++i) operands.back().values.push_back(scale_at(call, k, i));
  }
  Node node = call.node;
  node.dtype = DType::float64;
  Outcome<Array<double>> result = denote<double>(node, pointers_to(operands));
  demand(result.ok(), "scales_of: layout ops are defined on numbers");
  return std::move(result).value().values;
}

}  // namespace

std::vector<double> scales_of(const Call& call, const Image& image) {
  const Family family = contracts::family_of(call.node.op);
  const bool is_moved = family == Family::layout;
  const bool is_elementwise =
      family == Family::elementwise || family == Family::function || call.node.op == Op::where || call.node.op == Op::cast;
  const bool has_scales = std::ranges::any_of(call.scales, [](std::span<const double> one) { return !one.empty(); });
  const bool begins =
      call.node.op == Op::add || call.node.op == Op::sub || call.node.op == Op::log || call.node.op == Op::sin || call.node.op == Op::cos;
  if (!image.scales.empty() || !is_float(call.node.dtype) || !(has_scales || begins) || !(is_moved || is_elementwise)) return image.scales;
  std::vector<double> result = is_moved ? moved(call) : elementwise(call);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double own = image.values[i].magnitude();
    result[i] = std::isfinite(result[i]) ? std::fmax(std::fabs(result[i]), own) : own;
  }
  return result;
}

}  // namespace assay::contracts
