// Contracts of ops whose elements are sums: gemm, matmul, conv, conv_transpose, reduce_sum, reduce_mean, avg_pool,
// cumsum, place, weighted_gather.
//
// Meaning.     The facts that sums.cpp needs about every element come from the denotation itself, run on other numbers:
//              on the operands it gives s; on their magnitudes S; on 1 where an operand may be non-zero, the number m
//              of non-zero terms. On 2^-16e, where an operand is a multiple of 2^e, it gives T = the sum over the terms
//              of 2^-16q. Every term is then a multiple of 2^q for q = ceil(-log2(T) / 16), which is the least of their
//              q as long as m < 2^16.
// Rounding.    Recorded float32 operands: all four in double. Products of two float32 numbers are exact there, so s has
//              an error of at most (m + 8) 2^-53 S (1 + 2^-8), 2^-28 of the allowance, which widens the enclosure of s.
//              S and T are sums of numbers >= 0, rounded up by a factor. Other operands: s and S over intervals, with
//              257 bits for binary64.
// Factors.     gemm's alpha and beta are applied to the finished product and to c; each one other than 1 and -1 adds a
//              rounding to every term. Weights of weighted_gather are rounded to the format unless they are numbers of
//              it. A mean divides once (one more rounding), or multiplies with the rounded reciprocal (two more).
// Order.       Recorded operands, sums from left to right, no fused operation and no flush leave one execution: the
//              float denotation, which takes the terms in that order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/contracts/factors.h"
#include "kernel/contracts/families.h"
#include "kernel/floats/rounding.h"
#include "kernel/floats/sums.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/wide_interval.h"
#include "semantics/ops/denote.h"

