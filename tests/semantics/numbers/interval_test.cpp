// Interval arithmetic against corner values computed by MPFR: equal ends, not merely containment.
#include "semantics/numbers/interval.h"

#include <mpfr.h>

#include <algorithm>
#include <vector>

#include "semantics/numbers/directed.h"
#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using MpfrBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

// The extreme of the exact values at the four corners, rounded in one direction.
double extreme_corner(MpfrBinary operation, const Interval& a, const Interval& b, mpfr_rnd_t direction) {
  mpfr_t x, y, z;
  mpfr_inits2(53, x, y, z, static_cast<mpfr_ptr>(nullptr));
  double best = direction == MPFR_RNDD ? kInfinity : -kInfinity;
  for (const double p : {a.lo(), a.hi()}) {
    for (const double q : {b.lo(), b.hi()}) {
      mpfr_set_d(x, p, MPFR_RNDN);
      mpfr_set_d(y, q, MPFR_RNDN);
      operation(z, x, y, direction);
      const double corner = mpfr_nan_p(z) != 0 ? 0.0 : mpfr_get_d(z, direction);  // 0 * inf = 0
      best = direction == MPFR_RNDD ? std::min(best, corner) : std::max(best, corner);
    }
  }
  mpfr_clears(x, y, z, static_cast<mpfr_ptr>(nullptr));
  return best;
}

Interval random_interval(Operands& operands) {
  const double a = operands.finite();
  switch (operands.bits() % 8) {
    case 0:
      return Interval(a);
    case 1:
      return {std::min(a, 0.0), std::max(a, 0.0)};
    case 2:
      return {a, kInfinity};
    case 3:
      return {-kInfinity, a};
    case 4:
      return {-std::fabs(a), std::fabs(operands.finite())};
    default: {
      const double b = operands.finite();
      return {std::min(a, b), std::max(a, b)};
    }
  }
}

std::string text(const Interval& x) { return "[" + hex(x.lo()) + ", " + hex(x.hi()) + "]"; }

}  // namespace

