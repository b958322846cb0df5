#include "semantics/numbers/taylor.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "semantics/numbers/directed.h"
#include "semantics/numbers/wide_interval.h"

namespace assay {
namespace {

constexpr int kTerms = 12;                       // of the polynomial
constexpr int kFirstLevel = 3, kLastLevel = 12;  // cells are 1/8 to 1/4096 wide
constexpr double kNarrow = 0x1p-44;              // error beside the size of f, or of its change in the cell
constexpr double kLargestArgument = 1 << 16;
constexpr std::size_t kMostCells = 1 << 15;  // 9 MB

// f^(k) / k! for k = 0 .. kTerms: at one point, or enclosures over an interval.
using Series = std::array<Interval, kTerms + 1>;

Interval number(int value) { return {static_cast<double>(value)}; }

// f' = g
Series integral(const Interval& value, const Series& g) {
  Series a;
  a[0] = value;
  for (int k = 0; k < kTerms; ++k) a[k + 1] = g[k] / number(k + 1);
  return a;
}

// f'' = sign f, f' = g: the derivatives alternate.
Series wave(const Interval& f, const Interval& g, int sign) {
  Series a;
  a[0] = f;
  a[1] = g;
  for (int k = 2; k <= kTerms; ++k) a[k] = number(sign) * a[k - 2] / number(k * (k - 1));
  return a;
}

// y' = alpha + beta y + gamma y^2
Series quadratic(const Interval& y, int alpha, int beta, int gamma) {
  Series a;
  a[0] = y;
  for (int k = 0; k < kTerms; ++k) {
    Interval square;
    for (int i = 0; i <= k; ++i) square += a[i] * a[k - i];
    a[k + 1] = (number(k == 0 ? alpha : 0) + number(beta) * a[k] + number(gamma) * square) / number(k + 1);
  }
  return a;
}

// g = 1 / y, y' = 1
Series reciprocal(const Interval& y) {
  Series g;
  g[0] = number(1) / y;
  for (int k = 1; k <= kTerms; ++k) g[k] = -g[k - 1] / y;
  return g;
}

// g = 1 / p, p = 1 + v x^2: p g = 1
Series reciprocal_of_square(const Interval& x, int v) {
  const Interval p = number(1) + number(v) * square(x);
  Series g;
  g[0] = number(1) / p;
  for (int k = 1; k <= kTerms; ++k) {
    const Interval before = k > 1 ? g[k - 2] : Interval();
    g[k] = -(number(2 * v) * x * g[k - 1] + number(v) * before) / p;
  }
  return g;
}

// g = 1 / sqrt(p), p = u + v x^2: p g' = -v x g
Series root_of_square(const Interval& x, int u, int v) {
  const Interval p = number(u) + number(v) * square(x);
  Series g;
  g[0] = number(1) / sqrt(p);
  for (int k = 0; k < kTerms; ++k) {
    const Interval before = k > 0 ? g[k - 1] : Interval();
    g[k + 1] = -number(v) * (number(2 * k + 1) * x * g[k] + number(k) * before) / (number(k + 1) * p);
  }
  return g;
}

// g = c exp(-x^2): g' = -2 x g
Series bell(const Interval& x, const Interval& c) {
  Series g;
  g[0] = c * exp(-square(x));
  for (int k = 0; k < kTerms; ++k) {
    const Interval before = k > 0 ? g[k - 1] : Interval();
    g[k + 1] = number(-2) * (x * g[k] + before) / number(k + 1);
  }
  return g;
}

Series negated(Series a) {
  for (Interval& one : a) one = -one;
  return a;
}

// [2 / sqrt(pi)]
const Interval& two_over_root_pi() {
  static const Interval value = (WideInterval(2.0) / sqrt(WideInterval::pi())).to_interval();
  return value;
}

// f has all derivatives on x, where its value is `f_of_x`; undefined() where it has not.
Series series(Function f, const Interval& x, const Interval& f_of_x) {  // NOLINT(readability-function-size): one line per function
  switch (f) {
    case Function::exp:
      return wave(f_of_x, f_of_x, 1);
    case Function::expm1:
      return integral(f_of_x, wave(exp(x), exp(x), 1));
    case Function::sinh:
      return wave(f_of_x, apply(Function::cosh, x), 1);
    case Function::cosh:
      return wave(f_of_x, apply(Function::sinh, x), 1);
    case Function::sin:
      return wave(f_of_x, cos(x), -1);
    case Function::cos:
      return wave(f_of_x, -sin(x), -1);
    case Function::log:
      return integral(f_of_x, reciprocal(x));
    case Function::log1p:
      return integral(f_of_x, reciprocal(number(1) + x));
    case Function::tan:
      return quadratic(f_of_x, 1, 0, 1);
    case Function::tanh:
      return quadratic(f_of_x, 1, 0, -1);
    case Function::sigmoid:
      return quadratic(f_of_x, 0, 1, -1);
    case Function::softplus:
      return integral(f_of_x, quadratic(sigmoid(x), 0, 1, -1));
    case Function::erf:
      return integral(f_of_x, bell(x, two_over_root_pi()));
    case Function::erfc:
      return integral(f_of_x, bell(x, -two_over_root_pi()));
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
  Series none;
  none.fill(Interval::undefined());
  return none;
}

// f(c + t) is in value + t (p(t) +- error) for |t| <= half, p the polynomial that is computed in double.
struct Polynomial {
  Interval value;
  std::array<double, kTerms - 1> coefficients{};  // of p
  double error = 0;
};
using Cell = std::optional<Polynomial>;  // none where the cell is too wide, or f not smooth there

Cell cell_around(Function f, double centre, double half) {
  const Interval around(centre - half, centre + half), image = apply(f, around);
  if (image.is_undefined()) return std::nullopt;
  const Series at_centre = series(f, Interval(centre), apply(f, Interval(centre))), everywhere = series(f, around, image);
  Polynomial cell{at_centre[0]};
  // Horner's scheme in double errs by gamma_24 times the polynomial of the magnitudes (Higham 2002, section 5.1), and by underflows.
  constexpr double kRoundings = 2 * kTerms * 0x1p-53 * (1 + 0x1p-40), kUnderflows = 0x1p-1000;
  double power = 1, sizes = 0, radii = kUnderflows;
  for (std::size_t k = 0; k + 1 < kTerms; ++k, power *= half) {  // powers of 2
    const Interval& a = at_centre[k + 1];
    cell.coefficients[k] = a.midpoint();
    sizes = add_up(sizes, mul_up(std::fabs(cell.coefficients[k]), power));
    radii = add_up(radii, mul_up(std::fmax(sub_up(a.hi(), cell.coefficients[k]), sub_up(cell.coefficients[k], a.lo())), power));
  }
  const double remainder = mul_up(everywhere[kTerms].magnitude(), power);
  cell.error = add_up(add_up(mul_up(kRoundings, sizes), radii), remainder);
  const double size = std::fmax(cell.value.magnitude(), std::fabs(cell.coefficients[0]) * half);
  if (!(cell.error * half <= kNarrow * size && std::isfinite(size))) return std::nullopt;  // false for NaN
  return cell;
}

// f(x) at a number; undefined() where there is no cell for it.
Interval by_cell(Function f, double x) {
  thread_local std::unordered_map<std::uint64_t, Cell> cells;
  if (!(std::fabs(x) <= kLargestArgument)) return Interval::undefined();
  for (int level = kFirstLevel; level <= kLastLevel; ++level) {
    const double width = std::ldexp(1, -level), index = std::nearbyint(x / width), centre = index * width;
    const Interval difference = Interval(x) - Interval(centre);
    if (!difference.is_point() || !(difference.magnitude() <= width / 2)) return Interval::undefined();
    const double t = difference.lo();
    const auto key = (static_cast<std::uint64_t>(static_cast<std::int64_t>(index)) << 16) | (static_cast<std::uint64_t>(level) << 8) |
                     static_cast<std::uint64_t>(f);
    auto found = cells.find(key);
    if (found == cells.end()) {
      if (cells.size() >= kMostCells) cells.clear();
      found = cells.emplace(key, cell_around(f, centre, width / 2)).first;
    }
    if (!found->second) continue;
    const auto& [value, coefficients, error] = *found->second;
    double p = 0;
    for (std::size_t k = coefficients.size(); k-- > 0;) p = p * t + coefficients[k];
    return value + difference * Interval(sub_down(p, error), add_up(p, error));
  }
  return Interval::undefined();
}

enum class Trend : std::uint8_t { rising, falling, other };
Trend trend_of(Function f) {
  if (f == Function::acos || f == Function::erfc) return Trend::falling;
  return f == Function::sin || f == Function::cos || f == Function::tan || f == Function::cosh ? Trend::other : Trend::rising;
}

}  // namespace

Interval enclose(Function f, const Interval& x) {
  const Trend trend = trend_of(f);
  Interval y = Interval::undefined();
  if (x.is_point()) {
    y = by_cell(f, x.lo());
  } else if (trend != Trend::other) {
    const Interval at_lo = by_cell(f, x.lo()), at_hi = by_cell(f, x.hi());
    const bool known = !at_lo.is_undefined() && !at_hi.is_undefined();
    if (known) y = trend == Trend::rising ? Interval(at_lo.lo(), at_hi.hi()) : Interval(at_hi.lo(), at_lo.hi());
  }
  return y.is_undefined() ? apply(f, x) : y;
}

}  // namespace assay
