// Rule product_plane, and the table of rules.

#include <algorithm>
#include <cmath>

#include "kernel/proof/rules/real_form.h"
#include "semantics/interrupt.h"
#include "semantics/ops/element_lists.h"

namespace assay::kernel {
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
double corner(const Interval& x, const Interval& y, double a, double b, bool lower, double factor) {
  poll(100);
  double t = lower ? INFINITY : -INFINITY;
  for (const double u : {x.lo(), x.hi()}) {
    for (const double v : {y.lo(), y.hi()}) {
      const Interval value = Interval(factor) * Interval(u) * Interval(v) - Interval(a) * Interval(u) - Interval(b) * Interval(v);
      if (value.is_undefined()) return NAN;
      t = lower ? std::fmin(t, value.lo()) : std::fmax(t, value.hi());
    }
  }
  return t;
}

Corners mccormick(const Interval& x, const Interval& y, double mix, bool lower, double factor) {
  if (!(std::isfinite(x.lo()) && std::isfinite(x.hi()) && std::isfinite(y.lo()) && std::isfinite(y.hi()))) return {0, 0, NAN};
  const double a = factor * (lower == (factor >= 0) ? mix * y.lo() + (1 - mix) * y.hi() : mix * y.hi() + (1 - mix) * y.lo());
  const double b = factor * (mix * x.lo() + (1 - mix) * x.hi());
  if (!(std::isfinite(a) && std::isfinite(b))) return {0, 0, NAN};
  return {a, b, corner(x, y, a, b, lower, factor)};
}

Relaxation product_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                         const SlopeHints& hints) {
  Relaxation result{{}, result_box.lo, result_box.hi};
  const std::size_t size = result_box.lo.size();
  for (std::size_t which = 0; which < 2; ++which) {
    const NodeId operand = node.operands[which];
    result.parts.push_back({operand, ops::broadcast_elements(graph.node(operand).shape, node.shape), std::vector<double>(size, 0.0),
                            std::vector<double>(size, 0.0)});
  }
  for (std::size_t j = 0; j < size; ++j) {
    const std::size_t p = result.parts[0].index[j], q = result.parts[1].index[j];
    const Interval x(boxes[0]->lo[p], boxes[0]->hi[p]), y(boxes[1]->lo[q], boxes[1]->hi[q]);
    for (const bool lower : {true, false}) {
      const auto& hint = lower ? hints.lower : hints.upper;
      const Corners plane = mccormick(x, y, hint.empty() ? 0.5 : static_cast<double>(hint[j]), lower);
      if (!std::isfinite(plane.t)) continue;
      (lower ? result.parts[0].lower : result.parts[0].upper)[j] = plane.a;
      (lower ? result.parts[1].lower : result.parts[1].upper)[j] = plane.b;
      (lower ? result.lower_intercept : result.upper_intercept)[j] = plane.t;
    }
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
    case Op::sign:
    case Op::step:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::cast:
    case Op::thresholded_relu:
    case Op::shrink:
      return unary_line(node, *boxes[0], result, hints);
    case Op::mul:
      if (node.operands[0] == node.operands[1]) return unary_line(node, *boxes[0], result, hints);
      return product_plane(graph, node, boxes, result, hints);
    case Op::min:
    case Op::max:
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::where:
    case Op::take:
    case Op::sort:
      return selection_plane(graph, node, boxes, result, hints);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
      return softmax_plane(graph, node, boxes, result);
    case Op::normalise:
      return normalise_plane(graph, node, boxes, result);
    case Op::div:
    case Op::prelu:
    case Op::power:
    case Op::mod:
    case Op::local_response:
    case Op::reduce_prod:
    case Op::cumprod:
    case Op::batch_norm:
      return composed_plane(graph, node, boxes, result, hints);
    case Op::matmul:
    case Op::gemm:
    case Op::conv:
    case Op::conv_transpose:
      return matmul_plane(graph, node, boxes, result, hints);
    default:  // layout and linear ops are substituted exactly where they are linear; everything else stops at its box
      return std::nullopt;
  }
}

}  // namespace assay::kernel
