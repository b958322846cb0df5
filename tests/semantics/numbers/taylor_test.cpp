#include "semantics/numbers/taylor.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

namespace assay::test {
namespace {

constexpr int kFunctions = 20;

// Arguments that a function's domain, its kinks of accuracy and its overflow call for.
double argument(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  switch (random() % 6) {
    case 0:
      return unit(random);
    case 1:
      return unit(random) * 10;
    case 2:
      return unit(random) * 800;
    case 3:
      return std::ldexp(unit(random), static_cast<int>(random() % 200) - 150);
    case 4:
      return std::round(unit(random) * 64) / 8 + std::ldexp(unit(random), -static_cast<int>(random() % 40));
    default:
      return static_cast<double>(static_cast<float>(unit(random) * 4));
  }
}

}  // namespace

TEST_CASE("taylor: contains MPFR's enclosure at points and on intervals", "[numbers]") {
  std::mt19937_64 random(11);
  int wrong = 0;
  for (int k = 0; k < kFunctions; ++k) {
    const auto f = static_cast<Function>(k);
    for (int n = 0; n < 4000; ++n) {
      const double x = argument(random), width = std::fabs(argument(random)) * (n % 3 == 0 ? 0x1p-20 : 1);
      const Interval at = n % 2 == 0 ? Interval(x) : Interval(x, x + width);
      const Interval exact = apply(f, at), got = enclose(f, at);
      // What MPFR gives is the tightest enclosure in doubles: nothing that is right lies inside of it.
      if (exact.is_undefined() ? !got.is_undefined() : !(got.contains(exact))) ++wrong;
    }
    INFO(k);
    CHECK(wrong == 0);
  }
}

TEST_CASE("taylor: narrow enough to tell the nearest float", "[numbers]") {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int k = 0; k < kFunctions; ++k) {
    const auto f = static_cast<Function>(k);
    int known = 0, undecided = 0;
    for (int n = 0; n < 2000; ++n) {
      const Interval got = enclose(f, Interval(static_cast<double>(static_cast<float>(unit(random) * 3))));
      if (got.is_undefined()) continue;
      ++known;
      if (static_cast<float>(got.lo()) != static_cast<float>(got.hi())) ++undecided;
    }
    INFO(k);
    CHECK(known > 500);
    CHECK(undecided <= 1);
  }
}

TEST_CASE("taylor: a zero of the function is exact", "[numbers]") {
  for (const Function f : {Function::tanh, Function::erf, Function::sin, Function::tan, Function::asin, Function::atan, Function::sinh,
                           Function::asinh, Function::atanh, Function::expm1, Function::log1p}) {
    CHECK(enclose(f, Interval(0)) == Interval(0));
    const Interval small = enclose(f, Interval(0x1p-60));
    CHECK(small.lo() > 0);
    CHECK(small.width_up() < 0x1p-105);
  }
  CHECK(enclose(Function::log, Interval(1)) == Interval(0));
}

TEST_CASE("taylor: outside of the domain there is no value", "[numbers]") {
  CHECK(enclose(Function::log, Interval(-1)).is_undefined());
  CHECK(enclose(Function::log, Interval(-1, 1)).is_undefined());
  CHECK(enclose(Function::asin, Interval(1.5)).is_undefined());
  CHECK(enclose(Function::tan, Interval(1, 2)).is_undefined());
  CHECK(enclose(Function::exp, Interval::undefined()).is_undefined());
  CHECK(enclose(Function::acosh, Interval(0.99)).is_undefined());
}

}  // namespace assay::test
