// Elements of a graph that are copies of others, or differ from them by a constant.
#pragma once

#include <cstdint>

#include "semantics/graph/graph.h"

namespace assay::statement {

struct Element {
  NodeId node = 0;
  std::uint64_t element = 0;  // row-major
};

// What an element is a copy of: through reshapes, and gathers and concatenations of vectors, up to an output of the graph or another op.
[[nodiscard]] Element copied_from(const Graph& graph, Element e);

// `of` minus `by`.
struct Shifted {
  Element of;
  double by = 0;
};
// Likewise, where that is an element of a floating-point `sub` by a constant of as many elements, what that is a copy of, and the
// constant's.
[[nodiscard]] Shifted shifted_from(const Graph& graph, Element e);

}  // namespace assay::statement
