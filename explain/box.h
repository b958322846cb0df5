// Boxes of elements: ranges of indices along each axis of a tensor. Private to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "explain/explain.h"
#include "semantics/graph/graph.h"

namespace assay::explain {

struct Box {
  Shape begin, end;  // one per axis; begin < end
  friend bool operator==(const Box&, const Box&) = default;
};

[[nodiscard]] Box whole(const Shape& shape);
[[nodiscard]] Box one_element(const Shape& shape, std::size_t element);
[[nodiscard]] Box hull(const Box& a, const Box& b);
[[nodiscard]] Shape extents(const Box& box);
[[nodiscard]] std::size_t element_at(const Shape& shape, const Shape& index);
[[nodiscard]] Tensor cut_to(const Tensor& tensor, const Box& box);

// The parts of the operands from which the wanted elements of a node's result are computed.
struct Needs {
  Box result;                 // at least what was wanted: an op along an axis gives all of it
  std::vector<Box> operands;  // one per operand
  Attributes attributes;      // of the op that computes this part of the result from those parts
};

// nullopt: the op is not taken apart, everything is needed.
[[nodiscard]] std::optional<Needs> needs_of(const Graph& graph, const Node& node, const Box& wanted);

}  // namespace assay::explain
