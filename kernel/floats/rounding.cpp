// Rounding errors by op: those of its form over Computed, element by element or line by line.
//
// Some ops are exact in every model: index maps, choices, comparisons, positions, integers and truth values, |x|, -x,
// floor, ceil, round and sign. Their result is a value of the denotation at the operands that the execution holds.
// (Flushing of operands concerns the operands of arithmetic only.) Source. derived in docs/explanation/float32.md.

#include "kernel/floats/rounding.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernel/floats/forms.h"
#include "kernel/floats/rounding_families.h"
#include "semantics/graph/family.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::floats {
namespace {

// Applies f to the operands, broadcast to the result, element by element.
Values combined(const Call& call, const std::function<Computed(std::span<const Computed>)>& f) {
  std::vector<ops::Walk> walks;
  for (const Array<Interval>* operand : call.operands) walks.push_back(ops::Walk::over(operand->shape, call.node.shape));
  Values result, x(call.operands.size());
  for (std::size_t i = 0; i < element_count(call.node.shape); ++i) {
    for (std::size_t k = 0; k < walks.size(); ++k) {
      x[k] = call.a.operand(call.operand(k).values[walks[k].offset()]);
      walks[k].next();
    }
    result.push_back(f(x));
  }
  return result;
}

// A jump at a threshold: if the program holds another number for the threshold, an execution may take the other side.
Computed over_threshold(const ErrorArithmetic& a, double threshold, Computed y) {
  y.include({Interval(0.0)});
  const bool flushes = a.model().flush_operands || a.model().flush_results;
  return flushes || a.number(threshold).error() > 0
             ? a.refuse([] { return "a jump at a threshold that the program may hold as another number"; })
             : y;
}

Computed activation(const Call& call, const Computed& x) {
  const ErrorArithmetic& a = call.a;
  if (const auto y = Forms<ErrorArithmetic>(a).activation(call.node, x)) return *y;
  const auto& [alpha, beta] = call.get<ActivationAttributes>();
  if (call.node.op == Op::thresholded_relu) return over_threshold(a, alpha, {Interval(0.0)});
  if (call.node.op == Op::shrink) return over_threshold(a, alpha, hull(a.sub(x, a.number(beta)), a.add(x, a.number(beta))));
  return unknown();
}

Computed elementwise(const Call& call, std::span<const Computed> x) {
  const ErrorArithmetic& a = call.a;
  if (const auto y = Forms<ErrorArithmetic>(a).elementwise(call.node, x)) return *y;
  switch (call.node.op) {
    case Op::pow:  // the exponent is stored as an operand in the model file
      return a.number(call.get<PowAttributes>().exponent).error() > 0
                 ? a.refuse([] { return "an exponent that is no number of the format"; })
                 : a.pow(x[0], call.get<PowAttributes>().exponent);
    case Op::power: {
      const std::optional<Rational> r = x[1].exact.is_point() ? Rational::from_double(x[1].exact.lo()) : std::nullopt;
      return r ? a.pow(x[0], *r) : a.refuse([] { return "an exponent that is not one number"; });
    }
    case Op::mod:  // the remainder itself is exact, and the divisor is added once
      return call.get<ModAttributes>().truncated && !a.model().flush_operands && !a.model().flush_results
                 ? Computed{x[0].exact}
                 : a.refuse([] { return "a remainder that jumps"; });
    default:
      return unknown();
  }
}

Values batch_normed(const Call& call) {
  const ErrorArithmetic& a = call.a;
  const Forms<ErrorArithmetic> forms(a);
  const Computed epsilon = a.number(call.get<BatchNormAttributes>().epsilon);
  const auto channels = static_cast<std::size_t>(call.node.shape[1]);
  const std::size_t inner = element_count(Shape(call.node.shape.begin() + 2, call.node.shape.end()));
  Values y;
  for (std::size_t i = 0; i < call.operand(0).values.size(); ++i) {
    const auto of_channel = [&](std::size_t k) { return a.operand(call.operand(k).values[i / inner % channels]); };
    y.push_back(
        forms.batch_norm(a.operand(call.operand(0).values[i]), of_channel(1), of_channel(2), of_channel(3), of_channel(4), epsilon).y);
  }
  return y;
}

std::optional<Array<Interval>> magnitudes_summed(const Call& call) {
  Node node = call.node;
  if (auto* gemm = std::get_if<GemmAttributes>(&node.attributes)) {
    gemm->alpha = std::fabs(gemm->alpha);
    gemm->beta = std::fabs(gemm->beta);
  }
  if (auto* gather = std::get_if<WeightedGatherAttributes>(&node.attributes)) {
    for (Rational& weight : gather->weights) weight = abs(weight);
  }
  const FactorRounding factors = factor_rounding(call.a.model());
  std::vector<Array<Interval>> sizes;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    sizes.push_back({call.operand(k).shape, {}});
    for (const Interval& x : call.operand(k).values) {
      const double size = call.a.operand(x).computed().magnitude();
      if (has_factors(node.op) && k < 2 && !(size < factors.most)) return std::nullopt;
      sizes.back().values.emplace_back(size);
    }
  }
  auto result = denote<Interval>(node, pointers_to(sizes));
  if (!result) return std::nullopt;
  return std::move(result).value();
}

