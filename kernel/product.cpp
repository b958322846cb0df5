#include "kernel/product.h"

#include <algorithm>

#ifdef __FAST_MATH__
#error "the kernel needs IEEE arithmetic as written: build without -ffast-math"
#endif

// One source, several instruction sets: products and sums are elementwise IEEE operations in the same order on each of
// them (no contraction), so the results are the same bits everywhere.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ASSAY_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ASSAY_TARGETS
#endif

namespace assay::kernel {
namespace {

using Lanes = double __attribute__((vector_size(64)));
constexpr std::size_t kLanes = 8;
constexpr std::size_t kTileRows = 4;
constexpr std::size_t kMaxInner = 256;  // terms and columns per pass: a 512 KiB panel of w stays in the second-level cache
constexpr std::size_t kMaxColumns = 256;

// The terms of up to kTileRows rows that are not zero in all of them, packed: coefficient[t][r] belongs to w row index[t].
struct PackedTile {
  double coefficient[kMaxInner][kTileRows];
  std::uint32_t index[kMaxInner];
};

std::size_t pack(const double* a, std::size_t stride, std::size_t rows, std::size_t inner, PackedTile& tile) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < inner; ++i) {
    double* slot = tile.coefficient[count];
    bool any = false;
    for (std::size_t r = 0; r < kTileRows; ++r) {
      slot[r] = r < rows ? a[r * stride + i] : 0.0;
      any |= slot[r] != 0.0;
    }
    tile.index[count] = static_cast<std::uint32_t>(i);
    count += any ? 1 : 0;
  }
  return count;
}

// Lanes at any address; references to it never cross a function boundary, so no calling convention is involved.
using UnalignedLanes = double __attribute__((vector_size(64), aligned(8), may_alias));
#define ASSAY_LANES(address) (*reinterpret_cast<UnalignedLanes*>(address))
#define ASSAY_CONST_LANES(address) (*reinterpret_cast<const UnalignedLanes*>(address))

// kRows rows by kGroups groups of lanes from column j; the last group keeps only its lanes from `keep` on.
template <std::size_t kRows, std::size_t kGroups>
__attribute__((always_inline)) inline void multiply_block(const PackedTile& tile, std::size_t terms, std::size_t first_row, const double* w,
                                                          std::size_t w_stride, double* out, std::size_t out_stride, std::size_t keep) {
  Lanes sum[kRows][kGroups];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t g = 0; g < kGroups; ++g) sum[r][g] = ASSAY_LANES(out + r * out_stride + g * kLanes);
  }
  for (std::size_t t = 0; t < terms; ++t) {
    const double* row = w + tile.index[t] * w_stride;
    for (std::size_t g = 0; g < kGroups; ++g) {
      const Lanes entries = ASSAY_CONST_LANES(row + g * kLanes);
      for (std::size_t r = 0; r < kRows; ++r) sum[r][g] += tile.coefficient[t][first_row + r] * entries;
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t g = 0; g < kGroups; ++g) {
      if (keep == 0) {
        ASSAY_LANES(out + r * out_stride + g * kLanes) = sum[r][g];
        continue;
      }
      for (std::size_t lane = keep; lane < kLanes; ++lane) out[r * out_stride + g * kLanes + lane] = sum[r][g][lane];
    }
  }
}

template <std::size_t kRows, std::size_t kGroups>
__attribute__((always_inline)) inline void multiply_rows(const PackedTile& tile, std::size_t terms, std::size_t first_row,
                                                         std::size_t columns, const double* w, std::size_t w_stride, double* out,
                                                         std::size_t out_stride) {
  std::size_t j = 0;
  for (; j + kGroups * kLanes <= columns; j += kGroups * kLanes) {
    multiply_block<kRows, kGroups>(tile, terms, first_row, w + j, w_stride, out + j, out_stride, 0);
  }
  for (; j + kLanes <= columns; j += kLanes) multiply_block<kRows, 1>(tile, terms, first_row, w + j, w_stride, out + j, out_stride, 0);
  if (j == columns) return;
  if (columns >= kLanes) {  // the last, overlapping group: lanes that are already done are computed again and dropped
    const std::size_t at = columns - kLanes;
    multiply_block<kRows, 1>(tile, terms, first_row, w + at, w_stride, out + at, out_stride, j - at);
    return;
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = j; c < columns; ++c) {
      double sum = out[r * out_stride + c];
      for (std::size_t t = 0; t < terms; ++t) sum += tile.coefficient[t][first_row + r] * w[tile.index[t] * w_stride + c];
      out[r * out_stride + c] = sum;
    }
  }
}

ASSAY_TARGETS void multiply_tile(const PackedTile& tile, std::size_t terms, std::size_t rows, std::size_t columns, const double* w,
                                 std::size_t w_stride, double* out, std::size_t out_stride) {
  if (rows == kTileRows) return multiply_rows<kTileRows, 2>(tile, terms, 0, columns, w, w_stride, out, out_stride);
  for (std::size_t r = 0; r < rows; ++r) multiply_rows<1, 4>(tile, terms, r, columns, w, w_stride, out + r * out_stride, out_stride);
}

}  // namespace

void accumulate_product(const BlockShape& s, const double* a, const double* w, double* out) {
  static thread_local PackedTile tile;
  for (std::size_t first = 0; first < s.inner; first += kMaxInner) {
    const std::size_t inner = std::min(kMaxInner, s.inner - first);
    for (std::size_t column = 0; column < s.columns; column += kMaxColumns) {
      const std::size_t columns = std::min(kMaxColumns, s.columns - column);
      for (std::size_t row = 0; row < s.rows; row += kTileRows) {
        const std::size_t rows = std::min(kTileRows, s.rows - row);
        const std::size_t terms = pack(a + row * s.a_stride + first, s.a_stride, rows, inner, tile);
        multiply_tile(tile, terms, rows, columns, w + first * s.w_stride + column, s.w_stride, out + row * s.out_stride + column,
                      s.out_stride);
      }
    }
  }
}

void accumulate_product(const BlockShape& s, const std::int64_t* a, const std::int64_t* w, Int128* out) {
  for (std::size_t b = 0; b < s.rows; ++b) {
    Int128* to = out + b * s.out_stride;
    for (std::size_t i = 0; i < s.inner; ++i) {
      const Int128 coefficient = a[b * s.a_stride + i];
      if (coefficient == 0) continue;
      const std::int64_t* row = w + i * s.w_stride;
      for (std::size_t j = 0; j < s.columns; ++j) to[j] += coefficient * row[j];
    }
  }
}

}  // namespace assay::kernel
