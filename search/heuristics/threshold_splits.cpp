// Finds the comparisons once, by tracing layout ops back; scores them by the boxes of each subdomain.

#include "search/heuristics/threshold_splits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel/relax/box.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/element_lists.h"

namespace assay::search {

// Functions of scores. Others may have no value in a box, and their boxes are then refused.
static bool has_value_everywhere(const Graph& graph, const Node& node) {
  constexpr std::array kOps{Op::sigmoid, Op::softmax, Op::reduce_min, Op::reduce_max,  Op::min,        Op::max,
                            Op::equal,   Op::arg_max, Op::logical_or, Op::logical_and, Op::logical_not};
  if (node.op == Op::div) return graph.node(node.operands[1]).op == Op::constant;
  if (node.op == Op::cast) return is_float(node.dtype);
  return std::ranges::find(kOps, node.op) != kOps.end();
}

ThresholdSplits::ThresholdSplits(const logic::Problem& problem) : graph_(problem.graph()), of_truth_(graph_.nodes.size()) {
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    const Op op = graph_.node(id).op;
    if (op == Op::less || op == Op::less_equal) add_comparisons(id);
  }
  if (comparisons_.empty()) return;
  constexpr std::size_t kFew = 256;  // elements of other functions, as of a softmax over the scores
  std::size_t others = 0;
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    const OpRow& row = op_row(graph_.node(id).op);
    if (graph_.node(id).op == Op::where && !add_choice(id)) others = kFew + 1;
    const bool is_plain = row.op_class == OpClass::leaf || row.op_class == OpClass::layout || row.op_class == OpClass::linear;
    if (is_plain || graph_.node(id).op == Op::where || !of_truth_[id].empty()) continue;
    others += has_value_everywhere(graph_, graph_.node(id)) ? graph_.size(id) : kFew + 1;
  }
  is_all_ = others <= kFew && !choices_.empty() && !problem.floating();  // boxes of floats may be refused at jumps
}

std::vector<ThresholdSplits::Element> ThresholdSplits::origins(NodeId id) const {
  const Node& node = graph_.node(id);
  std::vector<Element> result(graph_.size(id));
  if (node.op == Op::constant) return result;
  if (op_row(node.op).op_class != OpClass::layout) {
    for (std::uint32_t i = 0; i < result.size(); ++i) result[i] = {id, i};
    return result;
  }
  for (std::size_t which = 0; which < node.operands.size(); ++which) {
    if (graph_.node(node.operands[which]).op == Op::constant) continue;
    const std::vector<Element> before = origins(node.operands[which]);
    const IndexMap map = index_map(graph_, id, which);
    for (std::size_t i = 0; i < result.size(); ++i)
      if (map.index[i] >= 0) result[i] = before[static_cast<std::size_t>(map.index[i])];
  }
  return result;
}

std::vector<ThresholdSplits::Element> ThresholdSplits::spread(NodeId operand, const Shape& shape) const {
  const std::vector<Element> elements = origins(operand);
  std::vector<Element> result;
  for (const std::uint32_t at : ops::broadcast_elements(graph_.node(operand).shape, shape)) result.push_back(elements[at]);
  return result;
}

void ThresholdSplits::add_comparisons(NodeId id) {
  const Node& node = graph_.node(id);
  const bool is_left = graph_.node(node.operands[1]).op == Op::constant;  // the input stands left of the constant
  const NodeId constant = node.operands[is_left ? 1 : 0];
  if (graph_.node(constant).op != Op::constant) return;
  const std::vector<Element> inputs = spread(node.operands[is_left ? 0 : 1], node.shape);
  const std::vector<std::uint32_t> thresholds = ops::broadcast_elements(graph_.node(constant).shape, node.shape);
  of_truth_[id].assign(graph_.size(id), kNone);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node == kNone || graph_.node(inputs[i].node).op != Op::input) continue;
    of_truth_[id][i] = static_cast<std::uint32_t>(comparisons_.size());
    comparisons_.push_back({{id, i}, inputs[i], graph_.node(constant).value.as_double(thresholds[i])});
  }
}

bool ThresholdSplits::add_choice(NodeId id) {
  const Node& node = graph_.node(id);
  Choice choice{id, {}, spread(node.operands[1], node.shape), spread(node.operands[2], node.shape)};
  for (const Element& truth : spread(node.operands[0], node.shape)) {
    const bool is_known = truth.node != kNone && !of_truth_[truth.node].empty();
    choice.comparisons.push_back(is_known ? of_truth_[truth.node][truth.index] : kNone);
  }
  const auto is_flat = [&](const Element& one) { return one.node == kNone || graph_.node(one.node).op == Op::where; };
  const std::size_t known = choice.comparisons.size() - static_cast<std::size_t>(std::ranges::count(choice.comparisons, kNone));
  const bool is_of_tree =
      known == choice.comparisons.size() && std::ranges::all_of(choice.yes, is_flat) && std::ranges::all_of(choice.no, is_flat);
  if (known > 0) choices_.push_back(std::move(choice));
  return is_of_tree;
}

std::optional<Split> ThresholdSplits::best(const logic::Scope& scope) const {
  if (choices_.empty()) return std::nullopt;
  const auto box = [&](const Element& element) {
    if (element.node == kNone || !scope.has_box(element.node)) return std::pair(0.0, 0.0);
    const relax::Box& whole = scope.box(element.node);
    return std::pair(whole.lo[element.index], whole.hi[element.index]);
  };
  const auto is_open = [&](const Comparison& one) {
    const auto [lo, hi] = box(one.truth);
    return lo <= 0 && hi >= 1;
  };
  std::vector<double> gains(comparisons_.size(), 0);
  for (const Choice& choice : choices_) {
    if (!scope.has_box(choice.node)) continue;
    for (std::uint32_t i = 0; i < choice.comparisons.size(); ++i) {
      if (choice.comparisons[i] == kNone || !is_open(comparisons_[choice.comparisons[i]])) continue;
      const auto [lo, hi] = box({choice.node, i});
      const auto [yes_lo, yes_hi] = box(choice.yes[i]);
      const auto [no_lo, no_hi] = box(choice.no[i]);
      if (choice.yes[i].node == kNone || choice.no[i].node == kNone) {
        gains[choice.comparisons[i]] += hi - lo;  // the value of a constant is not kept
        continue;
      }
      gains[choice.comparisons[i]] += (hi - lo) - std::max(yes_hi - yes_lo, no_hi - no_lo) + 1e-3 * (hi - lo);
    }
  }
  const auto most = std::ranges::max_element(gains);
  if (!(*most > 0)) return std::nullopt;
  const Comparison& chosen = comparisons_[static_cast<std::size_t>(most - gains.begin())];
  const auto [lo, hi] = box(chosen.input);
  if (lo < chosen.threshold && chosen.threshold < hi) return Split{chosen.input.node, chosen.input.index, chosen.threshold};
  // One end is the threshold.
  const double beside = std::nextafter(chosen.threshold, chosen.threshold <= lo ? hi : lo);
  if (lo < beside && beside < hi) return Split{chosen.input.node, chosen.input.index, beside};
  return Split{chosen.truth.node, chosen.truth.index, 0.5};
}

}  // namespace assay::search