namespace assay::contracts {

namespace {

using Doubles = std::vector<Array<double>>;

using floats::divisor_of;
using floats::has_factors;
using floats::has_weights;
using floats::is_mean;
using floats::roundings_of_factors;

double divisor_of(const Call& call) { return divisor_of(call.node, call.operand(0).shape); }

// A double that is no nearer to zero.
double outward(const Rational& weight) { return weight.sign() < 0 ? weight.double_down() : weight.double_up(); }

// The node with f applied to gemm's factors and to the weights of weighted_gather.
template <class F>
Node with_factors(const Node& node, const F& f) {
  Node result = node;
  if (auto* gather = std::get_if<WeightedGatherAttributes>(&result.attributes)) {
    for (Rational& weight : gather->weights) weight = Rational::from_double(f(outward(weight))).value_or(Rational(1));
  }
  if (auto* gemm = std::get_if<GemmAttributes>(&result.attributes)) {
    gemm->alpha = f(gemm->alpha);
    gemm->beta = f(gemm->beta);
  }
  return result;
}
template <class S>
Array<S> denoted(const Node& node, const std::vector<Array<S>>& operands) {
  Outcome<Array<S>> result = denote<S>(node, pointers_to(operands));
  demand(result.ok(), "image_of_sum: sums are defined on every scalar");
  return std::move(result).value();
}

template <class S, class F>
std::vector<Array<S>> mapped(const std::vector<Sets>& operands, const F& f) {
  std::vector<Array<S>> result;
  for (const Sets& sets : operands) {
    result.push_back({sets.shape, {}});
    result.back().values.reserve(sets.values.size());
    for (const FloatSet& set : sets.values) result.back().values.push_back(f(set));
  }
  return result;
}

// x with 11 significant bits: rounded towards zero, and to the nearest number (ties to even).
FloatSet rounded_to_tf32(const FloatSet& x) {
  constexpr int kBits = 11, kLeastExponent = -126;
  if (!x.has_finite()) return x;
  const auto both = [&](double value, FloatSet& y) {
    if (value == 0) return y.include(floats::Format::real, value, value);
    const double unit = std::ldexp(1.0, std::max(std::ilogb(value), kLeastExponent) - kBits + 1);
    const double near = std::nearbyint(value / unit) * unit, inner = std::trunc(value / unit) * unit;
    y.include(floats::Format::real, std::fmin(near, inner), std::fmax(near, inner));
  };
  FloatSet y = x;
  y.lo = 1;
  y.hi = -1;
  both(x.lo, y);
  both(x.hi, y);
  return y;
}

}  // namespace

FloatSet as_factor(const ExecutionModel& model, const FloatSet& x) {
  // It may round to an infinity.
  if (!(x.magnitude() < floats::factor_rounding(model).most)) return anything(floats::Format::binary32);
  switch (model.input_rounding) {
    case ExecutionModel::InputRounding::none:
      return x;
    case ExecutionModel::InputRounding::tf32:  // programs use both truncation and rounding to nearest
      return rounded_to_tf32(x);
    case ExecutionModel::InputRounding::bfloat16:
      return stored(Storage::bfloat16, x);
    case ExecutionModel::InputRounding::binary16:
      return stored(Storage::binary16, x);
  }
  return x;
}

namespace {

std::vector<Sets> read_operands(const Call& call) {
  std::vector<Sets> operands;
  const Arithmetic& a = call.arithmetic;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    operands.push_back(call.operand(k));
    for (FloatSet& set : operands.back().values) {
      if (!call.products && !a.is_real()) set = a.operand(set);
      if (has_factors(call.node.op) && k < 2) set = as_factor(a.model(), set);
    }
  }
  return operands;
}

bool all_of(const std::vector<Sets>& operands, bool (FloatSet::*property)() const) {
  return std::all_of(operands.begin(), operands.end(), [&](const Sets& sets) {
    return std::all_of(sets.values.begin(), sets.values.end(), [&](const FloatSet& set) { return (set.*property)(); });
  });
}

// ---- the exact tier ----

// Encodes multiples of 2^e as 2^(-16 (e - top + 30)); top is the exponent of the largest number. False if some e is
// too small.
constexpr int kPower = 16, kMiddle = 30;
bool grid_weights(const Sets& sets, int top, Array<double>& weights) {
  weights = {sets.shape, {}};
  for (const FloatSet& set : sets.values) {
    const int e = set.lo == 0 ? 0 : lowest_bit(set.lo) - top + kMiddle;
    if (e < -kMiddle) return false;
    weights.values.push_back(set.lo == 0 ? 0 : std::ldexp(1.0, -kPower * std::min(e, kMiddle)));
  }
  return true;
}
int top_of(const Sets& sets) {
  double largest_magnitude = 0;
  for (const FloatSet& set : sets.values) largest_magnitude = std::fmax(largest_magnitude, std::fabs(set.lo));
  return largest_magnitude == 0 ? 0 : std::ilogb(largest_magnitude);
}

// For every element a q such that all its terms are multiples of 2^q; empty if the operands' grids are too far apart.
std::vector<int> common_grids(const Call& call, const std::vector<Sets>& operands) {
  std::vector<int> q;
  if (has_weights(call.node) || roundings_of_factors(call.node, call.arithmetic.format()) > 0) return q;
  const bool factors = has_factors(call.node.op);
  Doubles weights(operands.size());
  int top = 0;
  for (std::size_t k = 0; k < (factors ? 2 : 1); ++k) {
    const int own = top_of(operands[k]);
    if (!grid_weights(operands[k], own, weights[k])) return q;
    top += own - kMiddle;
  }
  // The bias is added to products, whose weights are those of both factors.
  if (operands.size() == 3 && !grid_weights(operands[2], top + kMiddle, weights[2])) return q;
  const Array<double> sums = denoted(with_factors(call.node, [](double) { return 1.0; }), weights);
  for (const double value : sums.values) {
    // At least the sum itself, even if its mean was rounded.
    const double total = mul_up(mul_up(value, divisor_of(call)), 1 + 0x1p-40);
    // Every term has 2^(-16 q) <= total < 2^n, so q > -n / 16.
    const int n = total > 0 ? std::ilogb(total) + 1 : 0;
    q.push_back(top + static_cast<int>(std::floor(-n / static_cast<double>(kPower))) + 1);
  }
  return q;
}

// ---- facts ----

struct Facts {
  std::vector<Interval> exact;
  std::vector<double> magnitude, terms, beside = {};
  std::vector<bool> all_exact;
};

// The errors of a library's weights, each times its element.
void add_errors_of_weights(const Call& call, const std::vector<Sets>& operands, Facts& facts) {
  const auto* gather = std::get_if<WeightedGatherAttributes>(&call.node.attributes);
  if (gather == nullptr || !has_weights(call.node) || call.arithmetic.is_real()) return;
  const double extent = static_cast<double>(call.operand(0).shape[static_cast<std::size_t>(gather->axis)]);
  const double error = floats::error_of_weights(call.arithmetic.model().math_table, call.arithmetic.format(), extent);
  if (error == 0) return;
  const auto sizes = mapped<double>(operands, [](const FloatSet& set) { return set.magnitude(); });
  for (const double size : denoted(with_factors(call.node, [](double) { return 1.0; }), sizes).values)
    facts.beside.push_back(mul_up(mul_up(size, 1 + 0x1p-20), error));
}

void count_terms(const Call& call, const std::vector<Sets>& operands, Facts& facts) {
  const Doubles present = mapped<double>(operands, [](const FloatSet& set) { return set.magnitude() > 0 ? 1.0 : 0.0; });
  const Array<double> counts = denoted(with_factors(call.node, [](double f) { return f == 0 ? 0.0 : 1.0; }), present);
  // A rounded quotient times its divisor differs from an integer below 2^31 by less than this.
  constexpr double kSlack = 0x1p-20;
  for (const double value : counts.values) facts.terms.push_back(std::ceil(mul_up(value, divisor_of(call)) - kSlack));
}

// For recorded operands, in double.
void find_point_facts(const Call& call, const std::vector<Sets>& operands, Facts& facts) {
  const Doubles values = mapped<double>(operands, [](const FloatSet& set) { return set.lo; });
  const Doubles sizes = mapped<double>(operands, [](const FloatSet& set) { return std::fabs(set.lo); });
  const Array<double> s = denoted(call.node, values), size = denoted(with_factors(call.node, [](double f) { return std::fabs(f); }), sizes);
  const std::vector<int> q = common_grids(call, operands);
  const floats::Format format = call.arithmetic.format();
  const double divisor = is_mean(call.node.op) ? mul_up(divisor_of(call), 1 + 0x1p-40) : 1;
  std::vector<Interval> wide;
  if (format == floats::Format::binary64) {
    const auto points = mapped<WideInterval>(operands, [](const FloatSet& set) { return WideInterval(set.lo); });
    for (const WideInterval& value : denoted(call.node, points).values) wide.push_back(value.to_interval());
  }
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const double m = facts.terms[i], relative = mul_up(m + 8, 0x1.01p-53);
    const double magnitude = add_up(mul_up(size.values[i], add_up(1, mul_up(2, relative))), mul_up(m, 0x1p-1060));
    const bool exact = !q.empty() && fits_exactly(call.arithmetic.model(), format, q[i], mul_up(size.values[i], divisor));
    const bool no_error =
        // Exact.
        m <= 1 && !is_mean(call.node.op) && !has_weights(call.node) && roundings_of_factors(call.node, format) == 0;
    const double error = no_error ? 0 : add_up(mul_up(relative, magnitude), mul_up(m, 0x1p-1060));
    const bool is_sum = exact && !is_mean(call.node.op);
    facts.exact.push_back(is_sum ? Interval(s.values[i]) : wide.empty() ? Interval(s.values[i]) + Interval(-error, error) : wide[i]);
    facts.magnitude.push_back(magnitude);
    facts.all_exact.push_back(exact);
  }
}

