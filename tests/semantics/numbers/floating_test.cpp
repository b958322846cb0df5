// Reference execution: correctly rounded functions, and the nearest conversions of ScalarTraits.
#include "semantics/numbers/floating.h"
#include "kernel/gradients/numbers/modular.h"

#include <vector>

#include "semantics/numbers/scalar_traits.h"
#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using Narrow = double (*)(double);
using Single = float (*)(float);
using Wide = WideInterval (*)(const WideInterval&);

struct Row {
  const char* name;
  Narrow in_double;
  Single in_float;
  Wide exact;
  double lo, hi;
};

const std::vector<Row> kRows = {{"sqrt", sqrt, sqrt, sqrt, 0, 100},
                                {"exp", exp, exp, exp, -760, 715},
                                {"log", log, log, log, 1e-300, 1e3},
                                {"tanh", tanh, tanh, tanh, -20, 20},
                                {"sigmoid", sigmoid, sigmoid, sigmoid, -760, 40},
                                {"erf", erf, erf, erf, -6, 6},
                                {"sin", sin, sin, sin, -30, 30},
                                {"cos", cos, cos, cos, -30, 30}};

// Is y nearest to every point of `exact`? Compared on the midpoints to y's neighbours, exactly.
bool is_nearest(const WideInterval& exact, double y, double below, double above) {
  const auto midpoint = [](double a, double b) {
    return WideInterval((*Rational::from_double(a) + *Rational::from_double(b)) * Rational(1, 2));
  };
  return certainly_less_equal(midpoint(below, y), exact) && certainly_less_equal(exact, midpoint(y, above));
}

}  // namespace

TEST_CASE("floating: functions are correctly rounded in double and in float", "[numbers]") {
  for (const Row& row : kRows) {
    Operands operands(81);
    Mismatches result;
    for (int i = 0; i < 600; ++i) {
      const double x = operands.uniform(row.lo, row.hi);
      const double y = row.in_double(x);
      if (std::isfinite(y) && std::fabs(y) < DBL_MAX) {
        result.expect(is_nearest(row.exact(WideInterval(x)), y, std::nextafter(y, -kInfinity), std::nextafter(y, kInfinity)),
                      "double " + hex(x));
      }
      const auto narrow = static_cast<float>(x);
      const float z = row.in_float(narrow);
      if (std::isfinite(z) && std::fabs(z) < FLT_MAX && (row.lo <= 0 || narrow > 0)) {
        result.expect(is_nearest(row.exact(WideInterval(static_cast<double>(narrow))), static_cast<double>(z),
                                 static_cast<double>(std::nextafterf(z, -HUGE_VALF)), static_cast<double>(std::nextafterf(z, HUGE_VALF))),
                      "float " + hex(x));
      }
    }
    INFO(row.name << ": " << result.first());
    CHECK(result.failed() == 0);
    CHECK(result.checked() > 600);
  }
}

TEST_CASE("floating: special values follow IEEE 754", "[numbers]") {
  CHECK(exp(kInfinity) == kInfinity);
  CHECK(exp(-kInfinity) == 0);
  CHECK(exp(1000.0) == kInfinity);
  CHECK(exp(-1000.0F) == 0);
  CHECK(log(0.0) == -kInfinity);
  CHECK(std::isnan(log(-1.0)));
  CHECK(std::isnan(exp(kNaN)));
  CHECK(sigmoid(-kInfinity) == 0);
  CHECK(sigmoid(kInfinity) == 1);
  CHECK(std::signbit(tanh(-0.0)));
  CHECK(pow(0.0, -1) == kInfinity);
  CHECK(pow(-2.0, 3) == -8);
  CHECK(pow(2.0, INT64_MIN) == 0);
  CHECK(pow(4.0, Rational(1, 2)) == 2);
  CHECK(pow(8.0F, Rational(1, 3)) == 2.0F);
  CHECK(pow(27.0, Rational(-2, 3)) == 1.0 / 9.0);
  CHECK(std::isnan(pow(-8.0, Rational(1, 3))));
  CHECK(std::isnan(max(kNaN, 1.0)));
  CHECK(std::isnan(min(1.0, kNaN)));
  CHECK(!std::signbit(max(-0.0, 0.0)));
  CHECK(std::signbit(min(0.0, -0.0)));
  CHECK(sign(-3.0F) == -1.0F);
  CHECK(std::isnan(sign(kNaN)));
  CHECK(std::isnan(sqrt(-1.0)));
}

TEST_CASE("floating: a rational power that is a tie goes to even", "[numbers]") {
  // 3^34 has 54 bits and is odd: exactly between two doubles. 3^17 is a double, and (3^17)^2 asks the same question.
  const double root = 129140163.0;
  CHECK(pow(root, 2) == root * root);
  // (3^8)^(17/4) = 3^34 through the branch for fractions.
  CHECK(pow(6561.0, Rational(17, 4)) == root * root);
}

