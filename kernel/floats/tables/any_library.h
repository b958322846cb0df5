// Table "any-library": an assumption about any careful library
//
// It is no vendor's claim: 4 units in the last place for every function, 8 for pow. The libraries of the other tables
// keep it wherever they state bounds on all arguments.
#pragma once

#include <array>

#include "kernel/floats/math_tables.h"

namespace assay::floats::tables {

inline constexpr std::string_view kAnyLibrarySource = "an assumption: 4 units in the last place, 8 of pow";
template <std::size_t N>
constexpr std::array<MathRow, 2 * N> of_both_formats(const std::array<std::string_view, N>& names) {
  std::array<MathRow, 2 * N> rows{};
  for (std::size_t i = 0; i < N; ++i) {
    const double bound = names[i] == "pow" ? 8 : 4;
    rows[2 * i] = {names[i], Format::binary32, MathRow::Unit::ulps, bound};
    rows[2 * i + 1] = {names[i], Format::binary64, MathRow::Unit::ulps, bound};
  }
  return rows;
}
inline constexpr auto kAnyLibrary =
    of_both_formats(std::to_array<std::string_view>({"exp",  "expm1", "log",  "log1p", "sin",   "cos",   "tan", "asin", "acos", "atan",
                                                     "sinh", "cosh",  "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "pow",  "rsqrt"}));

}  // namespace assay::floats::tables
