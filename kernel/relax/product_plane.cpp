// Rule product_plane: linear functions below and above the elements of a product of two matrices, or of two numbers each.
//
//   l_k <= a_k <= u_k,  m_k <= b_k <= v_k  for k = 1 .. n        any slopes p_k, q_k
//   ---------------------------------------------------------------------------------
//   sum a_k b_k  >=  sum (p_k a_k + q_k b_k) + t   with t = sum of the least of a_k b_k - p_k a_k - q_k b_k over the corners, rounded down
//
// and dually above.
// Reason: a b - p a - q b is linear in each variable, so that its extrema over a box are at the corners (McCormick's argument); a sum of
// inequalities holds.
// Which elements meet in a result element is that of matmul (semantics/ops/product.h); of mul one element of each, at one place behind broadcasting.
// It is rule denoted_plane, whose planes these are, written down for sums of products: what is left to that are operands without finite boxes, and a
// matrix times itself, where squares are squares.
// Choices: of an element the mixes of McCormick's planes, which give the slopes. A plane takes the place of the node's own box only where it is nearer at
// the box's centre, but for mul, or if the choice insists.
// Rounding, with u = 2^-53 and M_k = |a_k||b_k| + |p_k||a_k| + |q_k||b_k| of the largest magnitudes: three products and two differences lose at most
// 4 u M_k at a corner, and a sum of n of these at most (n + 1) u sum M_k more. (n + 16) u covers both for n <= kMostTerms, and the rounding of sum M_k
// and of itself; kUnderflow is more than a product loses below the normal range. Of one product each step is rounded away from the function, which loses
// nothing where nothing is rounded: margins of products may be exactly 0. Where the sum of the M_k is finite, no step meets a NaN.
// Source: McCormick 1976; as a rule for any slopes derived above.

#include <algorithm>
#include <cmath>

#include "kernel/relax/choices.h"
#include "kernel/relax/relaxation.h"
#include "semantics/demand.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/indexing.h"

namespace assay::relax {
namespace {

constexpr double kUnit = 0x1p-53, kUnderflow = 0x1p-900;

bool all_finite(const Box& box) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::ranges::all_of(box.lo, finite) && std::ranges::all_of(box.hi, finite);
}

// The mix of two ends; of a point, the point.
double between(double mix, double first, double second) { return first == second ? first : mix * first + (1 - mix) * second; }

// The elements of the operands that meet in one result element: a[first + k] and b[second + k step].
struct Pairs {
  std::size_t first, second, step, count;
};

// One side's plane of one result element: slopes are written, the intercept is returned; NaN or an infinity where there is none.
double plane(const Pairs& pairs, const Box& a, const Box& b, bool lower, double mix, double* of_a, double* of_b, double& centre) {
  double t = 0, sizes = 0, one = lower ? INFINITY : -INFINITY;
  centre = 0;
  for (std::size_t k = 0; k < pairs.count; ++k) {
    const std::size_t i = pairs.first + k, j = pairs.second + k * pairs.step;
    const double x[2] = {a.lo[i], a.hi[i]}, y[2] = {b.lo[j], b.hi[j]};
    const double p = x[0] == x[1] ? 0 : between(mix, lower ? y[0] : y[1], lower ? y[1] : y[0]);
    const double q = y[0] == y[1] ? 0 : between(mix, x[0], x[1]);
    double least = INFINITY, most = -INFINITY;
    for (const double at_x : x) {
      for (const double at_y : y) {
        const double rest = at_x * at_y - p * at_x - q * at_y;
        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
        if (pairs.count > 1) continue;
        one = lower ? std::min(one, sub_down(sub_down(mul_down(at_x, at_y), mul_up(p, at_x)), mul_up(q, at_y)))
                    : std::max(one, sub_up(sub_up(mul_up(at_x, at_y), mul_down(p, at_x)), mul_down(q, at_y)));
      }
    }
    if ((x[0] == x[1]) != (y[0] == y[1])) one = 0;  // the plane is the product itself
    const double of_x = std::fmax(std::fabs(x[0]), std::fabs(x[1])), of_y = std::fmax(std::fabs(y[0]), std::fabs(y[1]));
    t += lower ? least : most;
    sizes += of_x * of_y + std::fabs(p) * of_x + std::fabs(q) * of_y;
    centre += p * (x[0] / 2 + x[1] / 2) + q * (y[0] / 2 + y[1] / 2);
    of_a[k] = p;
    of_b[k] = q;
  }
  const double n = static_cast<double>(pairs.count), lost = (n + 16) * kUnit * sizes + (n + 1) * kUnderflow;
  t = pairs.count == 1 ? one : (lower ? sub_down(t, lost) : add_up(t, lost));
  if (!std::isfinite(lost)) return NAN;
  centre += t;
  return t;
}

}  // namespace

