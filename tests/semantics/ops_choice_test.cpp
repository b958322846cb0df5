// Truth values, choice, conversion and integers: sets, overflow and what is undefined.
#include <limits>
#include <random>

#include "kernel/gradients/numbers/modular.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// One op on named types; the result over S.
template <class S>
Outcome<Array<S>> applied(Op op, const std::vector<DType>& types, const std::vector<std::vector<S>>& values,
                          const Attributes& attributes = NoAttributes{}) {
  Graph graph;
  std::vector<NodeId> operands;
  std::vector<Array<S>> arrays;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Shape shape = {static_cast<std::int64_t>(values[i].size())};
    operands.push_back(graph.append_input(types[i], shape, "x"));
    arrays.push_back({shape, values[i]});
  }
  const Outcome<NodeId> id = graph.append(op, operands, attributes);
  REQUIRE(id.ok());
  return denote_case(graph, arrays);
}

using Sets = std::vector<Interval>;
using Numbers = std::vector<Rational>;

Sets sets(Op op, DType type, const std::vector<Sets>& values, const Attributes& attributes = NoAttributes{}) {
  return applied<Interval>(op, std::vector<DType>(values.size(), type), values, attributes).value().values;
}

Attributes to(DType dtype) { return CastAttributes{static_cast<std::uint8_t>(dtype)}; }

const Interval kFalse(0.0), kTrue(1.0), kOpen(0, 1);

}  // namespace

TEST_CASE("comparisons of sets are false, true or open", "[ops][choice]") {
  const Sets a = {{0, 1}, {0, 1}, {0, 1}, {2, 2}}, b = {{2, 3}, {1, 3}, {-1, 0}, {2, 2}};
  CHECK(sets(Op::less, DType::float32, {a, b}) == Sets{kTrue, kOpen, kFalse, kFalse});
  CHECK(sets(Op::less_equal, DType::float32, {a, b}) == Sets{kTrue, kTrue, kOpen, kTrue});
  CHECK(sets(Op::equal, DType::float32, {a, b}) == Sets{kFalse, kOpen, kOpen, kTrue});
  CHECK(sets(Op::is_nan, DType::float32, {a}) == Sets(4, kFalse));
  CHECK(sets(Op::is_inf, DType::float32, {a}, IsInfAttributes{}) == Sets(4, kFalse));
  CHECK(sets(Op::less, DType::float32, {{Interval::undefined()}, {Interval(0.0)}})[0].is_undefined());
  CHECK(sets(Op::is_nan, DType::float32, {{Interval::undefined()}})[0].is_undefined());
}

TEST_CASE("logic on all pairs of truth values and open ones", "[ops][choice]") {
  const Sets all = {kFalse, kTrue, kOpen};
  for (const Interval& a : all) {
    CHECK(sets(Op::logical_not, DType::boolean, {{a}})[0] == Interval(1 - a.hi(), 1 - a.lo()));
    for (const Interval& b : all) {
      const auto set_of = [&](const auto& f) {
        double lo = 1, hi = 0;
        for (const double p : {a.lo(), a.hi()}) {
          for (const double q : {b.lo(), b.hi()}) {
            lo = std::min(lo, f(p, q));
            hi = std::max(hi, f(p, q));
          }
        }
        return Interval(lo, hi);
      };
      CHECK(sets(Op::logical_and, DType::boolean, {{a}, {b}})[0] == set_of([](double p, double q) { return p * q; }));
      CHECK(sets(Op::logical_or, DType::boolean, {{a}, {b}})[0] == set_of([](double p, double q) { return p + q - p * q; }));
      CHECK(sets(Op::logical_xor, DType::boolean, {{a}, {b}})[0] == set_of([](double p, double q) { return p == q ? 0.0 : 1.0; }));
    }
  }
}

TEST_CASE("where takes the branch, or the hull of both; what is not chosen may be undefined", "[ops][choice]") {
  const std::vector<DType> types = {DType::boolean, DType::float32, DType::float32};
  const auto chosen = [&](const Interval& c, const Interval& a, const Interval& b) {
    return applied<Interval>(Op::where, types, {Sets{c}, Sets{a}, Sets{b}}).value().values[0];
  };
  const Interval a(1, 2), b(5, 6), none = Interval::undefined();
  CHECK(chosen(kTrue, a, none) == a);
  CHECK(chosen(kFalse, none, b) == b);
  CHECK(chosen(kOpen, a, b) == Interval(1, 6));
  CHECK(chosen(kOpen, a, none).is_undefined());
  CHECK(chosen(kTrue, none, b).is_undefined());
  CHECK(chosen(none, a, b).is_undefined());
}

TEST_CASE("casts truncate, and leave the reals alone", "[ops][choice]") {
  const Numbers x = {Rational::from_double(-2.75).value(), Rational::from_double(-0.5).value(), Rational(0),
                     Rational::from_double(3.999).value()};
  const auto cast = [&](DType dtype) { return applied<Rational>(Op::cast, {DType::float64}, {x}, to(dtype)).value().values; };
  CHECK(cast(DType::int32) == Numbers{Rational(-2), Rational(0), Rational(0), Rational(3)});
  CHECK(cast(DType::boolean) == Numbers{Rational(1), Rational(1), Rational(0), Rational(1)});
  CHECK(cast(DType::float32) == x);
  CHECK(sets(Op::cast, DType::float32, {{{-1.5, 2.5}, {0.25, 0.75}, {-0.5, 0.5}}}, to(DType::int8)) == Sets{{-1, 2}, kFalse, kFalse});
  CHECK(sets(Op::cast, DType::float32, {{{-1, 1}, {0.25, 0.75}, {0, 0}}}, to(DType::boolean)) == Sets{kOpen, kTrue, kFalse});
}

