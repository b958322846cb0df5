#include "semantics/numbers/dyadic.h"

#include <vector>

#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

constexpr Int128 kInt128Max =
    static_cast<Int128>((~static_cast<unsigned long long>(0)) >> 1) * (Int128{1} << 64) + static_cast<Int128>(~0ULL);
constexpr Int128 kInt128Min = -kInt128Max - 1;

Dyadic random_dyadic(Operands& operands) {
  switch (operands.bits() % 6) {
    case 0:
      return *Dyadic::from_double(operands.finite());
    case 1:
      return Dyadic(operands.integer(-100, 100));
    case 2: {  // mantissas at the width where the paths part
      const auto bits = operands.integer(60, 127);
      const Int128 top = (Int128{1} << (bits - 1)) + static_cast<Int128>(operands.bits() % 5) - 2;
      return Dyadic(operands.bits() % 2 == 0 ? top : -top, static_cast<std::int32_t>(operands.integer(-200, 200)));
    }
    case 3:
      return *Dyadic::from_double(operands.with_exponent(-20, 20)) * *Dyadic::from_double(operands.with_exponent(-900, 900));
    case 4: {
      const Dyadic x = *Dyadic::from_double(operands.with_exponent(-20, 20));
      return x * x * x * Dyadic(operands.integer(1, 9));
    }
    default:
      return *Dyadic::from_double(operands.with_exponent(-30, 30));
  }
}

}  // namespace

