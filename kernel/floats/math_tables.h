// Math libraries as data: how far each function of a library may be from the exact value.
//
// The rows are claims of vendors (or follow from a specification); they are data with a source, not theorems. A verdict that used a
// table names it through its execution model.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "kernel/floats/format.h"
#include "semantics/numbers/function.h"

namespace assay::floats {

struct MathRow {
  // What the bound counts. steps: numbers of the format away from the correctly rounded value; ulps: units in the last place of the
  // exact value; absolute: the distance itself.
  enum class Unit : std::uint8_t { steps, ulps, absolute };
  std::string_view function;  // "exp", ..., and "div", "reciprocal", "sqrt", "rsqrt", "pow", "weights"
  Format format;
  Unit unit;
  double bound;
  double slope = 0;  // bound + floor(slope |x|) for the argument x
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();  // arguments it holds for
  bool or_zero = false;                                                                                // the result may also be a zero
};

struct MathTable {
  std::string_view name;    // ExecutionModel::math_table
  std::string_view source;  // where the figures come from, in words
  std::span<const MathRow> rows;
};

// The name of its rows.
[[nodiscard]] std::string_view name_of(Function f);

[[nodiscard]] std::span<const MathTable> math_tables();
[[nodiscard]] const MathTable* find_math_table(std::string_view name);  // nullptr if there is none
// How far a library's weights of interpolation along an axis may be from the exact ones; 0 where its table has no row.
[[nodiscard]] double error_of_weights(std::string_view table, Format format, double extent);
}  // namespace assay::floats
