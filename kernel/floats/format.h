// Binary floating-point formats: their range, their precision, and rounding to them.
#pragma once

#include <cstdint>
#include <limits>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/tensor.h"

namespace assay::floats {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `real` is no format: values are enclosures with double ends, and no operation rounds.
enum class Format : std::uint8_t { binary32, binary64, real };

// Rounds to nearest, ties to even; overflows to an infinity. The identity for binary64 and real.
[[nodiscard]] double nearest(Format format, double value);
[[nodiscard]] double largest(Format format);  // the largest finite number
[[nodiscard]] double smallest_normal(Format format);
[[nodiscard]] double unit_roundoff(Format format);    // u: 2^-24 or 2^-53
[[nodiscard]] double smallest_number(Format format);  // eta: 2^-149 or 2^-1074
// A result of this magnitude or more may round to an infinity: the midpoint between the largest number and the next
// power of two.
[[nodiscard]] double overflow_threshold(Format format);

// A format in which a model stores values, which may be shorter than the one they are computed in. Values are rounded
// to nearest, ties to even. stored_precision() gives the model's storage format, or else its computing format.
struct Precision {
  // The unit roundoff: a number x differs from its neighbours by at least unit |x|.
  double unit = 0x1p-24;
  double smallest = 0x1p-149;        // the smallest positive number
  double largest = 0x1.fffffep127;   // the largest finite number
  double overflow = 0x1.ffffffp127;  // from this magnitude on a number rounds to an infinity
  int bits = 24;                     // of a mantissa
};
[[nodiscard]] Precision stored_precision(const ExecutionModel& model);
[[nodiscard]] Precision precision_of(ExecutionModel::Storage storage);  // `same`: binary32
// The least number of the format that is not below x, and the greatest that is not above it; infinite if there is none.
[[nodiscard]] double number_above(const Precision& format, double x);
[[nodiscard]] double number_below(const Precision& format, double x);

[[nodiscard]] Format format_of(DType dtype);  // binary64 for all but float32

}  // namespace assay::floats
