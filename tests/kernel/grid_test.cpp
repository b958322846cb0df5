// The grids of the exact path against rationals: each value on its side, each distance spent, and sums never above the truth.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "kernel/exact/grid.h"
#include "semantics/numbers/dyadic.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using exact::Grid;
using rows::Int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Rational exactly(double x) { return *Rational::from_double(x); }
Rational value(std::int64_t mantissa, std::int32_t exponent) { return Dyadic(static_cast<Int128>(mantissa), exponent).to_rational(); }

double wild(std::mt19937_64& random) {
  const double mantissa = static_cast<double>(static_cast<std::int64_t>(random() >> 11)) - 0x1p52;
  return random() % 8 == 0 ? 0.0 : std::ldexp(mantissa, static_cast<int>(random() % (random() % 2 == 0 ? 80 : 2000)) - 1080);
}

std::vector<std::vector<double>> values_to_try() {
  std::vector<std::vector<double>> result{{},
                                          {0, -0.0},
                                          {1, 0x1p-54, -0x1p-54, 0x1p-55, -0x1p-55, 0x1.8p-54, 0x1p-60},
                                          {0x1p1023, 0x1p-1074, -0x1p-1074},
                                          {0x1p-1074, -0x1p-1073},
                                          {0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 3},
                                          {0x1p-1021, 0x1p-1074},
                                          {0x1p-1019, 0x1.8p-1073, -0x1p-1074},
                                          {0.1, -0.3},
                                          {kInfinity, 1, -kInfinity, 0x1p-70}};
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> values(1 + random() % 5);
    for (double& v : values) v = wild(random);
    result.push_back(values);
  }
  return result;
}

}  // namespace

TEST_CASE("grids: below for coefficients > 0, above for coefficients < 0", "[kernel][grid]") {
  for (const auto& values : values_to_try()) {
    const std::size_t n = values.size();
    const Grid grid = exact::outward_grid(values, values);
    REQUIRE(grid.mantissas.size() == 2 * n);
    std::size_t finite = 0;
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const double v = values[i % n];
      CHECK(std::llabs(grid.mantissas[i]) <= (std::int64_t{1} << exact::kGridBits));
      CHECK(std::isfinite(v) == (grid.infinite.empty() || !grid.infinite[i]));
      if (!std::isfinite(v)) continue;
      ++finite;
      const Rational at = value(grid.mantissas[i], grid.exponent), step = value(1, grid.exponent);
      CHECK((i < n ? at <= exactly(v) && exactly(v) < at + step : exactly(v) <= at && at - step < exactly(v)));
    }
    CHECK((finite == 2 * n) == grid.infinite.empty());
  }
}

TEST_CASE("grids: to nearest, the distance is covered and nothing exact is charged", "[kernel][grid]") {
  for (const auto& values : values_to_try()) {
    const std::size_t n = values.size();
    std::vector<double> off;
    const Grid grid = exact::nearest_grid(values, values, off);
    REQUIRE(off.size() == 2 * n);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      if (!std::isfinite(values[i % n])) continue;
      const Rational distance = abs(value(grid.mantissas[i], grid.exponent) - exactly(values[i % n]));
      CHECK(distance <= exactly(off[i]));
      CHECK((distance == Rational(0)) == (off[i] == 0));
      CHECK(exactly(off[i]) <= value(1, grid.exponent));
    }
  }
}

TEST_CASE("grids: errors go against the sign of the coefficient", "[kernel][grid]") {
  CHECK(exact::error_grid({0, 0}, {0, 0}).mantissas.empty());
  const Grid grid = exact::error_grid({1, 0x1p-60}, {3, 0});
  REQUIRE(grid.mantissas.size() == 4);
  CHECK(value(grid.mantissas[0], grid.exponent) == Rational(-1));
  CHECK(value(grid.mantissas[1], grid.exponent) <= -exactly(0x1p-60));
  CHECK(value(grid.mantissas[2], grid.exponent) == Rational(3));
  CHECK(grid.mantissas[3] == 0);
  CHECK(exact::error_grid({0, kInfinity}, {0, 0}).infinite == std::vector<bool>{false, true, false, false});
}

TEST_CASE("bit_length is that of the two's complement without its sign", "[kernel][grid]") {
  const Int128 one = 1;
  for (int n = 0; n <= 126; ++n) {
    CHECK(exact::bit_length((one << n) - 1) == n);
    CHECK(exact::bit_length(-(one << n)) == n);
    CHECK(exact::bit_length(one << n) == n + 1);
    CHECK(exact::bit_length(-(one << n) - 1) == n + 1);
  }
}

TEST_CASE("lower sums are exact while they fit and never above the truth", "[kernel][grid]") {
  std::mt19937_64 random(11);
  const auto draw = [&](int bits, int exponents) {
    const int length = static_cast<int>(random() % static_cast<unsigned>(bits)) + 1;
    const auto wide = (static_cast<Int128>(random() >> 1) << 64) + static_cast<Int128>(random());
    const Int128 mantissa = wide >> (127 - length);
    return std::pair{random() % 2 == 0 ? mantissa : -mantissa,
                     static_cast<std::int32_t>(random() % static_cast<unsigned>(exponents)) - exponents / 2};
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const bool narrow = trial % 2 == 0;
    exact::LowerSum sum;
    Dyadic truth;
    double most = 0;  // double_down() is within one double of the sum itself
    for (int i = 0; i < 8; ++i) {
      const auto [mantissa, exponent] = narrow ? draw(60, 60) : draw(125, 400);
      sum.add(mantissa, exponent);
      truth += Dyadic(mantissa, exponent);
      most = std::fmax(most, std::fabs(truth.double_up()));
      CHECK(*Dyadic::from_double(sum.double_down()) <= truth);
      if (narrow) CHECK(sum.double_down() == truth.double_down());
    }
    CHECK(sum.double_down() >= truth.double_down() - most * 0x1p-50);
  }
}

TEST_CASE("lower sums: a carry beyond 125 bits rounds down", "[kernel][grid]") {
  exact::LowerSum sum;
  sum.add((Int128{1} << 125) - 1, 0);
  sum.add(2, 0);  // 2^125 + 1
  sum.add(-1, 125);
  CHECK(sum.double_down() <= 1);
  CHECK(sum.double_down() >= -1);
}

}  // namespace assay::test
