// The lines and planes of kernel/rules: on every box, for every proposed slope, below and above the function at every point.
#include <ctime>

#include "tests/kernel/relaxation_units.h"
#include "tests/ops/functions.h"

namespace assay::test {
namespace {

std::vector<Unit> unary_units() {
  std::vector<Unit> units{unary("cast to integers", Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::int64)}),
                          unary("cast to float32", Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::float32)}),
                          {"square", Op::mul, NoAttributes{}, {{1}}, {0, 0}}};
  for (const FunctionCase& one : functions()) {  // boxes that leave the domain are skipped; half lines are not left
    const double least = one.op == Op::log ? 0x1p-1074 : one.op == Op::sqrt ? 0 : one.op == Op::acosh ? 1 : -kInfinity;
    units.push_back(unary(one.name, one.op, one.attributes, least));
  }
  for (const std::int64_t n : {0, 1, 2, 3, 4, 7}) units.push_back(power(Rational(n)));
  for (const std::int64_t n : {-1, -2, -3}) units.push_back(power(Rational(n)));  // boxes over the pole are skipped
  for (const Rational& r : {Rational(1, 2), Rational(3, 2), Rational(1, 3)}) units.push_back(power(r, 0));
  units.push_back(power(Rational(-1, 2), 0x1p-1074));
  // Integer exponents that no int64 holds.
  units.push_back(power(Rational(std::int64_t{1} << 62) * Rational(2), 0));
  units.push_back(power(Rational(std::int64_t{1} << 62) * Rational(8) + Rational(0), 0));
  return units;
}

}  // namespace

TEST_CASE("lines of one operand hold on every box for every slope", "[kernel][relaxation]") {
  std::mt19937_64 random(11);
  Counts counts;
  for (const Unit& unit : unary_units()) {
    INFO(unit.name);
    const Applied a = apply(unit);
    std::size_t boxes = 0;
    for (const double l : kEnds) {
      for (const double u : kEnds) {
        if (!(l <= u) || l < unit.least || (l == u && !std::isfinite(l))) continue;
        const auto range = evaluate_unit<Interval>(a, {{Interval(l, u)}});
        if (!range || range.value().values[0].is_undefined()) continue;
        ++boxes;
        const Box x{{l}, {u}}, result{{range.value().values[0].lo()}, {range.value().values[0].hi()}};
        const std::vector<const Box*> operands(unit.operands.size(), &x);
        std::vector<std::pair<std::vector<std::vector<double>>, std::vector<WideInterval>>> samples;
        for (const double p : points_of(l, u, random)) {
          samples.push_back({{{p}}, take(evaluate_unit<WideInterval>(a, {{WideInterval(p)}})).values});
        }
        for (const auto& slopes : proposals(1, random)) {
          const auto r = relaxed(a.graph, a.graph.node(a.node), operands, result, SlopeHints{slopes, slopes});
          REQUIRE(r.has_value());
          ++counts.lines;
          for (const auto& [at, y] : samples) check_point(*r, at, y, counts);
        }
      }
    }
    CHECK(counts.violation == "");
    CHECK(boxes >= 6);
  }
  CHECK(counts.lines > 10000);
  CHECK(counts.points > 50000);
}

TEST_CASE("planes of several operands hold at every corner and inside", "[kernel][relaxation]") {
  const std::vector<Unit> units{{"mul", Op::mul, NoAttributes{}, {{1}, {1}}, {0, 1}},
                                {"mul, broadcast", Op::mul, NoAttributes{}, {{2, 1}, {1, 3}}, {0, 1}},
                                {"mul, scalar", Op::mul, NoAttributes{}, {{}, {2}}, {1, 0}},
                                {"max", Op::max, NoAttributes{}, {{2}, {2}, {1}}, {0, 1, 2}},
                                {"max, one operand twice", Op::max, NoAttributes{}, {{2}, {2}}, {0, 1, 0}},
                                {"max of one", Op::max, NoAttributes{}, {{2}}, {0}},
                                {"min, broadcast", Op::min, NoAttributes{}, {{2, 1}, {3}}, {0, 1}},
                                {"min", Op::min, NoAttributes{}, {{2}, {2}, {2}}, {2, 0, 1}}};
  std::mt19937_64 random(12);
  std::size_t lines = 0, points = 0;
  for (const Unit& unit : units) {
    INFO(unit.name);
    const Counts counts = check_unit(unit, kEnds, 24, random);
    CHECK(counts.violation == "");
    lines += counts.lines;
    points += counts.points;
  }
  CHECK(lines > 1500);
  CHECK(points > 10000);
}

