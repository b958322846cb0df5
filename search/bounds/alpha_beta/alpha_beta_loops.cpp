// The inner loops of alpha-beta-CROWN, with one body for all instruction sets.
//
// Each function is written so that a compiler turns it into SIMD code: no branches, eight independent sums, arrays that
// do not overlap. ASSAY_SEARCH_CLONES makes copies for several instruction sets.
//
// back_through_lines() is a layer of CROWN (Zhang et al. 2018): positive coefficients take the line below, negative
// ones the line above. forward_through_lines() runs the minimiser through the same lines. change_of_minimum()
// computes how the minimum changes when a row is added to the form on the inputs; strong branching uses
// it instead of a pass over the network. The three functions for products do the same with McCormick's
// planes (McCormick 1976).

#include "search/bounds/alpha_beta/alpha_beta_loops.h"

#include <cmath>

#include "search/relax/instruction_sets.h"

namespace assay::search {
namespace {

constexpr double kLeastRoot = 1e-12;  // added to Adam's normaliser: smaller gradients are rounding

}  // namespace

ASSAY_SEARCH_CLONES double back_through_lines(std::size_t size, const LineArrays& lines, const double* __restrict a,
                                              double* __restrict z_bar) {
  constexpr std::size_t kLanes = 8;
  const double* __restrict low_slope = lines.low_slope;
  const double* __restrict low_icpt = lines.low_icpt;
  const double* __restrict up_slope = lines.up_slope;
  const double* __restrict up_icpt = lines.up_icpt;
  double sums[kLanes] = {};
  std::size_t j = 0;
  for (; j + kLanes <= size; j += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double c = a[j + k];
      const double positive = c > 0 ? c : 0, negative = c - positive;
      z_bar[j + k] += positive * low_slope[j + k] + negative * up_slope[j + k];
      sums[k] += positive * low_icpt[j + k] + negative * up_icpt[j + k];
    }
  }
  double sum = 0;
  for (; j < size; ++j) {
    const double c = a[j];
    z_bar[j] += c * (c > 0 ? low_slope[j] : up_slope[j]);
    sum += c * (c > 0 ? low_icpt[j] : up_icpt[j]);
  }
  for (const double lane : sums) sum += lane;
  return sum;
}

ASSAY_SEARCH_CLONES void forward_through_lines(std::size_t size, const LineArrays& lines, const double* __restrict a,
                                               const double* __restrict z, double* __restrict y) {
  const double* __restrict low_slope = lines.low_slope;
  const double* __restrict low_icpt = lines.low_icpt;
  const double* __restrict up_slope = lines.up_slope;
  const double* __restrict up_icpt = lines.up_icpt;
  for (std::size_t j = 0; j < size; ++j) {
    const double low = low_slope[j] * z[j] + low_icpt[j], up = up_slope[j] * z[j] + up_icpt[j];
    y[j] = a[j] > 0 ? low : up;
  }
}

ASSAY_SEARCH_CLONES void relu_lines(std::size_t size, const double* __restrict lo, const double* __restrict hi,
                                    double* __restrict low_slope, double* __restrict up_slope, double* __restrict up_icpt,
                                    double* __restrict free) {
  for (std::size_t j = 0; j < size; ++j) {
    const double l = lo[j], u = hi[j];
    const bool active = l >= 0, unstable = l < 0 && u > 0;
    const double chord = u / (unstable ? u - l : 1.0);
    free[j] = unstable ? 1 : 0;
    up_slope[j] = unstable ? chord : active ? 1 : 0;
    up_icpt[j] = unstable ? -l * chord : 0;
    low_slope[j] = active ? 1 : 0;
  }
}

ASSAY_SEARCH_CLONES void round_slopes(std::size_t size, bool quantize, const double* __restrict raw_alpha, const double* __restrict free,
                                      double* __restrict low_slope) {
  // Adding and subtracting 1.5 * 2^52 rounds to an integer. k / 2^24 in [0, 1] is a float32.
  constexpr double kByteSteps = 128, kFloatSteps = 16777216, kRounder = 6755399441055744.0;
  const double steps = quantize ? kByteSteps : kFloatSteps;
  for (std::size_t j = 0; j < size; ++j) {
    const double rounded = ((raw_alpha[j] * steps + kRounder) - kRounder) / steps;
    low_slope[j] = free[j] > 0 ? rounded : low_slope[j];
  }
}

ASSAY_SEARCH_CLONES FormChange change_of_minimum(std::size_t count, const unsigned* __restrict index, const double* __restrict row,
                                                 double step, const double* __restrict form, const double* __restrict lo,
                                                 const double* __restrict hi) {
  constexpr std::size_t kLanes = 8;
  double changes[kLanes] = {}, values[kLanes] = {};
  const auto at = [&](std::size_t k, std::size_t lane) {
    const unsigned i = index[k];
    const double old_form = form[i], new_form = old_form + step * row[k];
    const double old_point = old_form > 0 ? lo[i] : hi[i], point = new_form > 0 ? lo[i] : hi[i];
    changes[lane] += new_form * point - old_form * old_point;
    values[lane] += row[k] * point;
  };
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) at(k + lane, lane);
  }
  for (; k < count; ++k) at(k, 0);
  FormChange total{0, 0};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    total.change += changes[lane];
    total.row_value += values[lane];
  }
  return total;
}

