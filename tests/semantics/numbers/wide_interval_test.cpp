// WideInterval: the inclusion principle against exact fractions, and the counterexamples that show why the library's
// default rounding policy must not be used (they fail there and hold here).
#include "semantics/numbers/wide_interval.h"

#include <boost/multiprecision/mpfr.hpp>
#include <boost/numeric/interval.hpp>
#include <vector>

#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

// The one place that instantiates the default policy (allowed by the lint): the subject of the counterexamples.
using DefaultNumber = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<77, boost::multiprecision::allocate_stack>,
                                                    boost::multiprecision::et_off>;
using DefaultInterval = boost::numeric::interval<DefaultNumber>;

bool misses(const DefaultInterval& x, const Rational& value) {
  mpq_t exact;
  mpq_init(exact);
  mpq_set_str(exact, value.to_string().c_str(), 10);
  const bool inside = mpfr_cmp_q(x.lower().backend().data(), exact) <= 0 && mpfr_cmp_q(x.upper().backend().data(), exact) >= 0;
  mpq_clear(exact);
  return !inside;
}

std::string text(const WideInterval& x) { return "[" + hex(x.lo_down()) + ", " + hex(x.hi_up()) + "]"; }

Rational random_fraction(Operands& operands) {
  const std::int64_t denominator = operands.integer(1, 1000000);
  return Rational(operands.integer(-1000000000, 1000000000), denominator) *
         *Rational::from_double(std::ldexp(1.0, static_cast<int>(operands.integer(-40, 40))));
}

WideInterval random_interval(Operands& operands, Rational& inside) {
  const Rational a = random_fraction(operands);
  if (operands.bits() % 3 == 0) {
    inside = a;
    return WideInterval(a);
  }
  const Rational b = random_fraction(operands);
  const Rational lo = min(a, b);
  const Rational hi = max(a, b);
  inside = lo + (hi - lo) * Rational(operands.integer(0, 8), 8);
  return {lo, hi};
}

double relative_width(const WideInterval& x) { return x.width_up() / x.magnitude_up(); }

}  // namespace

TEST_CASE("wide interval: 1/3 is enclosed, and the default policy misses it with width 0", "[numbers]") {
  const WideInterval third = WideInterval(1.0) / WideInterval(3.0);
  CHECK(third.contains(Rational(1, 3)));
  CHECK_FALSE(third.is_point());
  CHECK(relative_width(third) <= 0x1p-255);
  WideInterval same = third;
  const WideInterval& itself = same;
  same = itself;
  CHECK(same == third);

  const DefaultInterval bad = DefaultInterval(DefaultNumber(1)) / DefaultInterval(DefaultNumber(3));
  CHECK(bad.lower() == bad.upper());
  CHECK(misses(bad, Rational(1, 3)));
}

TEST_CASE("wide interval: a sum that does not fit keeps its small part, which the default policy loses", "[numbers]") {
  const Rational small = *Rational::from_double(0x1p-300);
  const WideInterval sum = WideInterval(1.0) + WideInterval(0x1p-300);
  CHECK(sum.contains(Rational(1) + small));
  CHECK(sum.lo() == Rational(1));
  CHECK(*sum.hi() > Rational(1));

  const DefaultInterval bad = DefaultInterval(DefaultNumber(1)) + DefaultInterval(DefaultNumber(0x1p-300));
  CHECK(bad.lower() == 1);
  CHECK(bad.upper() == 1);
  CHECK(misses(bad, Rational(1) + small));
}

TEST_CASE("wide interval: n times 1/n summed always contains 1, which the default policy refutes for many n", "[numbers]") {
  int false_proofs = 0;
  for (int n = 2; n < 200; ++n) {
    WideInterval sum(0.0);
    DefaultInterval bad(DefaultNumber(0));
    for (int i = 0; i < n; ++i) {
      sum += WideInterval(1.0) / WideInterval(static_cast<double>(n));
      bad += DefaultInterval(DefaultNumber(1)) / DefaultInterval(DefaultNumber(n));
    }
    INFO("n = " << n);
    CHECK(sum.contains(Rational(1)));
    false_proofs += misses(bad, Rational(1)) ? 1 : 0;
  }
  CHECK(false_proofs > 100);
}

