// FastMap: a fast, non-rigorous copy of a rows::LinearMap for the search (fused multiply-adds, compressed rows).
//
// Small dense maps have dense copies in both orientations, sparse maps have compressed rows and columns, and
// large maps use the kernel's own pair of functions. Batches are row-major, and both directions accumulate, as
// in kernel/rows/linear_map.h.
//
// How this version differs from the kernel's: no outward rounding and no error terms, and float32 where that is
// accurate enough (float_panels.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernel/rows/linear_map.h"
#include "search/relax/float_panels.h"

namespace assay::search {

class FastMap {
 public:
  explicit FastMap(std::shared_ptr<const rows::LinearMap> map);

  [[nodiscard]] std::size_t rows() const { return map_->rows(); }
  [[nodiscard]] std::size_t columns() const { return map_->columns(); }
  [[nodiscard]] bool is_identity() const { return kind_ == Kind::identity; }
  [[nodiscard]] std::size_t work() const { return work_; }  // multiply-adds for one row of one apply

  // The nonzero entries of a row, by column.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, double>> row(std::uint32_t i) const;

  // y[b,:] += M x[b,:], and out[b,:] += M^T a[b,:].
  void apply(std::size_t batch, const double* x, double* y) const { add(false, batch, x, y); }
  void transpose(std::size_t batch, const double* a, double* out) const { add(true, batch, a, out); }
  // The same in float32 where that is faster.
  void apply_roughly(std::size_t batch, const double* x, double* y) const;
  void transpose_roughly(std::size_t batch, const double* a, double* out) const;

 private:
  enum class Kind : std::uint8_t { identity, dense, sparse, foreign };
  struct Compressed {
    std::vector<std::uint32_t> start, index;  // start has one entry more than there are lines
    std::vector<double> value;
  };
  void add(bool transposed, std::size_t batch, const double* from, double* to) const;
  [[nodiscard]] std::vector<double> to_dense() const;
  static Compressed compress(const std::vector<double>& matrix, std::size_t lines, std::size_t length, bool by_row);
  static void gather(const Compressed& lines, std::size_t batch, std::size_t from_size, const double* from, std::size_t to_size,
                     double* to);

  Kind kind_ = Kind::foreign;
  std::size_t work_ = 0;
  std::shared_ptr<const rows::LinearMap> map_;
  std::vector<double> dense_, dense_transposed_;  // [rows, columns] and [columns, rows]
  FloatPanels rough_, rough_transposed_;          // the same in float32; empty if the matrix is small or not dense
  Compressed by_row_, by_column_;
};

}  // namespace assay::search