namespace {

// Widest vertical gap between line and function at the ends of [l, u], for the kernel's own slopes.
double gap_at(const Unit& unit, double l, double u, double at, bool lower) {
  const Applied a = apply(unit);
  const Box x{{l}, {u}};
  const Interval range = take(evaluate_unit<Interval>(a, {{Interval(l, u)}})).values[0];
  const std::vector<const Box*> operands(unit.operands.size(), &x);
  const auto r = relaxed(a.graph, a.graph.node(a.node), operands, Box{{range.lo()}, {range.hi()}}, {});
  REQUIRE(r.has_value());
  const double y = take(evaluate_unit<Interval>(a, {{Interval(at)}})).values[0].midpoint();
  const double line = (lower ? r->parts[0].lower : r->parts[0].upper)[0] * at + (lower ? r->lower_intercept : r->upper_intercept)[0];
  return lower ? y - line : line - y;
}

}  // namespace

// Sharpness: without it a line at infinity would pass everything above.
TEST_CASE("the kernel's own lines touch the function", "[kernel][relaxation]") {
  CHECK(gap_at(unary("relu", Op::relu), -1, 2, -1, false) < 1e-12);
  CHECK(gap_at(unary("relu", Op::relu), -1, 2, 2, false) < 1e-12);
  CHECK(gap_at(unary("relu", Op::relu), -1, 2, 2, true) < 1e-12);
  CHECK(gap_at(unary("relu", Op::relu), 0, 2, 1, true) == 0);
  CHECK(gap_at(unary("relu", Op::relu), -2, 0, -1, false) == 0);
  CHECK(gap_at(unary("abs", Op::abs), -1, 3, -1, false) < 1e-12);
  CHECK(gap_at(unary("exp", Op::exp), -1, 1, 1, false) < 1e-12);
  CHECK(gap_at(unary("exp", Op::exp), -1, 1, 0, true) < 1e-6);
  CHECK(gap_at(unary("log", Op::log), 1, 3, 3, true) < 1e-12);
  CHECK(gap_at(unary("sqrt", Op::sqrt), 1, 4, 1, true) < 1e-12);
  CHECK(gap_at({"square", Op::mul, NoAttributes{}, {{1}}, {0, 0}}, -1, 3, 3, false) < 1e-12);
  CHECK(gap_at(unary("sigmoid", Op::sigmoid), -2, 3, -2, false) < 1e-6);
  CHECK(gap_at(unary("sigmoid", Op::sigmoid), -2, 3, 3, true) < 1e-6);
  CHECK(gap_at(unary("tanh", Op::tanh), 0.5, 2, 0.5, true) < 1e-12);
  CHECK(gap_at(power(Rational(3)), -1, 2, 2, false) < 1e-12);
  CHECK(gap_at(unary("erf", Op::erf), -2, 3, -2, false) < 1e-6);
  CHECK(gap_at(unary("softplus", Op::softplus), -1, 1, 1, false) < 1e-12);
  CHECK(gap_at(unary("reciprocal", Op::reciprocal), 1, 4, 1, false) < 1e-12);
  CHECK(gap_at(unary("hard_swish", Op::hard_swish), -3, 3, 3, false) < 1e-12);
  // By the derivative's range alone: not much more than the gap that the chord leaves.
  CHECK(gap_at(unary("gelu", Op::gelu, GeluAttributes{false}), -1, 1, 1, false) < 0.02);
  CHECK(gap_at(unary("sin", Op::sin), 0, 3, 1.5, false) < 0.02);
}

