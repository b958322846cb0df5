// Tables of the accuracy of mathematics libraries: the distance of each function's result from the exact value.
//
// The rows are claims of vendors, or follow from a specification. They are data with a source, not theorems. A verdict
// that used a table names it through its execution model.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "kernel/floats/format.h"
#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"

namespace assay::floats {

struct MathRow {
  // The unit of the bound. steps: numbers of the format away from the correctly rounded value. ulps: units in the last
  // place of the exact value. absolute: the distance itself.
  enum class Unit : std::uint8_t { steps, ulps, absolute };
  std::string_view function;  // "exp", ..., and "div", "reciprocal", "sqrt", "rsqrt", "pow", "weights"
  Format format;
  Unit unit;
  double bound;
  double slope = 0;  // adds floor(slope |x|) to the bound, for the argument x
  // The range of arguments for which the row holds.
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();
  // The result may also be a zero.
  bool or_zero = false;
};

struct MathTable {
  std::string_view name;    // ExecutionModel::math_table
  std::string_view source;  // the source of the figures, in words
  std::span<const MathRow> rows;
};

// The name of f in the rows.
[[nodiscard]] std::string_view name_of(Function f);

[[nodiscard]] std::span<const MathTable> math_tables();
[[nodiscard]] const MathTable* find_math_table(std::string_view name);  // nullptr if there is none
// Whether an exact value of tanh or erf is so near to 1 or -1 that every library gives that number.
[[nodiscard]] inline bool is_saturated(Format format, const Interval& exact) {
  return format == Format::binary32 && (exact.lo() >= 1 - 0x1p-53 || exact.hi() <= -1 + 0x1p-53);
}
// A bound on the error of a library's interpolation weights along an axis; 0 if its table has no row for them.
[[nodiscard]] double error_of_weights(std::string_view table, Format format, double extent);
}  // namespace assay::floats
