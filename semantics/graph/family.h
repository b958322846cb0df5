// The columns of the op table that group ops, by how they are bounded and by the rule of their shapes. Switches over them are exhaustive, as
// those over Op are.
#pragma once

#include "semantics/graph/op.h"

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

}  // namespace assay
