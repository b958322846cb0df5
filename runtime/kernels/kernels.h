// Every op of the vocabulary on the CPU: a computation of its own, next to (and knowing nothing of) semantics/ops.
//
// float32 and float64 where an op takes reals, integers, booleans and complex elements where it takes those. Results are within the
// contracts of kernel/contracts under the default execution model with the table glibc-2.36, and do not depend on the number of
// threads. Integers wrap around beyond their type's range; casts to integers saturate (NaN gives 0).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "runtime/array.h"
#include "semantics/graph/op.h"
#include "semantics/outcome.h"

namespace assay::runtime {

// `result` has the type and shape that infer() gives (semantics/graph/graph.h) and shares its buffer with no operand; every element is
// written. The operands fit the op (as infer() checks); a condition that only their values can break is a rejection:
//   runtime.index     an index that lies outside its axis (take)
//   runtime.divisor   an integer division by zero (div, mod)
//   runtime.exponent  a negative power of an integer
//   runtime.dtype     complex elements where only real ones can be computed with
[[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const Array* const> operands, Array& result);

// The first element of a slice of an array of this shape if its elements lie side by side there, from a place where an array can begin.
[[nodiscard]] std::optional<std::size_t> first_of_part(const SliceAttributes& slice, const Shape& shape, DType dtype);

}  // namespace assay::runtime
