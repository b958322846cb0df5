// Table "onnxruntime": the functions of ONNX Runtime's CPU provider
//
// Measured (benchmarks/README.md, "Float32 theorems"), not documented: exp, tanh, erf and the logistic function are polynomials and rationals of its own, others
// are those of the C library. The bounds stand far above what was seen.
#pragma once

#include <array>

#include "kernel/executions/math_tables.h"

namespace assay::executions::tables {

inline constexpr std::string_view kOnnxRuntimeSource = "measured on ONNX Runtime 1.2x, x86-64";
inline constexpr auto kOnnxRuntime = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 4},
    {"tanh", Format::binary32, MathRow::Unit::absolute, 0x1p-21},
    {"erf", Format::binary32, MathRow::Unit::absolute, 0x1p-21},
    {"sigmoid", Format::binary32, MathRow::Unit::absolute, 0x1p-21},
    {"log", Format::binary32, MathRow::Unit::ulps, 2},
    {"sin", Format::binary32, MathRow::Unit::ulps, 2},
    {"cos", Format::binary32, MathRow::Unit::ulps, 2},
    {"tan", Format::binary32, MathRow::Unit::ulps, 2},
    {"asin", Format::binary32, MathRow::Unit::ulps, 2},
    {"acos", Format::binary32, MathRow::Unit::ulps, 2},
    {"atan", Format::binary32, MathRow::Unit::ulps, 2},
    {"sinh", Format::binary32, MathRow::Unit::ulps, 4},
    {"cosh", Format::binary32, MathRow::Unit::ulps, 4},
    {"asinh", Format::binary32, MathRow::Unit::ulps, 4},
    {"acosh", Format::binary32, MathRow::Unit::ulps, 4},
    {"atanh", Format::binary32, MathRow::Unit::ulps, 4},
    {"pow", Format::binary32, MathRow::Unit::ulps, 4},
    {"expm1", Format::binary32, MathRow::Unit::ulps, 4},
});

}  // namespace assay::executions::tables
