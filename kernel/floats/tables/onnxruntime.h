// Table "onnxruntime": the functions of ONNX Runtime's CPU provider
//
// The figures are measured, not documented (benchmarks/float32/functions.py, AVX-512):
// - ONNX Runtime 1.32.0 at 16.8 million float32 arguments of each function (erf: 2.1 million);
// - 1.24.1 at 1 million;
// - log, asin, Softplus and Sqrt on eight other releases from 1.21.1 to 1.31.1 at 0.2 million.
//
// The largest errors seen, in units in the last place of the exact value, or absolute:
//   exp 0.86    tanh 2^-21.59    erf 2^-24.02 (0.99 ulps)    sigmoid 2^-22.51    log 3.48    sin 2.36    cos 2.31
//   tan 1.26    asin 4.41   acos 4.32   atan 3.57   sinh 1.78   cosh 1.63   asinh 1.59   acosh 1.88   atanh 1.70
//   pow 1.29 (the cube; other exponents 0.51)
//
// tanh and the logistic function are clamped rationals, whose error near 0 and in their tails is absolute. There is no
// op for log1p. Softplus is log(1 + exp) in some releases, which loses 2^-24 in its sum and 8 ulps below 0.7; others
// are better (4.43 ulps). The rows of log1p hold for both. There is no op for expm1 either: Elu subtracts 1 from exp.
// The rows exceed the largest errors seen by a factor of at least 1.6, because arguments were sampled and other
// instruction sets evaluate the same polynomials without fused operations.
// Resize computes coordinates and weights in float32. A coordinate (i + 1/2) / scale - 1/2 is at most n, the length of
// the axis, and is rounded four times: 4 (n + 1) u. A linear weight has the same error, a cubic one 1.35 times as much,
// and the cubic polynomial, with coefficients up to 5, is evaluated within 16 u. Together this is less than
// 2^-20 + 2^-21 n, the row of "weights".
// Release 1.20.1 is outside this table: its Sqrt is not correctly rounded (4.4 ulps near the greatest numbers), and its
// Sqrt and Log read subnormal arguments as other numbers.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kOnnxRuntimeSource = "measured on ONNX Runtime 1.21 to 1.32, x86-64 with AVX-512";
inline constexpr auto kOnnxRuntime = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 4},
    {"tanh", Format::binary32, MathRow::Unit::absolute, 0x1p-20},
    {"erf", Format::binary32, MathRow::Unit::absolute, 0x1p-21},
    {"sigmoid", Format::binary32, MathRow::Unit::absolute, 0x1p-21},
    {"log", Format::binary32, MathRow::Unit::ulps, 8},
    {"sin", Format::binary32, MathRow::Unit::ulps, 4},
    {"cos", Format::binary32, MathRow::Unit::ulps, 4},
    {"tan", Format::binary32, MathRow::Unit::ulps, 4},
    {"asin", Format::binary32, MathRow::Unit::ulps, 8},
    {"acos", Format::binary32, MathRow::Unit::ulps, 8},
    {"atan", Format::binary32, MathRow::Unit::ulps, 8},
    {"sinh", Format::binary32, MathRow::Unit::ulps, 4},
    {"cosh", Format::binary32, MathRow::Unit::ulps, 4},
    {"asinh", Format::binary32, MathRow::Unit::ulps, 4},
    {"acosh", Format::binary32, MathRow::Unit::ulps, 4},
    {"atanh", Format::binary32, MathRow::Unit::ulps, 4},
    {"pow", Format::binary32, MathRow::Unit::ulps, 4},
    {"expm1", Format::binary32, MathRow::Unit::ulps, 4},
    {"log1p", Format::binary32, MathRow::Unit::absolute, 0x1p-20, 0, -0.5, 1},
    {"log1p", Format::binary32, MathRow::Unit::ulps, 8, 0, 1},
    {"weights", Format::binary32, MathRow::Unit::absolute, 0x1p-20, 0x1p-21},
});

}  // namespace assay::floats::tables
