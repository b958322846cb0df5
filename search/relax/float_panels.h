// FloatPanels: a matrix in float32, packed for products with many rows at once. The error of a product is about 1e-7 of
// the summed magnitudes of its terms. That is enough for hints, which the kernel checks in double.
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
  // out[b, :] += a[b, :] matrix, for rows of any magnitude. Lines whose coefficients are 0 in a group of neighbouring
  // rows cost nothing for that group.
  void add_product(std::size_t batch, const double* a, double* out) const;

 private:
  std::size_t lines_ = 0, columns_ = 0;
  double scale_ = 1;           // of the entries, a power of two: the packed entries lie in [-1, 1]
  std::vector<float> panels_;  // [panel of columns, line, column of the panel], with zeros after the last column
};

}  // namespace assay::search
