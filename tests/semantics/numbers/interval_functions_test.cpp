// The MPFR-backed functions of Interval: containment against 200 bits, sharpness, domains.
#include <mpfr.h>

#include <algorithm>
#include <vector>

#include "semantics/numbers/interval.h"
#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using MpfrUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// 1 / (1 + exp(-x)) at 300 bits: what the other tests' 200 bits cannot tell from the exact value.
int reference_sigmoid(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t direction) {
  mpfr_t t;
  mpfr_init2(t, 300);
  const mpfr_rnd_t other = direction == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD;
  mpfr_neg(t, x, MPFR_RNDN);
  mpfr_exp(t, t, other);
  mpfr_add_ui(t, t, 1, other);
  const int inexact = mpfr_ui_div(out, 1, t, direction);
  mpfr_clear(t);
  return inexact;
}

struct Function {
  const char* name;
  Interval (*enclose)(const Interval&);
  MpfrUnary reference;
  double lo, hi;  // the arguments that random points are drawn from
  bool increasing;
};

const std::vector<Function> kFunctions = {
    {"exp", exp, mpfr_exp, -800, 800, true},  {"log", log, mpfr_log, 0, 1e6, true},
    {"tanh", tanh, mpfr_tanh, -25, 25, true}, {"sigmoid", sigmoid, reference_sigmoid, -800, 800, true},
    {"erf", erf, mpfr_erf, -7, 7, true},      {"sin", sin, mpfr_sin, -40, 40, false},
    {"cos", cos, mpfr_cos, -40, 40, false}};

// f(x) at 200 bits, as the double on either side: the tightest enclosure, unless 200 bits cannot tell.
Interval reference(const Function& f, double x) {
  mpfr_t point, value;
  mpfr_init2(point, 53);
  mpfr_init2(value, 200);
  mpfr_set_d(point, x, MPFR_RNDN);
  f.reference(value, point, MPFR_RNDD);
  const double lo = mpfr_get_d(value, MPFR_RNDD);
  f.reference(value, point, MPFR_RNDU);
  const double hi = mpfr_get_d(value, MPFR_RNDU);
  mpfr_clears(point, value, static_cast<mpfr_ptr>(nullptr));
  return {lo, hi};
}

double draw(const Function& f, Operands& operands) {
  switch (operands.bits() % 4) {
    case 0: {
      const double x = operands.with_exponent(-1074, 40);
      return x >= f.lo || f.lo < 0 ? x : -x;
    }
    case 1: {
      const double x = operands.with_exponent(-60, 4);
      return x >= f.lo || f.lo < 0 ? x : -x;
    }
    default:
      return operands.uniform(f.lo, f.hi);
  }
}

std::string text(const Interval& x) { return "[" + hex(x.lo()) + ", " + hex(x.hi()) + "]"; }

}  // namespace

TEST_CASE("interval functions: a point's image contains the value and is the tightest one (sigmoid: 2 ulp)", "[numbers]") {
  for (const Function& f : kFunctions) {
    Operands operands(100);
    Mismatches result;
    for (int i = 0; i < 4000; ++i) {
      const double x = draw(f, operands);
      if (f.lo == 0 && x <= 0) {
        continue;
      }
      const Interval tightest = reference(f, x);
      const Interval image = f.enclose(Interval(x));
      const bool sharp = std::nextafter(std::nextafter(image.lo(), kInfinity), kInfinity) >= image.hi();
      result.expect_lazily(image.contains(tightest) && sharp && (f.reference == reference_sigmoid || image == tightest),
                           [&] { return hex(x) + " -> " + text(image) + ", tightest " + text(tightest); });
    }
    INFO(f.name << ": " << result.first());
    CHECK(result.failed() == 0);
    CHECK(result.checked() > 2000);
  }
}

TEST_CASE("interval functions: an interval's image contains the value at every sampled point and is sharp", "[numbers]") {
  for (const Function& f : kFunctions) {
    Operands operands(200);
    Mismatches result;
    for (int i = 0; i < 150; ++i) {
      const double a = std::max(operands.uniform(f.lo, f.hi), f.lo == 0 ? kTiny : f.lo);
      const double b = std::min(f.hi, a + std::ldexp(1.0, static_cast<int>(operands.integer(-30, 3))));
      const Interval x(a, b);
      const Interval image = f.enclose(x);
      Interval seen = hull(reference(f, a), reference(f, b));
      constexpr int kSamples = 32;
      for (int k = 1; k < kSamples; ++k) {
        const double t = std::clamp(a + (b - a) * k / kSamples, a, b);
        seen = hull(seen, reference(f, t));
      }
      // Between samples h apart a function with |f''| <= 1 passes an extremum by at most h^2 / 8.
      const double h = (b - a) / kSamples;
      const double slack = f.increasing ? 0 : h * h / 8;
      const bool sharp = f.reference == reference_sigmoid || (image.lo() >= seen.lo() - slack && image.hi() <= seen.hi() + slack);
      result.expect_lazily(image.contains(seen) && sharp, [&] { return text(x) + " -> " + text(image) + ", seen " + text(seen); });
    }
    INFO(f.name << ": " << result.first());
    CHECK(result.failed() == 0);
  }
}

