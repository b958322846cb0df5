// Sums of many terms in any order, on sets: exact if the terms allow it, otherwise by the error formula
// of kernel/floats/sums.h.
//
// Overflow.    (1 + gamma) times the sum of the positive (negative) terms stays below the number from which rounding to
//              nearest gives an infinity. Otherwise that infinity is admitted, and NaN if both are.
// Exact tier.  All terms are multiples of 2^q, q >= the exponent of eta, and S <= 2^(q+p), p the precision. Then every
//              partial sum in every order is a multiple of 2^q of magnitude <= 2^(q+p), hence a number of the format,
//              and nothing rounds.
// Source.      the proofs are in docs/contracts/sums.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernel/contracts/arithmetic.h"
#include "kernel/floats/sums.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::contracts {

namespace {

Interval total(std::span<const FloatSet> terms, floats::Format format) {
  if (format == floats::Format::binary64) {
    WideInterval sum;
    for (const FloatSet& term : terms) sum += WideInterval(term.lo, term.hi);
    return sum.to_interval();
  }
  Interval sum;
  for (const FloatSet& term : terms) sum += Interval(term.lo, term.hi);
  return sum;
}

}  // namespace

int lowest_bit(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // an integer times 2^-53
  const auto integer = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(integer));
}

bool fits_exactly(const ExecutionModel& model, floats::Format format, int q, double magnitude) {
  const int precision = format == floats::Format::binary32 ? 24 : 53;
  const bool flushes = model.flush_operands || model.flush_results;
  const int least = format == floats::Format::binary32 ? (flushes ? -126 : -149) : (flushes ? -1022 : -1074);
  const int most = format == floats::Format::binary32 ? 127 : 1023;
  return q >= least && q + precision <= most &&
         (format == floats::Format::binary32 ? magnitude <= std::ldexp(1.0, q + precision) : magnitude < std::ldexp(1.0, q + precision));
}

namespace {

// Adds terms one by one to the facts about their sum; each is a number of the format or the exact product of two.
FloatSet sum_of(const Arithmetic& arithmetic, std::span<const FloatSet> terms, bool products) {
  FloatSet y;
  std::vector<FloatSet> finite;
  SumFacts facts;
  facts.products = products;
  facts.all_exact = !arithmetic.is_real();
  int q = std::numeric_limits<int>::max();
  bool all_finite = true;
  for (const FloatSet& term : terms) {
    y.nan = y.nan || term.nan;
    y.plus_infinity = y.plus_infinity || term.plus_infinity;
    y.minus_infinity = y.minus_infinity || term.minus_infinity;
    all_finite = all_finite && term.has_finite();
    if (!term.has_finite() || term.magnitude() == 0) continue;
    facts.terms += 1;
    facts.magnitude = add_up(facts.magnitude, term.magnitude());
    facts.all_exact = facts.all_exact && term.is_point();
    if (facts.all_exact) q = std::min(q, lowest_bit(term.lo));
    finite.push_back(term);
  }
  y.nan = y.nan || (y.plus_infinity && y.minus_infinity);
  facts.exact = total(finite, arithmetic.format());
  facts.all_exact = facts.all_exact && (finite.empty() || fits_exactly(arithmetic.model(), arithmetic.format(), q, facts.magnitude));
  const FloatSet of_finite = arithmetic.sum(facts);
  // The finite terms alone may overflow to one infinity and meet the other.
  y.nan = y.nan || (y.plus_infinity && of_finite.minus_infinity) || (y.minus_infinity && of_finite.plus_infinity);
  if (all_finite) y.include(of_finite);
  return y;
}

}  // namespace

FloatSet Arithmetic::sum(std::span<const FloatSet> terms) const {
  std::vector<FloatSet> read;
  for (const FloatSet& term : terms) read.push_back(operand(term));
  return sum_of(*this, read, false);
}

FloatSet Arithmetic::sum_of_products(std::span<const FloatSet> a, std::span<const FloatSet> b) const {
  const Arithmetic reals(*model_, floats::Format::real);
  std::vector<FloatSet> products;
  for (std::size_t i = 0; i < a.size(); ++i) {
    products.push_back(reals.mul(operand(a[i]), operand(b[i])));
    if (!products.back().is_finite()) return anything(format_);
  }
  return sum_of(*this, products, true);
}

FloatSet Arithmetic::sum(const SumFacts& facts) const {
  FloatSet y;
  if (is_real()) {
    if (facts.exact.is_undefined()) return anything(format_);
    y.include(format_, facts.exact.lo(), facts.exact.hi());
    return y;
  }
  if (facts.all_exact && facts.exact.is_point() && facts.beside == 0) return with_both_zeros(point(facts.exact.lo()));
  if (facts.terms == 0) return with_both_zeros(point(0));
  const floats::SumForm form{facts.products, facts.further_roundings, facts.before_scaling, facts.later};
  const bool to_nearest = model_->accumulator_rounding == ExecutionModel::AccumulatorRounding::nearest_even;
  const bool flushes = model_->flush_results || model_->flush_operands;
  if (facts.terms <= 1 && !flushes && to_nearest && facts.further_roundings == 0 &&
      facts.beside == 0) {  // at most one product, rounded once
    y.include(format_, nearest(format_, facts.exact.lo()), nearest(format_, facts.exact.hi()));
    return with_both_zeros(y);
  }
  const std::optional<floats::SumErrors> errors = floats::sum_errors(*model_, format_, facts.terms, form);
  if (!errors || !(facts.magnitude <= std::numeric_limits<double>::max()) || facts.exact.is_undefined()) return anything(format_);
  const double of_terms = mul_up(errors->to_terms, facts.magnitude), of_sum = mul_up(errors->to_sum, facts.exact.magnitude());
  const double beside = mul_up(errors->growth, facts.beside);
  const double error = add_up(add_up(add_up(of_terms, of_sum), errors->absolute), beside);
  const double positive = mul_up(errors->growth, add_up(facts.magnitude, facts.exact.hi()) / 2),
               negative = mul_up(errors->growth, sub_up(facts.magnitude, facts.exact.lo()) / 2);
  y = numbers_in(format_, facts.exact + Interval(-error, error));
  const auto overflows = [&](double sum) { return mul_up(sum, facts.before_scaling) >= floats::overflow_threshold(format_); };
  y.plus_infinity = y.plus_infinity || overflows(positive);
  y.minus_infinity = y.minus_infinity || overflows(negative);
  y.nan = y.nan || (y.plus_infinity && y.minus_infinity);
  return y;
}

}  // namespace assay::contracts
