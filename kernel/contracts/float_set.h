// FloatSet: a set of values that an execution may hold at one place: the finite numbers of a format between two ends, and what
// the flags name. The scalar on which contracts are written.
//
// Numbers are ordered with -0 below +0, so an end says which zeros belong to the set. A set never holds too little; it may
// hold too much.
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

// a comes strictly before b: -inf < ... < -0 < +0 < ... < +inf. False for NaN.
[[nodiscard]] bool before(double a, double b);

struct FloatSet {
  double lo = 1, hi = -1;  // lo before or equal to hi, both finite; otherwise there is no finite number
  bool minus_infinity = false, plus_infinity = false, nan = false;

  [[nodiscard]] bool has_finite() const { return lo <= hi; }
  [[nodiscard]] bool is_finite() const { return has_finite() && !minus_infinity && !plus_infinity && !nan; }
  [[nodiscard]] bool is_point() const;   // one finite number, of one sign
  [[nodiscard]] bool is_single() const;  // is_point(), or one infinity, or NaN alone
  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] bool contains_zero() const { return has_finite() && lo <= 0 && hi >= 0; }
  [[nodiscard]] double magnitude() const;  // the largest |x| of the finite part, 0 if there is none

  // Adds the numbers from a to b, which may be infinite: a finite number next to an infinity stands for all beyond it.
  // NaN as either end adds NaN.
  void include(floats::Format format, double a, double b);
  void include(const FloatSet& other);
  friend bool operator==(const FloatSet&, const FloatSet&) = default;
};

[[nodiscard]] FloatSet point(floats::Format format, double value);
[[nodiscard]] FloatSet anything(floats::Format format);  // every value of the format
[[nodiscard]] FloatSet only_nan();
[[nodiscard]] FloatSet hull(FloatSet a, const FloatSet& b);
// An end that is a zero of one sign takes in the other.
[[nodiscard]] FloatSet with_both_zeros(FloatSet set);
[[nodiscard]] inline bool is_empty(const FloatSet& set) { return set == FloatSet(); }
// The numbers from lo to hi, which may be infinite; no NaN.
[[nodiscard]] FloatSet part_of(const FloatSet& set, double lo, double hi);
// Ends moved outward by that many numbers of the format; beyond the largest one comes the infinity.
[[nodiscard]] FloatSet widened(floats::Format format, const FloatSet& set, std::int64_t steps);
// The finite numbers of the format that lie in the interval; an undefined one gives NaN alone.
[[nodiscard]] FloatSet numbers_in(floats::Format format, const Interval& reals);
// The subnormal numbers of the set may also be zeros.
[[nodiscard]] FloatSet flushed(floats::Format format, FloatSet set);
// The finite part as an enclosure; undefined() unless the set is_finite().
[[nodiscard]] Interval enclosure(const FloatSet& set);

// A tensor of sets. Integers and truth values are sets too, exact up to 2^53.
struct Sets {
  DType dtype = DType::float32;
  Shape shape;
  std::vector<FloatSet> values;
};

// An element as it was recorded; nullopt for an integer beyond 2^53, which no set holds.
[[nodiscard]] std::optional<double> recorded_value(const Tensor& tensor, std::size_t element);
// Every recorded element alone (anything for such an integer). complex64 is no tensor of sets (demanded).
[[nodiscard]] Sets recorded(const Tensor& tensor);

}  // namespace assay::contracts