TEST_CASE("interval: sums and differences have MPFR's ends", "[numbers]") {
  Operands operands(1);
  Mismatches result;
  for (int i = 0; i < 200000; ++i) {
    const Interval a = random_interval(operands);
    const Interval b = random_interval(operands);
    const Interval sum = a + b;
    result.expect_lazily(sum.lo() == add_down(a.lo(), b.lo()) && sum.hi() == add_up(a.hi(), b.hi()),
                         [&] { return text(a) + " + " + text(b); });
    const Interval difference = a - b;
    result.expect_lazily(difference.lo() == sub_down(a.lo(), b.hi()) && difference.hi() == sub_up(a.hi(), b.lo()),
                         [&] { return text(a) + " - " + text(b); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("interval: products have MPFR's ends for every combination of signs", "[numbers]") {
  Operands operands(2);
  Mismatches result;
  const auto check = [&](const Interval& a, const Interval& b) {
    const Interval product = a * b;
    const bool holds =
        product.lo() == extreme_corner(mpfr_mul, a, b, MPFR_RNDD) && product.hi() == extreme_corner(mpfr_mul, a, b, MPFR_RNDU);
    result.expect_lazily(holds && b * a == product, [&] { return text(a) + " * " + text(b) + " = " + text(product); });
  };
  const std::vector<double> ends = {-kInfinity, -3, -kTiny, 0, kTiny, 0.1, 7, DBL_MAX, kInfinity};
  for (const double p : ends) {
    for (const double q : ends) {
      for (const double r : ends) {
        for (const double s : ends) {
          if (p <= q && r <= s) {
            check({p, q}, {r, s});
          }
        }
      }
    }
  }
  for (int i = 0; i < 200000; ++i) {
    check(random_interval(operands), random_interval(operands));
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("interval: quotients have MPFR's ends, and are undefined when the divisor contains 0", "[numbers]") {
  Operands operands(3);
  Mismatches result;
  std::size_t undefined = 0;
  for (int i = 0; i < 200000; ++i) {
    const Interval a = random_interval(operands);
    const Interval b = random_interval(operands);
    const Interval quotient = a / b;
    if (b.contains(0.0)) {
      ++undefined;
      result.expect(quotient.is_undefined(), text(a) + " / " + text(b));
      continue;
    }
    const bool both_unbounded = (std::isinf(a.lo()) || std::isinf(a.hi())) && (std::isinf(b.lo()) || std::isinf(b.hi()));
    if (!both_unbounded) {
      const bool holds =
          quotient.lo() == extreme_corner(mpfr_div, a, b, MPFR_RNDD) && quotient.hi() == extreme_corner(mpfr_div, a, b, MPFR_RNDU);
      result.expect_lazily(holds, [&] { return text(a) + " / " + text(b) + " = " + text(quotient); });
    }
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK(undefined > 1000);
  CHECK(undefined < 170000);
  CHECK(Interval(1, kInfinity) / Interval(1, kInfinity) == Interval(0, kInfinity));
  CHECK(Interval(-kInfinity, -1) / Interval(2, kInfinity) == Interval(-kInfinity, 0));
}

TEST_CASE("interval: square, abs, sqrt, min, max, sign, floor have the exact ends", "[numbers]") {
  CHECK(square(Interval(-2, 3)) == Interval(0, 9));
  CHECK(square(Interval(-3, -2)) == Interval(4, 9));
  CHECK(square(Interval(0.1)).lo() == mul_down(0.1, 0.1));
  CHECK(square(Interval(0.1)).hi() == mul_up(0.1, 0.1));
  CHECK(abs(Interval(-2, 3)) == Interval(0, 3));
  CHECK(abs(Interval(-3, -2)) == Interval(2, 3));
  CHECK(sqrt(Interval(0, 4)) == Interval(0, 2));
  CHECK(sqrt(Interval(2)).lo() == sqrt_down(2));
  CHECK(sqrt(Interval(2)).hi() == sqrt_up(2));
  CHECK(sqrt(Interval(-kTiny, 4)).is_undefined());
  CHECK(min(Interval(0, 5), Interval(1, 2)) == Interval(0, 2));
  CHECK(max(Interval(0, 5), Interval(1, 2)) == Interval(1, 5));
  CHECK(sign(Interval(-2, 0)) == Interval(-1, 0));
  CHECK(sign(Interval(-kTiny, kTiny)) == Interval(-1, 1));
  CHECK(floor(Interval(-0.5, 2.75)) == Interval(-1, 2));
  CHECK(hull(Interval(0, 1), Interval(3, 4)) == Interval(0, 4));
  CHECK(intersect(Interval(0, 3), Interval(2, 4)) == Interval(2, 3));
  CHECK(intersect(Interval(0, 1), Interval(2, 3)).is_undefined());
}

TEST_CASE("interval: points stay points while results are exact", "[numbers]") {
  const Interval x = Interval(0.5) * Interval(3) + Interval(-0.25) - Interval(7) / Interval(4);
  CHECK(x.is_point());
  CHECK(x.lo() == -0.5);
  CHECK((Interval(0.1) + Interval(0.2)).width_up() > 0);
}

TEST_CASE("interval: undefined is contagious and answers no question with yes", "[numbers]") {
  const Interval u = Interval::undefined();
  const Interval one(1);
  CHECK(u.is_undefined());
  CHECK(Interval(kNaN).is_undefined());
  CHECK(Interval(2, 1).is_undefined());
  CHECK(Interval(kNaN, 1).is_undefined());
  CHECK(Interval(1, kNaN).is_undefined());
  for (const Interval& x : {u + one,
                            one + u,
                            u - one,
                            one - u,
                            u * one,
                            one * u,
                            u * Interval(-1, 1),
                            Interval(-1, 1) * u,
                            Interval(0) * u,
                            u / one,
                            one / u,
                            -u,
                            hull(u, one),
                            hull(one, u),
                            intersect(one, u),
                            square(u),
                            abs(u),
                            sign(u),
                            floor(u),
                            min(u, one),
                            min(one, u),
                            max(u, one),
                            max(one, u),
                            sqrt(u),
                            exp(u),
                            log(u),
                            tanh(u),
                            sigmoid(u),
                            erf(u),
                            sin(u),
                            cos(u),
                            pow(u, 0),
                            pow(u, 1),
                            pow(u, 3),
                            pow(u, Rational(1, 2))}) {
    CHECK(x.is_undefined());
  }
  CHECK_FALSE(u.contains(0.0));
  CHECK_FALSE(u.contains(u));
  CHECK_FALSE(Interval::whole().contains(u));
  CHECK_FALSE(u.contains(Rational(0)));
  CHECK_FALSE(u.is_point());
  CHECK_FALSE(u == u);
  CHECK(std::isnan(u.magnitude()));
  CHECK(std::isnan(u.width_up()));
}

TEST_CASE("interval: construction from Rational is the tightest enclosure, and containment is exact", "[numbers]") {
  const Rational third(1, 3);
  const Interval x(third);
  CHECK(x.hi() == std::nextafter(x.lo(), 1.0));
  CHECK(x.contains(third));
  CHECK_FALSE(Interval(x.lo()).contains(third));
  CHECK_FALSE(Interval(x.hi()).contains(third));
  CHECK(Interval(Rational(3, 8)).is_point());
  CHECK(Interval(*Rational::parse("1e400")) == Interval(DBL_MAX, kInfinity));
  CHECK(Interval(*Rational::parse("-1e-400")) == Interval(-kTiny, 0));
}

TEST_CASE("interval: width, magnitude and midpoint", "[numbers]") {
  CHECK(Interval(-1, 3).magnitude() == 3);
  CHECK(Interval(-4, 3).magnitude() == 4);
  CHECK(Interval(1, 1 + 0x1p-52).width_up() == 0x1p-52);
  CHECK(Interval(-kTiny, 1).width_up() == std::nextafter(1.0, 2.0));
  CHECK(Interval(-1, 3).midpoint() == 1);
  CHECK(Interval::whole().midpoint() == 0);
  Operands operands(4);
  Mismatches result;
  for (int i = 0; i < 100000; ++i) {
    const Interval x = random_interval(operands);
    result.expect_lazily(x.contains(x.midpoint()), [&] { return text(x); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("interval: operations are isotone", "[numbers]") {
  Operands operands(5);
  Mismatches result;
  for (int i = 0; i < 100000; ++i) {
    const Interval a = random_interval(operands);
    const Interval b = random_interval(operands);
    const Interval wider_a = hull(a, random_interval(operands));
    const Interval wider_b = hull(b, random_interval(operands));
    const bool quotient = wider_b.contains(0.0) || (wider_a / wider_b).is_undefined() || (wider_a / wider_b).contains(a / b);
    result.expect_lazily(
        (wider_a + wider_b).contains(a + b) && (wider_a - wider_b).contains(a - b) && (wider_a * wider_b).contains(a * b) && quotient,
        [&] { return text(a) + " " + text(b); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

}  // namespace assay::test
