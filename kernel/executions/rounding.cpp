// Rounding errors by op: those of its form over Computed, element by element or line by line.
//
// Exact, whatever the model: index maps, choices, comparisons, positions, integers and truth values, |x|, -x, floor, ceil, round and sign: the
// result is a value of the denotation at the operands that the execution holds. (Operands that flush are operands of arithmetic only.)
// Normalisation. For a computed mean m' and c_i' = x_i - m' with |c_i' - c_i| <= e, the root of the mean of c_i'^2 (and epsilon) is within e of
// that of c_i^2 by Minkowski's inequality; the rounding of squares, sum, quotient and root is relative, as all terms are >= 0.
// Source. derived in docs/float32.md.

#include "kernel/executions/rounding.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernel/executions/computed.h"
#include "kernel/executions/forms.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::executions {
namespace {

using Values = std::vector<Computed>;
using NormaliseForm = NormaliseAttributes::Form;

struct Call {
  const Node& node;
  const ErrorArithmetic& a;
  std::span<const Array<Interval>* const> operands;

  template <class T>
  [[nodiscard]] const T& get() const {
    return std::get<T>(node.attributes);
  }
  [[nodiscard]] const Array<Interval>& operand(std::size_t i) const { return *operands[i]; }
};

// Operands broadcast to the result, one element after the other.
Values combined(const Call& call, const std::function<Computed(std::span<const Computed>)>& f) {
  std::vector<ops::Walk> walks;
  for (const Array<Interval>* operand : call.operands)
    walks.emplace_back(call.node.shape, ops::broadcast_strides(operand->shape, call.node.shape));
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

// The elements that agree off the axes, as lists of positions.
std::vector<std::vector<std::size_t>> lines_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::size_t members = 1;
  for (const std::int64_t axis : axes) members *= static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const std::size_t count = element_count(shape);
  std::vector<std::vector<std::size_t>> lines(members == 0 ? 0 : count / members);
  ops::Walk to(shape, ops::reduction_strides(shape, axes));
  for (std::size_t i = 0; i < count; ++i, to.next()) lines[to.offset()].push_back(i);
  return lines;
}

Values line_at(const Call& call, const std::vector<std::size_t>& positions) {
  Values x;
  for (const std::size_t i : positions) x.push_back(call.a.operand(call.operand(0).values[i]));
  return x;
}

// x above 0, `below` under it: where x may be either, the greater error.
Computed piecewise(const ErrorArithmetic& a, const Computed& x, double outer, const std::function<Computed(const Computed&)>& below) {
  const Forms<ErrorArithmetic> forms(a);
  Computed y = forms.times(outer, part_of(x, 0, kInfinity));
  y.empty = x.exact.hi() < 0;
  const Computed under = part_of(x, -kInfinity, 0);
  if (!is_empty(under)) y.include(below(under));
  return y;
}

Computed leaky(const ErrorArithmetic& a, const Computed& x, const Computed& slope) {
  return piecewise(a, x, 1, [&](const Computed& under) { return a.mul(slope, under); });
}

Computed clipped(const ErrorArithmetic& a, const Computed& x, const ClipAttributes& limits) {
  Computed y = x;
  if (std::isfinite(limits.lo)) y = a.max(y, a.number(limits.lo));
  if (std::isfinite(limits.hi)) y = a.min(y, a.number(limits.hi));
  return y;
}

// Where the program's number for the threshold is another one, an execution may take the other side of a jump.
Computed over_threshold(const ErrorArithmetic& a, double threshold, Computed y) {
  y.include({Interval(0.0)});
  return a.number(threshold).error() > 0 ? unknown() : y;
}

Computed activation(const Call& call, const Computed& x) {
  const ErrorArithmetic& a = call.a;
  const Forms<ErrorArithmetic> forms(a);
  const auto two = [&]() -> const ActivationAttributes& { return call.get<ActivationAttributes>(); };
  const auto elu = [&](double alpha, double outer, double inner) {
    return piecewise(a, x, outer, [&](const Computed& under) { return forms.elu_below(under, alpha, outer, inner); });
  };
  switch (call.node.op) {
    case Op::sigmoid:
      return forms.sigmoid(x);
    case Op::softplus:
      return forms.softplus(x);
    case Op::softsign:
      return forms.softsign(x);
    case Op::elu:
      return elu(two().alpha, 1, 1);
    case Op::selu:
      return elu(two().alpha, two().beta, 1);
    case Op::celu:
      return elu(two().alpha, 1, two().alpha);
    case Op::gelu:
      return call.get<GeluAttributes>().tanh_form ? forms.gelu_tanh(x) : forms.gelu(x);
    case Op::silu:
      return forms.silu(x, two().alpha);
    case Op::mish:
      return forms.mish(x);
    case Op::hard_sigmoid:
      return forms.hard_sigmoid(x, a.number(two().alpha), a.number(two().beta));
    case Op::hard_swish:
      return forms.hard_swish(x);
    case Op::thresholded_relu:
      return over_threshold(a, two().alpha, {Interval(0.0)});
    case Op::shrink:
      return over_threshold(a, two().alpha, hull(a.sub(x, a.number(two().beta)), a.add(x, a.number(two().beta))));
    default:
      return unknown();
  }
}

Computed elementwise(const Call& call, std::span<const Computed> x) {
  const ErrorArithmetic& a = call.a;
  switch (call.node.op) {
    case Op::add:
      return a.add(x[0], x[1]);
    case Op::sub:
      return a.sub(x[0], x[1]);
    case Op::mul:
      return a.mul(x[0], x[1]);
    case Op::div:
      return a.div(x[0], x[1]);
    case Op::scale:
      return a.mul(a.number(call.get<ScaleAttributes>().factor), x[0]);
    case Op::reciprocal:
      return a.reciprocal(x[0]);
    case Op::sqrt:
      return a.sqrt(x[0]);
    case Op::leaky_relu:
      return leaky(a, x[0], a.number(call.get<LeakyReluAttributes>().slope));
    case Op::prelu:
      return leaky(a, x[0], x[1]);
    case Op::clip:
      return clipped(a, x[0], call.get<ClipAttributes>());
    case Op::pow:
      return a.pow(x[0], call.get<PowAttributes>().exponent);
    case Op::power: {
      const std::optional<Rational> r = x[1].exact.is_point() ? Rational::from_double(x[1].exact.lo()) : std::nullopt;
      return r ? a.pow(x[0], *r) : unknown();
    }
    case Op::mod:  // the remainder itself is exact, and the divisor is added once
      return call.get<ModAttributes>().truncated ? Computed{x[0].exact} : unknown();
    default:
      return unknown();
  }
}

bool is_function(Op op) {
  switch (op) {
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::erf:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
      return true;
    default:
      return false;
  }
}

// ---- lines ----

// exp(d) as an online softmax computes it: with the relative error t / (1 - t) of kernel/audit/contracts/softmax.cpp.
Computed inflated_power(const ErrorArithmetic& a, const Computed& d, double merges) {
  const double u = unit_roundoff(a.format());
  const Computed plain = a.exp({d.exact});
  const double steps = div_up(plain.relative, 2 * u);
  const double per_merge = mul_up(u, add_up(mul_up(2, add_up(steps, 1)), 2));
  const double t = add_up(mul_up(add_up(merges, 1), per_merge), mul_up(mul_up(4, u), d.size()));
  if (!(t <= 0.25) || !(plain.error() < kInfinity)) return unknown();
  const double least = a.model().flush_results ? smallest_normal(a.format()) : smallest_number(a.format());
  return {plain.exact, div_up(t, sub_down(1, t)), mul_up(mul_up(2 * (merges + 1), steps + 2), least)};
}

// Differences to the greatest element, their exponentials, and the sum of these, which is at least 1.
struct Line {
  Computed greatest, sum;
  Values below, powers;
};
Line line_of(const ErrorArithmetic& a, const Values& x) {
  Line line{x.front(), {}, {}, {}};
  for (const Computed& value : x) line.greatest = a.max(line.greatest, value);
  const bool online = a.model().softmax == ExecutionModel::Softmax::online,
             tree = a.model().accumulator == ExecutionModel::Accumulator::tree;
  const double n = static_cast<double>(x.size());
  const double merges = tree ? std::fmin(n - 1, static_cast<double>(a.model().tree_height)) : n - 1;
  Values terms;
  for (const Computed& value : x) {
    Computed d = a.sub(value, line.greatest);
    d.exact = intersect(d.exact, Interval(-kInfinity, 0));
    line.below.push_back(d);
    line.powers.push_back(online ? inflated_power(a, d, 0) : a.exp(d));
    if (online) terms.push_back(inflated_power(a, d, merges));
  }
  line.sum = a.sum(online ? terms : line.powers);
  line.sum.exact = intersect(line.sum.exact, Interval(1, kInfinity));
  return line;
}

Values shares(const ErrorArithmetic& a, const Values& x) {
  const Line line = line_of(a, x);
  const Computed inverse = a.reciprocal(line.sum);
  Values y;
  for (const Computed& power : line.powers) y.push_back(hull(a.div(power, line.sum), a.mul(power, inverse)));
  return y;
}

Values softmax(const Call& call) {
  Values y(element_count(call.node.shape));
  const bool reduces = call.node.op == Op::log_sum_exp, masked = call.node.op == Op::masked_softmax;
  const std::vector<std::int64_t> axes = reduces  ? call.get<ReduceAttributes>().axes
                                         : masked ? std::vector{call.get<MaskedSoftmaxAttributes>().axis}
                                                  : std::vector{call.get<SoftmaxAttributes>().axis};
  std::vector<Interval> mask;
  if (masked) {
    ops::Walk at(call.node.shape, ops::broadcast_strides(call.operand(1).shape, call.node.shape));
    for (std::size_t i = 0; i < y.size(); ++i, at.next()) mask.push_back(call.operand(1).values[at.offset()]);
  }
  const auto lines = lines_of(call.operand(0).shape, axes);
  for (std::size_t g = 0; g < lines.size(); ++g) {
    std::vector<std::size_t> open;
    bool known = true;
    for (const std::size_t i : lines[g]) {
      known = known && (mask.empty() || mask[i].is_point());
      if (mask.empty() || mask[i].lo() != 0) open.push_back(i);
    }
    if (!known || open.empty()) {
      for (const std::size_t i : lines[g]) y[reduces ? g : i] = unknown();
      continue;
    }
    const Values x = line_at(call, open);
    if (call.node.op == Op::softmax || masked) {
      const Values line = shares(call.a, x);
      for (std::size_t k = 0; k < open.size(); ++k) y[open[k]] = line[k];
      continue;
    }
    const Line line = line_of(call.a, x);
    const Computed log = call.a.function(Function::log, line.sum);
    if (reduces) y[g] = call.a.add(line.greatest, log);
    for (std::size_t k = 0; !reduces && k < open.size(); ++k) y[open[k]] = call.a.sub(line.below[k], log);
  }
  return y;
}

// ---- normalisation ----

Interval mean_of(const Values& x) {
  Interval sum;
  for (const Computed& value : x) sum += value.exact;
  return sum / Interval(static_cast<double>(x.size()));
}
Interval variance_of(const Values& x) {
  const Interval mean = mean_of(x);
  Interval sum;
  for (const Computed& value : x) sum += square(value.exact - mean);
  return sum / Interval(static_cast<double>(x.size()));
}

// The root of the variance (and of epsilon) around the computed mean.
Computed root_of_two_passes(const ErrorArithmetic& a, const Values& x, const Computed& mean, const Interval& under) {
  const std::size_t n = x.size();
  double e = 0;
  for (const Computed& value : x) e = std::fmax(e, a.sub(value, mean).error());
  const double least = under.lo();
  const std::optional<SumErrors> rounding =  // squares, their sum, the division twice, epsilon, the root
      sum_errors(a.model(), a.format(), static_cast<double>(n), {true, 4});
  if (!(least > 0) || !rounding || !(e < kInfinity)) return unknown();
  const double of_terms = add_up(rounding->to_terms, rounding->to_sum), relative = add_up(of_terms, div_up(rounding->absolute, least));
  const double largest_sum = mul_up(mul_up(under.hi(), static_cast<double>(n)), 4);
  const Interval root = sqrt(under);
  const double spread = add_up(root.hi(), e);
  if (!(largest_sum < largest(a.format())) || !(mul_up(mul_up(spread, spread), mul_up(4, static_cast<double>(n))) < largest(a.format())))
    return unknown();
  return {root, relative, mul_up(e, add_up(1, relative))};
}

// Mean of squares less the square of the mean, or 0 if that is negative.
Computed variance_of_one_pass(const ErrorArithmetic& a, const Values& x, const Computed& mean, const Interval& variance) {
  const Computed squares = a.over_count(a.sum_of_squares(x), static_cast<std::int64_t>(x.size()));
  Computed v = a.mul_add(a.neg(mean), mean, squares);
  v.absolute = v.error();
  v.relative = 0;
  v.exact = variance;
  return v;
}

// c / root, c times the rounded reciprocal of the root, or x r - m r.
Computed scaled_by_root(const ErrorArithmetic& a, const Computed& x, const Computed* mean, const Computed& root, const Computed& inverse) {
  const Computed c = mean == nullptr ? x : a.sub(x, *mean);
  Computed y = hull(a.div(c, root), a.mul(c, inverse));
  if (mean != nullptr) y.include(a.mul_add(x, inverse, a.neg(a.mul(*mean, inverse))));
  return y;
}

Values centred(const Call& call, const Values& x) {
  const ErrorArithmetic& a = call.a;
  const auto& attributes = call.get<NormaliseAttributes>();
  const auto n = static_cast<std::int64_t>(x.size());
  const bool outside = attributes.form == NormaliseForm::deviation;
  const Computed mean = a.over_count(a.sum(x), n), epsilon = a.number(attributes.epsilon);
  const Interval variance = variance_of(x);
  Computed root = unknown();
  if (a.model().moments == ExecutionModel::Moments::two_pass)
    root = root_of_two_passes(a, x, mean, outside ? variance : variance + epsilon.exact);
  if (a.model().moments == ExecutionModel::Moments::one_pass) {
    const Computed v = variance_of_one_pass(a, x, mean, variance);
    root = a.sqrt(outside ? v : a.add(v, epsilon));
  }
  if (outside) root = a.add(root, epsilon);
  const Computed inverse = a.reciprocal(root);
  Values y;
  for (const Computed& value : x) y.push_back(scaled_by_root(a, value, &mean, root, inverse));
  return y;
}

Values by_size(const Call& call, const Values& x) {
  const ErrorArithmetic& a = call.a;
  const auto& attributes = call.get<NormaliseAttributes>();
  Values magnitudes;
  for (const Computed& value : x) magnitudes.push_back(a.abs(value));
  const bool is_l1 = attributes.form == NormaliseForm::l1;
  Computed size = is_l1 ? a.sum(magnitudes) : a.sum_of_squares(magnitudes);
  if (attributes.form == NormaliseForm::root_mean) size = a.over_count(size, static_cast<std::int64_t>(x.size()));
  size = a.add(size, a.number(attributes.epsilon));
  const Computed root = is_l1 ? size : a.sqrt(size);
  Computed inverse = a.reciprocal(root);
  if (!is_l1) inverse.include(a.reciprocal_sqrt(size));
  Values y;
  for (const Computed& value : x) y.push_back(scaled_by_root(a, value, nullptr, root, inverse));
  return y;
}

Values normalised(const Call& call) {
  const auto& attributes = call.get<NormaliseAttributes>();
  const bool is_centred = attributes.form == NormaliseForm::centered || attributes.form == NormaliseForm::deviation;
  Values y(element_count(call.node.shape));
  for (const std::vector<std::size_t>& positions : lines_of(call.operand(0).shape, attributes.axes)) {
    const Values x = line_at(call, positions), line = is_centred ? centred(call, x) : by_size(call, x);
    for (std::size_t k = 0; k < positions.size(); ++k) y[positions[k]] = line[k];
  }
  return y;
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

Values local_responses(const Call& call) {
  const ErrorArithmetic& a = call.a;
  const Forms<ErrorArithmetic> forms(a);
  const auto& attributes = call.get<LocalResponseAttributes>();
  const Array<Interval>& x = call.operand(0);
  const std::int64_t before_it = (attributes.size - 1) / 2, after_it = attributes.size - 1 - before_it, channels = x.shape[1];
  const std::int64_t stride = ops::row_major_strides(x.shape)[1];
  const Computed alpha = a.number(attributes.alpha), bias = a.number(attributes.bias), size = a.number(Rational(attributes.size));
  const Rational beta = Rational::from_double(attributes.beta).value_or(Rational());
  Values y;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i), c = at / stride % channels;
    Values window;
    for (std::int64_t k = std::max(c - before_it, std::int64_t{0}); k <= std::min(c + after_it, channels - 1); ++k)
      window.push_back(a.operand(x.values[static_cast<std::size_t>(at + (k - c) * stride)]));
    y.push_back(forms.local_response(a.operand(x.values[i]), a.sum_of_squares(window), alpha, bias, size, beta));
  }
  return y;
}

