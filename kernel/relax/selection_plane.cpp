// Rule selection_plane: max, min, max_pool, reduce_max, reduce_min, sort, and where and take with an undecided
// condition or index.
//
//   x_k in [l_k, u_k] for the candidates k of one result element        any chosen k, any slopes a_i
//   -------------------------------------------------------------------------------------------------
//   max x_k >= x_k
//   max x_k <= sum a_i x_i + t   with t = max over k of max over the box of x_k - sum a_i x_i, rounded up
//
// Reasons:
// - The maximum is at least each candidate, and at every point it equals one of them. x_k - sum a_i x_i is linear, so
//   its maximum over the box has each variable at its worst end.
// - A candidate with u_k < max l_i is never the maximum and is dropped. If only one is left, it is the maximum.
// - min x = -max(-x).
// - where and take give one of their candidates, hence a value between their minimum and their maximum.
// - Element r (from 0) of a descending sort of n candidates is at most the maximum of any n - r of them, since only r
//   come before it; the rule takes those with the least upper ends. It is at least the minimum of any r + 1; the rule
//   takes those with the greatest lower ends.
//
// Choices: the candidate, by its position in the order of the operands or of the window, and the slopes a_i of at most
// two candidates. The node's own box stays if it is lower at the box's centre.
// Rounding: t is computed in intervals, and its outer end is taken.
// Source: Singh et al. 2019 (DeepPoly) for the chosen candidate; the planes above are derived here.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel/relax/choices.h"
#include "kernel/relax/relaxation.h"
#include "semantics/demand.h"
#include "semantics/interrupt.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/indexing.h"

