// Compares received values with admissible sets.
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "kernel/contracts/contract.h"
#include "semantics/numbers/directed.h"

namespace assay::contracts {

namespace {

// The element; NaN for an integer that no set holds.
double element_of(const Tensor& tensor, std::size_t i) {
  return recorded_value(tensor, i).value_or(std::numeric_limits<double>::quiet_NaN());
}

// |received - exact| / |first number outside the set on that side - exact|, rounded up; 0 if the set is a point.
double share_of_allowance(const Admissible& admissible, std::size_t i, double received) {
  const FloatSet& set = admissible.sets.values[i];
  const Interval& exact = admissible.exact[i];
  if (!std::isfinite(received) || set.lo == set.hi || exact.is_undefined()) return 0;
  const FloatSet wider = beyond(admissible.storage, format_of(admissible.sets.dtype), set);
  const bool above = received >= exact.hi(), below = received <= exact.lo();
  if (above == below || (above ? wider.plus_infinity : wider.minus_infinity)) return 0;
  const double error = above ? sub_up(received, exact.lo()) : sub_up(exact.hi(), received);
  const double room = above ? sub_down(wider.hi, exact.hi()) : sub_down(exact.lo(), wider.lo);
  return room > 0 ? std::fmin(1, div_up(error, room)) : 1;
}

// The ends of an interval as numbers of the result's format: rounded once, or to float32 first.
std::pair<double, double> rounded(const Admissible& admissible, double lo, double hi) {
  const floats::Format format = format_of(admissible.sets.dtype);
  const Storage storage = admissible.storage;
  const auto ends = [&](double x) {
    const double twice = rounded_to(storage, nearest(format, x));
    return std::pair(storage == Storage::same ? twice : rounded_to(storage, x), twice);
  };
  const auto [lo_once, lo_twice] = ends(lo);
  const auto [hi_once, hi_twice] = ends(hi);
  return {std::fmin(lo_once, lo_twice), std::fmax(hi_once, hi_twice)};
}

// Whether the value is the number of the result's format that is nearest to the exact value, or to the float32 nearest
// to that. If the enclosure of the exact value lies on both sides of a rounding border, both neighbours are; if it is
// wider, nothing is known to be nearest. An enclosure in doubles never shows which float64 is nearest. The sign of a
// zero is that of the exact value; if this is unknown, the set's.
bool is_nearest(const Admissible& admissible, std::size_t i, double value) {
  const Interval& exact = admissible.exact[i];
  if (exact.is_undefined()) return false;
  const auto [lo, hi] = rounded(admissible, exact.lo(), exact.hi());
  const floats::Format format = format_of(admissible.sets.dtype);
  const bool is_narrow = lo == hi || (std::isfinite(lo) && std::isfinite(hi) && steps_between(admissible.storage, format, lo, hi) <= 1);
  if (!is_narrow || !(lo <= value && value <= hi)) return false;
  if (value != 0) return true;
  if (exact.lo() <= 0 && exact.hi() >= 0) return !admissible.sets.values[i].contains_zero();
  return std::signbit(value) == (exact.hi() < 0);
}

// Whether an execution in binary64 that is rounded once may give the value. The value is an infinity, or such executions
// differ too little to be vacuous.
bool is_from_double(const Admissible& admissible, std::size_t i, double value) {
  if (admissible.in_double.empty() || !admissible.in_double[i].is_finite()) return false;
  const floats::Format format = format_of(admissible.sets.dtype);
  const auto [lo, hi] = rounded(admissible, admissible.in_double[i].lo, admissible.in_double[i].hi);
  FloatSet set;
  set.include(format, lo, hi);
  const bool is_narrow = sub_up(hi, lo) <= vacuous_width(admissible.storage, format, admissible.scales[i]);
  return set.contains(value) && (is_narrow || std::isinf(value));
}

std::string hex_of(double value) {
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), "%a", value);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

bool Admissible::admits(std::size_t element, double value) const {
  if (sets.values[element].contains(value)) return true;
  const bool may_be_better = admits_nearest && sets.dtype == DType::float32;
  return may_be_better && (is_nearest(*this, element, value) || is_from_double(*this, element, value));
}

bool Admissible::is_vacuous(std::size_t element) const {
  const FloatSet& set = sets.values[element];
  if (!set.has_finite() || set.lo == set.hi) return false;
  return !(sub_up(set.hi, set.lo) <= vacuous_width(storage, format_of(sets.dtype), scales[element]));
}

Outcome<Judgement> judge(const Admissible& admissible, const Tensor& received) {
  const Sets& sets = admissible.sets;
  if (received.dtype() != sets.dtype || received.shape() != sets.shape) {
    return Rejection{Rejection::Kind::malformed,
                     "contract.received",
                     "received tensor",
                     std::string(to_string(sets.dtype)) + " " + to_string(sets.shape),
                     std::string(to_string(received.dtype())) + " " + to_string(received.shape()),
                     ""};
  }
  Judgement result;
  for (std::size_t i = 0; i < sets.values.size(); ++i) {
    const double value = element_of(received, i);
    if (!admissible.admits(i, value)) {
      result.failed += 1;
      if (!result.first_failure) result.first_failure = i;
    } else if (admissible.is_vacuous(i)) {
      result.vacuous += 1;
    } else {
      result.passed += 1;
      const double used = share_of_allowance(admissible, i, value);
      if (used > result.head_room_used) {
        result.head_room_used = used;
        result.closest = i;
      }
    }
  }
  return result;
}

std::string describe(const Admissible& admissible, const Tensor& received, std::size_t element) {
  const FloatSet& set = admissible.sets.values[element];
  const Interval& exact = admissible.exact[element];
  std::string text = "element " + std::to_string(element) + ": received " + hex_of(element_of(received, element)) + ", admitted";
  if (set.has_finite()) text += " [" + hex_of(set.lo) + ", " + hex_of(set.hi) + "]";
  if (set.minus_infinity) text += " -inf";
  if (set.plus_infinity) text += " +inf";
  if (set.nan) text += " nan";
  if (admissible.storage != Storage::same) text += std::string(" of ") + name_of(admissible.storage);
  if (!exact.is_undefined()) text += ", exact value in [" + hex_of(exact.lo()) + ", " + hex_of(exact.hi()) + "]";
  return text;
}

}  // namespace assay::contracts