void find_set_facts(const Call& call, const std::vector<Sets>& operands, Facts& facts) {
  const auto sizes = mapped<Interval>(operands, [](const FloatSet& set) { return Interval(set.magnitude()); });
  for (const Interval& size : denoted(with_factors(call.node, [](double f) { return std::fabs(f); }), sizes).values)
    facts.magnitude.push_back(size.hi());
  if (call.arithmetic.format() == floats::Format::binary64) {
    const auto values = mapped<WideInterval>(operands, [](const FloatSet& set) { return WideInterval(set.lo, set.hi); });
    for (const WideInterval& value : denoted(call.node, values).values) facts.exact.push_back(value.to_interval());
  } else {
    const auto values = mapped<Interval>(operands, [](const FloatSet& set) { return Interval(set.lo, set.hi); });
    facts.exact = denoted(call.node, values).values;
  }
  facts.all_exact.assign(facts.exact.size(), false);
}

// S, computed with the scales of the operands in place of their magnitudes.
std::vector<double> scales_of_sum(const Call& call, const std::vector<Sets>& operands, const Facts& facts) {
  std::vector<double> scales = facts.magnitude;
  for (std::size_t k = 0; k < call.scales.size(); ++k) {
    if (call.scales[k].empty()) continue;
    Doubles sizes = mapped<double>(operands, [](const FloatSet& set) { return set.magnitude(); });
    sizes[k].values.assign(call.scales[k].begin(), call.scales[k].end());
    const Array<double> wider = denoted(with_factors(call.node, [](double f) { return std::fabs(f); }), sizes);
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = std::isfinite(wider.values[i]) ? std::fmax(scales[i], wider.values[i]) : scales[i];
  }
  return scales;
}

