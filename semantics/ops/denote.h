// Denotations: the one meaning of every op, written once as a template over the scalar.
//
// Each scalar is instantiated in one file, and a program links those that it computes with. semantics/ops/over:
// Rational, Interval, WideInterval, double, float, Symbolic, Dual<Interval>; kernel/gradients/numbers: Modular, Opaque,
// duals of both and of Rational. An op whose function a scalar lacks (exp over Rational, ...) gives a Rejection of kind
// `declined` with code "denote.scalar".
//
// Integer and boolean tensors hold exact integers. An integer result (of any op but a layout op) outside its type's
// range is a domain fault, never a wrapped number: undefined over the enclosing scalars, the rejection "<op>.domain"
// over the others. double and float decline integers beyond 2^53 and 2^24.
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

// Pointers to the arrays, in the form that denote() takes.
template <class S>
[[nodiscard]] std::vector<const Array<S>*> pointers_to(const std::vector<Array<S>>& arrays) {
  std::vector<const Array<S>*> pointers;
  for (const Array<S>& array : arrays) pointers.push_back(&array);
  return pointers;
}

// The constant's exact values on scalar S.
template <class S>
[[nodiscard]] Array<S> lift(const Tensor& constant);

// [[node.op]] applied to the operands' values (constants are lifted by the caller or by evaluate()).
template <class S>
[[nodiscard]] Outcome<Array<S>> denote(const Node& node, std::span<const Array<S>* const> operands);

// The values of all nodes in order, from those of the graph's inputs: one array per node.
template <class S>
[[nodiscard]] Outcome<std::vector<Array<S>>> evaluate(const Graph& graph, std::span<const Array<S>> inputs);

// The index map of a layout op for its non-constant operand `which`: result element i is operand element index[i], or
// the constant fill[i] if index[i] == -1. The latter is padding, or an element of a constant float operand; fill is 0
// for constants of other types, whose values may be no doubles. Computed by running the op on indices.
struct IndexMap {
  std::vector<std::int64_t> index;
  std::vector<double> fill;
};
[[nodiscard]] IndexMap index_map(const Graph& graph, NodeId node, std::size_t which);

}  // namespace assay