TEST_CASE("interval functions: images are isotone", "[numbers]") {
  for (const Function& f : kFunctions) {
    Operands operands(300);
    Mismatches result;
    for (int i = 0; i < 500; ++i) {
      const double a = std::max(operands.uniform(f.lo, f.hi), kTiny);
      const double b = std::min(f.hi, a + std::ldexp(1.0, static_cast<int>(operands.integer(-40, 2))));
      const Interval inner(a, b);
      const Interval outer(a * 0.75, b + 0.25);
      result.expect_lazily(f.enclose(outer).contains(f.enclose(inner)), [&] { return text(inner); });
    }
    INFO(f.name << ": " << result.first());
    CHECK(result.failed() == 0);
  }
}

TEST_CASE("interval functions: exact values stay points", "[numbers]") {
  CHECK(exp(Interval(0)) == Interval(1));
  CHECK(log(Interval(1)) == Interval(0));
  CHECK(tanh(Interval(0)) == Interval(0));
  CHECK(sigmoid(Interval(0)) == Interval(0.5));
  CHECK(erf(Interval(0)) == Interval(0));
  CHECK(sin(Interval(0)) == Interval(0));
  CHECK(cos(Interval(0)) == Interval(1));
  CHECK(pow(Interval(3), 5) == Interval(243));
  CHECK(pow(Interval(2), -3) == Interval(0.125));
  CHECK(pow(Interval(9), Rational(3, 2)) == Interval(27));
}

TEST_CASE("interval functions: ends of the range", "[numbers]") {
  CHECK(exp(Interval(710)) == Interval(DBL_MAX, kInfinity));
  CHECK(exp(Interval(-746)) == Interval(0, kTiny));
  CHECK(exp(Interval(-1e308)) == Interval(0, kTiny));
  CHECK(exp(Interval::whole()) == Interval(0, kInfinity));
  CHECK(tanh(Interval::whole()) == Interval(-1, 1));
  CHECK(tanh(Interval(1e300)) == Interval(std::nextafter(1.0, 0.0), 1));
  CHECK(sigmoid(Interval::whole()) == Interval(0, 1));
  CHECK(sigmoid(Interval(-1e300)) == Interval(0, kTiny));
  CHECK(sigmoid(Interval(1e300)) == Interval(std::nextafter(1.0, 0.0), 1));
  CHECK(erf(Interval::whole()) == Interval(-1, 1));
  CHECK(log(Interval(kTiny, kInfinity)).contains(1e3));
  CHECK(log(Interval(0, 1)).is_undefined());
  CHECK(log(Interval(-1, 1)).is_undefined());
  CHECK(sin(Interval::whole()) == Interval(-1, 1));
  CHECK(cos(Interval(1, kInfinity)) == Interval(-1, 1));
  CHECK(sin(Interval(kTiny)) == Interval(0, kTiny));
}

TEST_CASE("interval functions: extrema of sin and cos are met exactly, and only where they are", "[numbers]") {
  const double half_pi_below = 0x1.921fb54442d18p0;  // the doubles around pi/2
  const double half_pi_above = 0x1.921fb54442d19p0;
  CHECK(sin(Interval(1.5, half_pi_above)).hi() == 1);
  CHECK(sin(Interval(1.5, 1.57)).hi() < 1);
  CHECK(sin(Interval(half_pi_below, half_pi_above)) == Interval(std::nextafter(1.0, 0.0), 1));
  CHECK(sin(Interval(1.58, 4.7)).lo() > -1);
  CHECK(sin(Interval(1.58, 4.8)).lo() == -1);
  CHECK(cos(Interval(3.1, 3.2)).lo() == -1);
  CHECK(cos(Interval(-0.1, 0.2)).hi() == 1);
  CHECK(cos(Interval(0, 0.2)).hi() == 1);
  CHECK(cos(Interval(-0.2, 0)).hi() == 1);
  CHECK(cos(Interval(-3, 3)).lo() > -1);
  CHECK(cos(Interval(-3.2, 3)) == Interval(-1, 1));
  CHECK(sin(Interval(0, 3.1)).lo() == 0);
  CHECK(sin(Interval(0, 3.1)).hi() == 1);
  CHECK(sin(Interval(0, 6.2)) == Interval(-1, 1));
  CHECK(cos(Interval(0.1, 6.2)).hi() < 1);
  CHECK(cos(Interval(0.1, 6.2)).lo() == -1);
  CHECK(cos(Interval(1e22, 1e22 + 0x1p22)) == Interval(-1, 1));
  CHECK(std::fabs(sin(Interval(1e22)).lo() + 0.8522008497671888) <= 0x1p-52);  // K. C. Ng's example of argument reduction
  CHECK(sin(Interval(1e22)).width_up() <= 0x1p-52);
  CHECK(sin(Interval(DBL_MAX)).width_up() <= 0x1p-52);
}

