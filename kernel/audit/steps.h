// Steps of a recorded run: its comparisons, roundings to integers and signs. Private to this folder.
//
// The steps of a composed graph have exact operands, and those of the run have rounded ones, so rounding may have
// decided a step. Each step is evaluated here as the run took it:
//   S1  A result of a region has the recorded bits.
//   S2  A value inside a region has the one value that its contract admits, given the region's recorded operands and
//       results. If there are several, it is undefined, and so are all values that depend on it.
//   S3  An op that jumps between real values (mod, thresholded_relu, shrink) is evaluated by its formula, if its
//       quotient or side is one number, the same for exact operands and for those that the contract admits. Otherwise
//       it is undefined.
// A step whose operands are computed from recorded numbers without any rounding is the same in both, and is left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

// For a node of a composed graph: its region, and the node there.
using Origin = std::pair<std::uint32_t, NodeId>;
using Origins = std::map<NodeId, Origin>;

class TakenSteps {
 public:
  // The origins are regions of this trace. `was_recorded` says for each input of the graph whether it holds
  // recorded numbers.
  TakenSteps(const Trace& trace, const Graph& graph, const Origins& origins, const std::vector<bool>& was_recorded);

  [[nodiscard]] bool are_any() const { return !steps_.empty(); }
  // The outputs of the graph at a point, with each step as the run took it. nullopt if an op has no value.
  [[nodiscard]] std::optional<std::vector<Array<Interval>>> outputs(const std::vector<Array<Interval>>& point);

 private:
  void hold(std::uint32_t region);
  void forget_open(NodeId id, const std::vector<Array<Interval>>& values, Array<Interval>& result);

  const Trace& trace_;
  const Graph& graph_;
  Origins steps_;
  std::map<Origin, Array<Interval>> held_;  // values in the run, at steps and at operands of jumps
};

}  // namespace assay::audit
