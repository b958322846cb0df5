// The inner loops of alpha-beta-CROWN, for one batch row and one activation at a time. Each function has one body; the
// compiler makes a copy for each of several instruction sets, and the loader picks one.
#pragma once

#include <cstddef>

namespace assay::search {

struct LineArrays {
  const double *low_slope, *low_icpt, *up_slope, *up_icpt;
};

// z_bar += a * slope of the chosen line; returns the sum of a * intercept. The chosen line is the lower one if a >= 0,
// else the upper one.
double back_through_lines(std::size_t size, const LineArrays& lines, const double* a, double* z_bar);
// y = the chosen lines at z.
void forward_through_lines(std::size_t size, const LineArrays& lines, const double* a, const double* z, double* y);

// relu: chords u/(u-l); free = 1 if l < 0 < u, else 0; low_slope of stable neurons.
void relu_lines(std::size_t size, const double* lo, const double* hi, double* low_slope, double* up_slope, double* up_icpt, double* free);
// low_slope = raw_alpha rounded to k/128, or to float32, for free neurons.
void round_slopes(std::size_t size, bool quantize, const double* raw_alpha, const double* free, double* low_slope);

// How adding `step` times a sparse row to a linear form changes its minimum over a box: the change, and the row's value
// at the minimiser (the derivative of the change by step).
struct FormChange {
  double change, row_value;
};
FormChange change_of_minimum(std::size_t count, const unsigned* index, const double* row, double step, const double* form, const double* lo,
                             const double* hi);

// Elements of a product that share their first factors, and their planes. Factor k of the first operand meets factors
// k * count .. (k + 1) * count - 1 of the second operand, one for each element. a, mixes: by element; the plane below
// is taken if a > 0.
struct ProductLine {
  std::size_t pairs, count;
  const double *p_lo, *p_hi, *q_lo, *q_hi;
  const double *a, *low_mix, *up_mix;
};
// a_p, a_q += a * slopes; returns the sum of a * constants.
double back_through_product(const ProductLine& line, double* a_p, double* a_q);
// y += the planes at z_p, z_q.
void forward_through_product(const ProductLine& line, const double* z_p, const double* z_q, double* y);
// gradients += a * (plane of mix 1 - plane of mix 0) at z_p, z_q.
void add_mix_gradients(const ProductLine& line, const double* z_p, const double* z_q, double* gradients);

struct AdamRates {
  double rate, first, second;  // step size; decay rates of the two moments
};
// raw_alpha += rate * m / (sqrt(v) + tiny), clamped to [0, 1], with gradient a (z - point) if a has the given sign.
void ascend_slopes(std::size_t size, const AdamRates& rates, const double* free, const double* a, const double* z, double* raw_alpha,
                   double* moment, double* square);

}  // namespace assay::search
