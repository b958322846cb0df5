// place: adds elements up at constant positions; the adjoint of picking elements.
//
// Meaning.     y = 0, and y[indices[i]] += x[i] for every i, both tensors row-major.
// Shapes.      S -> shape
// Domain.      All reals.
// Side conditions. S1 the shape is possible. S2 one index per element of x. S3 0 <= index < number of elements of y.
// Derivative.  Linear.
// Rounding.    Sums in the order of i.
// Source.      Scatter-add; ONNX ScatterElements with reduction add onto zeros.
#pragma once

#include "semantics/ops/families.h"

namespace assay::ops::place {

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const std::vector<std::int64_t>& indices = std::get<PlaceAttributes>(node.attributes).indices;
  Array<S> y{node.shape, std::vector<S>(element_count(node.shape))};
  for (std::size_t i = 0; i < indices.size(); ++i) y.values[static_cast<std::size_t>(indices[i])] += operands[0]->values[i];
  return y;
}

}  // namespace assay::ops::place
