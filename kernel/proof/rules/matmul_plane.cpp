// Rule matmul_plane: matmul, gemm, conv and conv_transpose of two operands neither of which is constant.
//
//   y = alpha sum over k of a_k b_k + beta c, each alpha a_k b_k between the planes of product_plane, whose intercepts add up
//
// The slopes of alpha x y are alpha times those of x y, rounded; the corners of alpha x y - a x - b y give the intercept for any a, b.
// The slope of c is beta. A convolution has alpha = beta = 1; which x and w meet is read off semantics/ops.
// Hint m in [0, 1] of an element: the mix of the two planes of all its products. Policy: 1/2.
// Rounding: each intercept outward, and their sum.

#include <cmath>
#include <utility>

#include "kernel/proof/rules/real_form.h"
#include "semantics/demand.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/indexing.h"

namespace assay::kernel {
namespace {

// The elements of the left and of the right operand that meet in each result element.
struct Meeting {
  std::vector<std::uint32_t> left, right, start{0};
};

Meeting meeting(const Node& node, Shape a, Shape b) {
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  const bool flip_a = gemm != nullptr && gemm->transpose_a, flip_b = gemm != nullptr && gemm->transpose_b;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  if (flip_a) std::swap(a[0], a[1]);
  if (flip_b) std::swap(b[0], b[1]);
  const auto m = static_cast<std::size_t>(a[a.size() - 2]), inner = static_cast<std::size_t>(a.back());
  const auto n = static_cast<std::size_t>(b.back());
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  Shape batch;
  demand(broadcast(batch_a, batch_b, batch), "matmul_plane: the batch axes broadcast");
  Meeting result;
  ops::Walk at_a(batch, ops::broadcast_strides(batch_a, batch)), at_b(batch, ops::broadcast_strides(batch_b, batch));
  for (std::size_t p = 0; p < element_count(batch); ++p, at_a.next(), at_b.next()) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < inner; ++k) {
          result.left.push_back(static_cast<std::uint32_t>(at_a.offset() * m * inner + (flip_a ? k * m + i : i * inner + k)));
          result.right.push_back(static_cast<std::uint32_t>(at_b.offset() * inner * n + (flip_b ? j * inner + k : k * n + j)));
        }
        result.start.push_back(static_cast<std::uint32_t>(result.left.size()));
      }
    }
  }
  return result;
}

Meeting meeting_in_windows(const Node& node, const Shape& x) {
  const auto& attributes = std::get<WindowAttributes>(node.attributes);
  const bool transposed = node.op == Op::conv_transpose;
  ops::Window window(attributes, x, node.shape);
  const auto groups = static_cast<std::size_t>(attributes.groups), channels = static_cast<std::size_t>(x[1]);
  const auto features = static_cast<std::size_t>(node.shape[1]);
  const std::size_t c_per_group = channels / groups, m_per_group = features / groups, K = window.kernel_size();
  Meeting result;
  for (std::size_t y = 0; y < element_count(node.shape); ++y) {
    const std::size_t o = y % window.result_size(), m = y / window.result_size() % features, n = y / window.result_size() / features;
    const std::size_t first_c = m / m_per_group * c_per_group;
    for (const ops::Tap& tap : transposed ? window.transposed_taps(o) : window.taps(o)) {
      for (std::size_t c = 0; c < c_per_group; ++c) {
        const std::size_t filter = transposed ? (first_c + c) * m_per_group + m % m_per_group : m * c_per_group + c;
        result.left.push_back(static_cast<std::uint32_t>((n * channels + first_c + c) * window.operand_size() + tap.operand));
        result.right.push_back(static_cast<std::uint32_t>(filter * K + tap.kernel));
      }
    }
    result.start.push_back(static_cast<std::uint32_t>(result.left.size()));
  }
  return result;
}

// At most this many pairs meet in an element.
std::size_t most_meeting(const Node& node, const Shape& a, const Shape& b) {
  if (std::holds_alternative<WindowAttributes>(node.attributes)) return element_count(b);
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  return static_cast<std::size_t>(gemm != nullptr && gemm->transpose_a ? a[0] : a.back());
}

// Operand c, or a convolution's bias [M] along the channels.
std::vector<std::uint32_t> addends(const Node& node, Shape c) {
  if (std::holds_alternative<WindowAttributes>(node.attributes)) c.resize(node.shape.size() - 1, 1);
  return ops::broadcast_elements(c, node.shape);
}

}  // namespace

std::optional<Relaxation> matmul_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                                       const SlopeHints& hints) {
  if (!is_float(node.dtype)) return std::nullopt;
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  const double alpha = gemm != nullptr ? gemm->alpha : 1, beta = gemm != nullptr ? gemm->beta : 1;
  const Shape &a = graph.node(node.operands[0]).shape, &b = graph.node(node.operands[1]).shape;
  if (result_box.lo.size() * most_meeting(node, a, b) > kMostTerms) return std::nullopt;
  const bool windows = std::holds_alternative<WindowAttributes>(node.attributes);
  const Meeting at = windows ? meeting_in_windows(node, a) : meeting(node, a, b);
  const std::vector<double> zeros(at.left.size(), 0.0), none(result_box.lo.size(), 0.0);
  Relaxation result{{{node.operands[0], at.left, zeros, zeros, at.start}, {node.operands[1], at.right, zeros, zeros, at.start}},
                    result_box.lo,
                    result_box.hi};
  if (node.operands.size() > 2) result.parts.push_back({node.operands[2], addends(node, graph.node(node.operands[2]).shape), none, none});
  Relaxation::Part &left = result.parts[0], &right = result.parts[1];
  std::vector<Corners> planes;
  for (std::size_t j = 0; j < result_box.lo.size(); ++j) {
    for (const bool lower : {true, false}) {
      const auto& hint = lower ? hints.lower : hints.upper;
      planes.clear();
      Interval total;
      double centre = 0;
      for (std::size_t k = at.start[j]; k < at.start[j + 1]; ++k) {
        const Interval x(boxes[0]->lo[at.left[k]], boxes[0]->hi[at.left[k]]), y(boxes[1]->lo[at.right[k]], boxes[1]->hi[at.right[k]]);
        planes.push_back(mccormick(x, y, hint.empty() ? 0.5 : static_cast<double>(hint[j]), lower, alpha));
        total += Interval(planes.back().t);
        centre += planes.back().a * x.midpoint() + planes.back().b * y.midpoint();
      }
      if (node.operands.size() > 2) {
        const std::size_t e = result.parts[2].index[j];
        const Interval c(boxes[2]->lo[e], boxes[2]->hi[e]);
        if (!(std::isfinite(c.lo()) && std::isfinite(c.hi()))) total = Interval::undefined();
        centre += beta * c.midpoint();
      }
      const double t = lower ? total.lo() : total.hi(), end = lower ? result_box.lo[j] : result_box.hi[j];
      const bool nearer = lower ? centre + t > end : centre + t < end;
      if (!std::isfinite(t) || (hint.empty() && !nearer)) continue;  // keep the box
      (lower ? result.lower_intercept : result.upper_intercept)[j] = t;
      for (std::size_t k = 0; k < planes.size(); ++k) {
        (lower ? left.lower : left.upper)[at.start[j] + k] = planes[k].a;
        (lower ? right.lower : right.upper)[at.start[j] + k] = planes[k].b;
      }
      if (node.operands.size() > 2) (lower ? result.parts[2].lower : result.parts[2].upper)[j] = beta;
    }
  }
  return result;
}

}  // namespace assay::kernel
