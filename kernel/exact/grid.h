// Numbers on grids of powers of two, mantissa * 2^exponent: the numbers of the exact path.
//
// In exact mode a grid is made once per map and once per line. Everything that rounding to the grid can lose is counted
// as an error or rounded outward.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/relax/relaxation.h"
#include "kernel/rows/linear_map.h"

namespace assay::exact {

constexpr int kBits = 56;      // |mantissa of a coefficient| <= 2^kBits
constexpr int kGridBits = 54;  // |mantissa of a grid| <= 2^kGridBits
constexpr int kSumBits = 125;  // bits of a running sum, and of each number added to it

// The smallest n >= 0 with v in [-2^n, 2^n).
[[nodiscard]] int bit_length(rows::Int128 v);

// A sum of dyadic numbers, rounded down where it does not fit: never above the true sum.
class LowerSum {
 public:
  // Adds mantissa * 2^exponent; requires bit_length(mantissa) <= kSumBits.
  void add(rows::Int128 mantissa, std::int32_t exponent);
  [[nodiscard]] double double_down() const;

 private:
  rows::Int128 mantissa_ = 0;
  std::int32_t exponent_ = 0;
};

// Factors of the positive coefficients in the first half of the mantissas, of the negative ones in the second.
struct Grid {
  std::vector<std::int64_t> mantissas;
  std::int32_t exponent = 0;
  std::vector<bool> infinite;  // values that are not finite (mantissa 0); empty: none
};
// The first half is rounded down and the second up, so that a coefficient times its factor never grows.
[[nodiscard]] Grid outward_grid(const std::vector<double>& positive, const std::vector<double>& negative);
// Rounded to nearest. `off` receives a bound on the distance of each true value from the grid value, 0 if it is exact.
[[nodiscard]] Grid nearest_grid(const std::vector<double>& positive, const std::vector<double>& negative, std::vector<double>& off);
// A grid for the loss |coefficient| * error. Empty if all errors are 0.
[[nodiscard]] Grid error_grid(const std::vector<double>& positive, const std::vector<double>& negative);

// Any values, rounded to nearest, with |mantissa| <= 2^bits.
[[nodiscard]] rows::IntegerEntries integer_grid(const std::vector<double>& values, int bits);

// An affine form on grids. error: of the bias, per element.
struct GridForm {
  std::vector<rows::IntegerEntries> parts;
  Grid bias;
  std::vector<double> error;
};
[[nodiscard]] GridForm grid_form(const rows::AffineForm& form);
// The errors of the bias, of the entries for operands of the given magnitudes (one vector per part), and the rounding
// errors of executions, if any.
[[nodiscard]] Grid form_errors(const rows::AffineForm& form, const GridForm& grid, const std::vector<std::vector<double>>& x,
                               const std::vector<double>& rounding);

// A relaxation on grids, for operands of magnitudes x.
struct GridLine {
  Grid intercept, error;
  std::vector<Grid> slopes;  // by part
  // Few enough slopes meet in one operand element that the sum of their products fits.
  bool usable = true;
};
[[nodiscard]] GridLine grid_line(const relax::Relaxation& relaxation, const std::vector<std::vector<double>>& x);

}  // namespace assay::exact