TEST_CASE("wide interval: random products, quotients and roots are enclosed, which the default policy misses", "[numbers]") {
  Operands operands(51);
  Mismatches ours;
  int theirs = 0;
  for (int i = 0; i < 500; ++i) {
    const Rational a = Rational(operands.integer(1, 1000), 3);
    const Rational b = Rational(operands.integer(1, 1000), 7);
    const WideInterval x(a);
    const WideInterval y(b);
    ours.expect_lazily((x * y).contains(a * b) && (x / y).contains(a / b) && (x + y).contains(a + b) && (x - y).contains(a - b),
                       [&] { return a.to_string(); });
    const WideInterval root = sqrt(x);
    ours.expect_lazily(certainly_less_equal(square(WideInterval(*root.lo())), WideInterval(*x.hi())) && square(root).contains(a),
                       [&] { return a.to_string(); });
    const std::int64_t p = operands.integer(1, 1000000);
    const std::int64_t q = 2 * operands.integer(1, 1000000) + 1;
    if (p % q != 0) {
      theirs += misses(DefaultInterval(DefaultNumber(p)) / DefaultInterval(DefaultNumber(q)), Rational(p, q)) ? 1 : 0;
    }
  }
  INFO("seed 51: " << ours.first());
  CHECK(ours.failed() == 0);
  CHECK(theirs > 450);
}

