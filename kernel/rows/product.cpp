// Products of a block of rows with a matrix, in tiles.

#include "kernel/rows/product.h"

#include <algorithm>
#include <bit>

#include "kernel/rows/lanes.h"
#include "semantics/interrupt.h"

namespace assay::rows {
namespace {

constexpr std::size_t kTileRows = 8;
// Terms and columns per pass: a panel of w has 512 KiB and stays in the second-level cache.
constexpr std::size_t kMaxInner = 256;
constexpr std::size_t kMaxColumns = 256;

// Some rows of `a`, and the indices of the terms that are not zero in all of them.
struct Tile {
  const double* a;
  std::size_t stride, rows, terms;
  std::uint32_t index[kMaxInner];
};

ASSAY_INLINE inline void list_terms(std::size_t inner, Tile& tile) {
  std::uint64_t bits[kMaxInner];
  for (std::size_t i = 0; i < inner; ++i) bits[i] = 0;
  for (std::size_t r = 0; r < tile.rows; ++r) {
    const double* row = tile.a + r * tile.stride;
    // Without the sign, since -0 counts as 0.
    for (std::size_t i = 0; i < inner; ++i) bits[i] |= std::bit_cast<std::uint64_t>(row[i]) << 1;
  }
  tile.terms = 0;
  for (std::size_t i = 0; i < inner; ++i) {
    tile.index[tile.terms] = static_cast<std::uint32_t>(i);
    tile.terms += bits[i] != 0 ? 1 : 0;
  }
}

struct Panel {
  const double* w;
  std::size_t stride;
};

// Multiplies kRows rows of a tile by kGroups groups of lanes. In the first group only the lanes from `keep` on change.
template <std::size_t kRows, std::size_t kGroups>
ASSAY_INLINE inline void multiply_block(const Tile& tile, std::size_t first, Panel panel, double* out, std::size_t out_stride,
                                        std::size_t keep) {
  Lanes sum[kRows][kGroups];
  ASSAY_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    ASSAY_UNROLL for (std::size_t g = 0; g < kGroups; ++g) sum[r][g] = lanes(out + r * out_stride + g * kLanes);
  }
  for (std::size_t t = 0; t < tile.terms; ++t) {
    const double* entries = panel.w + tile.index[t] * panel.stride;
    const double* coefficient = tile.a + first * tile.stride + tile.index[t];
    ASSAY_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      ASSAY_UNROLL for (std::size_t g = 0; g < kGroups; ++g) sum[r][g] += coefficient[r * tile.stride] * lanes(entries + g * kLanes);
    }
  }
  Mask changed;
  from_lane(keep, changed);
  ASSAY_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    ASSAY_UNROLL for (std::size_t g = 0; g < kGroups; ++g) {
      double* to = out + r * out_stride + g * kLanes;
      const Lanes old = lanes(to);
      lanes(to) = g > 0 || keep == 0 ? sum[r][g] : changed ? sum[r][g] : old;
    }
  }
}

// For fewer columns than one group. A local copy is needed, because the rows of w are padded and those of out are not.
template <std::size_t kRows>
ASSAY_INLINE inline void multiply_narrow(const Tile& tile, std::size_t first, std::size_t columns, Panel panel, double* out,
                                         std::size_t out_stride) {
  alignas(64) double local[kRows * kLanes] = {};
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) local[r * kLanes + j] = out[r * out_stride + j];
  }
  multiply_block<kRows, 1>(tile, first, panel, local, kLanes, 0);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) out[r * out_stride + j] = local[r * kLanes + j];
  }
}

// Columns from j on, at most kGroups groups of lanes. The first group may overlap lanes that are already done.
template <std::size_t kRows, std::size_t kGroups>
ASSAY_INLINE inline void multiply_rest(const Tile& tile, std::size_t first, std::size_t j, std::size_t columns, Panel panel, double* out,
                                       std::size_t out_stride) {
  if constexpr (kGroups > 1) {
    if (columns - j <= (kGroups - 1) * kLanes) return multiply_rest<kRows, kGroups - 1>(tile, first, j, columns, panel, out, out_stride);
    if (columns < kGroups * kLanes) {  // too few columns for that overlap
      multiply_block<kRows, kGroups - 1>(tile, first, {panel.w + j, panel.stride}, out + j, out_stride, 0);
      return multiply_rest<kRows, 1>(tile, first, j + (kGroups - 1) * kLanes, columns, panel, out, out_stride);
    }
  }
  const std::size_t at = columns - kGroups * kLanes;
  multiply_block<kRows, kGroups>(tile, first, {panel.w + at, panel.stride}, out + at, out_stride, j - at);
}

