// Elements of a graph that are copies of others, or differ from them by a constant.
#pragma once

#include <cstdint>

#include "semantics/graph/graph.h"

namespace assay::statement {

struct Element {
  NodeId node = 0;
  std::uint64_t element = 0;  // row-major
};

// The element that e copies: through reshapes, and through gathers and concatenations of vectors, up to an output of
// the graph or another op.
[[nodiscard]] Element copied_from(const Graph& graph, Element e);

// The element `of` minus the constant `by`.
struct Shifted {
  Element of;
  double by = 0;
};
// The same; in addition, if that element is one of a floating-point `sub` by a constant with as many elements, the
// element that its operand copies, and the constant's element.
[[nodiscard]] Shifted shifted_from(const Graph& graph, Element e);

}  // namespace assay::statement
