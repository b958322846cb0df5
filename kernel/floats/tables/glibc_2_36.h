// Table "glibc-2.36": libm of the GNU C library 2.36 on x86-64
//
// The manual lists the largest errors that its tests found. docs/contracts/math-tables.md lists our measurements beside
// them. There is no rsqrt: a reciprocal root is a root and a division.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kGlibc236Source = "GNU C Library manual 2.36, known maximum errors in math functions, x86_64";
inline constexpr auto kGlibc236 = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::steps, 1},   {"expm1", Format::binary32, MathRow::Unit::steps, 1},
    {"log", Format::binary32, MathRow::Unit::steps, 1},   {"log1p", Format::binary32, MathRow::Unit::steps, 1},
    {"sin", Format::binary32, MathRow::Unit::steps, 1},   {"cos", Format::binary32, MathRow::Unit::steps, 1},
    {"tan", Format::binary32, MathRow::Unit::steps, 1},   {"asin", Format::binary32, MathRow::Unit::steps, 1},
    {"acos", Format::binary32, MathRow::Unit::steps, 1},  {"atan", Format::binary32, MathRow::Unit::steps, 1},
    {"sinh", Format::binary32, MathRow::Unit::steps, 2},  {"cosh", Format::binary32, MathRow::Unit::steps, 2},
    {"tanh", Format::binary32, MathRow::Unit::steps, 2},  {"asinh", Format::binary32, MathRow::Unit::steps, 2},
    {"acosh", Format::binary32, MathRow::Unit::steps, 2}, {"atanh", Format::binary32, MathRow::Unit::steps, 2},
    {"erf", Format::binary32, MathRow::Unit::steps, 1},   {"erfc", Format::binary32, MathRow::Unit::steps, 3},
    {"pow", Format::binary32, MathRow::Unit::steps, 1},   {"exp", Format::binary64, MathRow::Unit::steps, 1},
    {"expm1", Format::binary64, MathRow::Unit::steps, 1}, {"log", Format::binary64, MathRow::Unit::steps, 1},
    {"log1p", Format::binary64, MathRow::Unit::steps, 1}, {"sin", Format::binary64, MathRow::Unit::steps, 1},
    {"cos", Format::binary64, MathRow::Unit::steps, 1},   {"tan", Format::binary64, MathRow::Unit::steps, 1},
    {"asin", Format::binary64, MathRow::Unit::steps, 1},  {"acos", Format::binary64, MathRow::Unit::steps, 1},
    {"atan", Format::binary64, MathRow::Unit::steps, 1},  {"sinh", Format::binary64, MathRow::Unit::steps, 2},
    {"cosh", Format::binary64, MathRow::Unit::steps, 2},  {"tanh", Format::binary64, MathRow::Unit::steps, 2},
    {"asinh", Format::binary64, MathRow::Unit::steps, 2}, {"acosh", Format::binary64, MathRow::Unit::steps, 2},
    {"atanh", Format::binary64, MathRow::Unit::steps, 2}, {"erf", Format::binary64, MathRow::Unit::steps, 1},
    {"erfc", Format::binary64, MathRow::Unit::steps, 5},  {"pow", Format::binary64, MathRow::Unit::steps, 1},
});

}  // namespace assay::floats::tables
