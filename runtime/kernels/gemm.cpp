#include "runtime/kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/buffers.h"
#include "runtime/kernels/onednn.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

// `count` things cut into `parts` pieces whose sizes differ by at most one.
struct Split {
  std::size_t count, parts;
  [[nodiscard]] std::size_t begin(std::size_t part) const { return part * (count / parts) + std::min(part, count % parts); }
  [[nodiscard]] std::size_t size(std::size_t part) const { return count / parts + (part < count % parts ? 1 : 0); }
};
std::size_t pieces(std::size_t count, std::size_t of) { return (count + of - 1) / of; }

template <class T>
struct Plan {
  const GemmKernel<T>& kernel = gemm_kernel<T>();
  std::size_t m, n, k;
  Split row_panels;               // of a, of at most most_rows rows
  std::size_t b_panels;           // of b
  Split row_tiles, column_tiles;  // of panels
  Plan(std::size_t rows, std::size_t columns, std::size_t products)
      : m(rows), n(columns), k(products), row_panels{m, pieces(m, kernel.most_rows)}, b_panels(pieces(n, kernel.columns)) {
    // Tiles of the result: enough of them for the threads, large enough to use a panel often.
    constexpr std::size_t kRowPanels = 8, kColumnPanels = 4;
    row_tiles = {row_panels.parts, pieces(row_panels.parts, kRowPanels)};
    column_tiles = {b_panels, pieces(b_panels, kColumnPanels)};
  }
  [[nodiscard]] std::size_t width(std::size_t panel) const { return std::min(kernel.columns, n - panel * kernel.columns); }
};

template <class T>
void pack_a(const Plan<T>& plan, const Matrix<T>& a, T* to) {
  parallel_ranges(plan.row_panels.parts, 4, [&](std::size_t first, std::size_t last) {
    for (std::size_t panel = first; panel < last; ++panel) {
      const std::size_t row = plan.row_panels.begin(panel), rows = plan.row_panels.size(panel);
      const T* const from = a.data + static_cast<std::int64_t>(row) * a.row;
      T* const packed = to + row * plan.k;
      if (a.column == 1) {
        plan.kernel.transpose(from, a.row, rows, plan.k, packed, rows);
        continue;
      }
      for (std::size_t p = 0; p < plan.k; ++p) {
        for (std::size_t r = 0; r < rows; ++r) {
          packed[p * rows + r] = from[static_cast<std::int64_t>(r) * a.row + static_cast<std::int64_t>(p) * a.column];
        }
      }
    }
  });
}

template <class T>
void pack_b(const Plan<T>& plan, const Matrix<T>& b, T* to) {
  const std::size_t columns = plan.kernel.columns;
  parallel_ranges(plan.b_panels, 2, [&](std::size_t first, std::size_t last) {
    for (std::size_t panel = first; panel < last; ++panel) {
      const std::size_t width = plan.width(panel);
      const T* const from = b.data + static_cast<std::int64_t>(panel * columns) * b.column;
      T* const packed = to + panel * columns * plan.k;
      if (width < columns) std::fill(packed, packed + columns * plan.k, T(0));
      if (b.row == 1 && b.column != 1) {
        plan.kernel.transpose(from, b.column, width, plan.k, packed, columns);
        continue;
      }
      for (std::size_t p = 0; p < plan.k; ++p) {
        const T* const line = from + static_cast<std::int64_t>(p) * b.row;
        if (b.column == 1) {
          std::memcpy(packed + p * columns, line, width * sizeof(T));
        } else {
          for (std::size_t j = 0; j < width; ++j) packed[p * columns + j] = line[static_cast<std::int64_t>(j) * b.column];
        }
      }
    }
  });
}

template <class T>
void begin_tile(const Start<T>& start, T* y, std::size_t y_row, std::size_t row, std::size_t rows, std::size_t column,
                std::size_t columns) {
  for (std::size_t i = row; i < row + rows; ++i) {
    T* const line = y + i * y_row + column;
    if (start.kind == Start<T>::Kind::rows) std::fill(line, line + columns, start.values[i]);
    if (start.kind == Start<T>::Kind::columns) std::memcpy(line, start.values + column, columns * sizeof(T));
    if (start.kind == Start<T>::Kind::matrix) std::memcpy(line, start.values + i * y_row + column, columns * sizeof(T));
  }
}

template <class T>
void compute_tile(const Plan<T>& plan, const T* packed_a, const T* packed_b, const Start<T>& start, T* y, std::size_t y_row,
                  std::size_t tile) {
  const std::size_t row_tile = tile / plan.column_tiles.parts, column_tile = tile % plan.column_tiles.parts;
  const std::size_t first_row = plan.row_tiles.begin(row_tile), last_row = first_row + plan.row_tiles.size(row_tile);
  const std::size_t first_column = plan.column_tiles.begin(column_tile), last_column = first_column + plan.column_tiles.size(column_tile);
  const std::size_t columns = plan.kernel.columns, row = plan.row_panels.begin(first_row);
  const std::size_t end = std::min(last_column * columns, plan.n);
  begin_tile(start, y, y_row, row, plan.row_panels.begin(last_row) - row, first_column * columns, end - first_column * columns);
  for (std::size_t p = 0; p < plan.k; p += kBlock) {
    const std::size_t products = std::min(kBlock, plan.k - p);
    const bool adds = p > 0 || start.kind != Start<T>::Kind::zero;
    for (std::size_t i = first_row; i < last_row; ++i) {
      const std::size_t at = plan.row_panels.begin(i), rows = plan.row_panels.size(i);
      for (std::size_t j = first_column; j < last_column; ++j) {
        plan.kernel.tiles[rows](products, packed_a + at * plan.k + p * rows, packed_b + (j * plan.k + p) * columns,
                                y + at * y_row + j * columns, y_row, plan.width(j), adds);
      }
    }
  }
}

}  // namespace

