// Contracts of softmax, log_softmax, log_sum_exp and masked_softmax.
//
// Meaning.     Along each line, m = max x, d_i = x_i - m <= 0, e_i = exp(d_i), s = sum e_i:
//              softmax e_i / s, or e_i times the rounded 1 / s; log_softmax d_i - log s; log_sum_exp m + log s.
// Algorithms.  max_subtracted: as written, every step with its contract; m and d_i round at most once, since m is one
//              of the x. online: s by merging pairs (m, s) in any order, s1 exp(m1 - m) + s2 exp(m2 - m), with exp(z)
//              or exp2(z log2 e). Then e_i and the terms of s are exp(d_i) with a relative error of at most
//              t / (1 - t),
//                t = (b + 1)(2 (M + 1) u + 2 u) + 4 u |d_i|.
//              b is the number of merges of a term (all, or the tree's height), M the steps of the table's row for
//              exp. The differences m' - m'' of a chain add up to at most |d_i|; each is rounded once, its product with
//              the rounded log2 e twice, and d_i is taken rounded here. Underflow adds at most 2 (b + 1)(M + 2) eta to
//              a term.
// Vacuous.     If n u is no longer small, or |d| u (online). For log_softmax widths are compared with 1, or the largest
//              magnitude of the line: an absolute width of 2^-8 is a relative one of exp(y).
// Source.      derived in docs/contracts/softmax.md; Milakov and Gimelshein 2018 (online)
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

struct Line {
  FloatSet greatest, sum;
  std::vector<FloatSet> below, powers;  // d and e
};

// A difference to the greatest element is not above 0.
FloatSet not_above_zero(FloatSet d) {
  if (d.has_finite() && d.lo > 0) return with_both_zeros(point(floats::Format::real, 0));
  if (d.has_finite() && d.hi > 0) d.hi = 0.0;
  d.plus_infinity = false;
  return d;
}

// exp(d) with the relative error t / (1 - t). A numerator may be stored as exp(x - m') before the final maximum of its
// line is known, so it has a relative error of its own.
FloatSet inflated_power(const Arithmetic& a, const FloatSet& d, double merges, Storage numerators) {
  if (!d.has_finite()) return a.exp(d);
  const double u = unit_roundoff(a.format()), steps = a.steps_of("exp", d.magnitude());
  const double per_merge = mul_up(u, add_up(mul_up(2, add_up(steps, 1)), 2));
  const bool stores = numerators != Storage::same;
  const floats::Precision kept = floats::precision_of(numerators);
  const double of_merges = add_up(mul_up(add_up(merges, 1), per_merge), mul_up(mul_up(4, u), d.magnitude()));
  const double t = stores ? add_up(of_merges, mul_up(2, kept.unit)) : of_merges;
  if (!(t <= 0.25)) return anything(a.format());
  const double least = a.model().flush_results ? smallest_normal(a.format()) : smallest_number(a.format());
  const double relative = div_up(t, sub_down(1, t));
  const double eta = add_up(mul_up(mul_up(2 * (merges + 1), steps + 2), least), stores ? kept.smallest : 0);
  const Interval exact = a.exact(Function::exp, d);
  FloatSet e = numbers_in(a.format(), exact * Interval(sub_down(1, relative), add_up(1, relative)) + Interval(-eta, eta));
  if (e.has_finite() && e.lo < 0) e.lo = 0.0;
  if (d.minus_infinity) e.include(with_both_zeros(point(a.format(), 0)));
  e.nan = e.nan || d.nan;
  return e;
}

Line evaluated(const Arithmetic& a, const std::vector<FloatSet>& x, Storage numerators = Storage::same) {
  Line line;
  line.greatest = x.front();
  for (const FloatSet& value : x) line.greatest = a.max(line.greatest, value);
  const bool online = !a.is_real() && a.model().softmax == ExecutionModel::Softmax::online;
  const double n = static_cast<double>(x.size());
  const bool tree = a.model().accumulator == ExecutionModel::Accumulator::tree;
  const double merges = tree ? std::fmin(n - 1, static_cast<double>(a.model().tree_height)) : n - 1;
  std::vector<FloatSet> terms;
  for (const FloatSet& value : x) {
    line.below.push_back(not_above_zero(a.sub(value, line.greatest)));
    line.powers.push_back(online ? inflated_power(a, line.below.back(), 0, numerators) : a.exp(line.below.back()));
    if (online) terms.push_back(inflated_power(a, line.below.back(), merges, Storage::same));
  }
  line.sum = a.kept(a.sum(online ? terms : line.powers));
  return line;
}

std::vector<FloatSet> shares(const Arithmetic& a, const std::vector<FloatSet>& x, Storage numerators) {
  const Line line = evaluated(a, x, numerators);
  std::vector<FloatSet> y;
  for (const FloatSet& power : line.powers) {
    y.push_back(a.div(power, line.sum));
    if (!a.is_real()) y.back().include(a.mul(power, a.reciprocal(line.sum)));
  }
  return y;
}

