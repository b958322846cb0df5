// Proved bounds of every node over the input boxes of a property: intervals, tightened by back-substitution while time allows.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::queries {

struct NodeBounds {
  NodeId node = 0;
  std::string op, name;
  Shape shape;
  bool output = false;
  std::vector<double> lo, hi;
};

struct GroupBounds {
  std::size_t group = 0;
  std::size_t cases = 0;
  double seconds = 0, cpu_seconds = 0;  // of the propagation
  bool empty = false;                   // its input box: there are no bounds
  bool stopped = false;                 // back-substitution met its time limit
  bool complete = true;                 // every output has bounds
  std::vector<NodeBounds> nodes;
};

struct BoundsRequest {
  bool crown = true;                                    // back-substitution, not intervals alone
  double seconds = 60;                                  // of back-substitution, for all groups; 0: no limit
  bool outputs_only = false;                            // the reported nodes
  std::function<bool()> stop = nullptr;                 // asked during the work
  std::function<void(std::size_t)> on_group = nullptr;  // before each group
};

// One after the other, handed over as they are done; until `stop` says so.
[[nodiscard]] Outcome<Done> derive_bounds(const std::shared_ptr<const logic::Problem>& problem, const BoundsRequest& request,
                                          const std::function<void(GroupBounds)>& take);

}  // namespace assay::queries
