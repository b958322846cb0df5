// FloatPanels: a matrix in float32, packed for products with many rows at once. Its products are
// off by about 1e-7 of the sum of their terms' magnitudes: enough for hints, which the kernel
// checks in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::search {

class FloatPanels {
 public:
  FloatPanels() = default;  // empty
  // matrix: [lines, columns], row-major.
  FloatPanels(std::size_t lines, std::size_t columns, std::span<const double> matrix);

  [[nodiscard]] bool is_empty() const { return panels_.empty(); }
  // out[b, :] += a[b, :] matrix, for rows of any magnitude. Lines whose coefficients are 0 in some
  // neighbouring rows cost these nothing.
  void add_product(std::size_t batch, const double* a, double* out) const;

 private:
  std::size_t lines_ = 0, columns_ = 0;
  double scale_ = 1;           // of the entries, a power of two: the packed ones lie in [-1, 1]
  std::vector<float> panels_;  // [panel of columns, line, column of the panel], zeros behind the last column
};

}  // namespace assay::search
