// Contracts of normalise (the centre of layer, instance, group, RMS and Lp normalisation), batch_norm
// and local_response.
//
// Meaning.     m is the mean of the n elements of a group, v the mean of (x_i - m)^2; y_i = (x_i - m) /
//              sqrt(v + epsilon), and so on (semantics/ops/normalise.h).
// Algorithms.  The mean: a sum in any order and a division. Then the moments, by their class:
//   two_pass   c_i = x_i - m', v' = mean of c_i^2 for the computed mean m'; it may be merged from parts, too, as below.
//              The mean of (x_i - m')^2 is v + (m - m')^2,
//              so v <= exact v' <= v + e^2 for |m' - m| <= e. Rounding changes it by a factor in 1 -+ gamma_k,
//              k = n + 4 (all terms are >= 0: the difference counts twice, the square, n - 1 additions, the division
//              twice). The error of the mean enters squared.
//   welford    m and M (the sum of squares) are merged from parts: m = m_a + d n_b/n, M = M_a + M_b + d^2 n_a n_b/n,
//              d = m_b - m_a, in any order; single elements also by M + d (x - m). Parts may be sums. See `by_merging`.
//              If sums run from left to right, elements come one after the other; the bound is then sharper and
//              includes the errors of the means: see `by_welford`.
//   one_pass   v' = mean of x_i^2 - m'^2, or 0 if that is negative: every step with its contract.
//              The result: c_i / sqrt(v' + epsilon), or c_i times its rounded reciprocal, or x_i r - m' r.
// Side conditions. S1 gamma_k is small (sums.cpp). S2 no square overflows. Otherwise the set is anything.
// Vacuous.     Widths are compared with the largest magnitude of the group, since one element may be 0.
// Source.      Higham 2002, problem 1.10; Chan, Golub and LeVeque 1983; derived in docs/contracts/normalise.md
#include <cmath>
#include <limits>

#include "kernel/contracts/families.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/wide_interval.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

using Form = NormaliseAttributes::Form;
using Group = std::vector<FloatSet>;

// The exact mean and variance of recorded elements.
struct Moments {
  Interval mean, variance;
};
Moments exact_moments(const Group& x) {
  WideInterval sum, squares;
  for (const FloatSet& value : x) sum += WideInterval(value.lo, value.hi);
  const WideInterval n(static_cast<double>(x.size())), mean = sum / n;
  for (const FloatSet& value : x) squares += square(WideInterval(value.lo, value.hi) - mean);
  return {mean.to_interval(), (squares / n).to_interval()};
}

// The numbers of the interval that are at least 0.
FloatSet numbers_above_zero(const Arithmetic& a, const Interval& value) {
  const Interval above = value.is_undefined() ? value : Interval(std::fmax(value.lo(), 0), value.hi());
  return numbers_in(a.format(), above);
}

// Of the additions of a sum.
double roundoff(const Arithmetic& a) {
  const bool to_zero = a.model().accumulator_rounding == ExecutionModel::AccumulatorRounding::toward_zero;
  return unit_roundoff(a.format()) * (to_zero ? 2 : 1);
}
// 1 -+ gamma_k; the whole line if k u is not small.
Interval grown(const Arithmetic& a, double k) {
  const double ku = mul_up(k, roundoff(a));
  if (!(ku <= 0.25)) return Interval::whole();  // S1
  const double gamma = div_up(ku, sub_down(1, ku));
  return {sub_down(1, gamma), add_up(1, gamma)};
}
// The number of additions that a term of a sum of n passes through.
double additions(const Arithmetic& a, std::size_t n) {
  const double all = static_cast<double>(n) - 1;
  const bool tree = a.model().accumulator == ExecutionModel::Accumulator::tree;
  return tree ? std::fmin(all, static_cast<double>(a.model().tree_height)) : all;
}
double lost_by_underflow(const Arithmetic& a, std::size_t n) {
  const bool flushes = a.model().flush_results || a.model().flush_operands;
  return flushes ? mul_up(4 * static_cast<double>(n + 1), smallest_normal(a.format())) : mul_up(2, smallest_number(a.format()));
}

double distance(const FloatSet& computed, const Interval& exact) {
  return std::fmax(sub_up(computed.hi, exact.lo()), sub_up(exact.hi(), computed.lo));
}

