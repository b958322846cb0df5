// Products of a block of rows with a matrix: the inner loop of boxes and back-substitution.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::kernel {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;

// out[b, j] += sum_i a[b, i] w[i, j]   for b < rows, j < columns, i < inner (ascending i, no FMA).
//
// Rows of `a`, `w` and `out` start `a_stride`, `w_stride` and `out_stride` elements apart. Terms with a[b, i] == 0 for a
// whole tile of rows are skipped, which keeps one-hot rows and inactive neurons cheap; w is finite, so that a skipped term
// is exactly 0. The a-priori bound used by the callers holds for any order and any subset of skipped zero terms.
struct BlockShape {
  std::size_t rows, inner, columns;
  std::size_t a_stride, w_stride, out_stride;
};
void accumulate_product(const BlockShape& shape, const double* a, const double* w, double* out);

// The same in integers; the caller has checked that no sum can leave 127 bits.
void accumulate_product(const BlockShape& shape, const std::int64_t* a, const std::int64_t* w, Int128* out);

}  // namespace assay::kernel