Values products(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  Values y(element_count(call.node.shape), Computed{Interval(1.0)});
  if (call.node.op == Op::reduce_prod) {
    const auto lines = lines_of(shape, call.get<ReduceAttributes>().axes);
    for (std::size_t g = 0; g < lines.size(); ++g) y[g] = call.a.product_of(line_at(call, lines[g]));
    return y;
  }
  const auto& [axis, exclusive, reverse] = call.get<CumulativeAttributes>();
  for (std::vector<std::size_t> line : lines_of(shape, {axis})) {
    if (reverse) std::reverse(line.begin(), line.end());
    Values factors;
    for (const std::size_t i : line) {
      if (!exclusive) factors.push_back(call.a.operand(call.operand(0).values[i]));
      y[i] = call.a.product_of(factors);
      if (exclusive) factors.push_back(call.a.operand(call.operand(0).values[i]));
    }
  }
  return y;
}

// ---- sums of products of variables ----

// The node on the magnitudes of its operands, gemm's factors with them: S of every element.
std::optional<Array<Interval>> sums_of_magnitudes(const Call& call) {
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
  std::vector<const Array<Interval>*> pointers;
  for (const Array<Interval>& one : sizes) pointers.push_back(&one);
  auto result = denote<Interval>(node, pointers);
  if (!result) return std::nullopt;
  return std::move(result).value();
}

