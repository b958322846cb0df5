// One pass over the rows of a block: sums with factors chosen by sign, and dot products.
#pragma once

#include <cstddef>

#include "kernel/rows/product.h"

namespace assay::rows {

// What one row collects at one node, and the bound on what rounding loses there.
struct RowSums {
  double value = 0, error = 0;
};

// Factors of the coefficients > 0 and < 0 of a row, by element.
struct Sides {
  const double *positive, *negative;
};

// For each row of a, [rows, n]: value = sum a constant, by the sign of a, and error = sum |a| p. Terms with a == 0 are skipped,
// since the other factor may be infinite there.
void pass_constants(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, RowSums* sums);
// The same, and out = a slope, by the sign of a.
void pass_lines(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, Sides slope, double* out, RowSums* sums);

// out[b, i] += sum_j w[i, j] x[b, j], or with |w[i, j]|, for b < rows, i < inner, j < columns; x is [rows, columns].
void accumulate_dots(std::size_t rows, std::size_t inner, std::size_t columns, const double* x, const PaddedMatrix& w, bool magnitudes,
                     double* out);

}  // namespace assay::rows