// The variance of two passes around the computed mean.
FloatSet by_two_passes(const Arithmetic& a, const Moments& exact, std::size_t count, const FloatSet& mean) {
  if (!mean.is_finite() || exact.variance.is_undefined()) return anything(a.format());
  const double e = distance(mean, exact.mean);
  const Interval shifted(exact.variance.lo(), add_up(exact.variance.hi(), mul_up(e, e)));
  // S2.
  if (!(mul_up(shifted.hi(), static_cast<double>(count)) < largest(a.format()) / 4)) return anything(a.format());
  const double lost = lost_by_underflow(a, count);
  return numbers_above_zero(a, shifted * grown(a, additions(a, count) + 5) + Interval(-lost, lost));
}

// Mean and variance of one pass over the elements in order. With exact m_k and d, the computed m'_k = m_k + a_k has
//   |a_k| <= (1 - 1/k) |a_{k-1}| + u |m'_k| + 4 u |d'| / k,   d' = d - a_{k-1},
// since the quotient d'/k and its operands round, and then the sum. The increment d' (x_k - m'_k) differs from d (x_k -
// m_k) by at most |a_{k-1}| |x_k - m_k| + |a_k| |d| + |a_{k-1}| |a_k|, and rounds three times.
struct Estimate {
  FloatSet mean, variance;
};
Estimate by_welford(const Arithmetic& a, const Group& x) {
  const double u = unit_roundoff(a.format()), lost = lost_by_underflow(a, x.size());
  // Exact: k m_k, M_k and m_k; the first step is exact.
  Interval sum(x[0].lo, x[0].hi), squares, mean = sum;
  double error = 0, spread_error = 0, rounded_spread = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double k = static_cast<double>(i + 1);
    const Interval value(x[i].lo, x[i].hi), d = value - mean;
    sum += value;
    const Interval next = sum / Interval(k), rest = value - next;
    const double computed_d = mul_up(add_up(d.magnitude(), error), 1 + 2 * u);
    const double carried = mul_up(error, div_up(k - 1, k));
    const double local = add_up(mul_up(u, add_up(next.magnitude(), error)), div_up(mul_up(mul_up(4, u), computed_d), k));
    const double next_error = mul_up(add_up(add_up(carried, local), lost), 1 + 4 * u);
    spread_error =
        add_up(spread_error, add_up(add_up(mul_up(error, rest.magnitude()), mul_up(next_error, d.magnitude())), mul_up(error, next_error)));
    rounded_spread = add_up(rounded_spread, mul_up(computed_d, mul_up(add_up(rest.magnitude(), next_error), 1 + 2 * u)));
    squares += square(value - mean) * Interval(div_down(k - 1, k), div_up(k - 1, k));
    mean = next;
    error = next_error;
  }
  const double n = static_cast<double>(x.size());
  const Interval factor = grown(a, n + 5);
  const double rounding = mul_up(sub_up(factor.hi(), 1), rounded_spread);
  const double total = add_up(add_up(spread_error, rounding), mul_up(lost, n));
  const bool overflows = !(add_up(rounded_spread, sum.magnitude()) < largest(a.format()) / 4);
  if (overflows || factor == Interval::whole()) return {anything(a.format()), anything(a.format())};
  const Interval variance = (squares + Interval(-total, total)) / Interval(n);
  const double last = mul_up(4 * u, variance.magnitude());  // the division by n
  return {numbers_in(a.format(), mean + Interval(-error, error)),
          numbers_in(a.format(), variance + Interval(-last, last) + Interval(-lost, lost))};
}

// The error of a mean that is merged from parts in any order (docs/contracts/normalise.md, class welford); infinite where it is
// not small. Let h be the number of merges of an element; `few` of them may take any form. Each merge moves the elements of
// its part by the error of its mean. D bounds what the means lose of |mean| on the way of an element, in units of u, and G
// bounds the norm of all other moves, in units of u sqrt(sum of squares). The error is at most u (D |mean| + G deviation).
double error_of_merging(const Arithmetic& a, const Moments& exact, std::size_t count, double few) {
  if (count == 1 || (exact.mean.magnitude() == 0 && exact.variance.hi() <= 0)) return 0;  // one element, or zeros: nothing rounds
  const double n = static_cast<double>(count), h = additions(a, count), log_n = std::log2(n);
  const double of_mean = h + 3 * few + 3 + log_n, of_deviation = of_mean + std::sqrt(64 * log_n + 16 * few * n);
  // S1. The factor is for terms of higher order, 1 / (1 - 2^-7), and for the roundings of the two lines above.
  const double u = mul_up(roundoff(a), 1 + 0x1p-6);
  if (!(of_deviation * u <= 0x1p-7) || exact.mean.is_undefined() || exact.variance.is_undefined()) return floats::kInfinity;
  const double of_both = add_up(mul_up(of_mean, exact.mean.magnitude()), mul_up(of_deviation, sqrt_up(std::fmax(exact.variance.hi(), 0))));
  return add_up(mul_up(u, of_both), mul_up(n, lost_by_underflow(a, count)));
}

