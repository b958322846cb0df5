// Matrix products: gemm and matmul.
//
// gemm
//   Meaning.     y_ij = alpha * sum_k A_ik B_kj + beta * C_ij, where A = a or its transpose, B = b or its transpose,
//                and C is c broadcast to the result (the term is absent without a third operand)
//   Shapes.      A [M, K], B [K, N], c broadcasting to [M, N] -> [M, N]
//   Side conditions. S1 a and b are matrices. S2 their inner extents agree. S3 c broadcasts to [M, N] (and not the
//                other way round). S4 alpha and beta are finite.
// matmul
//   Meaning.     y_pij = sum_k a_pik b_pkj, p over the broadcast batch axes; a vector counts as a row on the left and
//                as a column on the right, and that axis is dropped from the result
//   Shapes.      [..., M, K], [..., K, N] -> [..., M, N];  [K] has no M, or no N
//   Side conditions. S1 no operand is a scalar. S2 inner extents agree. S3 batch axes broadcast.
// Domain.      All reals. An empty sum (K = 0) is 0. NaN and infinities: IEEE 754 over float and double.
// Derivative.  A_dot B + A B_dot (+ beta * C_dot); the adjoint of the map A -> A B is Y_bar -> Y_bar B^T.
// Rounding.    Each sum starts at 0 and takes the products in the order of k, over every scalar.
// Source.      ONNX Gemm, MatMul; numpy.matmul
#pragma once

#include <array>

#include "semantics/demand.h"
#include "semantics/interrupt.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/product_sum.h"

namespace assay::ops::product {

// A matrix inside an array: element (i, j) is values[start + i*row + j*column].
template <class S>
struct Matrix {
  const S* values;
  std::size_t row, column;
  const S& at(std::size_t i, std::size_t j) const { return values[i * row + j * column]; }
};

// y_j = sum_k A_ik B_kj for j = first .. first + Width - 1. Neighbouring columns are computed together, each sum in the
// order of k.
template <std::size_t Width, class S>
void multiply_stripe(const Matrix<S>& a, const Matrix<S>& b, std::size_t i, std::size_t k_count, std::size_t first, S* y) {
  poll(10 * Width * k_count);
  std::array<ProductSum<S>, Width> sum;
  for (std::size_t k = 0; k < k_count; ++k) {
    const S& factor = a.at(i, k);
    for (std::size_t j = 0; j < Width; ++j) sum[j].add(factor, b.at(k, first + j));
  }
  for (std::size_t j = 0; j < Width; ++j) y[first + j] = sum[j].take();
}

// y_ij = sum_k A_ik B_kj
template <class S>
void multiply(const Matrix<S>& a, const Matrix<S>& b, std::size_t m, std::size_t k_count, std::size_t n, S* y) {
  constexpr std::size_t kWide = 64, kStripe = 8;  // numbers of columns
  for (std::size_t i = 0; i < m; ++i) {
    std::size_t j = 0;
    // Contiguous rows of b are read in longer pieces.
    for (; b.column == 1 && j + kWide <= n; j += kWide) multiply_stripe<kWide>(a, b, i, k_count, j, y + i * n);
    for (; j + kStripe <= n; j += kStripe) multiply_stripe<kStripe>(a, b, i, k_count, j, y + i * n);
    for (; j < n; ++j) multiply_stripe<1>(a, b, i, k_count, j, y + i * n);
  }
}

template <class S>
Array<S> gemm(const Node& node, Operands<S> operands) {
  const auto& attributes = std::get<GemmAttributes>(node.attributes);
  const Array<S>&a = *operands[0], &b = *operands[1];
  const auto a_width = static_cast<std::size_t>(a.shape[1]), b_width = static_cast<std::size_t>(b.shape[1]);
  const Matrix<S> left = attributes.transpose_a ? Matrix<S>{a.values.data(), 1, a_width} : Matrix<S>{a.values.data(), a_width, 1};
  const Matrix<S> right = attributes.transpose_b ? Matrix<S>{b.values.data(), 1, b_width} : Matrix<S>{b.values.data(), b_width, 1};
  const auto m = static_cast<std::size_t>(node.shape[0]), n = static_cast<std::size_t>(node.shape[1]);
  Array<S> y{node.shape, std::vector<S>(m * n)};
  multiply(left, right, m, static_cast<std::size_t>(a.shape[attributes.transpose_a ? 0 : 1]), n, y.values.data());
  const S alpha = ScalarTraits<S>::from_double(attributes.alpha);
  for (S& value : y.values) value = alpha * value;
  if (operands.size() < 3) return y;
  const S beta = ScalarTraits<S>::from_double(attributes.beta);
  Walk at_c = Walk::over(operands[2]->shape, node.shape);
  for (std::size_t i = 0; i < y.values.size(); ++i, at_c.next()) y.values[i] += beta * operands[2]->values[at_c.offset()];
  return y;
}

template <class S>
Array<S> matmul(const Node& node, Operands<S> operands) {
  const Array<S>&a = *operands[0], &b = *operands[1];
  Shape of_a = a.shape, of_b = b.shape;
  if (of_a.size() == 1) of_a.insert(of_a.begin(), 1);
  if (of_b.size() == 1) of_b.push_back(1);
  const auto m = static_cast<std::size_t>(of_a[of_a.size() - 2]), k = static_cast<std::size_t>(of_a.back());
  const auto n = static_cast<std::size_t>(of_b.back());
  const Shape batch_a(of_a.begin(), of_a.end() - 2), batch_b(of_b.begin(), of_b.end() - 2);
  Shape batch;
  demand(broadcast(batch_a, batch_b, batch), "matmul: S3");
  Walk at_a = Walk::over(batch_a, batch), at_b = Walk::over(batch_b, batch);
  Array<S> y{node.shape, std::vector<S>(element_count(node.shape))};
  const std::size_t products = element_count(batch);
  for (std::size_t p = 0; p < products; ++p, at_a.next(), at_b.next()) {
    const Matrix<S> left{a.values.data() + at_a.offset() * m * k, k, 1};
    const Matrix<S> right{b.values.data() + at_b.offset() * k * n, n, 1};
    multiply(left, right, m, k, n, y.values.data() + p * m * n);
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  return node.op == Op::gemm ? gemm(node, operands) : matmul(node, operands);
}

}  // namespace assay::ops::product
