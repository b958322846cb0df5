// Convolutions over any number of spatial axes: conv and conv_transpose.
//
// conv
//   Meaning.     y[n, m, o] = b[m] + sum_c sum_k w[m, c, k] * x[n, g*C/G + c, i],
//                i = o*stride - pad_begin + k*dilation, g = the group of m (G groups of equal size, in order); per
//                spatial axis; x is 0 where i lies outside it. The padding *is* zero: im2col, Winograd and FFT are ways
//                to compute this, and no part of the meaning.
//   Shapes.      x [N, C, I...], w [M, C/G, K...], b [M] -> [N, M, O...],
//                O = floor((I + pads - (dilation*(K-1) + 1)) / stride) + 1
// conv_transpose
//   Meaning.     y[n, m, o] = b[m] + sum_c sum_k w[c, m', k] * x[n, c, i] over the c of m's group and the pairs (k, i)
//                with o = i*stride - pad_begin + k*dilation; m' = m's position in its group. Without b, the adjoint of
//                the conv with the same weight.
//   Shapes.      x [N, C, I...], w [C, M/G, K...], b [M] -> [N, M, O...],
//                O = stride*(I-1) + output_padding + dilation*(K-1) + 1 - pads
// Domain.      All reals. A window that meets no element of x gives b[m]. NaN and infinities: IEEE 754 over float and
//              double.
// Side conditions. S1 x has rank >= 3 and w the same rank. S2 per spatial axis K, stride, dilation >= 1, pads >= 0,
//              output padding >= 0 (conv: none); G >= 1. S3 the kernel attribute is w's. S4 the channels of w are those
//              of x per group and G divides C and M. S5 b is [M]. S6 every O >= 1 and the result is possible.
// Derivative.  conv(x_dot, w) + conv(x, w_dot) + b_dot; the adjoint in x is conv_transpose with w, and conversely.
// Rounding.    Each sum starts at 0 and takes c, then k in row-major order; b is added last, over every scalar.
// Source.      ONNX Conv, ConvTranspose
#pragma once

#include "semantics/interrupt.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/product_sum.h"

namespace assay::ops::conv {

// The extents, named by the letters above; channels and features (c, m) are counted per group.
struct Extents {
  std::size_t N, C, M, C_per_group, M_per_group;

  Extents(const Node& node, const Shape& x)
      : N(static_cast<std::size_t>(x[0])), C(static_cast<std::size_t>(x[1])), M(static_cast<std::size_t>(node.shape[1])) {
    const auto groups = static_cast<std::size_t>(std::get<WindowAttributes>(node.attributes).groups);
    C_per_group = C / groups;
    M_per_group = M / groups;
  }
};

// sum_c sum_k w[weight(c) + k] * x[x_start + c * x_stride + i]
template <class S>
S sum_of_products(const S* w, std::size_t w_stride, const S* x, std::size_t x_stride, std::size_t channels, const std::vector<Tap>& taps) {
  poll(10 * channels * taps.size());
  ProductSum<S> sum;
  for (std::size_t c = 0; c < channels; ++c) {
    const S *w_c = w + c * w_stride, *x_c = x + c * x_stride;
    for (const Tap& tap : taps) sum.add(w_c[tap.kernel], x_c[tap.operand]);
  }
  return sum.take();
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>&x = *operands[0], &w = *operands[1];
  const bool transposed = node.op == Op::conv_transpose;
  const Extents e(node, x.shape);
  Window window(std::get<WindowAttributes>(node.attributes), x.shape, node.shape);
  const std::size_t K = window.kernel_size(), I = window.operand_size(), O = window.result_size();
  Array<S> y{node.shape, std::vector<S>(e.N * e.M * O)};
  for (std::size_t o = 0; o < O; ++o) {
    const std::vector<Tap>& taps = transposed ? window.transposed_taps(o) : window.taps(o);
    for (std::size_t n = 0; n < e.N; ++n) {
      for (std::size_t m = 0; m < e.M; ++m) {
        const std::size_t first_c = m / e.M_per_group * e.C_per_group;
        // conv: w[m, c, k]; conv_transpose: w[first_c + c, m', k]
        const std::size_t w_start = transposed ? (first_c * e.M_per_group + m % e.M_per_group) * K : m * e.C_per_group * K;
        const std::size_t w_stride = transposed ? e.M_per_group * K : K;
        S sum = sum_of_products(w.values.data() + w_start, w_stride, x.values.data() + (n * e.C + first_c) * I, I, e.C_per_group, taps);
        if (operands.size() == 3) sum += operands[2]->values[m];
        y.values[(n * e.M + m) * O + o] = std::move(sum);
      }
    }
  }
  return y;
}

}  // namespace assay::ops::conv
