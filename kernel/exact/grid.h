// Numbers on grids of powers of two, mantissa * 2^exponent: what the exact path computes with.
//
// In exact mode a grid is made once per map and once per line. Everything that its roundings can lose is in an error or goes outward.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/relax/relaxation.h"
#include "kernel/rows/linear_map.h"

namespace assay::exact {

constexpr int kBits = 56;      // |mantissa of a coefficient| <= 2^kBits
constexpr int kGridBits = 54;  // |mantissa of a grid| <= 2^kGridBits
constexpr int kSumBits = 125;  // of a running sum and of what is added to it

// v is in [-2^n, 2^n) for n = bit_length(v) and no smaller n >= 0.
[[nodiscard]] int bit_length(rows::Int128 v);

// A sum of dyadic numbers, rounded down where it does not fit: never above the true one.
class LowerSum {
 public:
  void add(rows::Int128 mantissa, std::int32_t exponent);  // mantissa * 2^exponent, bit_length(mantissa) <= kSumBits
  [[nodiscard]] double double_down() const;

 private:
  rows::Int128 mantissa_ = 0;
  std::int32_t exponent_ = 0;
};

// Factors of coefficients > 0 in the first half of the mantissas, of coefficients < 0 in the second.
struct Grid {
  std::vector<std::int64_t> mantissas;
  std::int32_t exponent = 0;
  std::vector<bool> infinite;  // not finite, mantissa 0; empty: none
};
// The first half rounded down and the second up: a coefficient times its factor never grows.
[[nodiscard]] Grid outward_grid(const std::vector<double>& positive, const std::vector<double>& negative);
// To nearest; `off` receives how far each true value may lie from its mantissa, 0 where there is none between.
[[nodiscard]] Grid nearest_grid(const std::vector<double>& positive, const std::vector<double>& negative, std::vector<double>& off);
// What a coefficient loses: |coefficient| * error. Empty where all errors are 0.
[[nodiscard]] Grid error_grid(const std::vector<double>& positive, const std::vector<double>& negative);

// Any values to nearest, |mantissa| <= 2^bits.
[[nodiscard]] rows::IntegerEntries integer_grid(const std::vector<double>& values, int bits);

// An affine form. error: of the bias, per element.
struct GridForm {
  std::vector<rows::IntegerEntries> parts;
  Grid bias;
  std::vector<double> error;
};
[[nodiscard]] GridForm grid_form(const rows::AffineForm& form);
// With the error of the entries, for operands of the given magnitudes (one vector per part), and what executions lose, if anything.
[[nodiscard]] Grid form_errors(const rows::AffineForm& form, const GridForm& grid, const std::vector<std::vector<double>>& x,
                               const std::vector<double>& rounding);

// A relaxation on operands of magnitudes x.
struct GridLine {
  Grid intercept, error;
  std::vector<Grid> slopes;  // by part
  bool usable = true;        // few enough slopes meet in one operand element for their products to fit
};
[[nodiscard]] GridLine grid_line(const relax::Relaxation& relaxation, const std::vector<std::vector<double>>& x);

}  // namespace assay::exact
