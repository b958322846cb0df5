// Table "cuda-13": device functions of CUDA 13 without fast-math options
//
// The guide states the largest difference from the correctly rounded result. It comes from extensive but not
// exhaustive tests, without a guarantee. Division, reciprocal and root are correctly rounded under the defaults
// -prec-div=true -prec-sqrt=true.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kCuda13Source =
    "NVIDIA, CUDA C++ Programming Guide 13, mathematical functions, tables of standard library functions";
inline constexpr auto kCuda13 = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::steps, 2},   {"expm1", Format::binary32, MathRow::Unit::steps, 1},
    {"log", Format::binary32, MathRow::Unit::steps, 1},   {"log1p", Format::binary32, MathRow::Unit::steps, 1},
    {"sin", Format::binary32, MathRow::Unit::steps, 2},   {"cos", Format::binary32, MathRow::Unit::steps, 2},
    {"tan", Format::binary32, MathRow::Unit::steps, 4},   {"asin", Format::binary32, MathRow::Unit::steps, 2},
    {"acos", Format::binary32, MathRow::Unit::steps, 2},  {"atan", Format::binary32, MathRow::Unit::steps, 2},
    {"sinh", Format::binary32, MathRow::Unit::steps, 3},  {"cosh", Format::binary32, MathRow::Unit::steps, 2},
    {"tanh", Format::binary32, MathRow::Unit::steps, 2},  {"asinh", Format::binary32, MathRow::Unit::steps, 3},
    {"acosh", Format::binary32, MathRow::Unit::steps, 4}, {"atanh", Format::binary32, MathRow::Unit::steps, 3},
    {"erf", Format::binary32, MathRow::Unit::steps, 2},   {"erfc", Format::binary32, MathRow::Unit::steps, 4},
    {"pow", Format::binary32, MathRow::Unit::steps, 4},   {"rsqrt", Format::binary32, MathRow::Unit::steps, 2},
    {"exp", Format::binary64, MathRow::Unit::steps, 1},   {"expm1", Format::binary64, MathRow::Unit::steps, 1},
    {"log", Format::binary64, MathRow::Unit::steps, 1},   {"log1p", Format::binary64, MathRow::Unit::steps, 1},
    {"sin", Format::binary64, MathRow::Unit::steps, 2},   {"cos", Format::binary64, MathRow::Unit::steps, 2},
    {"tan", Format::binary64, MathRow::Unit::steps, 2},   {"asin", Format::binary64, MathRow::Unit::steps, 2},
    {"acos", Format::binary64, MathRow::Unit::steps, 2},  {"atan", Format::binary64, MathRow::Unit::steps, 2},
    {"sinh", Format::binary64, MathRow::Unit::steps, 2},  {"cosh", Format::binary64, MathRow::Unit::steps, 1},
    {"tanh", Format::binary64, MathRow::Unit::steps, 1},  {"asinh", Format::binary64, MathRow::Unit::steps, 3},
    {"acosh", Format::binary64, MathRow::Unit::steps, 3}, {"atanh", Format::binary64, MathRow::Unit::steps, 2},
    {"erf", Format::binary64, MathRow::Unit::steps, 2},   {"erfc", Format::binary64, MathRow::Unit::steps, 5},
    {"pow", Format::binary64, MathRow::Unit::steps, 2},   {"rsqrt", Format::binary64, MathRow::Unit::steps, 1},
});

}  // namespace assay::floats::tables