// Mean and variance by merging parts in any order. With e as above,
//   (deviation - e)^2 <= variance <= (deviation + e)^2 + e^2,
// times min(n - 1, 2 h) + 10 roundings. A sum of elements that is divided is such a part, so two passes are included.
Estimate by_merging(const Arithmetic& a, const Group& x) {
  constexpr double kOfAnyForm = 64;
  const Moments exact = exact_moments(x);
  const double n = static_cast<double>(x.size()), h = additions(a, x.size());
  const double e = error_of_merging(a, exact, x.size(), std::fmin(h, kOfAnyForm));
  if (!(e < floats::kInfinity)) return {anything(a.format()), anything(a.format())};
  const Interval deviation = sqrt(exact.variance);
  const double least = std::fmax(sub_down(deviation.lo(), e), 0), most = add_up(deviation.hi(), e);
  // S2. No product of a difference's square with two counts overflows, nor that of a mean with a count.
  const double size = mul_up(n, add_up(most, exact.mean.magnitude())), lost = mul_up(n, lost_by_underflow(a, x.size()));
  if (!(mul_up(size, size) < largest(a.format()) / 4)) return {anything(a.format()), anything(a.format())};
  const Interval squares(mul_down(least, least), add_up(mul_up(most, most), mul_up(e, e)));
  const Interval variance = squares * grown(a, std::fmin(n - 1, 2 * h) + 10) + Interval(-lost, lost);
  return {numbers_in(a.format(), exact.mean + Interval(-e, e)), numbers_above_zero(a, variance)};
}

// The mean of two passes: a sum and a division. A mean that is merged from parts, or a sum of quotients, rounds where the sum
// is exact, and decides the sign of a difference that is 0; it is admitted, too.
FloatSet with_merged_mean(const Arithmetic& a, const Moments& exact, std::size_t count, FloatSet mean) {
  const double e = error_of_merging(a, exact, count, 0);
  if (e < floats::kInfinity) mean.include(numbers_in(a.format(), exact.mean + Interval(-e, e)));
  return mean;
}

FloatSet sum_of_squares(const Arithmetic& a, const Group& x) {
  Group sizes;
  for (const FloatSet& value : x) sizes.push_back(a.abs(value));
  FloatSet sum = a.sum_of_products(sizes, sizes);
  if (sum.has_finite() && sum.lo < 0) sum.lo = -0.0;  // a sum of numbers >= 0 is not negative
  return sum;
}

FloatSet by_one_pass(const Arithmetic& a, const Group& x, const FloatSet& mean) {
  const FloatSet mean_square = a.over_count(sum_of_squares(a, x), static_cast<std::int64_t>(x.size()));
  FloatSet v = a.mul_add(a.neg(mean), mean, mean_square);
  v.include(a.max(v, point(a.format(), 0)));
  return v;
}

bool are_recorded(const Group& x) {
  for (const FloatSet& value : x) {
    if (!value.is_point()) return false;
  }
  return true;
}

// The mean of squares of differences, each step with its contract; for elements that are not known exactly.
FloatSet by_steps(const Arithmetic& a, const Group& x, const FloatSet& mean) {
  Group differences;
  for (const FloatSet& value : x) differences.push_back(a.sub(value, mean));
  return a.over_count(sum_of_squares(a, differences), static_cast<std::int64_t>(x.size()));
}

