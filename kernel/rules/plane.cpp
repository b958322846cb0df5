// Rules product_plane and selection_plane, and the table of rules.

#include <algorithm>
#include <cmath>

#include "kernel/rules/relaxation.h"

namespace assay::kernel {
namespace {

// Element of an operand of shape `from` that broadcasting pairs with element j of a result of shape `to`.
std::vector<std::uint32_t> broadcast_index(const Shape& from, const Shape& to) {
  std::vector<std::uint32_t> index(element_count(to));
  for (std::size_t j = 0; j < index.size(); ++j) {
    std::size_t rest = j, result = 0, stride = 1;
    for (std::size_t back = 0; back < to.size(); ++back) {
      const auto extent = static_cast<std::size_t>(to[to.size() - 1 - back]);
      if (back < from.size()) {
        const auto own = static_cast<std::size_t>(from[from.size() - 1 - back]);
        if (own != 1) result += rest % extent * stride;
        stride *= own;
      }
      rest /= extent;
    }
    index[j] = static_cast<std::uint32_t>(result);
  }
  return index;
}

}  // namespace

// Rule product_plane.
//
//   x in [xl, xu], y in [yl, yu]        any slopes a, b
//   -----------------------------------------------------------------
//   x y >= a x + b y + t   with t = min over the four corners of x y - a x - b y, rounded down; dually above
//
// Reason: x y - a x - b y is linear in each variable, so its extrema over the box are at the corners.
// Hint m in [0, 1] mixes the two McCormick planes: below a = m yl + (1 - m) yu, b = m xl + (1 - m) xu; above
// a = m yu + (1 - m) yl, b = m xl + (1 - m) xu. Policy: 1/2.
// Source: McCormick 1976; the corner argument is derived above.
Relaxation product_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                         const SlopeHints& hints) {
  Relaxation result{{}, result_box.lo, result_box.hi};
  const std::size_t size = result_box.lo.size();
  for (std::size_t which = 0; which < 2; ++which) {
    const NodeId operand = node.operands[which];
    result.parts.push_back(
        {operand, broadcast_index(graph.node(operand).shape, node.shape), std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)});
  }
  for (std::size_t j = 0; j < size; ++j) {
    const std::size_t p = result.parts[0].index[j], q = result.parts[1].index[j];
    const double xl = boxes[0]->lo[p], xu = boxes[0]->hi[p], yl = boxes[1]->lo[q], yu = boxes[1]->hi[q];
    if (!(std::isfinite(xl) && std::isfinite(xu) && std::isfinite(yl) && std::isfinite(yu))) continue;
    for (const bool lower : {true, false}) {
      const auto& hint = lower ? hints.lower : hints.upper;
      const double m = hint.empty() ? 0.5 : static_cast<double>(hint[j]);
      const double a = lower ? m * yl + (1 - m) * yu : m * yu + (1 - m) * yl;
      const double b = m * xl + (1 - m) * xu;
      double t = lower ? INFINITY : -INFINITY;
      bool defined = std::isfinite(a) && std::isfinite(b);
      for (const double x : {xl, xu}) {
        for (const double y : {yl, yu}) {
          const Interval corner = Interval(x) * Interval(y) - Interval(a) * Interval(x) - Interval(b) * Interval(y);
          t = lower ? std::fmin(t, corner.lo()) : std::fmax(t, corner.hi());
          defined = defined && !corner.is_undefined();
        }
      }
      if (!(defined && std::isfinite(t))) continue;
      (lower ? result.parts[0].lower : result.parts[0].upper)[j] = a;
      (lower ? result.parts[1].lower : result.parts[1].upper)[j] = b;
      (lower ? result.lower_intercept : result.upper_intercept)[j] = t;
    }
  }
  return result;
}

