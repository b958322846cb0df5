// One pass over the rows of a block, eight doubles at a time.

#include "kernel/rows/row_pass.h"

#include <algorithm>
#include <cmath>

#include "kernel/rows/lanes.h"
#include "semantics/interrupt.h"

namespace assay::rows {
namespace {

// The sum over the lanes of a and that over the lanes of b, each as a tree.
ASSAY_INLINE inline void totals(const Lanes& a, const Lanes& b, double& sum_a, double& sum_b) {
  const Lanes four = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  const Lanes two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1, 6, 7, 4, 5);
  sum_a = two[0] + two[1];
  sum_b = two[4] + two[5];
}

struct LaneSums {
  Lanes value = {}, error = {};
};

// Adds the eight elements from j on; lanes where `fresh` is false are already counted.
template <bool kSlopes>
ASSAY_INLINE inline void pass_lanes(std::size_t j, const Mask& fresh, const double* a, Sides constant, const double* p, Sides slope,
                                    double* out, LaneSums& sum) {
  const Lanes zero = {}, all = lanes(a + j), x = fresh ? all : zero;
  const Mask positive = all > zero;
  const Lanes factor = positive ? lanes(constant.positive + j) : lanes(constant.negative + j);
  sum.value += x != zero ? x * factor : zero;
  sum.error += x != zero ? (positive ? x : -x) * lanes(p + j) : zero;
  if constexpr (kSlopes) lanes(out + j) = all != zero ? all * (positive ? lanes(slope.positive + j) : lanes(slope.negative + j)) : zero;
}

template <bool kSlopes>
ASSAY_INLINE inline void pass(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, Sides slope, double* out,
                              RowSums* sums) {
  Mask all, rest;
  from_lane(0, all);
  from_lane((kLanes - n % kLanes) % kLanes, rest);
  for (std::size_t row = 0; row < rows; ++row, a += n, out += kSlopes ? n : 0) {
    if (n >= kLanes) {
      LaneSums sum;
      for (std::size_t j = 0; j + kLanes <= n; j += kLanes) pass_lanes<kSlopes>(j, all, a, constant, p, slope, out, sum);
      if (n % kLanes != 0) pass_lanes<kSlopes>(n - kLanes, rest, a, constant, p, slope, out, sum);
      totals(sum.value, sum.error, sums[row].value, sums[row].error);
      continue;
    }
    sums[row] = {};
    for (std::size_t j = 0; j < n; ++j) {
      sums[row].value += a[j] != 0 ? a[j] * (a[j] > 0 ? constant.positive[j] : constant.negative[j]) : 0.0;
      sums[row].error += a[j] != 0 ? std::fabs(a[j]) * p[j] : 0.0;
      if constexpr (kSlopes) out[j] = a[j] != 0 ? a[j] * (a[j] > 0 ? slope.positive[j] : slope.negative[j]) : 0.0;
    }
  }
}

struct Rows {
  const double* first;
  std::size_t stride;
};

// out[i] += x . w[i] for kRows rows of w, from row i on.
template <std::size_t kRows, bool kMagnitudes>
ASSAY_INLINE inline void dot_block(std::size_t columns, const double* x, Rows w, double* out) {
  Lanes sum[kRows] = {};
  std::size_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    for (std::size_t r = 0; r < kRows; ++r) {
      const Lanes entries = lanes(w.first + r * w.stride + j);
      sum[r] += (kMagnitudes ? (entries < 0 ? -entries : entries) : entries) * lanes(x + j);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    double total = 0, unused = 0;
    totals(sum[r], sum[r], total, unused);
    for (std::size_t k = j; k < columns; ++k) {
      const double entry = w.first[r * w.stride + k];
      total += (kMagnitudes && entry < 0 ? -entry : entry) * x[k];
    }
    out[r] += total;
  }
}

template <bool kMagnitudes>
ASSAY_INLINE inline void dots(std::size_t inner, std::size_t columns, const double* x, Rows w, double* out) {
  std::size_t i = 0;
  for (; i + 4 <= inner; i += 4) dot_block<4, kMagnitudes>(columns, x, {w.first + i * w.stride, w.stride}, out + i);
  for (; i < inner; ++i) dot_block<1, kMagnitudes>(columns, x, {w.first + i * w.stride, w.stride}, out + i);
}
ASSAY_TARGETS void plain_dots(std::size_t inner, std::size_t columns, const double* x, Rows w, double* out) {
  dots<false>(inner, columns, x, w, out);
}
ASSAY_TARGETS void magnitude_dots(std::size_t inner, std::size_t columns, const double* x, Rows w, double* out) {
  dots<true>(inner, columns, x, w, out);
}

}  // namespace

ASSAY_TARGETS void pass_constants(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, RowSums* sums) {
  pass<false>(rows, n, a, constant, p, {}, nullptr, sums);
}
ASSAY_TARGETS void pass_lines(std::size_t rows, std::size_t n, const double* a, Sides constant, const double* p, Sides slope, double* out,
                              RowSums* sums) {
  pass<true>(rows, n, a, constant, p, slope, out, sums);
}

void accumulate_dots(std::size_t rows, std::size_t inner, std::size_t columns, const double* x, const PaddedMatrix& w, bool magnitudes,
                     double* out) {
  constexpr std::size_t kBlock = 64;  // rows of w that stay in the cache for all rows of x
  for (std::size_t i = 0; i < inner; i += kBlock) {
    for (std::size_t b = 0; b < rows; ++b) {
      poll(kBlock * columns / 8);
      (magnitudes ? magnitude_dots : plain_dots)(std::min(kBlock, inner - i), columns, x + b * columns, {w.row(i), w.stride()},
                                                 out + b * inner + i);
    }
  }
}

}  // namespace assay::rows