Estimate estimated(const Arithmetic& a, const Group& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  if (a.is_real() && are_recorded(x)) {
    const Moments exact = exact_moments(x);
    return {numbers_in(a.format(), exact.mean), numbers_above_zero(a, exact.variance)};
  }
  const FloatSet mean = a.over_count(a.sum(x), n);
  if (a.is_real() || (!are_recorded(x) && a.model().moments != ExecutionModel::Moments::one_pass &&
                      a.model().moments != ExecutionModel::Moments::one_or_two_pass))
    return {mean, by_steps(a, x, mean)};
  if (a.model().moments == ExecutionModel::Moments::welford) {
    return a.model().accumulator == ExecutionModel::Accumulator::left_to_right ? by_welford(a, x) : by_merging(a, x);
  }
  const bool in_one = a.model().moments == ExecutionModel::Moments::one_pass;
  if (in_one || !are_recorded(x)) {
    const FloatSet one_pass = by_one_pass(a, x, mean);
    return {mean, in_one ? one_pass : hull(one_pass, by_steps(a, x, mean))};
  }
  const Moments exact = exact_moments(x);
  const FloatSet any_mean = with_merged_mean(a, exact, x.size(), mean), two_passes = by_two_passes(a, exact, x.size(), any_mean);
  const bool in_either = a.model().moments == ExecutionModel::Moments::one_or_two_pass;
  return {any_mean, in_either ? hull(by_one_pass(a, x, mean), two_passes) : two_passes};
}

// c / sqrt(v), or c times the rounded reciprocal of the root, or x r - m r.
FloatSet scaled_by_root(const Arithmetic& a, const FloatSet& x, const FloatSet* mean, const FloatSet& root, const FloatSet& inverse) {
  const FloatSet c = mean == nullptr ? x : a.sub(x, *mean);
  FloatSet y = a.div(c, root);
  if (a.is_real()) return y;
  y.include(a.mul(c, inverse));
  if (mean != nullptr) y.include(a.mul_add(x, inverse, a.neg(a.mul(*mean, inverse))));
  return y;
}

struct Normalised {
  Group y;
  FloatSet mean, factor;
};

Normalised centred(const Arithmetic& a, const NormaliseAttributes& attributes, const Group& x) {
  const Estimate moments = estimated(a, x);
  const FloatSet epsilon = a.number(attributes.epsilon);
  const bool outside = attributes.form == Form::deviation;
  const FloatSet under = outside ? moments.variance : a.add(moments.variance, epsilon);
  const FloatSet root = outside ? a.add(a.sqrt(under), epsilon) : a.sqrt(under);
  FloatSet inverse = a.reciprocal(root);
  if (!outside && !a.is_real()) inverse.include(a.reciprocal_sqrt(under));
  Normalised result{{}, moments.mean, inverse};
  for (const FloatSet& value : x) result.y.push_back(scaled_by_root(a, value, &moments.mean, root, inverse));
  return result;
}

Normalised by_size(const Arithmetic& a, const NormaliseAttributes& attributes, const Group& x) {
  const FloatSet epsilon = a.number(attributes.epsilon);
  FloatSet size;
  if (attributes.form == Form::l1) {
    Group magnitudes;
    for (const FloatSet& value : x) magnitudes.push_back(a.abs(value));
    size = a.sum(magnitudes);
  } else {
    size = sum_of_squares(a, x);
    if (attributes.form == Form::root_mean) size = a.over_count(size, static_cast<std::int64_t>(x.size()));
  }
  size = a.add(size, epsilon);
  const bool is_l1 = attributes.form == Form::l1;
  const FloatSet root = is_l1 ? size : a.sqrt(size);
  FloatSet inverse = a.reciprocal(root);
  if (!is_l1 && !a.is_real()) inverse.include(a.reciprocal_sqrt(size));
  Normalised result{{}, point(a.format(), 0), inverse};
  for (const FloatSet& value : x) result.y.push_back(scaled_by_root(a, value, nullptr, root, inverse));
  return result;
}

bool all_finite(const Group& x) {
  for (const FloatSet& value : x) {
    if (!value.is_finite()) return false;
  }
  return true;
}

}  // namespace

Image image_of_normalise(const Call& call) {
  const auto& attributes = call.get<NormaliseAttributes>();
  const Sets& x = call.operand(0);
  Image image;
  for (auto* sets : {&image.values, &image.means, &image.factors}) sets->resize(x.values.size());
  image.scales.resize(x.values.size());
  for (const std::vector<std::size_t>& positions : groups_of(x.shape, attributes.axes)) {
    Group group;
    for (const std::size_t i : positions) group.push_back(call.arithmetic.operand(x.values[i]));
    const bool is_centred = attributes.form == Form::centered || attributes.form == Form::deviation;
    const FloatSet any = anything(call.arithmetic.format());
    Normalised found{Group(group.size(), any), any, any};
    if (all_finite(group)) found = is_centred ? centred(call.arithmetic, attributes, group) : by_size(call.arithmetic, attributes, group);
    double scale = 0;
    for (const FloatSet& value : found.y) scale = std::fmax(scale, value.magnitude());
    for (std::size_t k = 0; k < found.y.size(); ++k) {
      image.values[positions[k]] = found.y[k];
      image.means[positions[k]] = found.mean;
      image.factors[positions[k]] = found.factor;
      image.scales[positions[k]] = scale;
    }
  }
  return image;
}