TEST_CASE("dyadic: arithmetic and order equal Rational's, on both paths", "[numbers]") {
  Operands operands(31);
  Mismatches result;
  for (int i = 0; i < 30000; ++i) {
    const Dyadic a = random_dyadic(operands);
    const Dyadic b = random_dyadic(operands);
    const Rational x = a.to_rational();
    const Rational y = b.to_rational();
    const auto say = [&] { return x.to_string() + " , " + y.to_string(); };
    result.expect_lazily((a + b).to_rational() == x + y, [&] { return "+ " + say(); });
    result.expect_lazily((a - b).to_rational() == x - y, [&] { return "- " + say(); });
    result.expect_lazily((a * b).to_rational() == x * y, [&] { return "* " + say(); });
    result.expect_lazily((-a).to_rational() == -x, [&] { return "neg " + say(); });
    result.expect_lazily((a <=> b) == (x <=> y) && (a == b) == (x == y), [&] { return "<=> " + say(); });
    result.expect_lazily(compare(a, y) == (x <=> y), [&] { return "compare " + say(); });
    result.expect_lazily(a.sign() == x.sign(), say);
    // Back over the border of the two representations: the same value is the same object.
    result.expect_lazily((a + b) - b == a && a - a == Dyadic() && (a - b) + b == a, [&] { return "form " + say(); });
  }
  INFO("seed 31: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("dyadic: mantissas at the border of int128", "[numbers]") {
  const Rational two_127 = pow(Rational(2), 127);
  CHECK(Dyadic(kInt128Min, 0).to_rational() == -two_127);
  CHECK(Dyadic(kInt128Max, 0).to_rational() == two_127 - Rational(1));
  CHECK((-Dyadic(kInt128Min, 0)).to_rational() == two_127);
  CHECK((Dyadic(kInt128Max, 0) + Dyadic(1)).to_rational() == two_127);
  CHECK((Dyadic(kInt128Max, 0) + Dyadic(2)).to_rational() == two_127 + Rational(1));
  CHECK((Dyadic(kInt128Max, 0) * Dyadic(kInt128Max, 0)).to_rational() == square(two_127 - Rational(1)));
  CHECK((Dyadic(kInt128Min, 0) - Dyadic(1)).to_rational() == -two_127 - Rational(1));
  CHECK(Dyadic(kInt128Max, 0) + Dyadic(2) - Dyadic(2) == Dyadic(kInt128Max, 0));
  CHECK(Dyadic(Int128{12}, 3) == Dyadic(96));
  CHECK(Dyadic(Int128{0}, 77) == Dyadic());
  CHECK(Dyadic(INT64_MIN).to_rational() == Rational(INT64_MIN));
}

TEST_CASE("dyadic: accumulation in place, also with itself", "[numbers]") {
  Operands operands(32);
  Dyadic sum;
  Rational want;
  for (int i = 0; i < 2000; ++i) {
    const double a = operands.with_exponent(-12, 3);
    const double b = operands.with_exponent(-12, 3);
    sum += *Dyadic::from_double(a) * *Dyadic::from_double(b);
    want += *Rational::from_double(a) * *Rational::from_double(b);
  }
  CHECK(sum.to_rational() == want);
  sum += sum;
  CHECK(sum.to_rational() == want * Rational(2));
  const Dyadic& alias = sum;
  sum -= alias;
  CHECK(sum == Dyadic());
  CHECK(sum.sign() == 0);
}

TEST_CASE("dyadic: copies and moves keep the value on both paths", "[numbers]") {
  for (const Dyadic& x : {Dyadic(5), Dyadic(kInt128Max, 0) * Dyadic(kInt128Max, 0)}) {
    Dyadic copy(x);
    CHECK(copy == x);
    Dyadic moved(std::move(copy));
    CHECK(moved == x);
    copy = moved;
    CHECK(copy == x);
    Dyadic& alias = copy;
    copy = alias;
    CHECK(copy == x);
  }
}

TEST_CASE("dyadic: doubles convert exactly, other values outward to the neighbours", "[numbers]") {
  Operands operands(33);
  Mismatches result;
  for (int i = 0; i < 60000; ++i) {
    const double x = i < static_cast<int>(kEdges.size()) ? kEdges[static_cast<std::size_t>(i)] : operands.finite();
    const auto exact = Dyadic::from_double(x);
    if (!std::isfinite(x)) {
      result.expect(!exact.has_value(), hex(x));
      continue;
    }
    result.expect_lazily(exact->double_down() == x && exact->double_up() == x, [&] { return hex(x); });
    const Dyadic y = random_dyadic(operands);
    const Rational want = y.to_rational();
    result.expect_lazily(y.double_down() == want.double_down() && y.double_up() == want.double_up(), [&] { return want.to_string(); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK_FALSE(Dyadic::from_double(kNaN).has_value());
}

TEST_CASE("dyadic: conversions beyond the range of double", "[numbers]") {
  const auto power = [](std::int32_t exponent, int mantissa = 1) { return Dyadic(Int128{mantissa}, exponent); };
  CHECK(power(1024).double_down() == DBL_MAX);
  CHECK(power(1024).double_up() == kInfinity);
  CHECK(power(1024, -1).double_down() == -kInfinity);
  CHECK(power(1024, -1).double_up() == -DBL_MAX);
  CHECK(power(1023).double_up() == 0x1p1023);
  CHECK((power(1024) - power(900)).double_down() == DBL_MAX);
  CHECK((power(1024) - power(900)).double_up() == kInfinity);
  CHECK((power(900) - power(1024)).double_down() == -kInfinity);
  CHECK((power(900) - power(1024)).double_up() == -DBL_MAX);
  CHECK(power(-1074).double_down() == kTiny);
  CHECK(power(-1075).double_down() == 0);
  CHECK(power(-1075).double_up() == kTiny);
  CHECK(power(-1075, -1).double_down() == -kTiny);
  CHECK(power(-1075, -1).double_up() == 0);
  CHECK(power(-1075, 3).double_down() == kTiny);
  CHECK(power(-1075, 3).double_up() == 2 * kTiny);
  CHECK(power(-100000).double_up() == kTiny);
  CHECK(power(100000).double_down() == DBL_MAX);
  CHECK((Dyadic(kInt128Max, -2000) * Dyadic(kInt128Max, 0)).double_up() == kTiny);
  CHECK((Dyadic(kInt128Max, -2000) * Dyadic(-kInt128Max, 0)).double_down() == -kTiny);
}

TEST_CASE("dyadic: comparison with fractions that are not dyadic", "[numbers]") {
  const Dyadic below = *Dyadic::from_double(Rational(1, 3).double_down());
  const Dyadic above = *Dyadic::from_double(Rational(1, 3).double_up());
  CHECK(compare(below, Rational(1, 3)) == std::strong_ordering::less);
  CHECK(compare(above, Rational(1, 3)) == std::strong_ordering::greater);
  CHECK(compare(Dyadic(-1), Rational(1, 3)) == std::strong_ordering::less);
  CHECK(compare(Dyadic(2), Rational(4, 2)) == std::strong_ordering::equal);
}

}  // namespace assay::test
