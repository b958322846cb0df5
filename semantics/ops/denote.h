// Denotations: the one meaning of every op, written once as a template over the scalar.
//
// Each scalar is instantiated in one file, and a program links those that it computes with. semantics/ops/over: Rational, Interval,
// WideInterval, double, float, Symbolic, Dual<Interval>; kernel/gradients/numbers: Modular, Opaque, duals of both and of Rational. Ops
// whose function a scalar lacks (exp over Rational, ...) give a Rejection of kind `declined` with code "denote.scalar".
// Integer and boolean tensors hold exact integers; an integer result (of any but a layout op) outside its type's range is a domain
// fault: undefined over the enclosing scalars, the rejection "<op>.domain" over the others, never a wrapped number. double and
// float decline integers beyond 2^53 and 2^24.
#pragma once

#include <span>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay {

template <class S>
struct Array {
  Shape shape;
  std::vector<S> values;  // row-major; size == element_count(shape)
};

// As denote() takes operands; of arrays that stay where they are.
template <class S>
[[nodiscard]] std::vector<const Array<S>*> pointers_to(const std::vector<Array<S>>& arrays) {
  std::vector<const Array<S>*> pointers;
  for (const Array<S>& array : arrays) pointers.push_back(&array);
  return pointers;
}

// The constant's exact values on scalar S.
template <class S>
[[nodiscard]] Array<S> lift(const Tensor& constant);

// [[node.op]] applied to the operands' values (constants lifted by the caller or by evaluate()).
template <class S>
[[nodiscard]] Outcome<Array<S>> denote(const Node& node, std::span<const Array<S>* const> operands);

// All nodes in order, from the values of the graph's inputs; the result holds one array per node.
template <class S>
[[nodiscard]] Outcome<std::vector<Array<S>>> evaluate(const Graph& graph, std::span<const Array<S>> inputs);

// For a layout op with one non-constant operand `which`: result element i is operand element index[i], or the
// constant fill[i] where index[i] == -1 (padding, or an element of a constant float operand; fill is 0 for constants of other types,
// whose values may be no doubles). Computed by running the op on indices.
struct IndexMap {
  std::vector<std::int64_t> index;
  std::vector<double> fill;
};
[[nodiscard]] IndexMap index_map(const Graph& graph, NodeId node, std::size_t which);

}  // namespace assay
