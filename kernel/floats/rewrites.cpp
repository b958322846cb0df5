// The formula of each op on magnitudes, and bounds on the errors of its rewritings.

#include "kernel/floats/rewrites.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel/floats/sums.h"
#include "semantics/numbers/directed.h"

namespace assay::floats {
namespace {

// Roundings of one term of (x - mean) (gamma / root(var + eps)) + beta in any form: epsilon, var + eps, root, quotient
// or reciprocal and product, x - mean, the product, beta.
constexpr double kBatchNormRoundings = 12;
constexpr double kLeastVariance = 0x1p-100;  // above it var + eps has a relative error of about one rounding
constexpr int kMostPower = 8;

double largest_of(const Array<Interval>& values) {
  double most = 1;
  for (const Interval& x : values.values) most = x.magnitude() >= 0 ? std::fmax(most, x.magnitude()) : kInfinity;
  return most;
}

// 1 / |x|, or infinite if x may be 0.
double largest_reciprocal(const Interval& x) {
  const double least = std::fmax(x.lo(), -x.hi());
  return least > 0 ? div_up(1, least) : kInfinity;
}

std::optional<int> whole_power(const Node& node) {
  const auto* power = std::get_if<PowAttributes>(&node.attributes);
  if (power == nullptr) return std::nullopt;
  for (int n = 1; n <= kMostPower; ++n) {
    if (power->exponent == Rational(n)) return n;
  }
  return std::nullopt;
}

Array<Interval> magnitudes(const Array<Interval>& values) {
  Array<Interval> sizes{values.shape, {}};
  for (const Interval& x : values.values) sizes.values.emplace_back(x.magnitude());
  return sizes;
}

// The node's denotation on these operands.
std::optional<Array<Interval>> on(const Node& node, const std::vector<Array<Interval>>& operands) {
  auto result = denote<Interval>(node, pointers_to(operands));
  if (!result) return std::nullopt;
  return std::move(result).value();
}

// The formula, whose size is the result of `op` on sizes.
std::optional<Formula> with_size(Formula formula, const Node& node, Op op, std::vector<Array<Interval>> operands) {
  Node positive = node;
  positive.op = op;
  if (auto* scale = std::get_if<ScaleAttributes>(&positive.attributes)) scale->factor = std::fabs(scale->factor);
  auto size = on(positive, operands);
  if (!size) return std::nullopt;
  formula.size = std::move(*size);
  return formula;
}

Formula product(const Formula& a, const Formula& b) {
  return {{},
          a.operations + b.operations + 1,
          a.terms + b.terms - 1,
          mul_up(a.products, b.products),
          mul_up(a.factors, b.factors),
          mul_up(a.reciprocals, b.reciprocals)};
}

std::optional<Formula> batch_normed(const Node& node, const Formula& x, std::span<const Array<Interval>* const> values) {
  const double epsilon = std::get<BatchNormAttributes>(node.attributes).epsilon;
  Formula result = x;
  result.operations += kBatchNormRoundings;
  result.terms += 2;
  result.products = add_up(result.products, 2);
  for (const std::size_t k : {1, 2, 3}) result.factors = mul_up(result.factors, largest_of(*values[k]));
  for (const Interval& variance : values[4]->values) {
    if (!(variance.lo() >= 0) || !(add_down(variance.lo(), epsilon) > kLeastVariance)) return std::nullopt;
  }
  double most = 1;  // var + eps, its root and their reciprocals
  for (const Interval& variance : values[4]->values) {
    const double sum = add_up(variance.hi(), epsilon);
    most = std::fmax(most, std::fmax(sum, div_up(1, add_down(variance.lo(), epsilon))));
  }
  result.factors = mul_up(result.factors, most);
  result.reciprocals = mul_up(result.reciprocals, most);
  std::vector<Array<Interval>> sizes{x.size, magnitudes(*values[1]), magnitudes(*values[2]), magnitudes(*values[3]), *values[4]};
  for (Interval& mean : sizes[3].values) mean = -mean;  // the op then computes |x| + |mean|
  return with_size(std::move(result), node, Op::batch_norm, std::move(sizes));
}

}  // namespace

bool is_algebraic(const Node& node) {
  if (!is_float(node.dtype)) return false;
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::scale:
    case Op::batch_norm:
    case Op::reshape:
    case Op::permute:
      return true;
    case Op::pow:
      return whole_power(node).has_value();
    default:
      return false;
  }
}