// Every pair of ends around the jumps, at the jumps and next to them.
TEST_CASE("lines over jumps hold, and are nearer than the box where there is more than one", "[kernel][relaxation]") {
  std::vector<double> ends;
  for (double k = -3; k <= 3; k += 0.5) ends.insert(ends.end(), {below(k), k, above(k)});
  ends.insert(ends.end(), {0x1p51 - 0.5, 0x1p51 + 2.5, 0x1p53 + 6});
  std::mt19937_64 random(14);
  const std::vector<Unit> units{unary("sign", Op::sign),
                                unary("step", Op::step),
                                unary("floor", Op::floor),
                                unary("ceil", Op::ceil),
                                unary("round", Op::round),
                                unary("cast to integers", Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::int64)}),
                                unary("thresholded_relu", Op::thresholded_relu, ActivationAttributes{1.5, 0}),
                                unary("shrink", Op::shrink, ActivationAttributes{0.5, 0.25})};
  for (const Unit& unit : units) {
    INFO(unit.name);
    const Applied a = apply(unit);
    Counts counts;
    for (const double l : ends) {
      for (const double u : ends) {
        if (!(l <= u)) continue;
        const Interval range = take(evaluate_unit<Interval>(a, {{Interval(l, u)}})).values[0];
        const Box x{{l}, {u}}, result{{range.lo()}, {range.hi()}};
        const std::vector<float> one{1.0F}, minus{-0.25F};
        for (const SlopeHints& hints : {SlopeHints{}, SlopeHints{one, one}, SlopeHints{minus, minus}}) {
          const auto r = relaxed(a.graph, a.graph.node(a.node), std::vector<const Box*>{&x}, result, hints);
          REQUIRE(r.has_value());
          ++counts.lines;
          for (const double p : ends) {
            if (l <= p && p <= u) check_point(*r, {{p}}, take(evaluate_unit<WideInterval>(a, {{WideInterval(p)}})).values, counts);
          }
        }
      }
    }
    CHECK(counts.violation == "");
    CHECK(counts.points > 20000);
  }
  for (const Op op : {Op::floor, Op::ceil, Op::round}) {
    const AtCentre r = at_centre(unary("", op), {box({-5.25}, {5.25})}, 0);
    CHECK(r.above - r.below < 2.2);  // 1 between the lines where the slope is 1, 10 or 11 between the ends
    CHECK_FALSE(without_slopes(r.relaxation));
    const AtCentre constant = at_centre(unary("", op), {box({0.6}, {0.9})}, 0);
    CHECK(constant.below == constant.above);
  }
  CHECK_FALSE(without_slopes(at_centre(unary("", Op::thresholded_relu, ActivationAttributes{1, 0}), {box({-1}, {3})}, 0).relaxation));
  // A real number between two representable ends, where halves are not representable: no line at all.
  CHECK(without_slopes(at_centre(unary("", Op::floor), {box({0x1p53 + 2}, {0x1p53 + 6})}, 0).relaxation));
  const AtCentre same = at_centre(unary("", Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::float32)}), {box({-1}, {0.1})}, 0);
  CHECK(same.relaxation.parts[0].lower[0] == 1);
  CHECK(same.above - same.below < 1e-15);
}

// CHORD: slope and intercept computed in float32 lie below relu at an end in most cases; the kernel's intercept never does.
TEST_CASE("relu_line: the intercept of a float32 chord is recomputed", "[kernel][relaxation]") {
  std::mt19937_64 random(13);
  const Applied a = apply(unary("relu", Op::relu));
  std::size_t unsound_chords = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const auto l = -static_cast<float>(random() % 1000003 + 1) / 333331.0F, u = static_cast<float>(random() % 1000003 + 1) / 333331.0F;
    const float slope = u / (u - l), float_intercept = -slope * l;
    const auto below_function = [&](double intercept, double x) {
      return exactly(double{slope}) * exactly(x) + exactly(intercept) < max(exactly(x), Rational(0));
    };
    unsound_chords += below_function(double{float_intercept}, double{l}) || below_function(double{float_intercept}, double{u}) ? 1 : 0;
    const Box x{{double{l}}, {double{u}}}, y{{0}, {double{u}}};
    const std::vector<const Box*> operands{&x};
    const std::vector<float> slopes{slope};
    const auto r = relaxed(a.graph, a.graph.node(a.node), operands, y, SlopeHints{{}, slopes});
    REQUIRE(r.has_value());
    CHECK(r->parts[0].upper[0] == double{slope});
    const double intercept = r->upper_intercept[0];
    CHECK_FALSE(below_function(intercept, double{l}));
    CHECK_FALSE(below_function(intercept, double{u}));
    CHECK((below_function(below(below(intercept)), double{l}) ||
           below_function(below(below(intercept)), double{u})));  // no wider than needed
  }
  CHECK(unsound_chords > 250);
}

// One line over gelu took up to 95 ms, at 257 bits; now about 0.1 ms, which leaves room for slow machines.
TEST_CASE("unary_line: lines of smooth functions cost the same wherever the box lies", "[kernel][relaxation][speed]") {
  constexpr std::int64_t kElements = 100;
  std::mt19937_64 random(31);
  std::uniform_real_distribution<double> place(-45, 45);
  for (const Unit& unit :
       {unary("erf", Op::erf), unary("gelu", Op::gelu, GeluAttributes{false}), unary("gelu, tanh", Op::gelu, GeluAttributes{true}),
        unary("silu", Op::silu, ActivationAttributes{1, 0}), unary("mish", Op::mish), unary("softplus", Op::softplus),
        unary("sigmoid", Op::sigmoid), unary("tanh", Op::tanh)}) {
    const Applied a = apply(unit);
    Box x, y;
    for (std::int64_t i = 0; i < kElements; ++i) {
      const double p = place(random), q = place(random);
      x.lo.push_back(std::min(p, q));
      x.hi.push_back(std::max(p, q));
      y.lo.push_back(-kInfinity);
      y.hi.push_back(kInfinity);
    }
    const std::vector<const Box*> operands{&x};
    const std::clock_t begin = std::clock();
    CHECK(relaxed(a.graph, a.graph.node(a.node), operands, y, {}).has_value());
    INFO(unit.name);
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 3);
  }
}

}  // namespace assay::test
