// The columns of the op table that group ops: by the way they are bounded, by their kind, and by the rule of their
// shapes. Switches over them are exhaustive, as those over Op are.
#pragma once

#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"

namespace assay {

enum class Family : std::uint8_t {
  leaf,
  layout,  // an index map
  linear,  // jointly linear in its operands
  // Products, quotients, sums of exponentials: planes follow from the denotation's steps; linear if factors
  // are constant.
  formula,
  function,  // of one variable, element by element: semantics/functions
  choice,    // each result is one of some operand elements
  discrete,  // truth values, positions, bits
};
[[nodiscard]] Family family_of(Op op);

// The kind of an op. Ops of one kind share a header of semantics/ops, a file of derivative rules, one of kernels and,
// with few exceptions, a contract.
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

// The rule of the result's shape (shape_rules.h).
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

// Whether its values are enclosed by functions of MPFR, or at 257 bits.
[[nodiscard]] bool rests_on_mpfr(Op op);

// Whether the op is analytic on all of the reals, in each of its operands. Pow is so only for integer exponents >= 0,
// and div only in its first operand, so neither is entire.
[[nodiscard]] bool is_entire(Op op);

// Whether executions on floats round nothing: the result is a value of the denotation at the operands that the
// execution holds.
[[nodiscard]] bool is_exact(Op op);

// Whether every value is an integer: for integer and boolean types, and for float ops with integer results. A step is
// 1/2 at 0.
[[nodiscard]] bool gives_integers(Op op, DType dtype);

}  // namespace assay