Image image_of_batch_norm(const Call& call) {
  const Arithmetic& a = call.arithmetic;
  const floats::Forms<Arithmetic> forms(a);
  const Sets& x = call.operand(0);
  const FloatSet epsilon = a.number(call.get<BatchNormAttributes>().epsilon);
  const auto channels = static_cast<std::size_t>(call.node.shape[1]);
  const std::size_t inner = element_count(Shape(call.node.shape.begin() + 2, call.node.shape.end()));
  Image image;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t c = i / inner % channels;
    const FloatSet &scale = call.operand(1).values[c], &bias = call.operand(2).values[c], &mean = call.operand(3).values[c];
    const auto [y, r] = forms.batch_norm(x.values[i], scale, bias, mean, call.operand(4).values[c], epsilon);
    image.values.push_back(y);
    image.scales.push_back(add_up(mul_up(add_up(x.values[i].magnitude(), mean.magnitude()), r.magnitude()), bias.magnitude()));
  }
  return image;
}

namespace {

// A running sum of squares over channels: each step adds the next square and subtracts the one that leaves the window.
// It starts at a bias that is `beginning` times alpha / size. `passed` are the c elements up to the end of the window,
// and T is the sum of their squares. A step rounds two products within 3 u and two sums within u of themselves. Sums
// are windows, and each square lies in `size` of them. So the errors add up to (2c + size + 4) u of the beginning and
// (3 size + 12) u of T, and 12 u of both cover the further roundings of the forms.
FloatSet carried(const Arithmetic& a, const Group& window, const Group& passed, double beginning, double size) {
  Interval exact, total;
  for (const FloatSet& value : window) exact += square(Interval(value.lo, value.hi));
  for (const FloatSet& value : passed) total += square(Interval(value.lo, value.hi));
  const double u = mul_up(unit_roundoff(a.format()), 1.0625), steps = 2 * static_cast<double>(passed.size()) + size + 16;
  // Terms of second order are less than a sixteenth.
  if (!(steps * u <= 0x1p-10)) return anything(a.format());
  const double error = add_up(mul_up(mul_up(steps, u), beginning), mul_up(mul_up(3 * size + 24, u), total.hi()));
  return numbers_in(a.format(), exact + Interval(-error, error));
}

}  // namespace

Image image_of_local_response(const Call& call) {
  const Arithmetic& a = call.arithmetic;
  const floats::Forms<Arithmetic> forms(a);
  const auto& attributes = call.get<LocalResponseAttributes>();
  const Sets& x = call.operand(0);
  const std::int64_t before_it = (attributes.size - 1) / 2, after_it = attributes.size - 1 - before_it, channels = x.shape[1];
  const std::int64_t stride = ops::row_major_strides(x.shape)[1];
  const FloatSet alpha = a.number(attributes.alpha), bias = a.number(attributes.bias), size = a.number(Rational(attributes.size));
  const Rational beta = Rational::from_double(attributes.beta).value_or(Rational());
  using Pass = ExecutionModel::Moments;
  const bool carries =
      !a.is_real() && attributes.alpha > 0 && (a.model().moments == Pass::one_pass || a.model().moments == Pass::one_or_two_pass);
  const double beginning = carries ? mul_up(div_up(std::fabs(attributes.bias), attributes.alpha), static_cast<double>(attributes.size)) : 0;
  Image image;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i), c = at / stride % channels;
    Group window;
    for (std::int64_t k = std::max(c - before_it, std::int64_t{0}); k <= std::min(c + after_it, channels - 1); ++k) {
      window.push_back(x.values[static_cast<std::size_t>(at + (k - c) * stride)]);
    }
    const FloatSet s = sum_of_squares(a, window);
    image.values.push_back(forms.local_response(x.values[i], s, alpha, bias, size, beta));
    Group passed;
    for (std::int64_t k = 0; carries && k <= std::min(c + after_it, channels - 1); ++k)
      passed.push_back(x.values[static_cast<std::size_t>(at + (k - c) * stride)]);
    if (carries && all_finite(passed))
      image.values.back().include(forms.local_response(
          x.values[i], carried(a, window, passed, beginning, static_cast<double>(attributes.size)), alpha, bias, size, beta));
  }
  return image;
}

}  // namespace assay::contracts
