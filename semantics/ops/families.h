// What the families of ops share: one header and one namespace each, whose denote<S>() the dispatch of denotation.h calls. Private to
// semantics/ops and the files that instantiate a scalar (contracts read function_of).
//
// The node is valid and the operands have the shapes that its inference saw. Each family opens its ops with the headings
// Meaning, Shapes, Domain, Side conditions, Derivative, Rounding, Source. Functions that are no templates have internal linkage: each
// file that instantiates a scalar runs its own, compiled with its own flags.
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