// Rule selection_plane (max and min of operands, elementwise).
//
//   x_i in [l_i, u_i] for the candidates i of one element        any chosen candidate k
//   ------------------------------------------------------------------------------------
//   max x_i >= x_k        max x_i <= max u_i;  and max x_i = x_k exactly where l_k >= u_i for all other i
//
// Reason: the maximum is at least each candidate, and at most the largest upper end. Dually for min.
// Hint: lower[j] (max) or upper[j] (min) = position of the chosen operand. Policy: the largest l_k (smallest u_k).
Relaxation selection_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const SlopeHints& hints) {
  const bool is_max = node.op == Op::max;
  const std::size_t size = element_count(node.shape), candidates = node.operands.size();
  Relaxation result{{}, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  for (const NodeId operand : node.operands) {
    result.parts.push_back(
        {operand, broadcast_index(graph.node(operand).shape, node.shape), std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)});
  }
  for (std::size_t j = 0; j < size; ++j) {
    const auto lo = [&](std::size_t i) { return boxes[i]->lo[result.parts[i].index[j]]; };
    const auto hi = [&](std::size_t i) { return boxes[i]->hi[result.parts[i].index[j]]; };
    std::size_t chosen = 0;
    double bound = is_max ? -INFINITY : INFINITY;
    for (std::size_t i = 0; i < candidates; ++i) {
      if (is_max ? lo(i) > lo(chosen) : hi(i) < hi(chosen)) chosen = i;
      bound = is_max ? std::max(bound, hi(i)) : std::min(bound, lo(i));
    }
    const auto& hint = is_max ? hints.lower : hints.upper;
    if (!hint.empty() && hint[j] >= 0 && hint[j] < static_cast<float>(candidates)) chosen = static_cast<std::size_t>(hint[j]);
    bool dominates = true;
    for (std::size_t i = 0; i < candidates; ++i)
      dominates = dominates && (i == chosen || (is_max ? lo(chosen) >= hi(i) : hi(chosen) <= lo(i)));
    Relaxation::Part& part = result.parts[chosen];
    if (dominates || is_max)
      part.lower[j] = 1;
    else
      result.lower_intercept[j] = bound;
    if (dominates || !is_max)
      part.upper[j] = 1;
    else
      result.upper_intercept[j] = bound;
  }
  return result;
}

std::optional<Relaxation> relax(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                const SlopeHints& hints) {
  switch (node.op) {
    case Op::relu:
      return relu_line(node, *boxes[0], hints);
    case Op::leaky_relu:
    case Op::abs:
    case Op::clip:
    case Op::sigmoid:
    case Op::tanh:
    case Op::sqrt:
    case Op::pow:
    case Op::exp:
    case Op::log:
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
    case Op::softplus:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::softsign:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::reciprocal:
    case Op::sin:
    case Op::cos:
      return unary_line(node, *boxes[0], result, hints);
    case Op::mul:
      if (node.operands[0] == node.operands[1]) return unary_line(node, *boxes[0], result, hints);
      return product_plane(graph, node, boxes, result, hints);
    case Op::min:
    case Op::max:
      return selection_plane(graph, node, boxes, hints);
    // Layout and linear ops are substituted exactly where they are linear; everything else stops at its box.
    case Op::input:
    case Op::constant:
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::place:
    case Op::expand:
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::gemm:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::batch_norm:
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::avg_pool:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::mod:
    case Op::thresholded_relu:
    case Op::shrink:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::prelu:
    case Op::power:
    case Op::reduce_prod:
    case Op::normalise:
    case Op::cumprod:
    case Op::local_response:
    case Op::masked_softmax:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::is_nan:
    case Op::is_inf:
    case Op::where:
    case Op::cast:
    case Op::cumsum:
    case Op::step:
    case Op::max_weight:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::arg_max:
    case Op::arg_min:
    case Op::take:
    case Op::sort:
    case Op::arg_sort:
    case Op::weighted_gather:
    case Op::div:
    case Op::sign:
    case Op::max_pool:
    case Op::softmax:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace assay::kernel
