// Table "xla-cpu": the functions of XLA on CPUs, JAX's compiler
//
// The figures are measured, not documented (benchmarks/float32/functions.py --library jax): JAX 0.10.2 on x86-64 with
// AVX-512, at 8.4 million float32 arguments of each function. The largest errors seen, in units in the last place:
//   exp 5.1    expm1 5.8    log 1.2    log1p 2.5    sin 0.6    cos 0.6    tan 1.3    asin 2.3    acos 2.2    atan 5.3
//   sinh, cosh 24.9    tanh 4.9    asinh 3.0    acosh 3.7    atanh 2.9    erf 4.93    erfc 65.1    sigmoid 2.5    rsqrt 1.8
//   pow 1.3 (the cube; other exponents 0.51)
//
// sinh and cosh of large arguments take exp of x + log(1/2), whose rounding exp magnifies. asin halves its argument on
// the way, so up to 2^-125 it loses the argument. The rows exceed the largest errors seen by a factor of at least 1.6,
// because arguments were sampled. XLA also replaces subnormal numbers by zero: flush_operands and flush_results say so.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kXlaCpuSource = "measured on JAX 0.10, x86-64 with AVX-512";
inline constexpr auto kXlaCpu = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 9},
    {"expm1", Format::binary32, MathRow::Unit::ulps, 10},
    {"log", Format::binary32, MathRow::Unit::ulps, 4},
    {"log1p", Format::binary32, MathRow::Unit::ulps, 4},
    {"sin", Format::binary32, MathRow::Unit::ulps, 2},
    {"cos", Format::binary32, MathRow::Unit::ulps, 2},
    {"tan", Format::binary32, MathRow::Unit::ulps, 4},
    {"asin", Format::binary32, MathRow::Unit::absolute, 0x1p-125, 0, -0x1p-124, 0x1p-124},
    {"asin", Format::binary32, MathRow::Unit::ulps, 4},
    {"acos", Format::binary32, MathRow::Unit::ulps, 4},
    {"atan", Format::binary32, MathRow::Unit::ulps, 9},
    {"sinh", Format::binary32, MathRow::Unit::ulps, 40},
    {"cosh", Format::binary32, MathRow::Unit::ulps, 40},
    {"tanh", Format::binary32, MathRow::Unit::ulps, 8},
    {"asinh", Format::binary32, MathRow::Unit::ulps, 8},
    {"acosh", Format::binary32, MathRow::Unit::ulps, 8},
    {"atanh", Format::binary32, MathRow::Unit::ulps, 8},
    {"erf", Format::binary32, MathRow::Unit::ulps, 8},
    {"erfc", Format::binary32, MathRow::Unit::ulps, 110},
    {"sigmoid", Format::binary32, MathRow::Unit::ulps, 4},
    {"rsqrt", Format::binary32, MathRow::Unit::ulps, 4},
    {"pow", Format::binary32, MathRow::Unit::ulps, 4},
});

}  // namespace assay::floats::tables
