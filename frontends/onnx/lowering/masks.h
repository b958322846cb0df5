// Masks: values that are -infinity where something is shut.
//
// Exporters write masks as 0 and -infinity and add them before a softmax. A mask is kept as two values: finite numbers, and truth
// values that say where they count (`open`); elsewhere the value is -infinity. Only operators whose meaning on -infinity is exact
// take part: layout, choice, sums, positive factors, softmax, maxima, comparison with -infinity.
#pragma once

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {

struct Masked {
  Operand numbers;  // finite; 0 where shut, if a constant
  Operand open;     // null: everywhere
};

// A value with `open`, or a float constant with -infinity among its elements.
[[nodiscard]] bool is_masked(const Operand& operand);
[[nodiscard]] Masked split_mask(Call& call, const Operand& operand);

// Both, where there are two; null stands for truth everywhere. Constants are met here, at the shape to which they broadcast.
[[nodiscard]] Operand both_open(Call& call, const Operand& a, const Operand& b);
[[nodiscard]] Operand truths(Call& call, std::int64_t value, const Shape& shape);

// The results on masked operands; nullopt when the plain handler is enough. Refuses operators that are not exact on -infinity.
[[nodiscard]] std::optional<Results> lower_masked(Call& call, Handler plain);

}  // namespace assay::onnx