TEST_CASE("interval functions: integer powers by sign of base and exponent", "[numbers]") {
  CHECK(pow(Interval(-2, 3), 0) == Interval(1));
  CHECK(pow(Interval(-2, 3), 2) == Interval(0, 9));
  CHECK(pow(Interval(-2, 3), 3) == Interval(-8, 27));
  CHECK(pow(Interval(-3, -2), 4) == Interval(16, 81));
  CHECK(pow(Interval(-4, 3), 4) == Interval(0, 256));
  CHECK(pow(Interval(2, 4), -1) == Interval(0.25, 0.5));
  CHECK(pow(Interval(-4, -2), -1) == Interval(-0.5, -0.25));
  CHECK(pow(Interval(-4, -2), -2) == Interval(0.0625, 0.25));
  CHECK(pow(Interval(2, 4), -2) == Interval(0.0625, 0.25));
  CHECK(pow(Interval(0, 2), -1).is_undefined());
  CHECK(pow(Interval(-1, 2), -3).is_undefined());
  CHECK(pow(Interval(2), INT64_MAX) == Interval(DBL_MAX, kInfinity));
  CHECK(pow(Interval(2), INT64_MIN) == Interval(0, kTiny));
  CHECK(pow(Interval(-1), INT64_MAX) == Interval(-1));
  CHECK(pow(Interval(-1), INT64_MIN) == Interval(1));
}

TEST_CASE("interval functions: rational powers", "[numbers]") {
  CHECK(pow(Interval(4), Rational(1, 2)) == sqrt(Interval(4)));
  CHECK(pow(Interval(2), Rational(1, 2)) == sqrt(Interval(2)));
  CHECK(pow(Interval(0, 4), Rational(1, 2)) == Interval(0, 2));
  CHECK(pow(Interval(4, 16), Rational(-1, 2)) == Interval(0.25, 0.5));
  CHECK(pow(Interval(0, 4), Rational(-1, 2)).is_undefined());
  CHECK(pow(Interval(-1, 4), Rational(1, 2)).is_undefined());
  CHECK(pow(Interval(-2, 3), Rational(6, 2)) == Interval(-8, 27));
  // 1/3 is rounded on both sides of itself, so both ends move off the exact root, for bases below and above 1.
  CHECK(pow(Interval(0.125), Rational(1, 3)) == Interval(std::nextafter(0.5, 0), std::nextafter(0.5, 1)));
  CHECK(pow(Interval(8), Rational(1, 3)) == Interval(std::nextafter(2.0, 0), std::nextafter(2.0, 3)));
  Operands operands(400);
  Mismatches result;
  for (int i = 0; i < 3000; ++i) {
    // y = x^(p/q) iff y^q = x^p, decided at 2000 bits where both sides are exact enough to be ordered.
    const double x = std::fabs(operands.with_exponent(-20, 20));
    const auto p = operands.integer(-7, 7);
    const auto q = operands.integer(2, 7);
    const Interval image = pow(Interval(x), Rational(p, q));
    const Interval widened(std::nextafter(image.lo(), 0), std::nextafter(image.hi(), kInfinity));
    const Interval left = pow(image, q);
    const Interval right = pow(Interval(x), p);
    const bool meets = left.lo() <= right.hi() && right.lo() <= left.hi();
    const bool sharp = std::nextafter(std::nextafter(image.lo(), kInfinity), kInfinity) >= image.hi();
    result.expect_lazily(meets && sharp && widened.contains(image),
                         [&] { return hex(x) + " ^ " + Rational(p, q).to_string() + " -> " + text(image); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

}  // namespace assay::test