TEST_CASE("an integer result outside its type's range is a domain fault, never a wrapped number", "[ops][choice]") {
  struct Edge {
    DType dtype;
    Rational least, most;
  };
  const Rational two_63 = pow(Rational(2), 63), two_31 = pow(Rational(2), 31), one(1);
  const Edge edges[] = {{DType::int64, -two_63, two_63 - Rational(1)},
                        {DType::int32, -two_31, two_31 - Rational(1)},
                        {DType::int8, Rational(-128), Rational(127)},
                        {DType::uint8, Rational(0), Rational(255)},
                        {DType::int16, Rational(-32768), Rational(32767)},
                        {DType::uint16, Rational(0), Rational(65535)},
                        {DType::uint32, Rational(0), Rational(2) * two_31 - one},
                        {DType::uint64, Rational(0), Rational(2) * two_63 - one}};
  for (const Edge& edge : edges) {
    CAPTURE(to_string(edge.dtype));
    const std::vector<DType> types(2, edge.dtype);
    CHECK(applied<Rational>(Op::add, types, {{edge.most - one}, {one}}).value().values[0] == edge.most);
    CHECK(applied<Rational>(Op::sub, types, {{edge.least + one}, {one}}).value().values[0] == edge.least);
    const Outcome<Array<Rational>> above = applied<Rational>(Op::add, types, {{edge.most}, {one}});
    const Outcome<Array<Rational>> below = applied<Rational>(Op::sub, types, {{edge.least}, {one}});
    REQUIRE_FALSE(above.ok());
    REQUIRE_FALSE(below.ok());
    CHECK(above.rejection().code == "add.domain");
    CHECK(below.rejection().code == "sub.domain");
  }
  CHECK(sets(Op::add, DType::int8, {{{100, 127}}, {Interval(0.0)}})[0] == Interval(100, 127));
  CHECK(sets(Op::add, DType::int8, {{{100, 127}}, {Interval(1.0)}})[0].is_undefined());
  CHECK(sets(Op::abs, DType::int8, {{{-128, 0}}})[0].is_undefined());
  CHECK(sets(Op::cast, DType::float32, {{{0, 255.5}, {0, 256}, {-0.5, 0}, {-1, 0}}}, to(DType::uint8))[0] == Interval(0, 255));
  CHECK(sets(Op::cast, DType::float32, {{{0, 256}}}, to(DType::uint8))[0].is_undefined());
  CHECK(sets(Op::cast, DType::float32, {{{-0.5, 0}}}, to(DType::uint8))[0] == kFalse);
  CHECK(sets(Op::cast, DType::float32, {{{-1, 0}}}, to(DType::uint8))[0].is_undefined());
}

TEST_CASE("double and float decline integers that they would round; residues decline all", "[ops][choice]") {
  const std::vector<DType> types(2, DType::int64);
  CHECK(applied<double>(Op::add, types, {{0x1p53 - 1}, {1.0}}).value().values[0] == 0x1p53);
  const Outcome<Array<double>> rounded = applied<double>(Op::add, types, {{0x1p53}, {2.0}});
  REQUIRE_FALSE(rounded.ok());
  CHECK(rounded.rejection().code == "denote.scalar");
  const Outcome<Array<float>> narrow = applied<float>(Op::add, types, {{0x1p24F}, {2.0F}});
  REQUIRE_FALSE(narrow.ok());
  CHECK(narrow.rejection().code == "denote.scalar");
  const Outcome<Array<Modular>> residue = applied<Modular>(Op::add, types, {{Modular::from_rational(Rational(1))}, {Modular()}});
  REQUIRE_FALSE(residue.ok());
  CHECK(residue.rejection().code == "denote.scalar");
}

TEST_CASE("integers divide towards zero, and their sets follow", "[ops][choice]") {
  for (int a = -7; a <= 7; ++a) {
    for (int b = -3; b <= 3; ++b) {
      if (b == 0) continue;
      const auto values = applied<Rational>(Op::div, {DType::int32, DType::int32}, {{Rational(a)}, {Rational(b)}});
      CHECK(values.value().values[0] == Rational(a / b));
    }
  }
  CHECK(sets(Op::div, DType::int32, {{{-7, 7}}, {Interval(2.0)}})[0] == Interval(-3, 3));
  CHECK(sets(Op::div, DType::int32, {{{1, 7}}, {{0, 2}}})[0].is_undefined());
  CHECK(applied<Rational>(Op::div, {DType::int8, DType::int8}, {{Rational(-128)}, {Rational(-1)}}).rejection().code == "div.domain");
}

TEST_CASE("power of negative exponents between integers is a domain fault", "[ops][choice]") {
  const std::vector<DType> types(2, DType::int32);
  CHECK(applied<double>(Op::power, types, {{-3.0}, {3.0}}).value().values[0] == -27);
  const auto refused = applied<double>(Op::power, types, {{2.0}, {-1.0}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.rejection().code == "power.domain");
  // Over sets the element is undefined, and only that one.
  const Interval defined = sets(Op::power, DType::int32, {{{2, 3}}, {{1, 2}}})[0];
  CHECK(defined.contains(Interval(2, 9)));
  CHECK(Interval(1.999, 9.001).contains(defined));
  CHECK(sets(Op::power, DType::int32, {{{2, 3}}, {{-1, 2}}})[0].is_undefined());
  CHECK(sets(Op::power, DType::int32, {{{2, 3}}, {Interval(-1.0)}})[0].is_undefined());
}
