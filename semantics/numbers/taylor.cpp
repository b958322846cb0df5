// Cells, their polynomials and remainders, and the ends of an image.

#include "semantics/numbers/taylor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <unordered_map>

#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/interval.h"
#include "semantics/numbers/wide_interval.h"

namespace assay {
namespace {

constexpr int kTerms = 14;                      // number of terms of the polynomial
constexpr int kPairs = 3;                       // number of terms whose coefficients are two doubles
constexpr int kFirstLevel = 3, kLastLevel = 9;  // cells are 1/8 to 1/512 wide
constexpr double kNarrow = 0x1p-62;             // the error relative to the size of f, or to its change in the cell
constexpr double kLargestArgument = 1 << 16;
constexpr int kPatience = 3;                 // questions for MPFR before a cell is made, which costs tens of them
constexpr std::size_t kMostCells = 1 << 15;  // 9 MB

// f^(k) / k! for k = 0 .. kTerms, at one point, or as enclosures over an interval. S encloses numbers: with 257 bits
// for a polynomial's coefficients, with doubles for a remainder.
template <class S>
using Series = std::array<S, kTerms + 1>;

template <class S = WideInterval>
S number(int value) {
  return {static_cast<double>(value)};
}

template <class S>
S enclosed(const WideInterval& value) {
  if constexpr (std::is_same_v<S, Interval>)
    return value.to_interval();
  else
    return value;
}

// f' = g
template <class S>
Series<S> integral(const S& value, const Series<S>& g) {
  Series<S> a;
  a[0] = value;
  for (int k = 0; k < kTerms; ++k) a[k + 1] = g[k] / number<S>(k + 1);
  return a;
}

// f'' = sign f, f' = g: the derivatives alternate.
template <class S>
Series<S> wave(const S& f, const S& g, int sign) {
  Series<S> a;
  a[0] = f;
  a[1] = g;
  for (int k = 2; k <= kTerms; ++k) a[k] = number<S>(sign) * a[k - 2] / number<S>(k * (k - 1));
  return a;
}

// y' = alpha + beta y + gamma y^2
template <class S>
Series<S> quadratic(const S& y, int alpha, int beta, int gamma) {
  Series<S> a;
  a[0] = y;
  for (int k = 0; k < kTerms; ++k) {
    S sum;  // of a_i a_(k - i): each product except the middle one counts twice
    for (int i = 0; 2 * i < k; ++i) sum += a[i] * a[k - i];
    sum = number<S>(2) * sum;
    if (k % 2 == 0) sum += square(a[k / 2]);
    a[k + 1] = (number<S>(k == 0 ? alpha : 0) + number<S>(beta) * a[k] + number<S>(gamma) * sum) / number<S>(k + 1);
  }
  return a;
}

// g = 1 / y, y' = 1
template <class S>
Series<S> reciprocal(const S& y) {
  Series<S> g;
  g[0] = number<S>(1) / y;
  for (int k = 1; k <= kTerms; ++k) g[k] = -g[k - 1] / y;
  return g;
}

// g = 1 / p, p = 1 + v x^2: p g = 1
template <class S>
Series<S> reciprocal_of_square(const S& x, int v) {
  const S p = number<S>(1) + number<S>(v) * square(x);
  Series<S> g;
  g[0] = number<S>(1) / p;
  for (int k = 1; k <= kTerms; ++k) {
    const S before = k > 1 ? g[k - 2] : S();
    g[k] = -(number<S>(2 * v) * x * g[k - 1] + number<S>(v) * before) / p;
  }
  return g;
}

// g = 1 / sqrt(p), p = u + v x^2: p g' = -v x g
template <class S>
Series<S> root_of_square(const S& x, int u, int v) {
  const S p = number<S>(u) + number<S>(v) * square(x);
  Series<S> g;
  g[0] = number<S>(1) / sqrt(p);
  for (int k = 0; k < kTerms; ++k) {
    const S before = k > 0 ? g[k - 1] : S();
    g[k + 1] = -number<S>(v) * (number<S>(2 * k + 1) * x * g[k] + number<S>(k) * before) / (number<S>(k + 1) * p);
  }
  return g;
}

// g = c exp(-x^2), equal to `value`: g' = -2 x g
template <class S>
Series<S> bell(const S& x, const S& value) {
  Series<S> g;
  g[0] = value;
  for (int k = 0; k < kTerms; ++k) {
    const S before = k > 0 ? g[k - 1] : S();
    g[k + 1] = number<S>(-2) * (x * g[k] + before) / number<S>(k + 1);
  }
  return g;
}

template <class S>
Series<S> negated(Series<S> a) {
  for (S& one : a) one = -one;
  return a;
}

WideInterval two_over_root_pi() { return number(2) / sqrt(WideInterval::pi()); }

// f has all derivatives on the set `at`; if it has no value there, the first entry is undefined().
template <class S>
Series<S> series(Function f, const WideInterval& at) {  // NOLINT(readability-function-size): one line per function
  const auto of = [&](Function g) { return enclosed<S>(apply(g, at)); };
  const S x = enclosed<S>(at), f_of_x = of(f);
  const auto bell_at = [&](const WideInterval& c) { return bell(x, enclosed<S>(c * exp(-square(at)))); };
  switch (f) {
    case Function::exp:
      return wave(f_of_x, f_of_x, 1);
    case Function::expm1:
      return integral(f_of_x, wave(of(Function::exp), of(Function::exp), 1));
    case Function::sinh:
      return wave(f_of_x, of(Function::cosh), 1);
    case Function::cosh:
      return wave(f_of_x, of(Function::sinh), 1);
    case Function::sin:
      return wave(f_of_x, of(Function::cos), -1);
    case Function::cos:
      return wave(f_of_x, -of(Function::sin), -1);
    case Function::log:
      return integral(f_of_x, reciprocal(x));
    case Function::log1p:
      return integral(f_of_x, reciprocal(number<S>(1) + x));
    case Function::tan:
      return quadratic(f_of_x, 1, 0, 1);
    case Function::tanh:
      return quadratic(f_of_x, 1, 0, -1);
    case Function::sigmoid:
      return quadratic(f_of_x, 0, 1, -1);
    case Function::softplus:
      return integral(f_of_x, quadratic(of(Function::sigmoid), 0, 1, -1));
    case Function::erf:
      return integral(f_of_x, bell_at(two_over_root_pi()));
    case Function::erfc:
      return integral(f_of_x, bell_at(-two_over_root_pi()));
    case Function::atan:
      return integral(f_of_x, reciprocal_of_square(x, 1));
    case Function::atanh:
      return integral(f_of_x, reciprocal_of_square(x, -1));
    case Function::asin:
      return integral(f_of_x, root_of_square(x, 1, -1));
    case Function::acos:
      return integral(f_of_x, negated(root_of_square(x, 1, -1)));
    case Function::asinh:
      return integral(f_of_x, root_of_square(x, 1, 1));
    case Function::acosh:
      return integral(f_of_x, root_of_square(x, -1, 1));
  }
  Series<S> none;
  none.fill(S::undefined());
  return none;
}

// The normal distribution function and its density g: g' = -x g.
Series<WideInterval> normal_distribution(const WideInterval& x) {
  Series<WideInterval> g;
  g[0] = two_over_root_pi() / number(2) / sqrt(number(2)) * exp(-square(x) / number(2));
  for (int k = 0; k < kTerms; ++k) g[k + 1] = -(x * g[k] + (k > 0 ? g[k - 1] : WideInterval())) / number(k + 1);
  return integral(apply(Function::erfc, -x / sqrt(number(2))) / number(2), g);
}

// s = sigmoid(w), w = 2 sqrt(2/pi) (x + b x^3): s' = w' (s - s^2), w' a polynomial of degree 2.
Series<WideInterval> sigmoid_of_cubic(const WideInterval& x) {
  const WideInterval b(Rational(44715, 1000000)), factor = number(2) * sqrt(number(2) / WideInterval::pi());
  const std::array<WideInterval, 3> slope = {factor * (number(1) + number(3) * b * square(x)), factor * number(6) * b * x,
                                             factor * number(3) * b};
  Series<WideInterval> s, q;
  s[0] = sigmoid(factor * (x * (number(1) + b * square(x))));
  for (int k = 0; k < kTerms; ++k) {
    q[k] = s[k];
    for (int i = 0; i <= k; ++i) q[k] -= s[i] * s[k - i];
    WideInterval sum;
    for (int j = 0; j <= std::min(k, 2); ++j) sum += slope[j] * q[k - j];
    s[k + 1] = sum / number(k + 1);
  }
  return s;
}

// tanh(softplus(x)) = 1 - 2 g, g = 1 / n, n = 2 + 2 exp(x) + exp(2x): n g = 1.
Series<WideInterval> tanh_of_softplus(const WideInterval& x) {
  Series<WideInterval> n, g, s;
  WideInterval once = exp(x), twice = square(once);
  n[0] = number(2) + number(2) * once + twice;
  for (int k = 1; k <= kTerms; ++k) {
    once = once / number(k);
    twice = number(2) * twice / number(k);
    n[k] = number(2) * once + twice;
  }
  g[0] = number(1) / n[0];
  for (int k = 1; k <= kTerms; ++k) {
    for (int i = 1; i <= k; ++i) g[k] -= n[i] * g[k - i];
    g[k] = g[k] / n[0];
  }
  for (int k = 0; k <= kTerms; ++k) s[k] = number(k == 0 ? 1 : 0) - number(2) * g[k];
  return s;
}

// x s(x)
Series<WideInterval> times_argument(const WideInterval& x, const Series<WideInterval>& s) {
  Series<WideInterval> a;
  for (int k = 0; k <= kTerms; ++k) a[k] = x * s[k] + (k > 0 ? s[k - 1] : WideInterval());
  return a;
}

Series<WideInterval> wide_series(Activation f, const WideInterval& x) {
  if (f == Activation::gelu) return times_argument(x, normal_distribution(x));
  if (f == Activation::gelu_tanh_form) return times_argument(x, sigmoid_of_cubic(x));
  return times_argument(x, f == Activation::silu ? quadratic(sigmoid(x), 0, 1, -1) : tanh_of_softplus(x));
}
template <class S>
Series<S> series(Activation f, const WideInterval& x) {
  Series<S> result;
  std::ranges::transform(wide_series(f, x), result.begin(), enclosed<S>);
  return result;
}

// f(c + t) is in (sum of pairs[k] t^k) + t^kPairs (polynomial `rest`) +- (at_centre + |t| by_distance) for |t| <= half.
struct Pair {
  double hi = 0, lo = 0;
};
struct Cell {
  std::array<Pair, kPairs> pairs{};
  std::array<double, kTerms - kPairs> rest{};
  double at_centre = 0, by_distance = 0;
};

// Makes a cell, or says how many levels finer a cell could exist. Errors: docs/contracts/taylor.md.
struct Attempt {
  std::optional<Cell> cell;
  int levels = 1;
};
template <class F>
Attempt cell_around(F f, double centre, double half) {
  const Series<WideInterval> at_centre = series<WideInterval>(f, WideInterval(centre));
  const Series<Interval> everywhere = series<Interval>(f, WideInterval(centre - half, centre + half));
  if (everywhere[0].is_undefined()) return {};
  constexpr double kUnit = 0x1p-53, kMore = 1 + 0x1p-40, kUnderflows = 0x1p-1060, kPairRoundings = 64 * kUnit * kUnit;
  Cell cell;
  double power = 1, size = 0, error = kUnderflows;
  for (std::size_t k = kPairs; k < kTerms; ++k, power *= half) {  // powers of 2
    const double m = cell.rest[k - kPairs] = at_centre[k].to_interval().midpoint(), magnitude = std::fabs(m);
    const double roundings = static_cast<double>(2 * (k - kPairs) + 1) * kUnit * kMore;
    const double off = add_up((at_centre[k] - WideInterval(m)).magnitude_up(), mul_up(roundings, magnitude));
    size = add_up(size, mul_up(magnitude * kMore, power));
    error = add_up(error, mul_up(off, power));
  }
  error = add_up(error, mul_up(everywhere[kTerms].magnitude(), power));
  for (std::size_t k = kPairs; k-- > 0;) {
    const WideInterval& a = at_centre[k];
    const double hi = a.lo_down(), lo = (a - WideInterval(hi)).lo_down();
    if (!(std::fabs(lo) <= 2 * kUnit * std::fabs(hi))) return {{}, kLastLevel};  // false for NaN
    cell.pairs[k] = {hi, lo};
    const double off = add_up((a - WideInterval(hi) - WideInterval(lo)).magnitude_up(), kUnderflows);
    cell.at_centre = add_up(off, mul_up(kPairRoundings, std::fabs(hi)));
    cell.by_distance = add_up(error, mul_up(kPairRoundings, size));
    error = add_up(cell.at_centre, mul_up(half, cell.by_distance));
    size = mul_up(add_up(std::fabs(hi), mul_up(half, size)), kMore);
  }
  const double largest = std::fmax(std::fabs(cell.pairs[0].hi), std::fabs(cell.pairs[1].hi) * half);
  if (error <= kNarrow * largest && std::isfinite(size)) return {cell};
  const double too_wide = std::log2(error / (kNarrow * largest)) / kTerms;  // the remainder falls by 2^kTerms per level
  if (!(too_wide > 1)) return {};
  return {{}, too_wide < kLastLevel ? static_cast<int>(std::ceil(too_wide)) : kLastLevel};
}

// The value is within `error` of hi + lo.
struct Near {
  double hi, lo, error;
};
Near value_at(const Cell& cell, double t) {
  double hi = 0, lo = 0;
  for (std::size_t k = cell.rest.size(); k-- > 0;) hi = hi * t + cell.rest[k];
  for (std::size_t k = kPairs; k-- > 0;) {
    const double product = t * hi, product_error = std::fma(t, hi, -product), sum = cell.pairs[k].hi + product;
    const double back = sum - product, sum_error = (cell.pairs[k].hi - back) + (product - (sum - back));  // TwoSum
    lo = (sum_error + (product_error + t * lo)) + cell.pairs[k].lo;
    hi = sum;
  }
  return {hi, lo, add_up(cell.at_centre, mul_up(std::fabs(t), cell.by_distance))};
}

// Uses the cells that are kept for this thread.
template <class F>
std::optional<Near> by_cell(F f, std::uint64_t key_of_f, double x) {
  struct Place {
    int questions = 0;
    Attempt attempt;
  };
  thread_local std::unordered_map<std::uint64_t, Place> places;
  if (!(std::fabs(x) <= kLargestArgument)) return std::nullopt;
  poll(100);
  for (int level = kFirstLevel; level <= kLastLevel;) {
    const double width = std::ldexp(1, -level), index = std::nearbyint(x / width), centre = index * width;
    const Interval difference = Interval(x) - Interval(centre);
    if (!difference.is_point() || !(difference.magnitude() <= width / 2)) return std::nullopt;
    const auto key =
        (static_cast<std::uint64_t>(static_cast<std::int64_t>(index)) << 16) | (static_cast<std::uint64_t>(level) << 8) | key_of_f;
    if (places.size() >= kMostCells) places.clear();
    Place& place = places[key];
    if (place.questions + 1 < kPatience) {
      ++place.questions;
      return std::nullopt;
    }
    if (place.questions < kPatience) {
      place.attempt = cell_around(f, centre, width / 2);
      place.questions = kPatience;
    }
    if (place.attempt.cell) return value_at(*place.attempt.cell, difference.lo());
    level += place.attempt.levels;
  }
  return std::nullopt;
}

std::optional<Near> by_cell(Function f, double x) { return by_cell(f, static_cast<std::uint64_t>(f), x); }

// From here on the sigmoidal factor s has 0 < 1 - s < 2^-54: 1 - s is below exp(-x^2/2), exp(-w) with w > 66, exp(-x)
// and 2 exp(-2x). Towards minus infinity the exponentials need ever narrower cells of gelu.
double saturation(Activation f) { return f == Activation::gelu || f == Activation::gelu_tanh_form ? 9 : 45; }

std::optional<Near> by_cell(Activation f, double x) {
  return std::fabs(x) < saturation(f) ? by_cell(f, 128 + static_cast<std::uint64_t>(f), x) : std::nullopt;
}

std::optional<Interval> tight(const std::optional<Near>& y) {
  if (!y) return std::nullopt;
  const Interval around(add_down(y->hi, sub_down(y->lo, y->error)), add_up(y->hi, add_up(y->lo, y->error)));
  return std::nextafter(around.lo(), HUGE_VAL) == around.hi() ? std::optional(around) : std::nullopt;
}

// The enclosure if a sigmoidal function lies between its limit L and L's neighbour, which is 2^-53 |L| away: erfc(6), 2
// exp(-40) and exp(-40) are below 2^-54.
std::optional<Interval> saturated(Function f, double x) {
  const double size = std::fabs(x);
  if (!std::isfinite(x)) return std::nullopt;
  if (f == Function::erfc && x <= -6) return Interval(std::nextafter(2, 0), 2);
  if (f == Function::sigmoid && x >= 40) return Interval(std::nextafter(1, 0), 1);
  if (!(f == Function::erf && size >= 6) && !(f == Function::tanh && size >= 20)) return std::nullopt;
  const Interval positive(std::nextafter(1, 0), 1);
  return x > 0 ? positive : -positive;
}

}  // namespace

std::optional<Interval> tight(Function f, double x) {
  const std::optional<Interval> limit = saturated(f, x);
  return limit ? limit : tight(by_cell(f, x));
}
std::optional<Interval> tight(Activation f, double x) {
  if (x >= saturation(f) && std::isfinite(x)) return Interval(std::nextafter(x, 0), x);  // x s is above x - x 2^-53
  return tight(by_cell(f, x));
}

// Rounding to nearest is monotone: if both ends of the enclosure round to the same number, so does the value.
std::optional<double> nearest_double(Function f, double x) {
  const std::optional<Near> y = by_cell(f, x);
  if (!y) return std::nullopt;
  const double below = y->hi + sub_down(y->lo, y->error), above = y->hi + add_up(y->lo, y->error);
  return below == above ? std::optional(below) : std::nullopt;
}

}  // namespace assay
