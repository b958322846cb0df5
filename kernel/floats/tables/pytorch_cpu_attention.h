// Table "pytorch-cpu-attention": the functions inside PyTorch's fused attention on CPUs with operands of 16 bits
//
// Its exponential is the cubic of Malossi, Ineichen, Bekas and Curioni 2015, with relative error 1.07 10^-4. Measured
// on PyTorch 2.13 by the sums that it returns: at most 4.7 10^-5 for 32 keys, and 4.1 10^-4 / 15 for each of 15 equal
// ones beside exp(0). The row's 2048 units in the last place are at most 2^-13.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kPytorchCpuAttentionSource = "PyTorch 2.13, exp of 16-bit attention by a cubic; measured; log of SLEEF 3";
inline constexpr auto kPytorchCpuAttention = std::to_array<MathRow>({
    {"exp", Format::binary32, MathRow::Unit::ulps, 2048},
    {"log", Format::binary32, MathRow::Unit::ulps, 1},
});

}  // namespace assay::floats::tables
