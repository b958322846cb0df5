// Table "correctly-rounded": every function returns the number nearest to the exact value, ties to even
//
// It describes executions with a correctly rounding library, among them the reference execution
// of semantics/numbers/floating.h.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kCorrectlyRoundedSource = "by definition: the nearest number of the format, ties to even";
inline constexpr auto kCorrectlyRounded = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::steps, 0},   {"log", Format::binary32, MathRow::Unit::steps, 0},
    {"tanh", Format::binary32, MathRow::Unit::steps, 0},  {"sigmoid", Format::binary32, MathRow::Unit::steps, 0},
    {"erf", Format::binary32, MathRow::Unit::steps, 0},   {"sin", Format::binary32, MathRow::Unit::steps, 0},
    {"cos", Format::binary32, MathRow::Unit::steps, 0},   {"tan", Format::binary32, MathRow::Unit::steps, 0},
    {"asin", Format::binary32, MathRow::Unit::steps, 0},  {"acos", Format::binary32, MathRow::Unit::steps, 0},
    {"atan", Format::binary32, MathRow::Unit::steps, 0},  {"sinh", Format::binary32, MathRow::Unit::steps, 0},
    {"cosh", Format::binary32, MathRow::Unit::steps, 0},  {"asinh", Format::binary32, MathRow::Unit::steps, 0},
    {"acosh", Format::binary32, MathRow::Unit::steps, 0}, {"atanh", Format::binary32, MathRow::Unit::steps, 0},
    {"expm1", Format::binary32, MathRow::Unit::steps, 0}, {"log1p", Format::binary32, MathRow::Unit::steps, 0},
    {"erfc", Format::binary32, MathRow::Unit::steps, 0},  {"softplus", Format::binary32, MathRow::Unit::steps, 0},
    {"pow", Format::binary32, MathRow::Unit::steps, 0},   {"rsqrt", Format::binary32, MathRow::Unit::steps, 0},
    {"exp", Format::binary64, MathRow::Unit::steps, 0},   {"log", Format::binary64, MathRow::Unit::steps, 0},
    {"tanh", Format::binary64, MathRow::Unit::steps, 0},  {"sigmoid", Format::binary64, MathRow::Unit::steps, 0},
    {"erf", Format::binary64, MathRow::Unit::steps, 0},   {"sin", Format::binary64, MathRow::Unit::steps, 0},
    {"cos", Format::binary64, MathRow::Unit::steps, 0},   {"tan", Format::binary64, MathRow::Unit::steps, 0},
    {"asin", Format::binary64, MathRow::Unit::steps, 0},  {"acos", Format::binary64, MathRow::Unit::steps, 0},
    {"atan", Format::binary64, MathRow::Unit::steps, 0},  {"sinh", Format::binary64, MathRow::Unit::steps, 0},
    {"cosh", Format::binary64, MathRow::Unit::steps, 0},  {"asinh", Format::binary64, MathRow::Unit::steps, 0},
    {"acosh", Format::binary64, MathRow::Unit::steps, 0}, {"atanh", Format::binary64, MathRow::Unit::steps, 0},
    {"expm1", Format::binary64, MathRow::Unit::steps, 0}, {"log1p", Format::binary64, MathRow::Unit::steps, 0},
    {"erfc", Format::binary64, MathRow::Unit::steps, 0},  {"softplus", Format::binary64, MathRow::Unit::steps, 0},
    {"pow", Format::binary64, MathRow::Unit::steps, 0},   {"rsqrt", Format::binary64, MathRow::Unit::steps, 0},
});

}  // namespace assay::floats::tables
