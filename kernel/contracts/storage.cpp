// Rounding to 16 bits: positions on the grid of a format.
#include "kernel/contracts/storage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernel/contracts/contract.h"
#include "semantics/numbers/directed.h"

namespace assay::contracts {

namespace {

using floats::number_above;
using floats::number_below;
using floats::precision_of;

// The spacing of the format's numbers around x, which is finite and not 0.
double spacing(const floats::Precision& format, double x) {
  return std::fmax(std::ldexp(1.0, std::ilogb(x) - format.bits + 1), format.smallest);
}

double next_above(const floats::Precision& format, double x) { return number_above(format, std::nextafter(x, floats::kInfinity)); }

// The position on the line of the format's numbers, with 0 at 0.
double place_on(const floats::Precision& format, double x) {
  if (x == 0) return 0;
  const double unit = spacing(format, x), per_binade = std::ldexp(1.0, format.bits - 1);
  const double binades = std::ilogb(unit) - std::ilogb(format.smallest);
  return std::copysign(binades * per_binade + std::fabs(x) / unit, x);
}

template <class Integer, class Float>
double place_in(Float x) {
  const auto bits = static_cast<double>(std::bit_cast<Integer>(std::fabs(x)));
  return std::signbit(x) ? -bits : bits;
}

}  // namespace

double rounded_to(Storage storage, double x) {
  if (storage == Storage::same || x == 0 || !std::isfinite(x)) return x;
  const floats::Precision format = precision_of(storage);
  if (std::fabs(x) >= format.overflow) return std::copysign(floats::kInfinity, x);
  const double unit = spacing(format, x);
  // Exact: a quotient by a power of two, and a product with one.
  return std::copysign(std::nearbyint(std::fabs(x) / unit) * unit, x);
}

bool is_number_of(Storage storage, double x) { return std::isnan(x) || rounded_to(storage, x) == x; }

const char* name_of(Storage storage) {
  if (storage == Storage::same) return "float32";
  return storage == Storage::bfloat16 ? "bfloat16" : "float16";
}

FloatSet stored(Storage storage, const FloatSet& set) {
  if (storage == Storage::same || !set.has_finite()) return set;
  const double most = precision_of(storage).largest, lo = rounded_to(storage, set.lo), hi = rounded_to(storage, set.hi);
  FloatSet y = set;
  y.lo = 1;
  y.hi = -1;
  y.minus_infinity = y.minus_infinity || lo == -floats::kInfinity;
  y.plus_infinity = y.plus_infinity || hi == floats::kInfinity;
  if (lo < floats::kInfinity && hi > -floats::kInfinity) y.include(floats::Format::real, std::fmax(lo, -most), std::fmin(hi, most));
  return y;
}

FloatSet stored_as(Storage storage, double value) {
  const floats::Precision format = precision_of(storage);
  FloatSet set = point(floats::Format::binary32, value);
  if (storage == Storage::same || std::isnan(value)) return set;
  const double size = std::fabs(value), above = size < format.largest ? next_above(format, size) : floats::kInfinity;
  const double hi =
      // A midpoint goes to the even neighbour; it is admitted for both.
      above < floats::kInfinity ? size / 2 + above / 2 : format.overflow;
  const double below = size > 0 && size < floats::kInfinity ? number_below(format, std::nextafter(size, 0.0)) : 0;
  const double lo = size < floats::kInfinity ? size / 2 + below / 2 : format.overflow;
  FloatSet positive;
  positive.include(floats::Format::binary32, lo, size == floats::kInfinity ? floats::kInfinity : hi);
  if (!std::signbit(value)) return positive;
  FloatSet negative;
  negative.include(floats::Format::binary32, positive.plus_infinity ? -floats::kInfinity : -positive.hi, -positive.lo);
  return negative;
}

FloatSet beyond(Storage storage, floats::Format format, const FloatSet& set) {
  if (storage == Storage::same) return widened(format, set, 1);
  FloatSet y = set;
  if (!set.has_finite()) return y;
  const floats::Precision precision = precision_of(storage);
  const double lo = -next_above(precision, -set.lo), hi = next_above(precision, set.hi);
  y.include(floats::Format::real, lo == -floats::kInfinity ? set.lo : lo, hi == floats::kInfinity ? set.hi : hi);
  y.minus_infinity = y.minus_infinity || lo == -floats::kInfinity;
  y.plus_infinity = y.plus_infinity || hi == floats::kInfinity;
  return y;
}

double steps_between(Storage storage, floats::Format format, double a, double b) {
  constexpr double kMost = 0x1p53;
  if (storage != Storage::same) return place_on(precision_of(storage), b) - place_on(precision_of(storage), a);
  if (format == floats::Format::binary32)
    return place_in<std::uint32_t>(static_cast<float>(b)) - place_in<std::uint32_t>(static_cast<float>(a));
  return std::fmin(place_in<std::uint64_t>(b) - place_in<std::uint64_t>(a), kMost);
}

double vacuous_width(Storage storage, floats::Format format, double scale) {
  if (storage == Storage::same) return std::fmax(mul_down(kVacuousShare, scale), smallest_normal(format));
  constexpr double kUnits = 8;
  const floats::Precision precision = precision_of(storage);
  const double normal = precision.smallest / (2 * precision.unit);  // powers of two
  const double share = std::fmax(kVacuousShare, kUnits * precision.unit);
  return std::fmax(mul_down(share, std::fmax(scale, normal)), smallest_normal(format));
}

}  // namespace assay::contracts