TEST_CASE("wide interval: every operation contains the exact value at a point inside", "[numbers]") {
  Operands operands(52);
  Mismatches result;
  for (int i = 0; i < 15000; ++i) {
    Rational p;
    Rational q;
    const WideInterval a = random_interval(operands, p);
    const WideInterval b = random_interval(operands, q);
    const auto say = [&] { return text(a) + " " + text(b) + " at " + p.to_string() + ", " + q.to_string(); };
    result.expect_lazily((a + b).contains(p + q) && (a - b).contains(p - q) && (a * b).contains(p * q) && (-a).contains(-p), say);
    result.expect_lazily(b.contains(0.0) ? (a / b).is_undefined() : (a / b).contains(p / q), say);
    result.expect_lazily(square(a).contains(p * p) && abs(a).contains(abs(p)) && sign(a).contains(sign(p)) && floor(a).contains(floor(p)),
                         say);
    result.expect_lazily(min(a, b).contains(min(p, q)) && max(a, b).contains(max(p, q)) && hull(a, b).contains(p) && hull(a, b).contains(q),
                         say);
    result.expect_lazily(pow(a, 3).contains(p * p * p), say);
    result.expect_lazily(a.to_interval().contains(p) && a.to_interval().contains(Interval(a.lo_down(), a.hi_up())), say);
  }
  INFO("seed 52: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("wide interval: agrees with Interval, and is narrower", "[numbers]") {
  Operands operands(53);
  Mismatches result;
  using Wide = WideInterval (*)(const WideInterval&);
  using Narrow = Interval (*)(const Interval&);
  const std::vector<std::pair<Wide, Narrow>> functions = {{exp, exp}, {tanh, tanh}, {sigmoid, sigmoid}, {erf, erf}, {sin, sin}, {cos, cos}};
  for (int i = 0; i < 300; ++i) {
    const double a = operands.uniform(-20, 20);
    const Interval x(a, a + (operands.bits() % 2 == 0 ? 0 : operands.uniform(0, 4)));
    for (const auto& [wide, narrow] : functions) {
      const WideInterval fine = wide(WideInterval(x));
      result.expect_lazily(narrow(x).contains(fine.to_interval()) && WideInterval(narrow(x)).contains(fine),
                           [&] { return hex(x.lo()) + " " + hex(x.hi()); });
      result.expect_lazily(!x.is_point() || fine.width_up() <= std::ldexp(fine.magnitude_up(), -250), [&] { return "width at " + hex(a); });
    }
  }
  INFO("seed 53: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("wide interval: erf reaches its limits nowhere, not even where the square of its argument is beyond MPFR", "[numbers]") {
  const WideInterval zero, one(1.0);
  for (const double power : {3e8, 4e8, 7e8}) {  // exp(7e8) is near the largest number, exp(4e8) beyond its root
    CAPTURE(power);
    const WideInterval x = exp(WideInterval(power)), upper = apply(Function::erfc, x);
    REQUIRE(x.is_bounded());
    CHECK(upper.contains(0.0));
    CHECK(certainly_less(zero, upper.upper_end()));
    CHECK(certainly_less(erf(x).lower_end(), one));
    CHECK(erf(x).contains(1.0));
    CHECK(certainly_less(-one, erf(-x).upper_end()));
    CHECK(certainly_less(apply(Function::erfc, -x).lower_end(), one + one));
  }
}

TEST_CASE("wide interval: identities between functions meet", "[numbers]") {
  Operands operands(54);
  Mismatches result;
  const auto meet = [](const WideInterval& a, const WideInterval& b) {
    return !certainly_less(a, b) && !certainly_less(b, a) && !a.is_undefined() && !b.is_undefined();
  };
  const WideInterval one(1.0);
  for (int i = 0; i < 200; ++i) {
    const WideInterval x(operands.uniform(-10, 10));
    const WideInterval y = abs(x) + WideInterval(0.5);
    result.expect(meet(log(exp(x)), x), "log exp " + text(x));
    result.expect(meet(square(sin(x)) + square(cos(x)), one), "sin cos " + text(x));
    result.expect(meet(sigmoid(x), one / (one + exp(-x))), "sigmoid " + text(x));
    result.expect(meet(tanh(x), WideInterval(2.0) * sigmoid(WideInterval(2.0) * x) - one), "tanh " + text(x));
    result.expect(meet(pow(y, Rational(5, 2)), square(y) * sqrt(y)), "pow " + text(y));
    result.expect(meet(pow(y, Rational(-1, 3)), exp(-log(y) / WideInterval(3.0))), "root " + text(y));
    result.expect(meet(erf(-x), -erf(x)), "erf " + text(x));
  }
  INFO("seed 54: " << result.first());
  CHECK(result.failed() == 0);
  CHECK(meet(sin(WideInterval::pi()), WideInterval(0.0)));
  CHECK(WideInterval::pi().contains(WideInterval::pi()));
  CHECK(certainly_less(WideInterval(Rational(314159265358979, 100000000000000)), WideInterval::pi()));
  CHECK(certainly_less(WideInterval::pi(), WideInterval(Rational(314159265358980, 100000000000000))));
}

TEST_CASE("wide interval: undefined, unbounded and ends", "[numbers]") {
  const WideInterval u = WideInterval::undefined();
  const WideInterval one(1.0);
  CHECK(WideInterval(kNaN).is_undefined());
  CHECK(WideInterval(2.0, 1.0).is_undefined());
  CHECK(WideInterval(Rational(2), Rational(1)).is_undefined());
  CHECK(WideInterval(Interval::undefined()).is_undefined());
  for (const WideInterval& x : {u + one,
                                one - u,
                                u * WideInterval(0.0),
                                u / one,
                                one / u,
                                -u,
                                hull(u, one),
                                intersect(one, u),
                                square(u),
                                abs(u),
                                sign(u),
                                floor(u),
                                min(u, one),
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
                                pow(u, Rational(1, 2)),
                                log(WideInterval(0.0)),
                                sqrt(WideInterval(-1.0, 1.0)),
                                one / WideInterval(0.0, 1.0),
                                intersect(one, WideInterval(2.0))}) {
    CHECK(x.is_undefined());
    CHECK_FALSE(x.lo().has_value());
    CHECK(std::isnan(x.hi_up()));
    CHECK(x.to_interval().is_undefined());
  }
  CHECK_FALSE(u.contains(0.0));
  CHECK_FALSE(u.contains(Rational(0)));
  CHECK_FALSE(one.contains(u));
  CHECK_FALSE(one.contains(kNaN));
  CHECK_FALSE(certainly_less(u, one));
  CHECK_FALSE(certainly_less_equal(one, u));
  CHECK_FALSE(u == u);
  const WideInterval whole = WideInterval::whole();
  CHECK_FALSE(whole.is_bounded());
  CHECK_FALSE(whole.lo().has_value());
  CHECK(whole.contains(1e300));
  CHECK((whole * WideInterval(0.0)) == WideInterval(0.0));
  CHECK((WideInterval(0.0, kInfinity) * WideInterval(0.0, 1.0)) == WideInterval(0.0, kInfinity));
  CHECK((whole + whole) == whole);
  CHECK(one.is_bounded());
  CHECK(one.lo() == Rational(1));
  CHECK(WideInterval().contains(0.0));
  CHECK(WideInterval() == WideInterval(0.0));
  CHECK(WideInterval(0.0, 1.0).magnitude_up() == 1);
  CHECK(WideInterval(Rational(1, 3)).lo_down() == Rational(1, 3).double_down());
  CHECK(WideInterval(Rational(1, 3)).hi_up() == Rational(1, 3).double_up());
  CHECK_FALSE(exp(WideInterval(1e9)).hi().has_value());  // too large to be written out
}

}  // namespace assay::test
