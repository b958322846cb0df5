// The families of ops, one .cpp file each; denote() (evaluate.cpp) dispatches to them. Private to semantics/ops (contracts
// read function_of).
//
// The node is valid and the operands have the shapes that its inference saw. Each file opens its ops with the headings
// Meaning, Shapes, Domain, Side conditions, Derivative, Rounding, Source, and ends with the list of scalars.
#pragma once

#include <span>
#include <string>

#include "semantics/graph/graph.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::ops {

// The function that each element of exp, tanh, softplus, ... is of its operand's; other ops are demanded away.
[[nodiscard]] Function function_of(Op op);

template <class S>
using Operands = std::span<const Array<S>* const>;

template <class S>
[[nodiscard]] Outcome<Array<S>> denote_layout(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_arithmetic(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_product(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_convolution(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_pool(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_batch_norm(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_reduce(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_piecewise(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_transcendental(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_softmax(const Node& node, Operands<S> operands);

template <class S>
[[nodiscard]] Outcome<Array<S>> denote_rounding(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_activation(const Node& node, Operands<S> operands);

template <class S>
[[nodiscard]] Outcome<Array<S>> denote_choice(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_extremum(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_place(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_selector(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_weighted_gather(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_order(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_normalise(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_bitwise(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_local_response(const Node& node, Operands<S> operands);
template <class S>
[[nodiscard]] Outcome<Array<S>> denote_masked_softmax(const Node& node, Operands<S> operands);

// f on every element.
template <class S, class F>
[[nodiscard]] Array<S> map(const Array<S>& x, const F& f) {
  Array<S> y{x.shape, {}};
  y.values.reserve(x.values.size());
  for (const S& value : x.values) y.values.push_back(f(value));
  return y;
}

// The scalar has no such function: exp over Rational, max over Modular.
[[nodiscard]] Rejection no_function(const Node& node, const char* scalar);
// The exact function has no value at some operand: division by zero, a negative power of zero.
[[nodiscard]] Rejection domain_fault(const Node& node, std::size_t element, const char* required, const char* found);

}  // namespace assay::ops
