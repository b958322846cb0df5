// FloatSet: the values that an execution may hold at one place. They are the finite numbers of a format between two
// ends, and the infinities or NaN that the flags name. Contracts are written on this scalar.
//
// Numbers are ordered with -0 before +0, so an end determines which zeros belong to the set. A set never lacks a
// possible value; it may have others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernel/floats/format.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/tensor.h"
#include "semantics/numbers/interval.h"

namespace assay::contracts {

using floats::Format;
using floats::format_of;
using floats::kInfinity;
using floats::largest;
using floats::nearest;
using floats::smallest_normal;
using floats::smallest_number;
using floats::unit_roundoff;

// Whether a comes strictly before b: -inf < ... < -0 < +0 < ... < +inf. False for NaN.
[[nodiscard]] bool before(double a, double b);

struct FloatSet {
  // Lo is before or equal to hi, and both are finite; otherwise there is no finite number.
  double lo = 1, hi = -1;
  bool minus_infinity = false, plus_infinity = false, nan = false;

  [[nodiscard]] bool has_finite() const { return lo <= hi; }
  [[nodiscard]] bool is_finite() const { return has_finite() && !minus_infinity && !plus_infinity && !nan; }
  [[nodiscard]] bool is_point() const;   // one finite number, of one sign
  [[nodiscard]] bool is_single() const;  // is_point(), or one infinity, or NaN alone
  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] bool contains_zero() const { return has_finite() && lo <= 0 && hi >= 0; }
  [[nodiscard]] double magnitude() const;  // the largest |x| of the finite part, 0 if there is none

  // Adds the numbers from a to b, which may be infinite. A finite number next to an infinity represents all numbers
  // beyond it. NaN as either end adds NaN.
  void include(floats::Format format, double a, double b);
  void include(const FloatSet& other);
  friend bool operator==(const FloatSet&, const FloatSet&) = default;
};

[[nodiscard]] FloatSet point(floats::Format format, double value);
[[nodiscard]] FloatSet anything(floats::Format format);  // every value of the format
[[nodiscard]] FloatSet only_nan();
[[nodiscard]] FloatSet hull(FloatSet a, const FloatSet& b);
// Adds the other zero to an end that is a zero of one sign.
[[nodiscard]] FloatSet with_both_zeros(FloatSet set);
[[nodiscard]] inline bool is_empty(const FloatSet& set) { return set == FloatSet(); }
// The numbers of the set from lo to hi, which may be infinite; without NaN.
[[nodiscard]] FloatSet part_of(const FloatSet& set, double lo, double hi);
// Moves the ends outward by that many numbers of the format. The infinity follows the largest number.
[[nodiscard]] FloatSet widened(floats::Format format, const FloatSet& set, std::int64_t steps);
// The finite numbers of the format that lie in the interval; an undefined interval gives NaN alone.
[[nodiscard]] FloatSet numbers_in(floats::Format format, const Interval& reals);
// The set in which subnormal numbers may also be zeros.
[[nodiscard]] FloatSet flushed(floats::Format format, FloatSet set);
// The finite part as an enclosure; undefined() unless the set is_finite().
[[nodiscard]] Interval enclosure(const FloatSet& set);

// A tensor of sets. Integers and truth values are sets, too, exact up to 2^53.
struct Sets {
  DType dtype = DType::float32;
  Shape shape;
  std::vector<FloatSet> values;
};

// A recorded element; nullopt for an integer beyond 2^53, which no set holds.
[[nodiscard]] std::optional<double> recorded_value(const Tensor& tensor, std::size_t element);
// One set per recorded element with this value alone (anything for such an integer). Demands that the type is
// not complex64.
[[nodiscard]] Sets recorded(const Tensor& tensor);

}  // namespace assay::contracts