Values sums(const Call& call, SumForm form) {
  // A bias may join the accumulation.
  form.further_roundings += form.products && call.a.model().bias_in_product ? 1 : 0;
  // So may products among the terms.
  form.products = form.products || call.a.model().fused_multiply_add;
  const FactorRounding factors = factor_rounding(call.a.model());
  const bool rounds = has_factors(call.node.op) && factors.relative > 0;
  const auto size = magnitudes_summed(call);
  const auto errors = sum_errors(call.a.model(), call.a.format(), most_terms(call.node, call.operand(0)), form);
  Values y(element_count(call.node.shape), unknown());
  if (!size || !errors || call.a.model().flush_operands || (rounds && factors.absolute > 0)) return y;
  const double of_factors = rounds ? sub_up(mul_up(add_up(1, factors.relative), add_up(1, factors.relative)), 1) : 0;
  const double of_terms = add_up(mul_up(add_up(errors->to_terms, errors->to_sum), add_up(1, of_factors)), of_factors);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double s = size->values[i].hi();
    const bool overflows =
        !(mul_up(mul_up(mul_up(errors->growth, s), add_up(1, of_factors)), form.before_scaling) < largest(call.a.format()));
    if (!overflows) y[i] = {Interval(-s, s), 0, add_up(mul_up(of_terms, s), errors->absolute)};
  }
  return y;
}

Values computed(const Call& call) {
  switch (call.node.op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
      return softmaxes(call);
    case Op::normalise:
      return normalisations(call);
    case Op::batch_norm:
      return batch_normed(call);
    case Op::local_response:
      return local_responses(call);
    case Op::reduce_prod:
    case Op::cumprod:
      return products(call);
    case Op::pad:
      return Values(element_count(call.node.shape), call.a.number(call.get<PadAttributes>().value));
    case Op::cast:  // from another numeric type
      return combined(call, [&](std::span<const Computed> x) { return call.a.mul({Interval(1.0)}, x[0]); });
    default:
      break;
  }
  if (has_formula(call.node.op)) return combined(call, [&](std::span<const Computed> x) { return activation(call, x[0]); });
  if (const auto form = sum_form(call.node, call.operand(0).shape, call.a.model(), call.a.format())) return sums(call, *form);
  if (kind_of(call.node.op) == OpKind::function)
    return combined(call, [&](std::span<const Computed> x) { return call.a.function(ops::function_of(call.node.op), x[0]); });
  return combined(call, [&](std::span<const Computed> x) { return elementwise(call, x); });
}

}  // namespace

bool computes_exactly(const Node& node, const ExecutionModel& model) {
  const OpClass op_class = op_row(node.op).op_class;
  if ((model.flush_operands || model.flush_results) && op_class != OpClass::leaf && op_class != OpClass::layout) return false;
  return !is_float(node.dtype) || is_exact(node.op);
}

