// A recorded product at the point of the run. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/audit/extended.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/execution_model.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"
#include "semantics/outcome.h"

namespace assay::audit {

struct RecordedProduct {
  // The cotangent of one operand: an output of `backward`.
  struct Cotangent {
    std::string name;
    // False: no part of the run needs it.
    bool is_claimed = false;
    // The recorded value is their sum; empty: none was recorded.
    std::vector<const Tensor*> parts = {};
    ExecutionModel::Storage storage = ExecutionModel::Storage::same;  // of a single part
  };
  const Graph& forward;  // y, from the region's distinct operands
  // From these and y_bar (or tangents): a cotangent for each real operand (or y's tangent).
  const Graph& backward;
  std::function<std::vector<Array<Interval>>()> point;  // operands and y_bar; computed only if needed
  std::vector<Tensor> operands;                         // operands and y_bar; empty if one of them was not recorded
  std::vector<Cotangent> cotangents;                    // one per output of `backward`
  const ExecutionModel& model;
  bool is_stored_short = false;  // the run stores something in 16 bits
  // The result at random points. `open`: nothing could be decided there, and only P2 is checked. `refused`: the product
  // was rejected there, and P1 is checked, as always.
  enum class Standing : std::uint8_t { proved, open, refused } standing = Standing::proved;
  // On a box that holds the recorded point and the drawn ones (is_analytic_within).
  bool is_analytic_here = false;
  // The derivative's graph, with the inputs of `backward`; empty: that of J^T y_bar.
  std::function<Outcome<Graph>()> reference = {};
  // Like `backward`: the framework's result, if its convention is to be checked.
  const Graph* convention = nullptr;
  bool lacks_convention = false;  // the convention is to be checked, but is not known
  // The values of `backward` at the point with the run's own steps; empty if rounding decided no step (steps.h).
  std::function<std::optional<std::vector<Array<Interval>>>(const std::vector<Array<Interval>>&)> with_steps = {};
};

// P1 to P6 of point.cpp, for a product that is right at random points. The code is gradient.value, for P4
// gradient.convention, for P5 gradient.step, at a border of P6 gradient.border; declined if the information to decide is
// missing. `corners` grows by the number of elements that were judged at an undecided choice.
[[nodiscard]] std::optional<Rejection> check_point(const RecordedProduct& product, const std::string& place,
                                                   std::size_t* corners = nullptr);

// Whether a graph is analytic in its real inputs at every point.
[[nodiscard]] bool is_analytic(const Graph& graph);
// The same at every point of a box, which has one interval per input. Decided by
// interval bounds of its values.
[[nodiscard]] bool is_analytic_within(Graph graph, std::span<const Interval> box);

// The values of all nodes of a graph. Constants that are not finite become undefined. nullopt if an op has no value.
template <class S>
[[nodiscard]] std::optional<std::vector<Array<S>>> nodes_of(Graph graph, std::vector<Array<S>> values) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    if (node.op != Op::constant || !is_float(node.dtype)) continue;
    const Array<Interval> constant = enclosed(node.value);
    if (std::ranges::none_of(constant.values, [](const Interval& one) { return one.is_undefined(); })) continue;
    node.op = Op::input;
    graph.inputs.push_back(id);
    values.push_back({constant.shape, {constant.values.begin(), constant.values.end()}});
  }
  auto nodes = evaluate<S>(graph, values);
  if (!nodes) return std::nullopt;
  return std::move(nodes).value();
}

// The values of all nodes at a point, where `take(id, values, by_op)` decides how a node gets its value: it writes values[id]
// itself, or calls by_op(), which evaluates the op (extended.h). Both return false if there is no value; then the result is nullopt.
template <class Take>
[[nodiscard]] std::optional<std::vector<Array<Interval>>> nodes_taken(const Graph& graph, const std::vector<Array<Interval>>& point,
                                                                      const Take& take) {
  std::vector<Array<Interval>> values(graph.nodes.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) values[graph.inputs[k]] = point[k];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    const auto by_op = [&] {
      std::vector<const Array<Interval>*> operands;
      for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
      auto y = denote_at(node, operands);
      if (y) values[id] = std::move(y).value();
      return y.ok();  // NOLINT(bugprone-use-after-move): ok() reads no value
    };
    if (node.op == Op::constant)
      values[id] = is_float(node.dtype) ? at_point(node.value) : lift<Interval>(node.value);
    else if (node.op != Op::input && !take(id, values, by_op))
      return std::nullopt;
  }
  return values;
}

[[nodiscard]] inline std::optional<std::vector<Array<Interval>>> values_at(const Graph& graph, const std::vector<Array<Interval>>& point) {
  return nodes_taken(graph, point, [](NodeId, auto&, const auto& by_op) { return by_op(); });
}

[[nodiscard]] std::string about(double value);  // in words: six digits

// The range from which elements like the recorded ones are drawn.
[[nodiscard]] gradients::Domain recorded_range(const Tensor& tensor);

}  // namespace assay::audit
