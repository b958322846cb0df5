// Elements of a graph that are copies of others.
#pragma once

#include <cstdint>

#include "semantics/graph/graph.h"

namespace assay::kernel {

struct Element {
  NodeId node = 0;
  std::uint64_t element = 0;  // row-major
};

// What an element is a copy of: through reshapes, and gathers and concatenations of vectors, up to an output of the graph or another op.
[[nodiscard]] Element copied_from(const Graph& graph, Element e);

}  // namespace assay::kernel
