// The derivative table, entry by entry. For each primitive f and each piece [a, b] of a subdivision the mean-value
// theorem demands f(b) - f(a) in (b - a) F'([a, b]), where F' is the table's entry on the whole piece; pieces so
// narrow that F' is nearly a point leave no room for another function.
#include "semantics/numbers/dual.h"
#include "kernel/gradients/numbers/modular.h"

#include <functional>
#include <vector>

#include "semantics/numbers/scalar_traits.h"
#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using WideDual = Dual<WideInterval>;

struct Entry {
  const char* name;
  std::function<WideDual(const WideDual&)> f;
  std::int64_t lo, hi;  // subdivided
};

const std::vector<Entry> kEntries = {
    {"square", [](const WideDual& x) { return square(x); }, -5, 5},
    {"abs", [](const WideDual& x) { return abs(x); }, -5, 5},
    {"sqrt", [](const WideDual& x) { return sqrt(x); }, 1, 9},
    {"exp", [](const WideDual& x) { return exp(x); }, -9, 9},
    {"log", [](const WideDual& x) { return log(x); }, 1, 9},
    {"tanh", [](const WideDual& x) { return tanh(x); }, -9, 9},
    {"sigmoid", [](const WideDual& x) { return sigmoid(x); }, -9, 9},
    {"erf", [](const WideDual& x) { return erf(x); }, -4, 4},
    {"sin", [](const WideDual& x) { return sin(x); }, -7, 7},
    {"cos", [](const WideDual& x) { return cos(x); }, -7, 7},
    {"pow 0", [](const WideDual& x) { return pow(x, 0); }, -3, 3},
    {"pow 1", [](const WideDual& x) { return pow(x, 1); }, -3, 3},
    {"pow 3", [](const WideDual& x) { return pow(x, 3); }, -3, 3},
    {"pow 4", [](const WideDual& x) { return pow(x, 4); }, -3, 3},
    {"pow -1", [](const WideDual& x) { return pow(x, -1); }, 1, 5},
    {"pow -2", [](const WideDual& x) { return pow(x, -2); }, 1, 5},
    {"pow 5/2", [](const WideDual& x) { return pow(x, Rational(5, 2)); }, 1, 5},
    {"pow -1/3", [](const WideDual& x) { return pow(x, Rational(-1, 3)); }, 1, 5},
    {"x * x", [](const WideDual& x) { return x * x; }, -3, 3},
    {"(x+1)/(x*x+1)", [](const WideDual& x) { return (x + WideDual(WideInterval(1.0))) / (x * x + WideDual(WideInterval(1.0))); }, -3, 3},
    {"2x - x*x", [](const WideDual& x) { return WideDual(WideInterval(2.0)) * x - x * x; }, -3, 3},
    {"-x", [](const WideDual& x) { return -x; }, -3, 3},
    {"max(x, 1/3)", [](const WideDual& x) { return max(x, WideDual(WideInterval(Rational(1, 3)))); }, -3, 3},
    {"min(x, x*x)", [](const WideDual& x) { return min(x, x * x); }, -3, 3},
};

struct Piece {
  WideInterval secant;  // f(b) - f(a)
  WideInterval width;   // b - a
  WideDual image;       // f on [a, b] with tangent 1
};

Piece piece(const Entry& entry, const Rational& a, const Rational& b) {
  const WideInterval one(1.0);
  const WideInterval fa = entry.f(WideDual(WideInterval(a))).value();
  const WideInterval fb = entry.f(WideDual(WideInterval(b))).value();
  return {fb - fa, WideInterval(b) - WideInterval(a), entry.f(WideDual(WideInterval(a, b), one))};
}

bool meets(const WideInterval& a, const WideInterval& b) {
  return !a.is_undefined() && !b.is_undefined() && !certainly_less(a, b) && !certainly_less(b, a);
}

}  // namespace

