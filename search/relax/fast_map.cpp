// FastMap: dense and compressed products with a linear map.
//
// The size of a map and the share of its nonzero entries decide which copy it gets: an identity, a dense matrix in both
// orientations, compressed rows and columns, or no copy if the kernel's own loops over structured maps (convolutions)
// do less work. Products of batches are blocked by four rows, so that one block of the matrix serves all four from the
// cache (Goto and van de Geijn 2008).

#include "search/relax/fast_map.h"

#include <algorithm>

#include "search/relax/instruction_sets.h"

namespace assay::search {
namespace {

// A full matrix with more elements than this gets no copy (building takes three copies of 8 bytes per element).
constexpr std::size_t kCopyLimit = 4'000'000;
// A map is kept dense if at least this share of the matrix is nonzero; below this share compressed rows are faster.
constexpr double kDenseShare = 0.2;
// A dense matrix with at least this many elements gets a float32 copy, which is then much faster. Smaller ones stay in
// the innermost cache anyway.
constexpr std::size_t kLeastRough = 4096;

// out[0..columns) += sum_i a[i] m[i, 0..columns), with the rows of m in groups of four.
ASSAY_SEARCH_CLONES void add_rows(std::size_t lines, std::size_t columns, const double* a, const double* m, double* __restrict out) {
  std::size_t i = 0;
  while (i < lines) {
    // Zero coefficients are skipped: behind inactive neurons most are zero.
    std::size_t chosen[4];
    int count = 0;
    while (i < lines && count < 4) {
      if (a[i] != 0) chosen[count++] = i;
      ++i;
    }
    if (count == 4) {
      const double c0 = a[chosen[0]], c1 = a[chosen[1]], c2 = a[chosen[2]], c3 = a[chosen[3]];
      const double* m0 = m + chosen[0] * columns;
      const double* m1 = m + chosen[1] * columns;
      const double* m2 = m + chosen[2] * columns;
      const double* m3 = m + chosen[3] * columns;
      for (std::size_t j = 0; j < columns; ++j) out[j] += (c0 * m0[j] + c1 * m1[j]) + (c2 * m2[j] + c3 * m3[j]);
    } else {
      for (int k = 0; k < count; ++k) {
        const double c = a[chosen[k]];
        const double* row = m + chosen[k] * columns;
        for (std::size_t j = 0; j < columns; ++j) out[j] += c * row[j];
      }
    }
  }
}

// The same for four batch rows at once, blocked over columns, so that one block of m serves all four from the cache.
ASSAY_SEARCH_CLONES void add_rows_by_four(std::size_t lines, std::size_t columns, const double* a, std::size_t a_stride, const double* m,
                                          double* __restrict out) {
  constexpr std::size_t kBlock = 16;  // doubles: two AVX-512 registers per batch row
  for (std::size_t j = 0; j < columns && columns >= kBlock; j += kBlock) {
    // The last block begins earlier, and only its new columns are stored.
    const std::size_t at = std::min(j, columns - kBlock);
    double sum[4][kBlock];
    for (std::size_t b = 0; b < 4; ++b) {
      for (std::size_t k = 0; k < kBlock; ++k) sum[b][k] = out[b * columns + at + k];
    }
    for (std::size_t i = 0; i < lines; ++i) {
      const double* row = m + i * columns + at;
      const double c0 = a[i], c1 = a[a_stride + i], c2 = a[2 * a_stride + i], c3 = a[3 * a_stride + i];
      for (std::size_t k = 0; k < kBlock; ++k) {
        sum[0][k] += c0 * row[k];
        sum[1][k] += c1 * row[k];
        sum[2][k] += c2 * row[k];
        sum[3][k] += c3 * row[k];
      }
    }
    for (std::size_t b = 0; b < 4; ++b) {
      for (std::size_t k = j - at; k < kBlock; ++k) out[b * columns + at + k] = sum[b][k];
    }
  }
  for (std::size_t i = 0; columns < kBlock && i < lines; ++i) {
    for (std::size_t b = 0; b < 4; ++b) {
      const double c = a[b * a_stride + i];
      for (std::size_t k = 0; k < columns; ++k) out[b * columns + k] += c * m[i * columns + k];
    }
  }
}

void add_product(std::size_t batch, std::size_t lines, std::size_t columns, const double* a, const double* m, double* out) {
  std::size_t b = 0;
  for (; b + 4 <= batch; b += 4) add_rows_by_four(lines, columns, a + b * lines, lines, m, out + b * columns);
  for (; b < batch; ++b) add_rows(lines, columns, a + b * lines, m, out + b * columns);
}

}  // namespace

FastMap::FastMap(std::shared_ptr<const rows::LinearMap> map) : work_(map->cost()), map_(std::move(map)) {
  if (rows() == 0 || columns() == 0 || rows() > kCopyLimit / columns()) return;
  // Structured maps (convolutions, index maps) do less work than a matrix product, so they stay as they are, unless
  // they are identities.
  const bool structured = 2 * work_ < rows() * columns();
  if (structured && (rows() != columns() || work_ != rows())) return;
  std::vector<double> matrix = to_dense();
  const std::size_t stored = matrix.size() - static_cast<std::size_t>(std::count(matrix.begin(), matrix.end(), 0.0));
  bool identity = rows() == columns() && stored == rows();
  for (std::size_t i = 0; i < rows() && identity; ++i) identity = matrix[i * columns() + i] == 1;
  if (!structured) work_ = stored;
  if (identity) {
    kind_ = Kind::identity;
  } else if (structured) {
    return;
  } else if (static_cast<double>(stored) < kDenseShare * static_cast<double>(matrix.size())) {
    kind_ = Kind::sparse;
    by_row_ = compress(matrix, rows(), columns(), true);
    by_column_ = compress(matrix, columns(), rows(), false);
  } else {
    kind_ = Kind::dense;
    work_ = matrix.size();
    dense_transposed_.resize(matrix.size());
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < columns(); ++j) dense_transposed_[j * rows() + i] = matrix[i * columns() + j];
    }
    dense_ = std::move(matrix);
    if (dense_.size() >= kLeastRough) {
      rough_ = FloatPanels(rows(), columns(), dense_);
      rough_transposed_ = FloatPanels(columns(), rows(), dense_transposed_);
    }
  }
}