TEST_CASE("floating: nearest conversion of fractions, ties to even, also to subnormals", "[numbers]") {
  const Rational one(1);
  const Rational ulp = *Rational::from_double(0x1p-52);
  using D = ScalarTraits<double>;
  CHECK(D::from_rational(one + ulp * Rational(1, 2)) == 1.0);
  CHECK(D::from_rational(one + ulp * Rational(3, 2)) == 1 + 0x1p-51);
  CHECK(D::from_rational(one + ulp * Rational(1, 2) + *Rational::from_double(0x1p-500)) == 1 + 0x1p-52);
  CHECK(D::from_rational(Rational(1, 3)) == 1.0 / 3.0);
  CHECK(D::from_rational(Rational(-1, 10)) == -0.1);
  CHECK(D::from_rational(*Rational::from_double(kTiny) * Rational(1, 2)) == 0);
  CHECK(D::from_rational(*Rational::from_double(kTiny) * Rational(501, 1000)) == kTiny);
  CHECK(D::from_rational(*Rational::from_double(kTiny) * Rational(3, 2)) == 2 * kTiny);
  CHECK(D::from_rational(*Rational::parse("1e400")) == kInfinity);
  CHECK(D::from_rational(Rational()) == 0);
  using F = ScalarTraits<float>;
  CHECK(F::from_rational(Rational(1, 3)) == 1.0F / 3.0F);
  CHECK(F::from_rational(one + *Rational::from_double(0x1p-24)) == 1.0F);
  CHECK(F::from_rational(one + *Rational::from_double(0x1p-24) + *Rational::from_double(0x1p-80)) == 1.0F + 0x1p-23F);
  CHECK(F::from_rational(-one - *Rational::from_double(0x1p-24) - *Rational::from_double(0x1p-80)) == -1.0F - 0x1p-23F);
  CHECK(F::from_double(0.1) == 0.1F);
  Operands operands(82);
  Mismatches result;
  for (int i = 0; i < 5000; ++i) {
    const double a = operands.finite();
    const auto b = operands.integer(1, 1000);
    if (std::fabs(a) < 0x1p1000) {  // division of doubles rounds the same quotient to nearest
      result.expect(D::from_rational(*Rational::from_double(a) / Rational(b)) == a / static_cast<double>(b),
                    hex(a) + " / " + std::to_string(b));
    }
  }
  INFO("seed 82: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("scalar traits: one template runs on every scalar", "[numbers]") {
  const auto polynomial = []<class S>(std::type_identity<S>) {
    using T = ScalarTraits<S>;
    const S x = T::from_rational(Rational(3, 2));
    return (square(x) - T::from_double(0.25)) * pow(x, 2) / T::from_double(2);
  };
  CHECK(polynomial(std::type_identity<Rational>{}) == Rational(9, 4));
  CHECK(polynomial(std::type_identity<Modular>{}) == Modular(9) / Modular(4));
  CHECK(polynomial(std::type_identity<Interval>{}) == Interval(2.25));
  CHECK(polynomial(std::type_identity<WideInterval>{}) == WideInterval(2.25));
  CHECK(polynomial(std::type_identity<double>{}) == 2.25);
  CHECK(polynomial(std::type_identity<float>{}) == 2.25F);
  CHECK(polynomial(std::type_identity<Symbolic>{}).constant() == Interval(2.25));
  CHECK(polynomial(std::type_identity<Dual<Rational>>{}).value() == Rational(9, 4));
  CHECK(polynomial(std::type_identity<Dual<Interval>>{}).value() == Interval(2.25));
  const auto bounded = []<class S>(std::type_identity<S>) {
    using T = ScalarTraits<S>;
    return max(min(abs(T::from_double(-3)), T::from_double(2)), sign(T::from_double(5)) + floor(T::from_double(-0.5)));
  };
  CHECK(bounded(std::type_identity<Rational>{}) == Rational(2));
  CHECK(bounded(std::type_identity<Interval>{}) == Interval(2));
  CHECK(bounded(std::type_identity<WideInterval>{}) == WideInterval(2.0));
  CHECK(bounded(std::type_identity<double>{}) == 2);
  CHECK(bounded(std::type_identity<float>{}) == 2);
  CHECK(bounded(std::type_identity<Symbolic>{}).constant() == Interval(2));
  CHECK(bounded(std::type_identity<Dual<Rational>>{}).value() == Rational(2));
  CHECK_FALSE(ScalarTraits<Rational>::can_hold(kInfinity));
  CHECK_FALSE(ScalarTraits<Interval>::can_hold(kNaN));
  CHECK(ScalarTraits<Interval>::can_hold(-kInfinity));
  CHECK_FALSE(ScalarTraits<Rational>::may_divide_by(Rational()));
  CHECK_FALSE(ScalarTraits<Dual<Rational>>::may_divide_by(Dual<Rational>()));
  CHECK_FALSE(ScalarTraits<Rational>::may_raise(Rational(), -1));
}

}  // namespace assay::test