TEST_CASE("dual: the mean-value theorem holds for every entry on every piece", "[numbers]") {
  for (const Entry& entry : kEntries) {
    Mismatches result;
    constexpr std::int64_t kPiecesPerUnit = 16;
    for (std::int64_t k = entry.lo * kPiecesPerUnit; k < entry.hi * kPiecesPerUnit; ++k) {
      const Rational a(k, kPiecesPerUnit);
      const Rational b(k + 1, kPiecesPerUnit);
      const Piece p = piece(entry, a, b);
      // The secant's enclosure is 2^-240 wide; the entry must contain it up to that.
      result.expect(meets(p.secant, p.width * p.image.tangent()), a.to_string());
      result.expect(p.image.value().contains(entry.f(WideDual(WideInterval(a))).value().to_interval()) ||
                        meets(p.image.value(), entry.f(WideDual(WideInterval(a))).value()),
                    "value at " + a.to_string());
    }
    INFO(entry.name << " on the piece from " << result.first());
    CHECK(result.failed() == 0);
  }
}

TEST_CASE("dual: on short pieces the entry is so narrow that no other derivative would pass", "[numbers]") {
  const Rational width = *Rational::from_double(0x1p-60);
  for (const Entry& entry : kEntries) {
    Mismatches result;
    Operands operands(61);
    for (int i = 0; i < 40; ++i) {
      const Rational a = *Rational::from_double(operands.uniform(static_cast<double>(entry.lo), static_cast<double>(entry.hi)));
      const Piece p = piece(entry, a, a + width);
      const WideInterval slope = p.secant / p.width;
      result.expect(meets(slope, p.image.tangent()), "missed at " + a.to_string());
      result.expect(p.image.tangent().width_up() <= std::ldexp(1.0 + p.image.tangent().magnitude_up(), -50), "wide at " + a.to_string());
    }
    INFO(entry.name << ": " << result.first());
    CHECK(result.failed() == 0);
  }
}

TEST_CASE("dual: the tangent is linear in the tangent of the argument", "[numbers]") {
  for (const Entry& entry : kEntries) {
    const WideInterval x(Rational(23, 10));
    const WideDual once = entry.f(WideDual(x, WideInterval(1.0)));
    const WideDual thrice = entry.f(WideDual(x, WideInterval(-3.0)));
    const WideDual constant = entry.f(WideDual(x));
    INFO(entry.name);
    CHECK(meets(thrice.tangent(), WideInterval(-3.0) * once.tangent()));
    CHECK(constant.tangent() == WideInterval(0.0));
  }
}

