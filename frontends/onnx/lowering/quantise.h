// Quantised values: integers minus their zero point, times their scale; back by rounding half to even and saturation.
#pragma once

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {

struct Grid {
  Operand scale, zero;  // real; zero: null for 0
};

// A scale or zero point of all elements, of one axis, or of blocks along an axis, at a shape that broadcasts against x.
[[nodiscard]] Operand spread(Call& call, const Operand& parameter, const Shape& x, std::int64_t axis, std::int64_t block);
// Integers minus their zero point, as numbers of a float type; zero: null for 0.
[[nodiscard]] Operand centred(Call& call, const Operand& x, const Operand& zero, DType real);
// The nearest number of the grid, as an integer of a type of 8 to 32 bits.
[[nodiscard]] Operand saturated(Call& call, const Operand& x, const Grid& grid, DType to);
// The range of x and 0 on 256 steps; the zero point is the saturated, rounded place of 0.
[[nodiscard]] Grid dynamic_grid(Call& call, const Operand& x);

// Whole numbers and their scale, of all of them or of each column.
struct Quantised {
  Operand values, scale;  // values: centred, in float64, which holds their products with bytes and the sums of these
};
// x times the matrix, after x was quantised to 256 steps of its own range.
[[nodiscard]] Operand dynamic_product(Call& call, const Operand& x, const Quantised& w);

}  // namespace assay::onnx
