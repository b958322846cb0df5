// Grids: rounding to mantissas, and bounds on the rounding errors.

#include "kernel/exact/grid.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "semantics/numbers/dyadic.h"

namespace assay::exact {
namespace {

constexpr std::size_t kSharing = 1 << 9;  // the most products that may meet in one operand element of a line
// Covers the rounding of sums and products of non-negative doubles that only increase an error.
constexpr double kInflate = 1 + 0x1p-26;
constexpr double kUnderflow = 0x1p-1000;  // exceeds any loss of an error below the normal range; itself normal

enum class Round : std::uint8_t { down, up, nearest };

// The exponent of the finest grid whose finite mantissas stay within 2^bits.
std::int32_t grid_exponent(const std::vector<double>& a, const std::vector<double>& b, int bits = kGridBits) {
  double largest = 0;
  for (const std::vector<double>* values : {&a, &b}) {
    for (const double v : *values) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
  }
  int top = 0;  // largest <= 2^top
  if (std::frexp(largest, &top) == 0.5) --top;
  return largest == 0 ? 0 : std::max(top - bits, -1074);
}

void put(const std::vector<double>& values, Round round, Grid& grid, std::vector<double>* off) {
  const int half = -grid.exponent / 2;  // in two factors, since the whole factor could overflow
  const double some = std::ldexp(1.0, half), rest = std::ldexp(1.0, -grid.exponent - half);
  const std::size_t first = grid.mantissas.size();
  grid.mantissas.resize(first + values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    if (!std::isfinite(v)) {
      grid.infinite.resize(grid.mantissas.size(), false);
      grid.infinite[first + i] = true;
      continue;
    }
    // |v| 2^-exponent <= 2^kGridBits. The scaling is exact, or the result is below one unit, possibly 0. A value that
    // became 0 is still moved in the stated direction.
    const double at = v * some * rest;
    const auto towards_zero = static_cast<std::int64_t>(at);
    const double beyond = at != 0 ? at - static_cast<double>(towards_zero) : v > 0 ? 0.25 : v < 0 ? -0.25 : 0.0;
    const double least = round == Round::nearest ? 0.5 : 0.0;
    std::int64_t mantissa = towards_zero;
    if (round != Round::up && beyond < -least) --mantissa;
    if (round != Round::down && beyond > least) ++mantissa;
    grid.mantissas[first + i] = mantissa;
    // A grid on which a value rounds is coarser than 2^-1074, so half a step is not 0.
    if (off != nullptr && beyond != 0) (*off)[first + i] = std::ldexp(1.0, grid.exponent - 1);
  }
  if (!grid.infinite.empty()) grid.infinite.resize(grid.mantissas.size(), false);
}

}  // namespace

int bit_length(rows::Int128 v) {
  const auto magnitude = static_cast<rows::UnsignedInt128>(v ^ (v >> 127));  // -v - 1 for v < 0
  const auto high = static_cast<std::uint64_t>(magnitude >> 64), low = static_cast<std::uint64_t>(magnitude);
  return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

void LowerSum::add(rows::Int128 mantissa, std::int32_t exponent) {
  if (mantissa == 0) return;
  while ((mantissa & 1) == 0) {  // makes it odd, so that sums of short numbers stay exact
    const auto low = static_cast<std::uint64_t>(mantissa);
    const int zeros = low == 0 ? 64 : __builtin_ctzll(low);
    mantissa >>= zeros;
    exponent += zeros;
  }
  if (mantissa_ == 0) {
    mantissa_ = mantissa;
    exponent_ = exponent;
    return;
  }
  if (exponent > exponent_) {
    std::swap(mantissa, mantissa_);
    std::swap(exponent, exponent_);
  }
  // Shift the coarser number left as far as possible, and the finer one right for the rest. A right shift rounds down.
  const int left = std::min(exponent_ - exponent, kSumBits - 1 - bit_length(mantissa_));
  mantissa_ <<= std::max(left, 0);
  exponent_ -= std::max(left, 0);
  mantissa_ += mantissa >> std::min(exponent_ - exponent, 127);
  const int over = bit_length(mantissa_) - kSumBits;
  if (over > 0) mantissa_ >>= over;
  exponent_ += std::max(over, 0);
}

double LowerSum::double_down() const { return Dyadic(mantissa_, exponent_).double_down(); }

Grid outward_grid(const std::vector<double>& positive, const std::vector<double>& negative) {
  Grid grid{{}, grid_exponent(positive, negative), {}};
  put(positive, Round::down, grid, nullptr);
  put(negative, Round::up, grid, nullptr);
  return grid;
}

Grid nearest_grid(const std::vector<double>& positive, const std::vector<double>& negative, std::vector<double>& off) {
  Grid grid{{}, grid_exponent(positive, negative), {}};
  off.assign(positive.size() + negative.size(), 0.0);
  put(positive, Round::nearest, grid, &off);
  put(negative, Round::nearest, grid, &off);
  return grid;
}

rows::IntegerEntries integer_grid(const std::vector<double>& values, int bits) {
  std::vector<double> off(values.size(), 0.0);
  Grid grid{{}, grid_exponent(values, {}, bits), {}};
  put(values, Round::nearest, grid, &off);
  return {std::move(grid.mantissas), grid.exponent, off.empty() ? 0.0 : std::ranges::max(off)};
}

Grid error_grid(const std::vector<double>& positive, const std::vector<double>& negative) {
  const auto is_zero = [](double error) { return error == 0; };
  if (std::ranges::all_of(positive, is_zero) && std::ranges::all_of(negative, is_zero)) return {};
  std::vector<double> minus = positive;
  for (double& error : minus) error = -error;
  return outward_grid(minus, negative);
}

GridForm grid_form(const rows::AffineForm& form) {
  GridForm result;
  for (const rows::AffineForm::Part& part : form.parts) {
    int chain = 0;
    while ((std::size_t{1} << chain) < part.map->fan_out()) ++chain;
    result.parts.push_back(part.map->integer_entries(std::min(kGridBits, 118 - kBits - chain)));
  }
  result.bias = nearest_grid(form.bias, form.bias, result.error);
  result.error.resize(form.bias.size());
  for (std::size_t j = 0; j < form.bias_error.size(); ++j) result.error[j] = (result.error[j] + form.bias_error[j]) * kInflate;
  return result;
}

Grid form_errors(const rows::AffineForm& form, const GridForm& grid, const std::vector<std::vector<double>>& x,
                 const std::vector<double>& rounding) {
  std::vector<double> error = grid.error, product(error.size());
  for (std::size_t j = 0; j < rounding.size(); ++j) error[j] += rounding[j];
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    const rows::AffineForm::Part& part = form.parts[p];
    const double half_step = grid.parts[p].half_step;
    if (half_step > 0) {
      std::fill(product.begin(), product.end(), 0.0);
      part.map->apply_pattern(x[p].data(), product.data());
      for (std::size_t j = 0; j < error.size(); ++j) error[j] += half_step * product[j] * kInflate + kUnderflow;
    }
    if (part.error) {
      std::fill(product.begin(), product.end(), 0.0);
      part.error->apply_magnitude(x[p].data(), product.data());
      for (std::size_t j = 0; j < error.size(); ++j) error[j] += product[j] * kInflate + kUnderflow;
    }
  }
  for (double& p : error) p *= kInflate;
  return error_grid(error, error);
}

GridLine grid_line(const relax::Relaxation& relaxation, const std::vector<std::vector<double>>& x) {
  const std::size_t size = relaxation.lower_intercept.size();
  GridLine line;
  line.intercept = outward_grid(relaxation.lower_intercept, relaxation.upper_intercept);
  std::vector<double> lower(size, 0.0), upper(size, 0.0), off;  // errors
  for (std::size_t p = 0; p < relaxation.parts.size(); ++p) {
    const relax::Relaxation::Part& part = relaxation.parts[p];
    line.slopes.push_back(nearest_grid(part.lower, part.upper, off));
    std::vector<std::size_t> uses(part.index.empty() ? 0 : x[p].size(), 0);
    const std::size_t upper_off = part.lower.size();
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = part.first(j); k < part.last(j); ++k) {
        const double magnitude = x[p][part.element(k)];
        if (off[k] > 0) lower[j] = (lower[j] + off[k] * magnitude) * kInflate + kUnderflow;
        if (off[upper_off + k] > 0) upper[j] = (upper[j] + off[upper_off + k] * magnitude) * kInflate + kUnderflow;
        if (!part.index.empty() && ++uses[part.index[k]] > kSharing) line.usable = false;
      }
    }
  }
  line.error = error_grid(lower, upper);
  return line;
}

}  // namespace assay::exact