Formula leaf(const Array<Interval>& values) { return {magnitudes(values), 0, 1, 1, largest_of(values)}; }

Formula accumulated(const Node& node, Array<Interval> size, double terms, std::span<const Array<Interval>* const> operands) {
  Formula result{std::move(size), 1.0 + roundings_of_factors(node, format_of(node.dtype)), terms, terms, 1};
  for (const Array<Interval>* operand : operands) result.factors = mul_up(result.factors, largest_of(*operand));
  if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes)) {
    for (const double factor : {gemm->alpha, gemm->beta}) result.factors = mul_up(result.factors, std::fmax(1, std::fabs(factor)));
  }
  return result;
}

void move_factors(Formula& product, const Formula& operand) {
  if (operand.operations == 0) return;
  product.operations += 2 * operand.operations;
  product.factors = mul_up(product.factors, operand.factors);
  product.reciprocals = mul_up(product.reciprocals, operand.reciprocals);
}

std::optional<Formula> combined(const Node& node, std::span<const Formula> operands, std::span<const Array<Interval>* const> values) {
  const Formula& x = operands[0];
  switch (node.op) {
    case Op::reshape:
    case Op::permute:
    case Op::neg:
      return with_size(x, node, node.op == Op::neg ? Op::abs : node.op, {x.size});
    case Op::add:
    case Op::sub: {
      const Formula& y = operands[1];
      Formula sum{{},
                  x.operations + y.operations + 1,
                  x.terms + y.terms,
                  add_up(x.products, y.products),
                  mul_up(x.factors, y.factors),
                  mul_up(x.reciprocals, y.reciprocals)};
      return with_size(std::move(sum), node, Op::add, {x.size, y.size});
    }
    case Op::mul:
      return with_size(product(x, operands[1]), node, Op::mul, {x.size, operands[1].size});
    case Op::scale: {
      const Interval factor(std::get<ScaleAttributes>(node.attributes).factor);
      Formula scaled = product(x, leaf({{1}, {factor}}));
      ++scaled.operations;  // rounding of the factor, which may be no number of the format
      return with_size(std::move(scaled), node, Op::scale, {x.size});
    }
    case Op::div: {  // by a stored value, or by the rounded reciprocal
      Array<Interval> reciprocals{values[1]->shape, {}};
      for (const Interval& y : values[1]->values) reciprocals.values.emplace_back(largest_reciprocal(y));
      Formula quotient = product(x, leaf(reciprocals));
      quotient.factors = mul_up(quotient.factors, largest_of(*values[1]));
      ++quotient.operations;
      quotient.reciprocals = mul_up(quotient.reciprocals, largest_of(reciprocals));
      if (!(quotient.factors < kInfinity)) return std::nullopt;
      return with_size(std::move(quotient), node, Op::mul, {x.size, reciprocals});
    }
    case Op::pow: {
      Formula power = x;
      for (int n = *whole_power(node); n > 1; --n) power = product(power, x);
      return with_size(std::move(power), node, Op::pow, {x.size});
    }
    case Op::batch_norm:
      return batch_normed(node, x, values);
    default:
      return std::nullopt;
  }
}

