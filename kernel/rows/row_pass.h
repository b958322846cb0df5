// One pass over the rows of a block: sums whose factors depend on the sign of the coefficient, and dot products.
#pragma once

#include <cstddef>

#include "kernel/rows/product.h"

namespace assay::rows {

// The contribution of one node to a row's constant, and a bound on its rounding error.
struct RowSums {
  double value = 0, error = 0;
};

// The factors of positive and of negative coefficients of a row, by element.
struct Sides {
  const double *positive, *negative;
};

// For each row of a, [rows, n]: value = sum of a times `constant`, chosen by the sign of a, and error = sum |a| p.
// Terms with a == 0 are skipped, since the other factor may be infinite.
void pass_constants(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, RowSums* sums);
// The same, and also out = a times `slope`, chosen by the sign of a.
void pass_lines(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, Sides slope, double* out, RowSums* sums);

// out[b, i] += sum_j w[i, j] x[b, j], or with |w[i, j]| if `magnitudes`, for b < rows, i < inner, j < columns. x is
// [rows, columns].
void accumulate_dots(std::size_t rows, std::size_t inner, std::size_t columns, const double* x, const PaddedMatrix& w, bool magnitudes,
                     double* out);

}  // namespace assay::rows
