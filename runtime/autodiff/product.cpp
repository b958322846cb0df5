// Gradients of matrix products: of Y = A B they are G B^T and A^T G.
#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

namespace {

Term product(const Term& a, bool transpose_a, const Term& b, bool transpose_b, double alpha = 1) {
  return a.apply(Op::gemm, b, GemmAttributes{alpha, 1, transpose_a, transpose_b});
}

// A tensor as one matrix, all axes but the last as rows.
Term rows_of(const Term& t) {
  const Shape& shape = t.shape();  // read before the next op
  return reshape(t, {extent_product(shape, 0, shape.size() - 1), shape.back()});
}

}  // namespace

Cotangents gemm_bars(const Applied& a) {
  const auto& [alpha, beta, ta, tb] = a.get<GemmAttributes>();
  const Term A = a.x(0), B = a.x(1), g = a.g();
  Cotangents bars(a.operands.size(), kNone);
  if (a.wanted[0]) bars[0] = (ta ? product(B, tb, g, true, alpha) : product(g, false, B, !tb, alpha)).ref();
  if (a.wanted[1]) bars[1] = (tb ? product(g, true, A, ta, alpha) : product(A, !ta, g, false, alpha)).ref();
  if (bars.size() == 3 && a.wanted[2]) {
    const Term sums = sum_to(g, Shape(a.x(2).shape()));
    bars[2] = (beta == 1 ? sums : sums * beta).ref();
  }
  return bars;
}

// Vectors become a row on the left and a column on the right. Many rows times one matrix are one product.
Cotangents matmul_bars(const Applied& a) {
  const Shape left = a.x(0).shape(), right = a.x(1).shape();
  Shape shape = a.g().shape(), row = left, column = right;
  if (right.size() == 1) column.push_back(1), shape.push_back(1);
  if (left.size() == 1) row.insert(row.begin(), 1), shape.insert(shape.end() - 1, 1);
  const Term A = reshape(a.x(0), row), B = reshape(a.x(1), column), G = reshape(a.g(), shape);
  const bool one_matrix = column.size() == 2;
  Cotangents bars(2, kNone);
  if (a.wanted[0]) {
    const Term bar = one_matrix ? reshape(product(rows_of(G), false, B, true), row) : sum_to(G.apply(Op::matmul, transpose(B)), row);
    bars[0] = reshape(bar, left).ref();
  }
  if (a.wanted[1]) {
    const Term bar = one_matrix ? product(rows_of(A), true, rows_of(G), false) : sum_to(transpose(A).apply(Op::matmul, G), column);
    bars[1] = reshape(bar, right).ref();
  }
  return bars;
}

}  // namespace assay::runtime::autodiff