ASSAY_SEARCH_CLONES void ascend_slopes(std::size_t size, const AdamRates& rates, const double* __restrict free, const double* __restrict a,
                                       const double* __restrict z, double* __restrict raw_alpha, double* __restrict moment,
                                       double* __restrict square) {
  const double rate = rates.rate, first = rates.first, second = rates.second;
  for (std::size_t j = 0; j < size; ++j) {
    const double positive = a[j] > 0 ? a[j] : 0;
    const double gradient = free[j] * positive * z[j];
    const double m = first * moment[j] + (1 - first) * gradient;
    const double v = second * square[j] + (1 - second) * gradient * gradient;
    moment[j] = m;
    square[j] = v;
    const double moved = raw_alpha[j] + rate * m / (std::sqrt(v) + kLeastRoot);
    const double above = moved > 0 ? moved : 0;
    raw_alpha[j] = above < 1 ? above : 1;
  }
}

ASSAY_SEARCH_CLONES double back_through_product(const ProductLine& line, double* a_p, double* a_q) {
  const std::size_t count = line.count;
  const double* __restrict a = line.a;
  const double* __restrict low_mix = line.low_mix;
  const double* __restrict up_mix = line.up_mix;
  double constant = 0;
  for (std::size_t k = 0; k < line.pairs; ++k) {
    const double p_lo = line.p_lo[k], p_hi = line.p_hi[k];
    const double* __restrict q_lo = line.q_lo + k * count;
    const double* __restrict q_hi = line.q_hi + k * count;
    double* out = a_q + k * count;  // may be the same array as a_p
    double slopes = 0, constants = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const bool below = a[n] > 0;
      const double mix = below ? low_mix[n] : up_mix[n], rest = 1 - mix;
      const double of_mix = mix * (below ? q_lo[n] : q_hi[n]), of_rest = rest * (below ? q_hi[n] : q_lo[n]);
      out[n] += a[n] * (mix * p_lo + rest * p_hi);
      slopes += a[n] * (of_mix + of_rest);
      constants += a[n] * (p_lo * of_mix + p_hi * of_rest);
    }
    a_p[k] += slopes;
    constant -= constants;
  }
  return constant;
}

ASSAY_SEARCH_CLONES void forward_through_product(const ProductLine& line, const double* __restrict z_p, const double* __restrict z_q,
                                                 double* __restrict y) {
  const std::size_t count = line.count;
  const double* __restrict a = line.a;
  const double* __restrict low_mix = line.low_mix;
  const double* __restrict up_mix = line.up_mix;
  for (std::size_t k = 0; k < line.pairs; ++k) {
    const double above_lo = z_p[k] - line.p_lo[k], above_hi = z_p[k] - line.p_hi[k], p_lo = line.p_lo[k], p_hi = line.p_hi[k];
    const double* __restrict q_lo = line.q_lo + k * count;
    const double* __restrict q_hi = line.q_hi + k * count;
    const double* __restrict q = z_q + k * count;
    for (std::size_t n = 0; n < count; ++n) {
      const bool below = a[n] > 0;
      const double mix = below ? low_mix[n] : up_mix[n], rest = 1 - mix;
      y[n] += mix * (above_lo * (below ? q_lo[n] : q_hi[n]) + p_lo * q[n]) + rest * (above_hi * (below ? q_hi[n] : q_lo[n]) + p_hi * q[n]);
    }
  }
}

ASSAY_SEARCH_CLONES void add_mix_gradients(const ProductLine& line, const double* __restrict z_p, const double* __restrict z_q,
                                           double* __restrict gradients) {
  const std::size_t count = line.count;
  const double* __restrict a = line.a;
  for (std::size_t k = 0; k < line.pairs; ++k) {
    const double above_lo = z_p[k] - line.p_lo[k], above_hi = z_p[k] - line.p_hi[k], width = line.p_hi[k] - line.p_lo[k];
    const double* __restrict q_lo = line.q_lo + k * count;
    const double* __restrict q_hi = line.q_hi + k * count;
    const double* __restrict q = z_q + k * count;
    for (std::size_t n = 0; n < count; ++n) {
      const bool below = a[n] > 0;
      gradients[n] += a[n] * (above_lo * (below ? q_lo[n] : q_hi[n]) - above_hi * (below ? q_hi[n] : q_lo[n]) - width * q[n]);
    }
  }
}

}  // namespace assay::search
