// Table "sleef-u10": the vector mathematics library SLEEF, functions with suffix u10, as PyTorch's CPU kernels use it
//
// Its documentation bounds the error of these functions by 1.0 ulp of the exact value. exp has 2, because PyTorch's
// softmax kernels use a shorter polynomial (exp_u20). asinh, acosh and atanh of doubles were measured on PyTorch 2.13
// (docs/contracts/math-tables.md): up to 1.71 ulps, since tails of tensors use the C library's functions. sinh and cosh
// have no row: vectors overflow from 709.8 on, where the exact values are finite.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kSleefU10Source = "SLEEF 3, suffix u10; exp: PyTorch's exp_u20; asinh to atanh of doubles: measured";
inline constexpr auto kSleefU10 = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 2},   {"expm1", Format::binary32, MathRow::Unit::ulps, 1},
    {"log", Format::binary32, MathRow::Unit::ulps, 1},   {"log1p", Format::binary32, MathRow::Unit::ulps, 1},
    {"sin", Format::binary32, MathRow::Unit::ulps, 1},   {"cos", Format::binary32, MathRow::Unit::ulps, 1},
    {"tan", Format::binary32, MathRow::Unit::ulps, 1},   {"asin", Format::binary32, MathRow::Unit::ulps, 1},
    {"acos", Format::binary32, MathRow::Unit::ulps, 1},  {"atan", Format::binary32, MathRow::Unit::ulps, 1},
    {"sinh", Format::binary32, MathRow::Unit::ulps, 1},  {"cosh", Format::binary32, MathRow::Unit::ulps, 1},
    {"tanh", Format::binary32, MathRow::Unit::ulps, 1},  {"asinh", Format::binary32, MathRow::Unit::ulps, 1},
    {"acosh", Format::binary32, MathRow::Unit::ulps, 1}, {"atanh", Format::binary32, MathRow::Unit::ulps, 1},
    {"erf", Format::binary32, MathRow::Unit::ulps, 1},   {"pow", Format::binary32, MathRow::Unit::ulps, 1},
    {"exp", Format::binary64, MathRow::Unit::ulps, 1},   {"log", Format::binary64, MathRow::Unit::ulps, 1},
    {"sin", Format::binary64, MathRow::Unit::ulps, 1},   {"cos", Format::binary64, MathRow::Unit::ulps, 1},
    {"tanh", Format::binary64, MathRow::Unit::ulps, 1},  {"erf", Format::binary64, MathRow::Unit::ulps, 1},
    {"pow", Format::binary64, MathRow::Unit::ulps, 1},   {"log1p", Format::binary64, MathRow::Unit::ulps, 1},
    {"expm1", Format::binary64, MathRow::Unit::ulps, 1}, {"tan", Format::binary64, MathRow::Unit::ulps, 1},
    {"asin", Format::binary64, MathRow::Unit::ulps, 1},  {"acos", Format::binary64, MathRow::Unit::ulps, 1},
    {"atan", Format::binary64, MathRow::Unit::ulps, 1},  {"asinh", Format::binary64, MathRow::Unit::ulps, 3},
    {"acosh", Format::binary64, MathRow::Unit::ulps, 3}, {"atanh", Format::binary64, MathRow::Unit::ulps, 3},
});

}  // namespace assay::floats::tables