// ---- results ----

// The mean of an exact sum: divided once, or multiplied with the rounded reciprocal.
FloatSet mean_of_exact_sum(const Arithmetic& a, const Interval& mean) {
  const double u = a.model().reciprocal_of_count ? unit_roundoff(a.format()) : 0;
  const Interval scaled = mean * Interval(sub_down(1, u), add_up(1, u));
  FloatSet set;
  set.include(a.format(), nearest(a.format(), scaled.lo()), nearest(a.format(), scaled.hi()));
  return with_both_zeros(set);
}

FloatSet element(const Call& call, const Facts& facts, std::size_t i) {
  const Arithmetic& a = call.arithmetic;
  const floats::SumForm form = *floats::sum_form(call.node, call.operand(0).shape, a.model(), a.format());
  SumFacts one{facts.exact[i],         facts.magnitude[i], facts.terms[i], call.products || form.products,
               form.further_roundings, facts.all_exact[i], form.later,     form.before_scaling};
  if (!facts.beside.empty()) one.beside = facts.beside[i];
  if (is_mean(call.node.op) && one.all_exact) return mean_of_exact_sum(a, one.exact);
  return a.sum(one);
}

// Kernels that first pad an operand of a convolution multiply its zeros with weights; the product is NaN if such a
// weight is infinite or NaN.
std::vector<double> reached_with_padding(const Call& call, Doubles signs) {
  Node conv = call.node, pad{Op::pad, {0}, PadAttributes{}, DType::float64, signs[0].shape, {}, {}};
  auto& window = std::get<WindowAttributes>(conv.attributes);
  auto& sides = std::get<PadAttributes>(pad.attributes);
  sides.before = sides.after = {0, 0};
  sides.before.insert(sides.before.end(), window.pads_begin.begin(), window.pads_begin.end());
  sides.after.insert(sides.after.end(), window.pads_end.begin(), window.pads_end.end());
  for (std::size_t i = 0; i < pad.shape.size(); ++i) pad.shape[i] += sides.before[i] + sides.after[i];
  window.pads_begin.assign(window.pads_begin.size(), 0);
  window.pads_end = window.pads_begin;
  signs[0] = denoted(pad, Doubles{signs[0]});
  return denoted(conv, signs).values;
}