// Row i of M is M^T applied to the unit vector i.
std::vector<double> FastMap::to_dense() const {
  constexpr std::size_t kRowsAtOnce = 64;
  std::vector<double> matrix(rows() * columns(), 0), units(kRowsAtOnce * rows(), 0);
  for (std::size_t first = 0; first < rows(); first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows() - first);
    for (std::size_t k = 0; k < count; ++k) units[k * rows() + first + k] = 1;
    map_->transpose(count, units.data(), matrix.data() + first * columns());
    for (std::size_t k = 0; k < count; ++k) units[k * rows() + first + k] = 0;
  }
  return matrix;
}

std::vector<std::pair<std::uint32_t, double>> FastMap::row(std::uint32_t i) const {
  const rows::Block unit{std::make_shared<const std::vector<std::uint32_t>>(1, i), {1.0}};
  rows::Block found;
  map_->transpose_block(1, unit, found);
  std::vector<std::pair<std::uint32_t, double>> entries;
  for (std::size_t k = 0; k < found.count(columns()); ++k) {
    if (found.values[k] != 0) entries.emplace_back(found.element(k), found.values[k]);
  }
  std::ranges::sort(entries);
  return entries;
}

FastMap::Compressed FastMap::compress(const std::vector<double>& matrix, std::size_t lines, std::size_t length, bool by_row) {
  Compressed result;
  for (std::size_t i = 0; i < lines; ++i) {
    result.start.push_back(static_cast<std::uint32_t>(result.index.size()));
    for (std::size_t j = 0; j < length; ++j) {
      const double entry = by_row ? matrix[i * length + j] : matrix[j * lines + i];
      if (entry == 0) continue;
      result.index.push_back(static_cast<std::uint32_t>(j));
      result.value.push_back(entry);
    }
  }
  result.start.push_back(static_cast<std::uint32_t>(result.index.size()));
  return result;
}

void FastMap::gather(const Compressed& lines, std::size_t batch, std::size_t from_size, const double* from, std::size_t to_size,
                     double* to) {
  for (std::size_t b = 0; b < batch; ++b) {
    const double* x = from + b * from_size;
    double* y = to + b * to_size;
    for (std::size_t i = 0; i < to_size; ++i) {
      double sum = 0;
      for (std::uint32_t k = lines.start[i]; k < lines.start[i + 1]; ++k) sum += lines.value[k] * x[lines.index[k]];
      y[i] += sum;
    }
  }
}

void FastMap::add(bool transposed, std::size_t batch, const double* from, double* to) const {
  const std::size_t from_size = transposed ? rows() : columns(), to_size = transposed ? columns() : rows();
  switch (kind_) {
    case Kind::identity:
      for (std::size_t k = 0; k < batch * to_size; ++k) to[k] += from[k];
      return;
    case Kind::dense:
      add_product(batch, from_size, to_size, from, (transposed ? dense_ : dense_transposed_).data(), to);
      return;
    case Kind::sparse:
      gather(transposed ? by_column_ : by_row_, batch, from_size, from, to_size, to);
      return;
    case Kind::foreign:
      transposed ? map_->transpose(batch, from, to) : map_->apply(batch, from, to);
      return;
  }
}

void FastMap::apply_roughly(std::size_t batch, const double* x, double* y) const {
  rough_.is_empty() ? apply(batch, x, y) : rough_transposed_.add_product(batch, x, y);
}

void FastMap::transpose_roughly(std::size_t batch, const double* a, double* out) const {
  rough_.is_empty() ? transpose(batch, a, out) : rough_.add_product(batch, a, out);
}

}  // namespace assay::search
