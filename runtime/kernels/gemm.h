// Products of matrices of floats: packed panels, and a kernel that keeps a tile of the result in registers.
//
// Each element is the sum over k in order, in blocks of kBlock products: within a block fused multiply-adds one after the other (where the
// processor has them), blocks added to what there is. So it does not depend on threads, tiles or the position of the element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::runtime {

// Element (i, j) is data[i * row + j * column].
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row, column;
};

// The start values of the sums.
template <class T>
struct Start {
  enum class Kind : std::uint8_t { zero, rows, columns, matrix, result } kind = Kind::zero;
  const T* values = nullptr;  // rows: one per row of the result; columns: one per column; matrix: one each, in rows as far apart as
                              // the result's; result: what the result holds
};

template <class T>
struct Factors {
  Matrix<T> a, b;
};

// y[i * y_row + j] = start + sum_k a_ik b_kj for i < m, j < n; of several products, all of k terms, one added after the other
template <class T>
void multiply(std::size_t m, std::size_t n, std::size_t k, std::span<const Factors<T>> products, const Start<T>& start, T* y,
              std::size_t y_row);
template <class T>
void multiply(std::size_t m, std::size_t n, std::size_t k, const Matrix<T>& a, const Matrix<T>& b, const Start<T>& start, T* y,
              std::size_t y_row) {
  const Factors<T> one{a, b};
  multiply<T>(m, n, k, std::span(&one, 1), start, y, y_row);
}

inline constexpr std::size_t kBlock = 256;  // products per block: a panel of a, 14 rows of them, fits the first cache

// The instruction set's part. Panels of a: `rows` rows, element (r, k) at k * rows + r; of b: `columns` columns, (k, j) at k * columns + j.
template <class T>
struct GemmKernel {
  // y[r * y_row + j] = (adds ? y : 0) + sum over k, for the first `width` columns of the panel
  using Tile = void (*)(std::size_t k, const T* a, const T* b, T* y, std::size_t y_row, std::size_t width, bool adds);
  std::size_t most_rows, columns;
  const Tile* tiles;  // by the number of rows, 1 .. most_rows
  // to[k * to_row + r] = from[r * from_row + k] for r < rows, k < count
  void (*transpose)(const T* from, std::int64_t from_row, std::size_t rows, std::size_t count, T* to, std::size_t to_row);
};
template <class T>
[[nodiscard]] const GemmKernel<T>& gemm_kernel();

}  // namespace assay::runtime
