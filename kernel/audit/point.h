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

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/execution_model.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"
#include "semantics/outcome.h"

namespace assay::audit {

struct RecordedProduct {
  // One operand's cotangent: an output of `backward`.
  struct Cotangent {
    std::string name;
    bool is_claimed = false;                                          // else nobody asked for it
    std::vector<const Tensor*> parts = {};                            // their sum is what was recorded; none: nobody recorded it
    ExecutionModel::Storage storage = ExecutionModel::Storage::same;  // of a single part
  };
  const Graph& forward;   // y, from the region's different operands
  const Graph& backward;  // from these and y_bar (or tangents), a cotangent for each real operand (or y's tangent)
  std::function<std::vector<Array<Interval>>()> point;  // of the operands and y_bar; asked for where it is needed
  std::vector<Tensor> operands;                         // and y_bar; empty where one of them was not recorded
  std::vector<Cotangent> cotangents;                    // one per output of `backward`
  const ExecutionModel& model;
  bool is_stored_short = false;  // something of the run is stored in 16 bits
  // What was shown at random points. Of a product of which nothing could be decided there P2 alone is asked; of one that they refuse P1, as
  // everywhere.
  enum class Standing : std::uint8_t { proved, open, refused } standing = Standing::proved;
  bool is_analytic_here = false;                   // on a box that holds the recorded point and those that were drawn (is_analytic_within)
  std::function<Outcome<Graph>()> reference = {};  // the derivative's graph, with the inputs of `backward`; none: that of J^T y_bar
  const Graph* convention = nullptr;               // like `backward`: what the framework gives, if its convention is asked for
  bool lacks_convention = false;                   // it is asked for, and nothing says what it is
  // The values of `backward` at the point with the run's own steps, if rounding may have decided any (steps.h).
  std::function<std::optional<std::vector<Array<Interval>>>(const std::vector<Array<Interval>>&)> with_steps = {};
};

// P1 to P5 of point.cpp, for a product that is right at random points. Its code is gradient.value, of P4
// gradient.convention, of P5 gradient.step; declined where what would decide is missing. `corners` grows by the
// elements that were judged where a choice is open.
[[nodiscard]] std::optional<Rejection> check_point(const RecordedProduct& product, const std::string& place,
                                                   std::size_t* corners = nullptr);

// Whether a graph is analytic in its real inputs at every point of a box, which has an interval for each input, by interval bounds of its
// values.
[[nodiscard]] bool is_analytic_within(Graph graph, std::span<const Interval> box);

// The recorded elements. NaN and infinities, which have no place in a derivative, are undefined; so are integers that no double holds.
[[nodiscard]] Array<Interval> enclosed(const Tensor& tensor);

// All nodes of a graph, whose constants may be no finite numbers: those are undefined. Nothing where an op has no value.
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

[[nodiscard]] std::string about(double value);  // in words: six digits

// Where elements like the recorded ones are drawn.
[[nodiscard]] gradients::Domain recorded_range(const Tensor& tensor);

}  // namespace assay::audit