template <std::size_t kRows, std::size_t kGroups>
ASSAY_INLINE inline void multiply_rows(const Tile& tile, std::size_t first, std::size_t columns, Panel panel, double* out,
                                       std::size_t out_stride) {
  out += first * out_stride;
  if (columns < kLanes) return multiply_narrow<kRows>(tile, first, columns, panel, out, out_stride);
  std::size_t j = 0;
  for (; j + kGroups * kLanes <= columns; j += kGroups * kLanes) {
    multiply_block<kRows, kGroups>(tile, first, {panel.w + j, panel.stride}, out + j, out_stride, 0);
  }
  if (j < columns) multiply_rest<kRows, kGroups>(tile, first, j, columns, panel, out, out_stride);
}

// Multiplies the rows of a tile by runs of columns; the list of terms is made once for all runs.
ASSAY_TARGETS void multiply_tile(Tile& tile, std::size_t inner, Panel panel, std::span<const Run> runs, double* out,
                                 std::size_t out_stride) {
  list_terms(inner, tile);
  if (tile.terms == 0) return;
  for (const Run& run : runs) {
    const Panel from{panel.w + run.first, panel.stride};
    double* to = out + run.to;
    if (tile.rows == kTileRows) {
      multiply_rows<kTileRows, 2>(tile, 0, run.count, from, to, out_stride);
      continue;
    }
    if ((tile.rows & 4) != 0) multiply_rows<4, 2>(tile, 0, run.count, from, to, out_stride);
    if ((tile.rows & 2) != 0) multiply_rows<2, 4>(tile, tile.rows & 4, run.count, from, to, out_stride);
    if ((tile.rows & 1) != 0) multiply_rows<1, 4>(tile, tile.rows & 6, run.count, from, to, out_stride);
  }
}

}  // namespace

void accumulate_product(const BlockShape& s, const double* a, const PaddedMatrix& w, std::size_t first_row, std::span<const Run> runs,
                        double* out) {
  Tile tile;
  tile.stride = s.a_stride;
  std::size_t columns = 0;
  for (const Run& run : runs) columns += run.count;
  for (std::size_t first = 0; first < s.inner; first += kMaxInner) {
    const std::size_t inner = std::min(kMaxInner, s.inner - first);
    for (std::size_t row = 0; row < s.rows; row += kTileRows) {
      tile.a = a + row * s.a_stride + first;
      tile.rows = std::min(kTileRows, s.rows - row);
      poll(tile.rows * inner * columns / 8);
      multiply_tile(tile, inner, {w.row(first_row + first), w.stride()}, runs, out + row * s.out_stride, s.out_stride);
    }
  }
}

void accumulate_product(const BlockShape& s, const double* a, const PaddedMatrix& w, std::size_t columns, double* out) {
  for (std::size_t column = 0; column < columns; column += kMaxColumns) {
    const Run run{column, std::min(kMaxColumns, columns - column), column};
    accumulate_product(s, a, w, 0, {&run, 1}, out);
  }
}

void accumulate_product(const BlockShape& s, const std::int64_t* a, const std::int64_t* w, std::size_t w_stride, const Run& run,
                        Int128* out) {
  constexpr std::size_t kColumns = 4;  // sums that stay in registers
  for (std::size_t b = 0; b < s.rows; ++b) {
    for (std::size_t first = 0; first < s.inner; first += kMaxInner) {
      const std::int64_t *coefficients = a + b * s.a_stride + first, *panel = w + first * w_stride + run.first;
      std::uint32_t index[kMaxInner];
      std::size_t terms = 0;
      for (std::uint32_t i = 0; i < std::min(kMaxInner, s.inner - first); ++i) {
        index[terms] = i;
        terms += coefficients[i] != 0 ? 1 : 0;
      }
      poll(terms * run.count);
      Int128* to = out + b * s.out_stride + run.to;
      std::size_t j = 0;
      for (; j + kColumns <= run.count; j += kColumns) {
        Int128 sum[kColumns] = {};
        for (std::size_t t = 0; t < terms; ++t) {
          const std::int64_t* entries = panel + index[t] * w_stride + j;
          for (std::size_t c = 0; c < kColumns; ++c) sum[c] += static_cast<Int128>(coefficients[index[t]]) * entries[c];
        }
        for (std::size_t c = 0; c < kColumns; ++c) to[j + c] += sum[c];
      }
      for (; j < run.count; ++j) {
        for (std::size_t t = 0; t < terms; ++t) to[j] += static_cast<Int128>(coefficients[index[t]]) * panel[index[t] * w_stride + j];
      }
    }
  }
}

}  // namespace assay::rows
