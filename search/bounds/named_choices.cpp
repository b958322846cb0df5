// with_named_choices(): the candidates of each element, in the order in which the kernel numbers
// them (selection_plane).
//
// Two checkers may choose differently between two candidates whose figures differ only by rounding. A name in the
// certificate fixes the choice. Only elements with such candidates are named.
//
// Source: none; this serves checkers in other languages, whose sums round differently.

#include "search/bounds/named_choices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "kernel/inspect/inspect.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/indexing.h"

namespace assay::search {
namespace {

constexpr double kAlike = 1e-9;  // relative to the magnitude, or to 1 if that is larger
constexpr float kNone = -1;      // no candidate is named

struct Candidate {
  NodeId node;
  std::uint32_t element;
};

// By result element; empty for other ops.
std::vector<std::vector<Candidate>> candidates_of(const Graph& graph, const Node& node) {
  std::vector<std::vector<Candidate>> result(element_count(node.shape));
  if (node.op == Op::max || node.op == Op::min) {
    for (const NodeId operand : node.operands) {
      const auto elements = ops::broadcast_elements(graph.node(operand).shape, node.shape);
      for (std::size_t j = 0; j < result.size(); ++j) result[j].push_back({operand, elements[j]});
    }
  } else if (node.op == Op::reduce_max || node.op == Op::reduce_min) {
    const auto groups = ops::reduction_groups(graph.node(node.operands[0]).shape, std::get<ReduceAttributes>(node.attributes).axes);
    for (std::size_t j = 0; j < result.size(); ++j)
      for (const std::uint32_t element : groups[j]) result[j].push_back({node.operands[0], element});
  } else if (node.op == Op::max_pool) {
    ops::Window window(std::get<WindowAttributes>(node.attributes), graph.node(node.operands[0]).shape, node.shape);
    for (std::size_t o = 0; o < window.result_size(); ++o) {
      for (const ops::Tap& tap : window.taps(o)) {
        for (std::size_t j = o, offset = 0; j < result.size(); j += window.result_size(), offset += window.operand_size())
          result[j].push_back({node.operands[0], static_cast<std::uint32_t>(offset + tap.operand)});
      }
    }
  } else {
    return {};
  }
  return result;
}

// The checker's own choice (policy/), by the same order and numbers, if another candidate or the end of the box is
// about as high.
float named(const logic::Scope& scope, const std::vector<Candidate>& candidates, double end, bool least) {
  std::vector<Interval> x;
  double floor = -INFINITY;
  for (const Candidate& one : candidates) {
    if (!scope.has_box(one.node)) return kNone;
    const Interval range(scope.box(one.node).lo[one.element], scope.box(one.node).hi[one.element]);
    x.push_back(least ? -range : range);
    if (!std::isfinite(x.back().lo()) || !std::isfinite(x.back().hi())) return kNone;
    floor = std::max(floor, x.back().lo());
  }
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return x[a].hi() > x[b].hi(); });
  double best = end, second = -INFINITY;
  float chosen = kNone;
  for (const std::size_t k : order) {
    const double middle = x[k].midpoint(), alike = kAlike * std::max(1.0, std::fabs(best));
    if (!(x[k].hi() >= floor)) continue;
    if (middle >= best || (chosen == kNone && middle >= best - alike)) {
      second = std::exchange(best, middle);
      chosen = static_cast<float>(k);
    } else {
      second = std::max(second, middle);
    }
  }
  return best - second <= kAlike * std::max(1.0, std::fabs(best)) ? chosen : kNone;
}

}  // namespace

logic::Hints with_named_choices(const logic::Problem& problem, const logic::Scope& scope, logic::Hints hints) {
  const Graph& graph = problem.graph();
  for (const NodeId id : inspect::active_nodes(problem)) {
    const Node& node = graph.node(id);
    const bool least = node.op == Op::min || node.op == Op::reduce_min;
    logic::Slopes& side = least ? hints.upper : hints.lower;
    if (problem.is_constant(id) || inspect::affine(problem, id) != nullptr || !scope.has_box(id) || side.contains(id)) continue;
    const auto candidates = candidates_of(graph, node);
    std::vector<float> names(candidates.size(), kNone);
    for (std::size_t j = 0; j < candidates.size(); ++j)
      names[j] = named(scope, candidates[j], least ? -scope.box(id).hi[j] : scope.box(id).lo[j], least);
    if (std::ranges::any_of(names, [](float name) { return name >= 0; })) side[id] = std::move(names);
  }
  return hints;
}

}  // namespace assay::search
