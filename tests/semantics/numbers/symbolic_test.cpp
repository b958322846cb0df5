#include "semantics/numbers/symbolic.h"

#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using Terms = std::vector<std::pair<std::uint32_t, Interval>>;
Symbolic x(std::uint32_t index) { return Symbolic::variable(index); }

}  // namespace

TEST_CASE("symbolic: linear combinations read off their coefficients in order", "[numbers]") {
  const Symbolic form = x(7) * Symbolic(2.0) + Symbolic(1.5) - x(3) * Symbolic(0.25) + x(5);
  CHECK(form.is_linear());
  CHECK(form.constant() == Interval(1.5));
  CHECK(form.terms() == Terms{{3, Interval(-0.25)}, {5, Interval(1)}, {7, Interval(2)}});
}

TEST_CASE("symbolic: coefficients that cancel leave no term", "[numbers]") {
  CHECK((x(1) - x(1)).is_constant());
  CHECK((x(1) + x(2) - x(1)).terms() == Terms{{2, Interval(1)}});
  CHECK((x(1) * Symbolic(0.0)).is_constant());
  CHECK((x(1) * Symbolic(0.0)).constant() == Interval(0));
}

TEST_CASE("symbolic: sums in place, also with itself", "[numbers]") {
  Symbolic sum;
  for (std::uint32_t i = 0; i < 100; ++i) {
    sum += x(i) * Symbolic(static_cast<double>(i) + 1);
  }
  CHECK(sum.terms().size() == 100);
  CHECK(sum.terms()[41] == std::pair<std::uint32_t, Interval>{41, Interval(42)});
  sum += sum;
  CHECK(sum.terms().size() == 100);
  CHECK(sum.terms()[41].second == Interval(84));
  const Symbolic& alias = sum;
  sum -= alias;
  CHECK(sum.is_constant());
}

TEST_CASE("symbolic: agrees with Interval on random linear programs", "[numbers]") {
  Operands operands(71);
  Mismatches result;
  for (int i = 0; i < 2000; ++i) {
    double values[4];
    Symbolic form(static_cast<double>(operands.integer(-9, 9)));
    Interval direct = form.constant();
    for (double& value : values) {
      value = static_cast<double>(operands.integer(-99, 99));
    }
    for (int step = 0; step < 8; ++step) {
      const auto j = static_cast<std::uint32_t>(operands.bits() % 4);
      const auto c = static_cast<double>(operands.integer(-3, 3));
      if (operands.bits() % 2 == 0) {
        form = (form - x(j) * Symbolic(c)) * Symbolic(c);
        direct = (direct - Interval(values[j]) * Interval(c)) * Interval(c);
      } else {
        form = -form + x(j) / Symbolic(4.0);
        direct = -direct + Interval(values[j]) / Interval(4);
      }
    }
    Interval evaluated = form.constant();
    for (const auto& [index, coefficient] : form.terms()) {
      evaluated += coefficient * Interval(values[index]);
    }
    result.expect(form.is_linear() && evaluated == direct, std::to_string(i));
  }
  INFO("seed 71: program " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("symbolic: products and functions of variables are not linear, and that is contagious", "[numbers]") {
  CHECK_FALSE((x(0) * x(1)).is_linear());
  CHECK_FALSE((Symbolic(1.0) / x(0)).is_linear());
  CHECK_FALSE(square(x(0)).is_linear());
  CHECK_FALSE(exp(x(0)).is_linear());
  CHECK_FALSE(max(x(0), Symbolic(0.0)).is_linear());
  CHECK_FALSE(pow(x(0), 2).is_linear());
  CHECK_FALSE((Symbolic::nonlinear() + x(0)).is_linear());
  CHECK_FALSE((Symbolic::nonlinear() * Symbolic(2.0)).is_linear());
  CHECK_FALSE((-Symbolic::nonlinear()).is_linear());
  CHECK_FALSE(Symbolic::nonlinear().is_constant());
  CHECK(pow(x(0), 1).terms() == x(0).terms());
  CHECK(pow(x(0), 0).constant() == Interval(1));
}

TEST_CASE("symbolic: functions of constants are Interval's", "[numbers]") {
  CHECK(exp(Symbolic(0.0)).constant() == Interval(1));
  CHECK(max(Symbolic(1.0), Symbolic(2.0)).constant() == Interval(2));
  CHECK(pow(Symbolic(4.0), Rational(1, 2)).constant() == Interval(2));
  CHECK(log(Symbolic(-1.0)).constant().is_undefined());
  CHECK((Symbolic(1.0) / Symbolic(0.0)).constant().is_undefined());
}

}  // namespace assay::test