// No more terms than the elements of the first operand, or those it is multiplied with.
double most_terms(const Call& call) {
  double terms = static_cast<double>(call.operand(0).values.size());
  if (call.node.op == Op::matmul || call.node.op == Op::gemm) terms = 0;
  for (const std::int64_t extent : call.operand(0).shape) terms = std::fmax(terms, static_cast<double>(extent));
  return terms + 1;
}

Values sums(const Call& call, SumForm form) {
  form.further_roundings += form.products && call.a.model().bias_in_product ? 1 : 0;  // a bias may join the accumulation
  form.products = form.products || call.a.model().fused_multiply_add;                 // so may products among the terms
  const FactorRounding factors = factor_rounding(call.a.model());
  const bool rounds = has_factors(call.node.op) && factors.relative > 0;
  const auto size = sums_of_magnitudes(call);
  const auto errors = sum_errors(call.a.model(), call.a.format(), most_terms(call), form);
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
      return softmax(call);
    case Op::normalise:
      return normalised(call);
    case Op::batch_norm:
      return batch_normed(call);
    case Op::local_response:
      return local_responses(call);
    case Op::reduce_prod:
    case Op::cumprod:
      return products(call);
    case Op::sigmoid:
    case Op::softplus:
    case Op::softsign:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::thresholded_relu:
    case Op::shrink:
      return combined(call, [&](std::span<const Computed> x) { return activation(call, x[0]); });
    case Op::pad:
      return Values(element_count(call.node.shape), call.a.number(call.get<PadAttributes>().value));
    case Op::cast:  // from another type of numbers
      return combined(call, [&](std::span<const Computed> x) { return call.a.mul({Interval(1.0)}, x[0]); });
    default:
      break;
  }
  if (const auto form = sum_form(call.node, call.operand(0).shape, call.a.model(), call.a.format())) return sums(call, *form);
  if (is_function(call.node.op))
    return combined(call, [&](std::span<const Computed> x) { return call.a.function(ops::function_of(call.node.op), x[0]); });
  return combined(call, [&](std::span<const Computed> x) { return elementwise(call, x); });
}

}  // namespace

