// The part of a region that one element of a result rests on, as a region of its own. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explain/box.h"
#include "semantics/graph/trace.h"

namespace assay::explain {

struct Part {
  Graph graph;  // the region's, on parts of its tensors
  ExecutionModel model;
  std::vector<Tensor> operands;        // recorded, one per input of the graph
  std::vector<std::size_t> positions;  // which operand of the region each is
  std::vector<Tensor> results;         // recorded, one per output of the graph: the element's result, and those that it rests on
  std::vector<TraceTensorId> tensors;  // of the results
  std::size_t result = 0, element = 0;
  std::string name;
  // Per node of the graph: the node that messages name for it (itself, or what it is a slice of), and the index in the region of its
  // first element. Empty where the region could not be taken apart: then everything is here.
  struct Named {
    NodeId node = 0;
    Shape begin;
  };
  std::vector<Named> named = {};

  // The index in the region of element i of a node.
  [[nodiscard]] Shape index_of_node(NodeId id, std::size_t i) const;
};

// Everything, where the region cannot be taken apart.
[[nodiscard]] Part part_of(const Trace& trace, std::size_t region, std::size_t result, std::size_t element);
// One region, whose operands are given.
[[nodiscard]] Trace trace_of(const Trace& source, const Part& part);

}  // namespace assay::explain