TEST_CASE("dual: Interval's table contains WideInterval's", "[numbers]") {
  using Narrow = Dual<Interval>;
  const std::vector<std::pair<std::function<Narrow(const Narrow&)>, std::function<WideDual(const WideDual&)>>> both = {
      {[](const Narrow& x) { return sqrt(x); }, [](const WideDual& x) { return sqrt(x); }},
      {[](const Narrow& x) { return exp(x); }, [](const WideDual& x) { return exp(x); }},
      {[](const Narrow& x) { return log(x); }, [](const WideDual& x) { return log(x); }},
      {[](const Narrow& x) { return tanh(x); }, [](const WideDual& x) { return tanh(x); }},
      {[](const Narrow& x) { return sigmoid(x); }, [](const WideDual& x) { return sigmoid(x); }},
      {[](const Narrow& x) { return erf(x); }, [](const WideDual& x) { return erf(x); }},
      {[](const Narrow& x) { return sin(x); }, [](const WideDual& x) { return sin(x); }},
      {[](const Narrow& x) { return cos(x); }, [](const WideDual& x) { return cos(x); }},
      {[](const Narrow& x) { return pow(x, -3); }, [](const WideDual& x) { return pow(x, -3); }},
      {[](const Narrow& x) { return pow(x, Rational(1, 3)); }, [](const WideDual& x) { return pow(x, Rational(1, 3)); }},
      {[](const Narrow& x) { return x / (x * x + x); }, [](const WideDual& x) { return x / (x * x + x); }}};
  Operands operands(62);
  Mismatches result;
  for (std::size_t k = 0; k < both.size(); ++k) {
    for (int i = 0; i < 40; ++i) {
      const double a = operands.uniform(0.125, 4);
      const Interval x(a, a + operands.uniform(0, 0.5));
      const Narrow narrow = both[k].first(Narrow(x, Interval(1)));
      const WideDual wide = both[k].second(WideDual(WideInterval(x), WideInterval(1.0)));
      result.expect(narrow.value().contains(wide.value().to_interval()) && narrow.tangent().contains(wide.tangent().to_interval()),
                    "function " + std::to_string(k) + " at " + hex(a));
    }
  }
  INFO("seed 62: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("dual: kinks give the Clarke hull on intervals, its middle on fractions", "[numbers]") {
  using D = Dual<Interval>;
  const Interval one(1);
  CHECK(abs(D(Interval(-1, 2), one)).tangent() == Interval(-1, 1));
  CHECK(abs(D(Interval(0, 2), one)).tangent() == Interval(-1, 1));
  CHECK(abs(D(Interval(kTiny, 2), one)).tangent() == one);
  CHECK(abs(D(Interval(-2, -kTiny), one)).tangent() == Interval(-1));
  CHECK(max(D(Interval(-1, 1), one), D(Interval(0))).tangent() == Interval(0, 1));
  CHECK(max(D(Interval(1, 2), one), D(Interval(0))).tangent() == one);
  CHECK(max(D(Interval(-2, -1), one), D(Interval(0))).tangent() == Interval(0));
  CHECK(min(D(Interval(0), one), D(Interval(0), Interval(5))).tangent() == Interval(1, 5));
  using R = Dual<Rational>;
  CHECK(abs(R(Rational(0), Rational(1))).tangent() == Rational(0));
  CHECK(max(R(Rational(0), Rational(1)), R(Rational(0))).tangent() == Rational(1, 2));
  CHECK(max(R(Rational(1), Rational(3)), R(Rational(0))).tangent() == Rational(3));
  CHECK(max(R(Rational(1), Rational(3)), R(Rational(0))).value() == Rational(1));
}

TEST_CASE("dual: jumps and singular points have no tangent on intervals", "[numbers]") {
  using D = Dual<Interval>;
  const Interval one(1);
  CHECK(sign(D(Interval(-1, 1), one)).tangent().is_undefined());
  CHECK(sign(D(Interval(0), one)).tangent().is_undefined());
  CHECK(sign(D(Interval(1, 2), one)).tangent() == Interval(0));
  CHECK(floor(D(Interval(0.5, 1.5), one)).tangent().is_undefined());
  CHECK(floor(D(Interval(1), one)).tangent().is_undefined());
  CHECK(floor(D(Interval(0.25, 0.75), one)).tangent() == Interval(0));
  CHECK(sqrt(D(Interval(0, 1), one)).tangent().is_undefined());
  CHECK(sqrt(D(Interval(0, 1), one)).value() == Interval(0, 1));
  CHECK(log(D(Interval(0, 1), one)).tangent().is_undefined());
  CHECK(abs(D(Interval::undefined(), one)).tangent().is_undefined() == false);  // the value says it
  CHECK(abs(D(Interval::undefined(), one)).value().is_undefined());
  using R = Dual<Rational>;
  CHECK(sign(R(Rational(0), Rational(1))).tangent() == Rational(0));
  CHECK(floor(R(Rational(5, 2), Rational(1))).tangent() == Rational(0));
}

TEST_CASE("dual: exact scalars follow the product, quotient and power rules", "[numbers]") {
  using R = Dual<Rational>;
  const R x(Rational(2, 3), Rational(1));
  CHECK((x * x * x).tangent() == Rational(4, 3));
  CHECK(pow(x, 3).tangent() == Rational(4, 3));
  CHECK(pow(x, -1).tangent() == Rational(-9, 4));
  CHECK((R(Rational(1)) / x).tangent() == Rational(-9, 4));
  CHECK(pow(x, 0).tangent() == Rational(0));
  R y = x;
  const R& alias = y;
  y /= alias;
  CHECK(y.value() == Rational(1));
  CHECK(y.tangent() == Rational(0));
  y = x;
  y *= alias;
  CHECK(y.tangent() == Rational(4, 3));
  using M = Dual<Modular>;
  const M m(Modular(5), Modular(1));
  CHECK((m * m * m).tangent() == Modular(75));
  CHECK(pow(m, -2).tangent() == Modular(-2) / Modular(125));
  CHECK(square(m).tangent() == Modular(10));
}

TEST_CASE("dual: the least exponent does not overflow", "[numbers]") {
  const Dual<Interval> y = pow(Dual<Interval>(Interval(1), Interval(1)), INT64_MIN);
  CHECK(y.value() == Interval(1));
  CHECK(y.tangent().contains(-0x1p63));
}

}  // namespace assay::test
