// FloatSet: positions on the line of a format, and rounding of sets.

#include "kernel/contracts/float_set.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/numbers/directed.h"

namespace assay::contracts {

namespace {

double lesser(double a, double b) { return before(b, a) ? b : a; }
double greater(double a, double b) { return before(a, b) ? b : a; }

// The position on the line of the format's numbers: consecutive numbers have consecutive positions; -0 is -1, +0 is 0.
std::int64_t position(floats::Format format, double value) {
  if (format == floats::Format::binary32) {
    const auto bits = std::bit_cast<std::int32_t>(static_cast<float>(value));
    return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits - 1 : bits;
  }
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits - 1 : bits;
}

double number_at(floats::Format format, std::int64_t position) {
  if (format == floats::Format::binary32) {
    const std::int64_t bits = position < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - position - 1 : position;
    return static_cast<double>(std::bit_cast<float>(static_cast<std::int32_t>(bits)));
  }
  return std::bit_cast<double>(position < 0 ? std::numeric_limits<std::int64_t>::min() - position - 1 : position);
}

// Stops at the infinities.
double moved(floats::Format format, double value, std::int64_t steps) {
  const std::int64_t end = position(format, floats::kInfinity), at = position(format, value);
  if (steps > 0) return at > end - steps ? floats::kInfinity : number_at(format, at + steps);
  return at < -1 - end - steps ? -floats::kInfinity : number_at(format, at + steps);
}

}  // namespace

bool before(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

bool FloatSet::is_point() const { return is_finite() && lo == hi && std::signbit(lo) == std::signbit(hi); }

bool FloatSet::is_single() const {
  const int special = int{minus_infinity} + int{plus_infinity} + int{nan};
  return is_point() || (!has_finite() && special == 1);
}

bool FloatSet::contains(double value) const {
  if (std::isnan(value)) return nan;
  if (std::isinf(value)) return value > 0 ? plus_infinity : minus_infinity;
  return has_finite() && !before(value, lo) && !before(hi, value);
}

double FloatSet::magnitude() const { return has_finite() ? std::fmax(std::fabs(lo), std::fabs(hi)) : 0; }

void FloatSet::include(floats::Format format, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) nan = true;
  if (std::isnan(a)) a = b;
  if (std::isnan(b)) b = a;
  if (std::isnan(a) || before(b, a)) return;
  minus_infinity = minus_infinity || a == -floats::kInfinity;
  plus_infinity = plus_infinity || b == floats::kInfinity;
  if (a == floats::kInfinity || b == -floats::kInfinity) return;
  a = std::fmax(a, -largest(format));
  b = std::fmin(b, largest(format));
  const bool had_finite = has_finite();
  lo = had_finite ? lesser(lo, a) : a;
  hi = had_finite ? greater(hi, b) : b;
}

void FloatSet::include(const FloatSet& other) {
  if (other.has_finite()) include(floats::Format::real, other.lo, other.hi);
  minus_infinity = minus_infinity || other.minus_infinity;
  plus_infinity = plus_infinity || other.plus_infinity;
  nan = nan || other.nan;
}

FloatSet point(floats::Format format, double value) {
  FloatSet set;
  set.include(format, value, value);
  return set;
}
FloatSet anything(floats::Format format) {
  FloatSet set = only_nan();
  set.include(format, -floats::kInfinity, floats::kInfinity);
  return set;
}
FloatSet only_nan() {
  FloatSet set;
  set.nan = true;
  return set;
}
FloatSet hull(FloatSet a, const FloatSet& b) {
  a.include(b);
  return a;
}
FloatSet with_both_zeros(FloatSet set) {
  if (set.has_finite() && set.lo == 0) set.lo = -0.0;
  if (set.has_finite() && set.hi == 0) set.hi = 0.0;
  return set;
}

FloatSet part_of(const FloatSet& set, double lo, double hi) {
  FloatSet part;
  if (set.has_finite() && !(set.hi < lo) && !(set.lo > hi))
    part.include(floats::Format::real, set.lo < lo ? lo : set.lo, set.hi > hi ? hi : set.hi);
  part.plus_infinity = set.plus_infinity && hi == floats::kInfinity;
  part.minus_infinity = set.minus_infinity && lo == -floats::kInfinity;
  return part;
}

FloatSet widened(floats::Format format, const FloatSet& set, std::int64_t steps) {
  if (!set.has_finite() && !set.minus_infinity && !set.plus_infinity) return set;
  FloatSet result;
  result.nan = set.nan;
  if (set.has_finite()) result.include(format, moved(format, set.lo, -steps), moved(format, set.hi, steps));
  if (set.minus_infinity) result.include(format, -floats::kInfinity, moved(format, -floats::kInfinity, steps));
  if (set.plus_infinity) result.include(format, moved(format, floats::kInfinity, -steps), floats::kInfinity);
  return result;
}

FloatSet numbers_in(floats::Format format, const Interval& reals) {
  FloatSet set;
  if (reals.is_undefined()) return only_nan();
  const bool single = format == floats::Format::binary32;
  set.include(format, single ? static_cast<double>(float_up(reals.lo())) : reals.lo(),
              single ? static_cast<double>(float_down(reals.hi())) : reals.hi());
  return with_both_zeros(set);
}

FloatSet flushed(floats::Format format, FloatSet set) {
  if (format == floats::Format::real || !set.has_finite()) return set;
  const double normal = smallest_normal(format);
  if (set.lo > 0 && set.lo < normal) set.lo = 0.0;
  if (set.hi < 0 && set.hi > -normal) set.hi = -0.0;
  // A subnormal number next to a zero may become a zero of either sign.
  const bool holds_subnormal = (set.hi > 0 || set.lo < 0) && set.lo < normal && set.hi > -normal;
  return holds_subnormal ? with_both_zeros(set) : set;
}

Interval enclosure(const FloatSet& set) { return set.is_finite() ? Interval(set.lo, set.hi) : Interval::undefined(); }

std::optional<double> recorded_value(const Tensor& tensor, std::size_t element) {
  constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;
  if (is_integer(tensor.dtype()) && byte_size(tensor.dtype()) == 8) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.bytes().data() + 8 * element, 8);
    const bool negative = !is_unsigned(tensor.dtype()) && bits > std::uint64_t{1} << 63;
    if ((negative ? -bits : bits) > kMostExact) return std::nullopt;
  }
  return tensor.as_double(element);
}

Sets recorded(const Tensor& tensor) {
  demand(tensor.dtype() != DType::complex64, "recorded: complex elements are no sets");
  Sets sets{tensor.dtype(), tensor.shape(), {}};
  sets.values.reserve(tensor.size());
  const floats::Format format = format_of(tensor.dtype());
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const std::optional<double> value = recorded_value(tensor, i);
    sets.values.push_back(value ? point(format, *value) : anything(format));
  }
  return sets;
}

}  // namespace assay::contracts
