// Products of a block of rows with a matrix: the inner loop of boxes and of back-substitution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::rows {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;

// A matrix whose rows are padded with zeros to whole groups of eight; each group has its own cache line. One more group
// follows the last row, so that eight entries can be read from any entry on.
class PaddedMatrix {
 public:
  PaddedMatrix(std::size_t rows, std::size_t columns) : stride_((columns + 7) / 8 * 8), groups_(rows * stride_ / 8 + 1) {}
  [[nodiscard]] double* row(std::size_t i) { return groups_.data()[i * stride_ / 8].lane; }
  [[nodiscard]] const double* row(std::size_t i) const { return groups_.data()[i * stride_ / 8].lane; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::span<double> values() { return std::span(groups_[0].lane, groups_.size() * 8); }

 private:
  struct alignas(64) Group {
    double lane[8] = {};
  };
  std::size_t stride_;
  std::vector<Group> groups_;
};

// A range of columns of w, from `first` on; their products are added to the columns of out from `to` on.
struct Run {
  std::size_t first, count, to;
};

// out[b, to + j] += sum_i a[b, i] w[i, first + j]   for b < rows, i < inner, j < count of each run; ascending i, no FMA
//
// Rows of `a` and `out` start `a_stride` and `out_stride` elements apart. Those of `w` are padded and count from its
// row `first` on. Terms with a[b, i] == 0 for a whole tile of rows are skipped, which makes one-hot rows and inactive
// neurons cheap. Since w is finite, a skipped term is exactly 0. The callers' a-priori error bound holds for any order
// of the terms and any subset of skipped zero terms.
struct BlockShape {
  std::size_t rows, inner;
  std::size_t a_stride, out_stride;
};
void accumulate_product(const BlockShape& shape, const double* a, const PaddedMatrix& w, std::size_t first, std::span<const Run> runs,
                        double* out);
// The same for all columns of w, `columns` of them.
void accumulate_product(const BlockShape& shape, const double* a, const PaddedMatrix& w, std::size_t columns, double* out);

// The same in integers, with rows of w `w_stride` apart. The caller has checked that no sum can exceed 127 bits.
void accumulate_product(const BlockShape& shape, const std::int64_t* a, const std::int64_t* w, std::size_t w_stride, const Run& run,
                        Int128* out);

}  // namespace assay::rows
