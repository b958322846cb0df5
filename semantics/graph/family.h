// The columns of the op table that group ops: by how they are bounded, by what they are, by the rule of their shapes.
// Switches over them are exhaustive, as those over Op are.
#pragma once

#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"

namespace assay {

enum class Family : std::uint8_t {
  leaf,
  layout,    // an index map
  linear,    // in its operands together
  formula,   // products, quotients, sums of exponentials: planes follow from the denotation's steps; linear where factors are constant
  function,  // of one variable, element by element: semantics/functions
  choice,    // each result is one of some elements of the operands
  discrete,  // truth values, positions, bits
};
[[nodiscard]] Family family_of(Op op);

// What it is. Ops of one kind share a header of semantics/ops, a file of derivative rules, one of kernels and, but for a few, a contract.
enum class OpKind : std::uint8_t {
  leaf,
  layout,
  place,
  weighted_gather,
  arithmetic,
  product,
  convolution,
  pool,
  batch_norm,
  sum,  // or mean
  running_sum,
  running_product,
  reduced_product,
  extremum,  // along axes
  position,  // of an extremum
  order,     // elements in another order
  ranking,   // positions in order
  min_max,   // of operands
  piecewise,
  step,
  max_weight,
  function,  // transcendental
  power,     // and roots
  rounding,
  activation,
  softmax,
  masked_softmax,
  normalise,
  local_response,
  comparison,
  logic,
  bitwise,
  where,
  cast
};
[[nodiscard]] OpKind kind_of(Op op);

// The rule of its result's shape (shape_rules.h).
enum class Shapes : std::uint8_t {
  none,
  layout,
  broadcast,
  product,
  window,
  batch_norm,
  reduce,
  position,
  selection,
  operand,  // that of the first operand
  normalise,
  masked
};
[[nodiscard]] Shapes shapes_of(Op op);

// Its values are enclosed by functions of MPFR, or at 257 bits.
[[nodiscard]] bool rests_on_mpfr(Op op);

// Analytic on all of the reals, in each of its operands. Pow is so for integer exponents from 0 on, div in its first operand: neither is
// entire.
[[nodiscard]] bool is_entire(Op op);

// Executions on floats round nothing: the result is a value of the denotation at the operands that the execution holds.
[[nodiscard]] bool is_exact(Op op);

// Every value is an integer: of integers and truth values, and the whole ones of floats. A step is 1/2 at 0.
[[nodiscard]] bool gives_integers(Op op, DType dtype);

}  // namespace assay