// Adds the values that an infinite or undefined operand leads to. For recorded operands: IEEE 754 on signs, with every
// finite number replaced by its sign; also NaN if the finite terms may first overflow to the other infinity.
void put_specials(const Call& call, const std::vector<Sets>& operands, std::vector<FloatSet>& results) {
  const bool recorded = all_of(operands, &FloatSet::is_single);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto sign_of = [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; };
  const Doubles signs = mapped<double>(operands, [&](const FloatSet& set) {
    if (set.is_finite()) return recorded ? sign_of(set.lo) : 1.0;
    return !recorded || set.nan ? kNaN : set.plus_infinity ? floats::kInfinity : -floats::kInfinity;
  });
  const Array<double> reached = denoted(with_factors(call.node, sign_of), signs);
  const std::vector<double> padded = call.node.op == Op::conv ? reached_with_padding(call, signs) : reached.values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double value = reached.values[i];
    results[i].nan = results[i].nan || std::isnan(padded[i]);
    if (std::isfinite(value)) continue;
    const bool meets = value > 0 ? results[i].minus_infinity : results[i].plus_infinity;
    results[i] = recorded ? point(call.arithmetic.format(), value) : anything(call.arithmetic.format());
    results[i].nan = results[i].nan || meets || std::isnan(padded[i]);
  }
}

bool leaves_one_execution(const Call& call) {
  const ExecutionModel& m = call.arithmetic.model();
  const bool has_bias = call.operands.size() == 3;
  return m.accumulator == ExecutionModel::Accumulator::left_to_right &&
         !((has_factors(call.node.op) || call.products) && m.fused_multiply_add) && !m.flush_operands && !m.flush_results &&
         m.accumulator_format == ExecutionModel::AccumulatorFormat::same &&
         m.accumulator_rounding == ExecutionModel::AccumulatorRounding::nearest_even && !(has_bias && m.bias_in_product) &&
         !(is_mean(call.node.op) && m.reciprocal_of_count) && !call.arithmetic.is_real();
}

std::vector<FloatSet> one_execution(const Call& call, const std::vector<Sets>& operands) {
  std::vector<FloatSet> results;
  const floats::Format format = call.arithmetic.format();
  const Doubles values = mapped<double>(operands, [](const FloatSet& set) { return set.lo; });
  if (format == floats::Format::binary64) {
    for (const double value : denoted(call.node, values).values) results.push_back(with_both_zeros(point(format, value)));
    return results;
  }
  const auto floats = mapped<float>(operands, [](const FloatSet& set) { return static_cast<float>(set.lo); });
  for (const float value : denoted(call.node, floats).values) results.push_back(with_both_zeros(point(format, static_cast<double>(value))));
  return results;
}

}  // namespace

Image image_of_sum(const Call& call) {
  std::vector<Sets> operands = read_operands(call);
  const bool finite = all_of(operands, &FloatSet::is_finite);
  const std::vector<Sets> as_read = finite ? std::vector<Sets>() : operands;
  if (!finite) {
    for (Sets& sets : operands) {
      for (FloatSet& set : sets.values) set = set.is_finite() ? set : point(call.arithmetic.format(), 0);
    }
  }
  const bool points = all_of(operands, &FloatSet::is_point) && !call.arithmetic.is_real();
  Facts facts;
  count_terms(call, operands, facts);
  if (points) {
    find_point_facts(call, operands, facts);
  } else {
    find_set_facts(call, operands, facts);
  }
  add_errors_of_weights(call, operands, facts);
  Image image;
  if (points && leaves_one_execution(call) && facts.beside.empty()) {
    image.values = one_execution(call, operands);
  } else {
    for (std::size_t i = 0; i < facts.exact.size(); ++i) image.values.push_back(element(call, facts, i));
  }
  image.scales = scales_of_sum(call, operands, facts);
  if (points && finite && !call.arithmetic.model().flush_operands) image.exact = facts.exact;
  if (!finite) put_specials(call, as_read, image.values);
  return image;
}

}  // namespace assay::contracts