namespace {

// The description of a matrix of `rows` x `columns` for the library: whether it is stored transposed, and the distance of its
// lines.
struct Stored {
  bool known, transposed;
  std::int64_t line;
};
Stored stored(const Matrix<float>& a, std::size_t rows, std::size_t columns) {
  const auto height = static_cast<std::int64_t>(rows), width = static_cast<std::int64_t>(columns);
  if (a.column == 1 && (a.row >= width || rows == 1)) return {true, false, std::max(a.row, width)};
  if (a.row == 1 && (a.column >= height || columns == 1)) return {true, true, std::max(a.column, height)};
  return {false, false, 0};
}

// Tiles of the result. Each packs its rows of a and its columns of b anew, so they are large. A product that would be one
// thread's is halved once a half takes some ten microseconds. The longer side is cut; rows cost more where packing transposes b.
struct Tiles {
  std::size_t rows = 1, columns = 1;
};
Tiles tiles_of(std::size_t m, std::size_t n, std::size_t k, bool transposes_b) {
  constexpr std::size_t kLarge = 24, kSmall = 21;         // binary logarithms of the products of a tile, and of two
  constexpr std::size_t kFewRows = 32, kFewColumns = 64;  // of a tile: narrow ones would be slow
  const std::size_t work = m * n * k, wanted = std::max<std::size_t>(work >> kLarge, work >> kSmall != 0 ? 2 : 1);
  Tiles tiles;
  while (2 * tiles.rows * tiles.columns <= wanted) {
    const std::size_t rows = m / tiles.rows, columns = n / tiles.columns;
    const bool rows_can = rows >= 2 * kFewRows, columns_can = columns >= 2 * kFewColumns;
    if (!rows_can && !columns_can) break;
    const bool by_rows = transposes_b ? rows >= 2 * columns : 2 * rows >= columns;
    (rows_can && (by_rows || !columns_can) ? tiles.rows : tiles.columns) *= 2;
  }
  return tiles;
}

// float32 by oneDNN: one thread per tile, cut by shape.
bool multiply_by_library(std::size_t m, std::size_t n, std::size_t k, std::span<const Factors<float>> products, const Start<float>& start,
                         float* y, std::size_t y_row) {
  constexpr std::size_t kUnit = 16;  // columns together
  for (const auto& [a, b] : products) {
    if (!stored(a, m, k).known || !stored(b, k, n).known) return false;
  }
  const auto [row_parts, column_parts] = tiles_of(m, n, k, stored(products[0].b, k, n).transposed);
  const Split rows{m, row_parts}, columns{pieces(n, kUnit), column_parts};
  parallel_for(row_parts * column_parts, [&, column_parts = column_parts](std::size_t tile) {
    const std::size_t row = rows.begin(tile / column_parts), row_count = rows.size(tile / column_parts);
    const std::size_t column = columns.begin(tile % column_parts) * kUnit;
    const std::size_t column_count = std::min(columns.size(tile % column_parts) * kUnit, n - column);
    begin_tile(start, y, y_row, row, row_count, column, column_count);
    bool adds = start.kind != Start<float>::Kind::zero;
    for (const auto& [a, b] : products) {
      const Stored of_a = stored(a, m, k), of_b = stored(b, k, n);
      multiply_floats(of_a.transposed, of_b.transposed, row_count, column_count, k, a.data + static_cast<std::int64_t>(row) * a.row,
                      of_a.line, b.data + static_cast<std::int64_t>(column) * b.column, of_b.line, std::exchange(adds, true),
                      y + row * y_row + column, y_row);
    }
  });
  return true;
}

}  // namespace

template <class T>
void multiply(std::size_t m, std::size_t n, std::size_t k, std::span<const Factors<T>> products, const Start<T>& start, T* y,
              std::size_t y_row) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (k > 0 && multiply_by_library(m, n, k, products, start, y, y_row)) return;
  }
  const Plan<T> plan(m, n, k);
  if (k == 0 && start.kind == Start<T>::Kind::zero) {
    for (std::size_t i = 0; i < m; ++i) std::fill(y + i * y_row, y + i * y_row + n, T(0));
    return;
  }
  const Scratch<T> packed_a(m * k), packed_b(plan.b_panels * plan.kernel.columns * k);
  Start<T> from = start;
  for (const auto& [a, b] : products) {
    pack_a(plan, a, packed_a.data());
    pack_b(plan, b, packed_b.data());
    parallel_for(plan.row_tiles.parts * plan.column_tiles.parts,
                 [&](std::size_t tile) { compute_tile(plan, packed_a.data(), packed_b.data(), from, y, y_row, tile); });
    from = {Start<T>::Kind::result};
  }
}

template void multiply(std::size_t, std::size_t, std::size_t, std::span<const Factors<float>>, const Start<float>&, float*, std::size_t);
template void multiply(std::size_t, std::size_t, std::size_t, std::span<const Factors<double>>, const Start<double>&, double*, std::size_t);

}  // namespace assay::runtime
