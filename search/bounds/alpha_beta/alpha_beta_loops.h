// The inner loops of dual ascent, one batch row and one activation at a time. Compiled for several
// instruction sets. Each has one body; the compiler makes copies of it for the instruction sets
// that it is told of, and the loader takes one.
#pragma once

#include <cstddef>

namespace assay::search {

struct LineArrays {
  const double *low_slope, *low_icpt, *up_slope, *up_icpt;
};

// z_bar += a * slope of the chosen line; returns sum of a * intercept. The lower line where a >= 0,
// else the upper one.
double back_through_lines(std::size_t size, const LineArrays& lines, const double* a, double* z_bar);
// y = the chosen lines at z.
void forward_through_lines(std::size_t size, const LineArrays& lines, const double* a, const double* z, double* y);

// relu: u/(u-l) chords; free = 1 where l < 0 < u, else 0; low_slope of stable neurons.
void relu_lines(std::size_t size, const double* lo, const double* hi, double* low_slope, double* up_slope, double* up_icpt, double* free);
// low_slope = raw_alpha rounded to k/128, or to float32, where free.
void round_slopes(std::size_t size, bool quantize, const double* raw_alpha, const double* free, double* low_slope);

// What adding `step` times a sparse row to a linear form does to its minimum over a box: the
// change, and the row's value at the minimiser (the derivative of the change by step).
struct FormChange {
  double change, row_value;
};
FormChange change_of_minimum(std::size_t count, const unsigned* index, const double* row, double step, const double* form, const double* lo,
                             const double* hi);

// Some elements of a product that share their first factors, and their planes: factor k of the
// first operand meets factors k * count .. (k + 1) * count - 1 of the second, one of each element.
// a, mixes: by element; the plane below where a > 0.
struct ProductLine {
  std::size_t pairs, count;
  const double *p_lo, *p_hi, *q_lo, *q_hi;
  const double *a, *low_mix, *up_mix;
};
// a_p, a_q += a * slopes; returns sum of a * constants.
double back_through_product(const ProductLine& line, double* a_p, double* a_q);
// y += the planes at z_p, z_q.
void forward_through_product(const ProductLine& line, const double* z_p, const double* z_q, double* y);
// differences += a * (plane of mix 1 - plane of mix 0) at z_p, z_q.
void add_mix_gradients(const ProductLine& line, const double* z_p, const double* z_q, double* gradients);

struct AdamRates {
  double rate, first, second;  // step, decay rates of the two moments
};
// raw_alpha += rate * m / (sqrt(v) + tiny), clamped to [0, 1], with gradient a (z - point) where a
// has the given sign.
void ascend_slopes(std::size_t size, const AdamRates& rates, const double* free, const double* a, const double* z, double* raw_alpha,
                   double* moment, double* square);

}  // namespace assay::search
