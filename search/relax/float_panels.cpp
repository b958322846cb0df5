// FloatPanels: products by tiles of rows and panels of columns, with sums in registers.
//
// A tile has 8 rows and 32 columns. Its sums stay in registers while the lines of a panel stream by, as in BLIS and
// GotoBLAS (Goto and van de Geijn 2008). How this version differs: lines whose coefficients are 0 in all rows of the
// tile are skipped, since behind inactive neurons most are 0; and each row is scaled by a power of two, so that float32
// neither overflows nor loses rows with small entries.

#include "search/relax/float_panels.h"

#include <algorithm>
#include <cmath>

namespace assay::search {
namespace {

constexpr std::size_t kRows = 8;    // rows of a tile
constexpr std::size_t kWidth = 32;  // columns of a panel
// Lines whose products are summed in float32 before the sums are added up in double.
constexpr std::size_t kLines = 256;

#if defined(__x86_64__) && defined(__GNUC__)
#define ASSAY_SEARCH_TARGET(name) __attribute__((target(name)))
#else
#define ASSAY_SEARCH_TARGET(name)
#endif

// The coefficients of some lines in the rows of a tile: only lines with a nonzero coefficient in some row.
struct Coefficients {
  std::size_t count = 0;
  std::uint32_t lines[kLines];
  alignas(64) float values[kLines * kRows];  // [line, row]
  double scales[kRows];                      // by row, powers of two
};

// sums[r, k] = sum over the chosen lines of their coefficient in row r times panel[line, k], for some rows and columns
// of the tile.
template <std::size_t rows, std::size_t width>
[[gnu::always_inline]] inline void sum_lines(const Coefficients& a, std::size_t first_row, std::size_t first_column, const float* panel,
                                             float* __restrict sums) {
  float sum[rows][width] = {};
  for (std::size_t i = 0; i < a.count; ++i) {
    const float* __restrict line = panel + a.lines[i] * kWidth + first_column;
    const float* __restrict values = a.values + i * kRows + first_row;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t k = 0; k < width; ++k) sum[r][k] += values[r] * line[k];
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < width; ++k) sums[(first_row + r) * kWidth + first_column + k] = sum[r][k];
  }
}

// Computes as many sums at once as fit into registers.
[[gnu::always_inline]] inline void sum_parts(const Coefficients& a, const float* panel, float* sums) {
  for (std::size_t row = 0; row < kRows; row += 4) {
    for (std::size_t column = 0; column < kWidth; column += 16) sum_lines<4, 16>(a, row, column, panel, sums);
  }
}
ASSAY_SEARCH_TARGET("avx512f") void sum_by_avx512(const Coefficients& a, const float* panel, float* sums) {
  sum_lines<kRows, kWidth>(a, 0, 0, panel, sums);
}
ASSAY_SEARCH_TARGET("avx2,fma") void sum_by_avx2(const Coefficients& a, const float* panel, float* sums) { sum_parts(a, panel, sums); }
void sum_by_default(const Coefficients& a, const float* panel, float* sums) { sum_parts(a, panel, sums); }

using Sum = void (*)(const Coefficients&, const float*, float*);

Sum fastest() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f")) return sum_by_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return sum_by_avx2;
#endif
  return sum_by_default;
}

// The power of two above a magnitude, or 1 if the magnitude is 0 or not finite.
double scale_of(double magnitude) {
  return magnitude > 0 && std::isfinite(magnitude) ? std::ldexp(1.0, std::clamp(std::ilogb(magnitude) + 1, -1000, 1000)) : 1;
}

// Collects the coefficients from `a` on; `stride` is the distance from row to row.
void choose(std::size_t rows, std::size_t lines, const double* a, std::size_t stride, Coefficients& out) {
  double factors[kRows] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    double most = 0;
    for (std::size_t i = 0; i < lines; ++i) most = std::max(most, std::abs(a[r * stride + i]));
    out.scales[r] = scale_of(most);
    factors[r] = 1 / out.scales[r];
  }
  out.count = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    float* values = out.values + out.count * kRows;
    bool any = false;
    for (std::size_t r = 0; r < rows; ++r) {
      values[r] = static_cast<float>(a[r * stride + i] * factors[r]);
      any = any || values[r] != 0;
    }
    for (std::size_t r = rows; r < kRows; ++r) values[r] = 0;
    out.lines[out.count] = static_cast<std::uint32_t>(i);
    out.count += any ? 1 : 0;
  }
}

}  // namespace

FloatPanels::FloatPanels(std::size_t lines, std::size_t columns, std::span<const double> matrix)
    : lines_(lines), columns_(columns), panels_((columns + kWidth - 1) / kWidth * lines * kWidth) {
  double most = 0;
  for (const double entry : matrix) most = std::max(most, std::abs(entry));
  scale_ = scale_of(most);
  for (std::size_t i = 0; i < lines; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      panels_[(j / kWidth * lines + i) * kWidth + j % kWidth] = static_cast<float>(matrix[i * columns + j] / scale_);
  }
}

void FloatPanels::add_product(std::size_t batch, const double* a, double* out) const {
  static const Sum sum = fastest();
  Coefficients coefficients;
  alignas(64) float sums[kRows * kWidth];
  for (std::size_t b = 0; b < batch; b += kRows) {
    const std::size_t rows = std::min(kRows, batch - b);
    for (std::size_t line = 0; line < lines_; line += kLines) {
      choose(rows, std::min(kLines, lines_ - line), a + b * lines_ + line, lines_, coefficients);
      if (coefficients.count == 0) continue;
      for (std::size_t column = 0; column < columns_; column += kWidth) {
        sum(coefficients, panels_.data() + (column * lines_ + line * kWidth), sums);
        const std::size_t width = std::min(kWidth, columns_ - column);
        for (std::size_t r = 0; r < rows; ++r) {
          double* __restrict to = out + (b + r) * columns_ + column;
          const double scale = coefficients.scales[r] * scale_;
          for (std::size_t k = 0; k < width; ++k) to[k] += scale * static_cast<double>(sums[r * kWidth + k]);
        }
      }
    }
  }
}

}  // namespace assay::search
