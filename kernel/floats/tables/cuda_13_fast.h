// Table "cuda-13-fast": device functions of CUDA 13 under -use_fast_math, where float functions become intrinsics
//
// Absolute bounds hold on the stated ranges; outside of them nothing is claimed. tan and pow are compositions without a
// bound of their own, and have no row. The option also flushes subnormals, which the execution model has to declare. A
// divisor beyond 2^126 may give 0. 0x1.8177p-22 is 2^-21.41 and 0x1.c0e0p-22 is 2^-21.19, rounded up; 0x1.921fb6p1 is
// the float nearest to pi.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kCuda13FastSource =
    "NVIDIA, CUDA C++ Programming Guide 13, mathematical functions, table of intrinsic functions; nvcc options -prec-div=false "
    "-prec-sqrt=false";
inline constexpr auto kCuda13Fast = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::steps, 2, 1.173},
    {"log", Format::binary32, MathRow::Unit::absolute, 0x1.8177p-22, 0, 0.5, 2},
    {"log", Format::binary32, MathRow::Unit::steps, 3},
    {"sin", Format::binary32, MathRow::Unit::absolute, 0x1.8177p-22, 0, -0x1.921fb6p1, 0x1.921fb6p1},
    {"cos", Format::binary32, MathRow::Unit::absolute, 0x1.c0e0p-22, 0, -0x1.921fb6p1, 0x1.921fb6p1},
    {"div", Format::binary32, MathRow::Unit::steps, 2, 0, -0x1p126, 0x1p126},
    {"div", Format::binary32, MathRow::Unit::steps, 2, 0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
     true},
    {"reciprocal", Format::binary32, MathRow::Unit::steps, 1},
    {"sqrt", Format::binary32, MathRow::Unit::steps, 1},
    {"expm1", Format::binary32, MathRow::Unit::steps, 1},
    {"log1p", Format::binary32, MathRow::Unit::steps, 1},
    {"asin", Format::binary32, MathRow::Unit::steps, 2},
    {"acos", Format::binary32, MathRow::Unit::steps, 2},
    {"atan", Format::binary32, MathRow::Unit::steps, 2},
    {"sinh", Format::binary32, MathRow::Unit::steps, 3},
    {"cosh", Format::binary32, MathRow::Unit::steps, 2},
    {"tanh", Format::binary32, MathRow::Unit::steps, 2},
    {"asinh", Format::binary32, MathRow::Unit::steps, 3},
    {"acosh", Format::binary32, MathRow::Unit::steps, 4},
    {"atanh", Format::binary32, MathRow::Unit::steps, 3},
    {"erf", Format::binary32, MathRow::Unit::steps, 2},
    {"erfc", Format::binary32, MathRow::Unit::steps, 4},
    {"rsqrt", Format::binary32, MathRow::Unit::steps, 2},
    {"exp", Format::binary64, MathRow::Unit::steps, 1},
    {"expm1", Format::binary64, MathRow::Unit::steps, 1},
    {"log", Format::binary64, MathRow::Unit::steps, 1},
    {"log1p", Format::binary64, MathRow::Unit::steps, 1},
    {"sin", Format::binary64, MathRow::Unit::steps, 2},
    {"cos", Format::binary64, MathRow::Unit::steps, 2},
    {"tan", Format::binary64, MathRow::Unit::steps, 2},
    {"asin", Format::binary64, MathRow::Unit::steps, 2},
    {"acos", Format::binary64, MathRow::Unit::steps, 2},
    {"atan", Format::binary64, MathRow::Unit::steps, 2},
    {"sinh", Format::binary64, MathRow::Unit::steps, 2},
    {"cosh", Format::binary64, MathRow::Unit::steps, 1},
    {"tanh", Format::binary64, MathRow::Unit::steps, 1},
    {"asinh", Format::binary64, MathRow::Unit::steps, 3},
    {"acosh", Format::binary64, MathRow::Unit::steps, 3},
    {"atanh", Format::binary64, MathRow::Unit::steps, 2},
    {"erf", Format::binary64, MathRow::Unit::steps, 2},
    {"erfc", Format::binary64, MathRow::Unit::steps, 5},
    {"pow", Format::binary64, MathRow::Unit::steps, 2},
    {"rsqrt", Format::binary64, MathRow::Unit::steps, 1},
});

}  // namespace assay::floats::tables