std::vector<double> rewriting_errors(const Formula& formula, const ExecutionModel& model, DType dtype) {
  const Format format = format_of(dtype);
  const double u = unit_roundoff(format);
  std::vector<double> errors(formula.size.values.size(), kInfinity);
  SumForm form;
  form.products = true;
  const auto sum = sum_errors(model, format, formula.terms, form);
  if (!sum || !(formula.operations * u <= 0.25)) return errors;
  const double of_weights = gamma_up(formula.operations, u);
  const double share = add_up(mul_up(add_up(sum->to_terms, sum->to_sum), add_up(1, of_weights)), of_weights);
  const bool flushes = model.flush_operands || model.flush_results;
  const double least = flushes ? smallest_normal(format) : smallest_number(format);
  const double underflows = mul_up(mul_up(add_up(formula.operations, formula.terms), formula.products), mul_up(formula.factors, least));
  const double absolute = add_up(mul_up(2, mul_up(sum->absolute, formula.factors)), mul_up(4, underflows));
  // At least every intermediate sum, before or after factors.
  const double most = mul_up(mul_up(sum->growth, add_up(1, of_weights)), mul_up(formula.products, formula.factors));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double error = add_up(mul_up(share, formula.size.values[i].hi()), absolute);
    // Products of divisors stay above the subnormal numbers, where roundings are no longer relative.
    const bool normal = mul_up(formula.reciprocals, mul_up(4, smallest_normal(format))) < 1;
    if (normal && most < largest(format) && error < kInfinity) errors[i] = error;
  }
  return errors;
}

// Notation: q is the mean of x^2 over n elements, mu the mean of x, and m the computed mean. The program holds the
// differences d_i = (x_i - m)(1 + e_i) + f_i, |e_i| <= u, where |f_i| is at most the bound on their error.
//   computed = (q (1 + a) - m^2 (1 + b))(1 + c), |a| <= gamma(n + 3), |b|, |c| <= u; with epsilon one rounding more
//   mean((d - f)^2) = (q - 2 m mu + m^2)(1 + e), |e| <= 2 u + u^2
//   |computed - mean(d^2)| <= 2 |m| |m - mu| + gamma(n + 10) 2 (q + m^2) + mean(2 |d| |f| + f^2),
//   since mean((x - m)^2) <= 2 (q + m^2).
std::vector<double> one_pass_errors(const Node& node, const ExecutionModel& model, const Array<Interval>& x, const Held& mean,
                                    const Held& differences) {
  const Format format = format_of(node.dtype);
  std::vector<double> errors(element_count(node.shape), kInfinity);
  Array<Interval> squares{x.shape, {}}, lost{x.shape, {}};
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double f = differences.errors.empty() ? 0 : differences.errors[i];
    squares.values.emplace_back(mul_up(x.values[i].magnitude(), x.values[i].magnitude()));
    lost.values.emplace_back(mul_up(f, add_up(mul_up(2, differences.values.values[i].magnitude()), f)));
  }
  const auto q = on(node, {squares}), of_differences = on(node, {lost});
  const double n = static_cast<double>(x.values.size()) / static_cast<double>(errors.size());
  const double u = unit_roundoff(format);
  if (!q || !of_differences || !((n + 10) * u <= 0.25) || mean.values.values.size() != errors.size()) return errors;
  const bool flushes = model.flush_operands || model.flush_results;
  const double underflows = mul_up(8 * (n + 1), flushes ? smallest_normal(format) : smallest_number(format));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double m = mean.values.values[i].magnitude(), of_mean = mean.errors.empty() ? 0 : mean.errors[i];
    const double sizes = mul_up(2, add_up(q->values[i].magnitude(), mul_up(m, m)));
    const bool overflows = !(mul_up(mul_up(2, n), sizes) < largest(format));
    const double error = add_up(mul_up(mul_up(2, m), of_mean), mul_up(gamma_up(n + 10, u), sizes));
    if (!overflows) errors[i] = add_up(add_up(error, of_differences->values[i].magnitude()), underflows);
  }
  return errors;
}

}  // namespace assay::floats