std::optional<Relaxation> product_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                                        const Choices& choices) {
  const Box &a = *boxes[0], &b = *boxes[1];
  if (!is_float(node.dtype) || node.operands[0] == node.operands[1] || !all_finite(a) || !all_finite(b)) return std::nullopt;
  const bool is_mul = node.op == Op::mul;  // then each element is a product of matrices of one element, and the batch is the shape
  Shape batch_a = graph.node(node.operands[0]).shape, batch_b = graph.node(node.operands[1]).shape, batch;
  std::size_t m = 1, n = 1, count = 1;
  if (!is_mul) {
    if (batch_a.size() == 1) batch_a.insert(batch_a.begin(), 1);
    if (batch_b.size() == 1) batch_b.push_back(1);
    m = static_cast<std::size_t>(batch_a[batch_a.size() - 2]);
    count = static_cast<std::size_t>(batch_a.back());
    n = static_cast<std::size_t>(batch_b.back());
    batch_a.resize(batch_a.size() - 2);
    batch_b.resize(batch_b.size() - 2);
  }
  const std::size_t size = element_count(node.shape);
  if (size == 0 || count == 0 || size > kMostTerms / count) return std::nullopt;
  demand(broadcast(batch_a, batch_b, batch), "a product whose batches do not fit");
  ops::Walk at_a = ops::Walk::over(batch_a, batch), at_b = ops::Walk::over(batch_b, batch);

  Relaxation result{std::vector<Relaxation::Part>(2), result_box.lo, result_box.hi};
  for (std::size_t which : {0, 1}) {
    Relaxation::Part& part = result.parts[which];
    part.operand = node.operands[which];
    part.start.reserve(size + 1);
    part.start.push_back(0);
    part.index.reserve(size * count);
    for (std::vector<double>* side : {&part.lower, &part.upper}) side->reserve(size * count);
  }
  std::vector<double> slopes(4 * count);  // of a and b below, of a and b above
  double *const below[2] = {slopes.data(), slopes.data() + count}, *const above[2] = {below[1] + count, below[1] + 2 * count};
  const auto append = [&](std::size_t which, std::size_t from, std::size_t step, const double* lower, const double* upper) {
    Relaxation::Part& part = result.parts[which];
    for (std::size_t k = 0; k < count; ++k) {
      if (lower[k] == 0 && upper[k] == 0) continue;
      part.index.push_back(static_cast<std::uint32_t>(from + k * step));
      part.lower.push_back(lower[k]);
      part.upper.push_back(upper[k]);
    }
    part.start.push_back(static_cast<std::uint32_t>(part.index.size()));
  };
  for (std::size_t j = 0; j < size; ++j) {
    if (j > 0 && j % (m * n) == 0) {
      at_a.next();
      at_b.next();
    }
    poll(20 * count);
    const std::size_t row = j % (m * n) / n, column = j % n;
    const Pairs pairs{(at_a.offset() * m + row) * count, at_b.offset() * count * n + column, n, count};
    const ChosenSides mixes = choices.mixes(j);
    for (const bool lower : {true, false}) {
      double *const of_a = (lower ? below : above)[0], *const of_b = (lower ? below : above)[1];
      double& end = (lower ? result.lower_intercept : result.upper_intercept)[j];
      double centre = 0;
      const double t = plane(pairs, a, b, lower, lower ? mixes.below : mixes.above, of_a, of_b, centre);
      if (std::isfinite(t) && (is_mul || choices.insists(lower) || (lower ? centre > end : centre < end))) {
        end = t;
      } else {
        std::fill_n(of_a, count, 0.0);
        std::fill_n(of_b, count, 0.0);
      }
    }
    append(0, pairs.first, 1, below[0], above[0]);
    append(1, pairs.second, n, below[1], above[1]);
  }
  return result;
}

}  // namespace assay::relax