bool computes_exactly(const Node& node) {
  if (!is_float(node.dtype)) return true;
  switch (node.op) {
    case Op::input:
    case Op::constant:
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::gather:
    case Op::expand:
    case Op::neg:
    case Op::relu:
    case Op::abs:
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::min:
    case Op::max:
    case Op::step:
    case Op::where:
    case Op::take:
    case Op::sort:
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::max_weight:
      return true;
    default:
      return false;
  }
}

std::vector<double> rounding_errors(const Node& node, const ExecutionModel& model, std::span<const Array<Interval>* const> operands,
                                    const Array<Interval>& exact) {
  if (computes_exactly(node)) return {};
  const Format format = format_of(node.dtype);
  const ErrorArithmetic arithmetic(model, format);
  const Values values = computed({node, arithmetic, operands});
  std::vector<double> errors;
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::fmin(values[i].size(), exact.values[i].magnitude());
    const double of_size = values[i].relative == 0 ? 0 : mul_up(values[i].relative, size);
    const double error = add_up(of_size, values[i].absolute);
    const bool known = !exact.values[i].is_undefined() && error < kInfinity && add_up(exact.values[i].magnitude(), error) < largest(format);
    errors.push_back(known ? error : kInfinity);
    any = any || !(errors.back() == 0);
  }
  if (!any) errors.clear();
  return errors;
}

FactorRounding factor_rounding(const ExecutionModel& model) {
  switch (model.input_rounding) {
    case ExecutionModel::InputRounding::none:
      return {0, 0, kInfinity};
    case ExecutionModel::InputRounding::tf32:  // by truncation or to nearest: both are in use
      return {0x1p-10, 0x1p-136, kInfinity};
    case ExecutionModel::InputRounding::bfloat16:
      return {0x1p-8, 0x1p-133, 0x1.ffp127};
    case ExecutionModel::InputRounding::binary16:
      return {0x1p-11, 0x1p-25, 65520};
  }
  return {0, 0, 0};
}

}  // namespace assay::executions
