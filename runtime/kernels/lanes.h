// Elementwise ops over runs of elements: loops that g++ turns into vector instructions, compiled for several instruction sets and chosen
// at run time. Private to the runtime.
#pragma once

#include <cstddef>

#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"

namespace assay::runtime {

// The numbers of an op's attributes, read once.
struct Numbers {
  double a = 0, b = 0;
};

// The operand's elements: `count` of them, or one that is used for all.
struct Source {
  const void* data;
  bool single;
};

// result[i] = op(sources[0][i], sources[1][i]). The result may be one of the sources, element for element.
using LaneKernel = void (*)(const Numbers& numbers, const Source* sources, void* result, std::size_t count);

// Ops on one or two operands of one type with a result of that type; nullptr for others.
[[nodiscard]] LaneKernel float_lanes(Op op, DType dtype, const Attributes& attributes);
[[nodiscard]] LaneKernel integer_lanes(Op op, DType dtype);
[[nodiscard]] Numbers numbers_of(Op op, const Attributes& attributes);

// The parts of float_lanes, one per source file.
[[nodiscard]] LaneKernel arithmetic_lanes(Op op, DType dtype);
[[nodiscard]] LaneKernel function_lanes(Op op, DType dtype);  // by exp, log, tanh, erf
[[nodiscard]] LaneKernel tanh_gelu_lanes(DType dtype);
[[nodiscard]] LaneKernel library_lanes(Op op, DType dtype);  // by the C library, one element after the other

}  // namespace assay::runtime
