// Declarations shared by the families of ops. Each family has one header and one namespace, whose denote<S>() is
// called by the dispatch in denotation.h. Private to semantics/ops and the files that instantiate a scalar
// (contracts use function_of).
//
// The node is valid and the operands have the shapes that its inference saw. The head of each family lists Meaning,
// Shapes, Domain, Side conditions, Derivative, Rounding and Source of its ops. Functions that are no templates have
// internal linkage, so that each file that instantiates a scalar uses its own copy, compiled with its own flags.
#pragma once

#include <span>
#include <string>

#include "semantics/graph/graph.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::ops {

// The function that exp, tanh, softplus, ... apply to each element; demands that the op is one of these.
[[nodiscard]] Function function_of(Op op);

template <class S>
using Operands = std::span<const Array<S>* const>;

// Applies f to every element.
template <class S, class F>
[[nodiscard]] Array<S> map(const Array<S>& x, const F& f) {
  Array<S> y{x.shape, {}};
  y.values.reserve(x.values.size());
  for (const S& value : x.values) y.values.push_back(f(value));
  return y;
}

// Rejection: the scalar lacks the function, such as exp over Rational or max over Modular.
[[nodiscard]] Rejection no_function(const Node& node, const char* scalar);
// Rejection: the exact function has no value at some operand, such as a division by zero or a negative power of zero.
[[nodiscard]] Rejection domain_fault(const Node& node, std::size_t element, const char* required, const char* found);

}  // namespace assay::ops