namespace {

// The errors of ops that round nothing, if subnormal operands may be read as zeros: choices change by as much as their
// operands, and an op that jumps at 0 has no bound.
std::vector<double> flushing_errors(const Node& node, std::span<const Array<Interval>* const> operands, std::size_t size) {
  const auto is_subnormal = [&](const Interval& x) {
    const bool near = x.lo() < smallest_normal(Format::binary32) && x.hi() > -smallest_normal(Format::binary32);
    return near && !(x.lo() == 0 && x.hi() == 0) && !(x.is_point() && x.lo() == std::floor(x.lo()));
  };
  bool meets = false;
  for (const Array<Interval>* operand : operands) meets = meets || std::ranges::any_of(operand->values, is_subnormal);
  if (!meets) return {};
  const bool changes_as_much =
      is_exact(node.op) && (family_of(node.op) == Family::choice || op_row(node.op).smoothness != Smoothness::jump);
  return std::vector<double>(size, changes_as_much ? smallest_normal(Format::binary32) : kInfinity);
}

}  // namespace

double most_terms(const Node& node, const Array<Interval>& operand) {
  double terms = static_cast<double>(operand.values.size());
  if (node.op == Op::matmul || node.op == Op::gemm) terms = 0;
  for (const std::int64_t extent : operand.shape) terms = std::fmax(terms, static_cast<double>(extent));
  return terms + 1;
}

std::optional<Array<Interval>> sums_of_magnitudes(const Node& node, const ExecutionModel& model,
                                                  std::span<const Array<Interval>* const> operands) {
  const ErrorArithmetic arithmetic(model, format_of(node.dtype));
  return magnitudes_summed({node, arithmetic, operands});
}

std::vector<double> rounding_errors(const Node& node, const ExecutionModel& model, std::span<const Array<Interval>* const> operands,
                                    const Array<Interval>& exact) {
  if (computes_exactly(node, model)) return {};
  if (computes_exactly(node, ExecutionModel{})) return flushing_errors(node, operands, exact.values.size());
  const Format format = format_of(node.dtype);
  const ErrorArithmetic arithmetic(model, format);
  const Values values = computed({node, arithmetic, operands});
  std::vector<double> errors;
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::fmin(values[i].size(), exact.values[i].magnitude());
    const double of_size = values[i].relative == 0 ? 0 : mul_up(values[i].relative, size);
    // Choices inside of forms may flush, too.
    const double flushed = model.flush_results || model.flush_operands ? smallest_normal(format) : 0;
    const double error = add_up(add_up(of_size, values[i].absolute), flushed);
    const bool known = !exact.values[i].is_undefined() && error < kInfinity && add_up(exact.values[i].magnitude(), error) < largest(format);
    errors.push_back(known ? error : kInfinity);
    any = any || !(errors.back() == 0);
  }
  if (!any) errors.clear();
  return errors;
}

std::string why_unbounded(const Node& node, const ExecutionModel& model, std::span<const Array<Interval>* const> operands) {
  std::string cause;
  const ErrorArithmetic arithmetic(model, format_of(node.dtype), &cause);
  if (computes_exactly(node, ExecutionModel{})) return "subnormal operands, which the model may read as zeros, where the op jumps";
  (void)computed({node, arithmetic, operands});
  return cause.empty() ? "a value or partial sum that may overflow, or an execution of the op of which no bound is known" : cause;
}

FactorRounding factor_rounding(const ExecutionModel& model) {
  switch (model.input_rounding) {
    case ExecutionModel::InputRounding::none:
      return {0, 0, kInfinity};
    case ExecutionModel::InputRounding::tf32:  // programs use both truncation and rounding to nearest
      return {0x1p-10, 0x1p-136, 0x1.ffep127};
    case ExecutionModel::InputRounding::bfloat16:
      return {0x1p-8, 0x1p-133, 0x1.ffp127};
    case ExecutionModel::InputRounding::binary16:
      return {0x1p-11, 0x1p-25, 65520};
  }
  return {0, 0, 0};
}

}  // namespace assay::floats
