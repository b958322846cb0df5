// Steps of a recorded run: what it compared, rounded to integers or took signs of. Private to this folder.
//
// The steps of a composed graph are those of exact operands, and those of the run are of rounded ones: rounding may have decided one. Each
// step is evaluated here as the run took it:
//   S1  a result of a region with the recorded bits;
//   S2  inside of a region with the one value that its contract admits, given the region's recorded operands and results; else it is
//       undefined, and so is all that depends on it;
//   S3  an op that jumps between real values (mod, thresholded_relu, shrink) as its formula, where its quotient or side is one number, the
//       same by exact operands and by those that the contract admits; else it is undefined.
// A step whose operands are computed without any rounding of recorded numbers is the same in both, and is left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "semantics/graph/trace.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

// Of a node of a composed graph: the region that it is of, and the node there.
using Origin = std::pair<std::uint32_t, NodeId>;
using Origins = std::map<NodeId, Origin>;

class TakenSteps {
 public:
  // The origins are regions of this trace; `was_recorded` says of each input of the graph whether it holds recorded numbers.
  TakenSteps(const Trace& trace, const Graph& graph, const Origins& origins, const std::vector<bool>& was_recorded);

  [[nodiscard]] bool are_any() const { return !steps_.empty(); }
  // The outputs of the graph at a point, with each step as the run took it. Nothing where an op has no value.
  [[nodiscard]] std::optional<std::vector<Array<Interval>>> outputs(const std::vector<Array<Interval>>& point);

 private:
  void hold(std::uint32_t region);
  void forget_open(NodeId id, const std::vector<Array<Interval>>& values, Array<Interval>& result);

  const Trace& trace_;
  const Graph& graph_;
  Origins steps_;
  std::map<Origin, Array<Interval>> held_;  // by the run, at steps and operands of jumps
};

}  // namespace assay::audit
