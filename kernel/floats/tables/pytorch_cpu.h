// Table "pytorch-cpu": the functions of PyTorch's CPU kernels in float32
//
// The rows are those of SLEEF with suffix u10 (sleef.h), except where a campaign on PyTorch 2.13 measured otherwise
// (benchmarks/notes, "Theorems about float32"):
// - GELU has an erf of its own, with an absolute error of 7e-7.
// - Short tensors and tails take sinh, cosh, tanh and atanh from the C library (glibc's rows, and one step
//   off SLEEF's).
// - asinh has 1.49 and acosh 1.77 units in the last place.
// - sinh and cosh of vectors overflow where exp does, from 88.7228 on, where their exact values are finite.
// - Roots and their reciprocals come from a library that is within 1 step. Of a million uniform numbers up to 100, 0.6
//   % of the roots and 29 % of the reciprocal roots are not the nearest number.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kPytorchCpuSource =
    "SLEEF 3 documentation, functions with suffix u10; measured: erf, asinh, acosh, sqrt, rsqrt, and the ends of sinh and cosh";
inline constexpr auto kPytorchCpu = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 2},
    {"expm1", Format::binary32, MathRow::Unit::ulps, 1},
    {"log", Format::binary32, MathRow::Unit::ulps, 1},
    {"log1p", Format::binary32, MathRow::Unit::ulps, 1},
    {"sin", Format::binary32, MathRow::Unit::ulps, 1},
    {"cos", Format::binary32, MathRow::Unit::ulps, 1},
    {"tan", Format::binary32, MathRow::Unit::ulps, 1},
    {"asin", Format::binary32, MathRow::Unit::ulps, 1},
    {"acos", Format::binary32, MathRow::Unit::ulps, 1},
    {"atan", Format::binary32, MathRow::Unit::ulps, 1},
    {"sinh", Format::binary32, MathRow::Unit::steps, 2, 0, -88.7, 88.7},
    {"cosh", Format::binary32, MathRow::Unit::steps, 2, 0, -88.7, 88.7},
    {"tanh", Format::binary32, MathRow::Unit::steps, 2},
    {"asinh", Format::binary32, MathRow::Unit::ulps, 3},
    {"acosh", Format::binary32, MathRow::Unit::ulps, 3},
    {"atanh", Format::binary32, MathRow::Unit::steps, 2},
    {"erf", Format::binary32, MathRow::Unit::absolute, 0x1p-20},
    {"sqrt", Format::binary32, MathRow::Unit::steps, 1},
    {"rsqrt", Format::binary32, MathRow::Unit::steps, 1},
    {"pow", Format::binary32, MathRow::Unit::ulps, 1},
});

}  // namespace assay::floats::tables