std::vector<FloatSet> logarithms(const Arithmetic& a, const std::vector<FloatSet>& x) {
  const Line line = evaluated(a, x);
  const FloatSet log = a.function(Function::log, line.sum);
  std::vector<FloatSet> y;
  for (const FloatSet& d : line.below) y.push_back(a.sub(d, log));
  return y;
}

FloatSet log_sum_exp(const Arithmetic& a, const std::vector<FloatSet>& x, double& scale) {
  const Line line = evaluated(a, x);
  const FloatSet log = a.function(Function::log, line.sum);
  FloatSet y = a.add(line.greatest, log);
  scale = std::fmax(1, std::fmax(line.greatest.magnitude() + log.magnitude(), y.magnitude()));
  // Programs replace an infinite maximum by 0. The result is then that infinity, which is the limit.
  y.plus_infinity = y.plus_infinity || line.greatest.plus_infinity;
  y.minus_infinity = y.minus_infinity || line.greatest.minus_infinity;
  return y;
}

std::vector<FloatSet> masked(const Arithmetic& a, const std::vector<FloatSet>& x, const std::vector<FloatSet>& mask, bool empty_is_zero,
                             Storage numerators) {
  if (!std::all_of(mask.begin(), mask.end(), [](const FloatSet& gate) { return gate.is_point(); }))
    return std::vector<FloatSet>(x.size(), anything(a.format()));
  std::vector<FloatSet> open;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (mask[i].lo != 0) open.push_back(x[i]);
  FloatSet zero = with_both_zeros(point(a.format(), 0));
  if (open.empty()) return std::vector<FloatSet>(x.size(), empty_is_zero ? zero : only_nan());
  const std::vector<FloatSet> of_open = shares(a, open, numerators);
  // A program that fills masked elements with -infinity divides exp(-infinity) by the sum, which may be NaN.
  zero.nan = std::any_of(of_open.begin(), of_open.end(), [](const FloatSet& value) { return value.nan; });
  std::vector<FloatSet> y;
  for (std::size_t i = 0, k = 0; i < x.size(); ++i) y.push_back(mask[i].lo != 0 ? of_open[k++] : zero);
  return y;
}

std::vector<std::int64_t> axes_of(const Call& call) {
  if (call.node.op == Op::log_sum_exp) return call.get<ReduceAttributes>().axes;
  if (call.node.op == Op::masked_softmax) return {call.get<MaskedSoftmaxAttributes>().axis};
  return {call.get<SoftmaxAttributes>().axis};
}

// The mask's element for each element of x.
std::vector<FloatSet> spread_mask(const Call& call) {
  std::vector<FloatSet> result;
  ops::Walk at = ops::Walk::over(call.operand(1).shape, call.node.shape);
  for (std::size_t i = 0; i < call.operand(0).values.size(); ++i, at.next()) result.push_back(call.operand(1).values[at.offset()]);
  return result;
}

}  // namespace

Image image_of_softmax(const Call& call) {
  // An online softmax stores the numerators only.
  ExecutionModel model = call.arithmetic.model();
  const bool online = model.softmax == ExecutionModel::Softmax::online;
  const Storage numerators = online && !call.arithmetic.is_real() ? model.storage : Storage::same;
  if (online) model.storage = Storage::same;
  const Arithmetic a(model, call.arithmetic.format());
  const Sets& x = call.operand(0);
  const std::vector<FloatSet> mask = call.node.op == Op::masked_softmax ? spread_mask(call) : std::vector<FloatSet>();
  Image image;
  image.values.resize(element_count(call.node.shape));
  if (call.node.op == Op::log_softmax || call.node.op == Op::log_sum_exp) image.scales.resize(image.values.size());
  const std::vector<std::vector<std::size_t>> groups = groups_of(x.shape, axes_of(call));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<FloatSet> line, line_mask;
    for (const std::size_t i : groups[g]) {
      line.push_back(x.values[i]);
      if (!mask.empty()) line_mask.push_back(mask[i]);
    }
    if (call.node.op == Op::log_sum_exp) {
      image.values[g] = log_sum_exp(a, line, image.scales[g]);
      continue;
    }
    if (call.node.op == Op::softmax) line = shares(a, line, numerators);
    if (call.node.op == Op::log_softmax) line = logarithms(a, line);
    if (call.node.op == Op::masked_softmax)
      line = masked(a, line, line_mask, call.get<MaskedSoftmaxAttributes>().empty_is_zero, numerators);
    double scale = 1;
    for (const FloatSet& value : line) scale = std::fmax(scale, value.magnitude());
    for (std::size_t k = 0; k < line.size(); ++k) {
      image.values[groups[g][k]] = line[k];
      if (!image.scales.empty()) image.scales[groups[g][k]] = scale;
    }
  }
  return image;
}

}  // namespace assay::contracts