namespace assay::relax {
namespace {

using Part = Relaxation::Part;

// A part with slopes 0, in which result element j has the terms terms[j].
Part part_without_slopes(NodeId operand, const std::vector<std::vector<std::uint32_t>>& terms) {
  Part part{operand, {}, {}, {}, {0}};
  for (const std::vector<std::uint32_t>& of_element : terms) {
    part.index.insert(part.index.end(), of_element.begin(), of_element.end());
    part.start.push_back(static_cast<std::uint32_t>(part.index.size()));
  }
  return part;
}

Part window_part(const Graph& graph, const Node& node) {
  ops::Window window(std::get<WindowAttributes>(node.attributes), graph.node(node.operands[0]).shape, node.shape);
  std::vector<std::vector<std::uint32_t>> terms(element_count(node.shape));
  for (std::size_t o = 0; o < window.result_size(); ++o) {
    const std::vector<ops::Tap>& taps = window.taps(o);
    for (std::size_t j = o, offset = 0; j < terms.size(); j += window.result_size(), offset += window.operand_size()) {
      for (const ops::Tap& tap : taps) terms[j].push_back(static_cast<std::uint32_t>(offset + tap.operand));
    }
  }
  return part_without_slopes(node.operands[0], terms);
}

// For each result element of take: the operand elements on its line along `axis` that the index may name.
Part taken_part(const Graph& graph, const Node& node, const Box& index) {
  const auto axis = static_cast<std::size_t>(std::get<ConcatAttributes>(node.attributes).axis);
  const Shape& x = graph.node(node.operands[1]).shape;
  const auto extent = static_cast<double>(x[axis]);
  const std::int64_t stride = ops::row_major_strides(x)[axis];
  Shape strides = ops::row_major_strides(x);
  strides[axis] = 0;
  ops::Walk at(node.shape, strides);
  std::vector<std::vector<std::uint32_t>> terms(index.lo.size());
  std::size_t count = 0;
  for (std::size_t j = 0; j < terms.size() && count <= kMostTerms; ++j, at.next()) {
    const double first = std::ceil(index.lo[j]), last = std::floor(index.hi[j]);
    if (!(first >= -extent && last < extent)) continue;
    for (double k = first; k <= last; ++k, ++count)
      terms[j].push_back(
          static_cast<std::uint32_t>(at.offset() + static_cast<std::size_t>(k < 0 ? k + extent : k) * static_cast<std::size_t>(stride)));
  }
  if (count > kMostTerms) terms.assign(terms.size(), {});
  return part_without_slopes(node.operands[1], terms);
}

// For each result element of sort: all elements of its line, and the element's rank from the top.
Part sorted_part(const Graph& graph, const Node& node, std::vector<std::size_t>& rank) {
  const auto& [axis, count, descending] = std::get<SortAttributes>(node.attributes);
  const auto lines = ops::reduction_groups(graph.node(node.operands[0]).shape, {axis});
  const auto places = ops::reduction_groups(node.shape, {axis});
  std::vector<std::vector<std::uint32_t>> terms(element_count(node.shape));
  rank.assign(terms.size(), 0);
  for (std::size_t line = 0; line < places.size() && terms.size() * lines[0].size() <= kMostTerms; ++line) {
    for (std::size_t r = 0; r < places[line].size(); ++r) {
      terms[places[line][r]] = lines[line];
      rank[places[line][r]] = descending ? r : lines[line].size() - 1 - r;
    }
  }
  return part_without_slopes(node.operands[0], terms);
}

// One term per candidate. where has candidates in its last two operands, take in its last one.
std::vector<Part> candidate_parts(const Graph& graph, const Node& node, const Box& first, std::vector<std::size_t>& rank) {
  std::vector<Part> parts;
  if (node.op == Op::max_pool) {
    parts.push_back(window_part(graph, node));
  } else if (node.op == Op::take) {
    parts.push_back(taken_part(graph, node, first));
  } else if (node.op == Op::sort) {
    parts.push_back(sorted_part(graph, node, rank));
  } else if (node.op == Op::reduce_max || node.op == Op::reduce_min) {
    parts.push_back(part_without_slopes(
        node.operands[0], ops::reduction_groups(graph.node(node.operands[0]).shape, std::get<ReduceAttributes>(node.attributes).axes)));
  } else {
    for (std::size_t i = node.op == Op::where ? 1 : 0; i < node.operands.size(); ++i)
      parts.push_back({node.operands[i], ops::broadcast_elements(graph.node(node.operands[i]).shape, node.shape), {}, {}});
  }
  for (Part& part : parts) {
    part.lower.assign(part.index.size(), 0.0);
    part.upper.assign(part.index.size(), 0.0);
  }
  return parts;
}

struct Candidate {
  std::size_t part, term;
};

// The plane first x_p + second x_q + t.
struct Plane : Weighted {
  double t = INFINITY;
  [[nodiscard]] double at_centre(std::span<const Interval> x) const {
    return t + (first != 0 ? first * x[p].midpoint() : 0) + (second != 0 ? second * x[q].midpoint() : 0);
  }
};

// The candidates that can be the maximum, among the `count` candidates with the least upper ends, sorted by falling
// upper end.
std::vector<std::size_t> possible(std::span<const Interval> x, std::size_t count) {
  std::vector<std::size_t> result(x.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::ranges::stable_sort(result, [&](std::size_t a, std::size_t b) { return x[a].hi() > x[b].hi(); });
  result.erase(result.begin(), result.end() - static_cast<std::ptrdiff_t>(count));
  double floor = -INFINITY;
  for (const std::size_t k : result) floor = std::max(floor, x[k].lo());
  std::erase_if(result, [&](std::size_t k) { return !(x[k].hi() >= floor); });
  return result;
}

// The greatest x_k - first x_p - second x_q over the candidates k in `left`.
double intercept(std::span<const Interval> x, const std::vector<std::size_t>& left, const Weighted& plane) {
  double t = -INFINITY;
  for (const std::size_t k : left) {
    Interval gap = k == plane.p || k == plane.q ? Interval(0.0) : x[k];
    const auto subtract = [&](std::size_t i, double slope) {
      const Interval factor = Interval(k == i ? 1.0 : 0.0) - Interval(slope);
      if (!(factor == Interval(0.0))) gap += factor * x[i];
    };
    subtract(plane.p, plane.first);
    if (plane.q != plane.p) subtract(plane.q, plane.second);
    if (gap.is_undefined()) return INFINITY;
    t = std::max(t, gap.hi());
  }
  return t;
}

// The lowest of the chosen planes above the maximum at the box's centre; t is infinite if all are higher than
// `bound` there.
Plane plane_above(std::span<const Interval> x, const std::vector<std::size_t>& left, double bound, const Choices& choices) {
  Plane best;
  for (const Weighted& weighted : choices.weighted(x, left)) {
    if (!(weighted.p < x.size() && weighted.q < x.size() && std::isfinite(weighted.first))) continue;
    const Plane plane{weighted, intercept(x, left, weighted)};
    if (plane.at_centre(x) < best.at_centre(x)) best = plane;
  }
  return best.at_centre(x) <= bound ? best : Plane{};
}

std::vector<Interval> negated_of(std::vector<Interval> x) {
  for (Interval& one : x) one = -one;
  return x;
}

// Stores a plane. One above the maximum of the negated candidates is one below the minimum: same slopes, negated t.
void put(const Plane& plane, const std::vector<Candidate>& candidates, bool lower, std::size_t j, Relaxation& result) {
  if (!std::isfinite(plane.t)) return;  // the node's box stays
  (lower ? result.lower_intercept : result.upper_intercept)[j] = lower ? -plane.t : plane.t;
  const auto slope = [&](std::size_t i, double value) {
    const Candidate& c = candidates[i];
    (lower ? result.parts[c.part].lower : result.parts[c.part].upper)[c.term] += value;
  };
  slope(plane.p, plane.first);
  if (plane.q != plane.p) slope(plane.q, plane.second);
}

}  // namespace

Relaxation selection_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                           const Choices& choices) {
  const bool is_where = node.op == Op::where, is_sort = node.op == Op::sort, one_of = is_where || node.op == Op::take;
  const bool is_min = node.op == Op::min || node.op == Op::reduce_min;
  std::vector<std::size_t> rank;  // of sort
  Relaxation result{candidate_parts(graph, node, *boxes[0], rank), result_box.lo, result_box.hi};
  const auto gate = is_where ? ops::broadcast_elements(graph.node(node.operands[0]).shape, node.shape) : std::vector<std::uint32_t>{};
  std::vector<Candidate> candidates;
  std::vector<Interval> x;  // the boxes of the candidates
  for (std::size_t j = 0; j < result_box.lo.size(); ++j) {
    candidates.clear();
    x.clear();
    for (std::size_t p = 0; p < result.parts.size(); ++p) {
      // The condition excludes this branch.
      if (is_where && (p == 0 ? boxes[0]->hi[gate[j]] <= 0 : boxes[0]->lo[gate[j]] > 0)) continue;
      const Box& box = *boxes[p + (one_of ? 1 : 0)];
      for (std::size_t k = result.parts[p].first(j); k < result.parts[p].last(j); ++k) {
        const std::size_t e = result.parts[p].element(k);
        candidates.push_back({p, k});
        x.emplace_back(box.lo[e], box.hi[e]);
      }
    }
    if (candidates.empty()) continue;
    poll(200 * candidates.size());
    // A minimum is bounded below, and a maximum above, by a plane; on the other side by a chosen candidate.
    for (const bool lower : {true, false}) {
      const double end = lower ? -result_box.lo[j] : result_box.hi[j];
      const bool is_plane = one_of || is_sort || lower == is_min;
      const auto extremes = lower == is_plane ? negated_of(x) : x;  // the rule bounds the maximum of these
      if (is_plane) {
        const std::size_t among = !is_sort ? candidates.size() : lower ? rank[j] + 1 : candidates.size() - rank[j];
        put(plane_above(extremes, possible(extremes, among), end, choices), candidates, lower, j, result);
      } else {
        const auto k = choices.candidate(j, extremes, possible(extremes, extremes.size()), -end, lower);
        if (k && *k < candidates.size()) put({{*k, *k, 1, 0}, 0}, candidates, lower, j, result);
      }
    }
  }
  return result;
}

}  // namespace assay::relax
