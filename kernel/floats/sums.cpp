// Rounding errors of sums of many terms in any order.
//
// Meaning.     s = the sum of m non-zero terms, S the sum of their magnitudes; a computed sum y of the format, with
//              unit roundoff u.
// Rounding.    A term passes through at most k roundings: one per product, and one per addition with another non-zero
//              partial sum, at most m - 1 of those (or the height of the declared tree). Additions of zero and exact
//              products do not round. Hence |y - s| <= gamma_k S + underflow, gamma_k = k u / (1 - k u), in every order
//              and with or without fused operations.
// Underflow.   Sums of numbers are exact there. A product or fused operation adds at most eta / 2 (truncated: eta;
//              flushed: the smallest normal number), and later factors (1 + delta) at most double it.
// Tensor cores. A block adds n terms, each truncated below the last place of the largest one, and truncates their sum:
//              with u twice as large it loses at most (n + 1) u of its terms. Over blocks in a tree of height h these
//              are m - 1 + 2 h roundings.
// Side conditions. k u <= 1/4, else nullopt. No partial sum is larger than (1 + gamma_k) S: the caller excludes an
//              overflow, or admits it.
// Source.      Higham 2002, sections 3.1 and 4.2; the proofs are in docs/contracts/sums.md.

#include "kernel/floats/sums.h"

#include <algorithm>
#include <cmath>

#include "semantics/numbers/directed.h"

namespace assay::floats {

double gamma_up(double k, double u) {
  const double ku = mul_up(k, u);
  return div_up(ku, sub_down(1, ku));
}

double divisor_of(const Node& node, const Shape& operand) {
  double count = 1;
  if (node.op == Op::reduce_mean) {
    for (const std::int64_t axis : std::get<ReduceAttributes>(node.attributes).axes)
      count *= static_cast<double>(operand[static_cast<std::size_t>(axis)]);
  }
  if (node.op == Op::avg_pool) {
    for (const std::int64_t extent : std::get<WindowAttributes>(node.attributes).kernel) count *= static_cast<double>(extent);
  }
  return count;
}

bool has_weights(const Node& node) {
  const auto is_sign = [](const Rational& weight) { return abs(weight) == Rational(1); };
  const auto* gather = std::get_if<WeightedGatherAttributes>(&node.attributes);
  return gather != nullptr && !std::all_of(gather->weights.begin(), gather->weights.end(), is_sign);
}

int roundings_of_factors(const Node& node, Format format) {
  if (const auto* gather = std::get_if<WeightedGatherAttributes>(&node.attributes)) {
    const auto is_number = [&](const Rational& weight) {
      return weight.is_double() && nearest(format, weight.double_up()) == weight.double_up();
    };
    return std::all_of(gather->weights.begin(), gather->weights.end(), is_number) ? 0 : 1;
  }
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  if (gemm == nullptr) return 0;
  return int{std::fabs(gemm->alpha) != 1} + int{std::fabs(gemm->beta) != 1 && node.operands.size() == 3};
}

std::optional<SumForm> sum_form(const Node& node, const Shape& operand, const ExecutionModel& model, Format format) {
  switch (node.op) {
    case Op::gemm:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::avg_pool:
    case Op::cumsum:
    case Op::place:
    case Op::weighted_gather:
      break;
    default:
      return std::nullopt;
  }
  SumForm form{has_factors(node.op) || has_weights(node), roundings_of_factors(node, format)};
  if (is_mean(node.op)) {
    form.further_roundings += model.reciprocal_of_count ? 2 : 1;
    form.before_scaling = divisor_of(node, operand);
  }
  if (node.op == Op::gemm) {
    const double alpha = std::fabs(std::get<GemmAttributes>(node.attributes).alpha);
    form.later = std::fmax(1, std::fmax(alpha, std::fabs(std::get<GemmAttributes>(node.attributes).beta)));
    if (alpha > 0 && alpha < 1) form.before_scaling = div_up(1, alpha);  // with alpha = 0 the product is not computed
  }
  return form;
}

std::optional<SumErrors> sum_errors(const ExecutionModel& model, Format format, double terms, const SumForm& form) {
  const bool narrow = model.accumulator_format == ExecutionModel::AccumulatorFormat::binary64 && format == Format::binary32;
  const bool aligned = form.products && model.accumulator_rounding == ExecutionModel::AccumulatorRounding::aligned;
  const bool cut_off = aligned || model.accumulator_rounding == ExecutionModel::AccumulatorRounding::toward_zero;
  const double u = (narrow ? 0x1p-53 : unit_roundoff(format)) * (cut_off ? 2 : 1), joined = std::fmax(terms - 1, 0);
  double additions = joined;
  if (model.accumulator == ExecutionModel::Accumulator::tree) additions = std::fmin(additions, static_cast<double>(model.tree_height));
  if (aligned) additions = joined + 2 * additions;
  // Operations after the sum in a wider accumulator round in the format again; they are counted below.
  const double k = additions + (form.products ? 1 : 0) + (narrow ? 0 : form.further_roundings);
  if (!(k * u <= 0.25)) return std::nullopt;
  const double gamma = gamma_up(k, u);
  SumErrors errors{gamma, 0, 0, add_up(1, gamma)};
  // The last rounding; with twice the unit roundoff, so that |s| may replace the computed sum.
  if (narrow) {
    errors.to_terms = mul_up(gamma, 1 + 0x1p-20);
    errors.to_sum = mul_up(unit_roundoff(format), 2.0 * (1 + form.further_roundings));
  }
  if (form.products || narrow || form.further_roundings > 0)
    errors.absolute = mul_up((terms + 1) * (cut_off ? 2 : 1), smallest_number(format));
  if (model.flush_results || model.flush_operands)
    errors.absolute = add_up(errors.absolute, mul_up(4 * (terms + 1), smallest_normal(format)));
  errors.absolute = mul_up(errors.absolute, form.later);
  return errors;
}

}  // namespace assay::floats
