// Rounding errors of ops that work along lines: softmax and related ops, normalisations, local responses, products.
//
// Normalisation. Let m' be the computed mean and c_i' = x_i - m' with |c_i' - c_i| <= e. By Minkowski's inequality the
// root of the mean of c_i'^2 (and epsilon) is within e of that of c_i^2. The rounding of squares, sum, quotient and
// root is relative, since all terms are >= 0. Source. derived in docs/explanation/float32.md.

#include <algorithm>
#include <cmath>

#include "kernel/floats/forms.h"
#include "kernel/floats/rounding_families.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/indexing.h"

namespace assay::floats {

// The lists of positions whose elements agree on all other axes.
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

namespace {

using NormaliseForm = NormaliseAttributes::Form;

// exp(d) as an online softmax computes it: with the relative error t / (1 - t) of kernel/contracts/softmax.cpp.
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

}  // namespace

Values softmaxes(const Call& call) {
  Values y(element_count(call.node.shape));
  const bool reduces = call.node.op == Op::log_sum_exp, masked = call.node.op == Op::masked_softmax;
  const std::vector<std::int64_t> axes = reduces  ? call.get<ReduceAttributes>().axes
                                         : masked ? std::vector{call.get<MaskedSoftmaxAttributes>().axis}
                                                  : std::vector{call.get<SoftmaxAttributes>().axis};
  std::vector<Interval> mask;
  if (masked) {
    ops::Walk at = ops::Walk::over(call.operand(1).shape, call.node.shape);
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

namespace {

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

// The root of the variance (plus epsilon) around the computed mean.
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

// The mean of the squares minus the square of the mean, or 0 if that is negative.
Computed variance_of_one_pass(const ErrorArithmetic& a, const Values& x, const Computed& mean, const Interval& variance) {
  const Computed squares = a.over_count(a.sum_of_squares(x), static_cast<std::int64_t>(x.size()));
  Computed v = a.mul_add(a.neg(mean), mean, squares);
  v.absolute = v.error();
  v.relative = 0;
  v.exact = variance;
  return v;
}

// c / root, or c times the rounded reciprocal of the root, or x r - m r.
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
  const ExecutionModel::Moments moments = a.model().moments;
  Computed root = unknown();
  if (moments != ExecutionModel::Moments::welford) {
    root.empty = true;
    if (moments != ExecutionModel::Moments::one_pass)
      root.include(root_of_two_passes(a, x, mean, outside ? variance : variance + epsilon.exact));
    const Computed v = variance_of_one_pass(a, x, mean, variance);
    if (moments != ExecutionModel::Moments::two_pass) root.include(a.sqrt(outside ? v : a.add(v, epsilon)));
  }
  if (outside) root = a.add(root, epsilon);
  const Computed inverse = outside ? a.reciprocal(root) : a.inverse_of_root(root);
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

}  // namespace

Values normalisations(const Call& call) {
  const auto& attributes = call.get<NormaliseAttributes>();
  const bool is_centred = attributes.form == NormaliseForm::centered || attributes.form == NormaliseForm::deviation;
  Values y(element_count(call.node.shape));
  for (const std::vector<std::size_t>& positions : lines_of(call.operand(0).shape, attributes.axes)) {
    const Values x = line_at(call, positions), line = is_centred ? centred(call, x) : by_size(call, x);
    for (std::size_t k = 0; k < positions.size(); ++k) y[positions[k]] = line[k];
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

}  // namespace assay::floats
