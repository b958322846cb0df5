// Rule denoted_plane: the planes of quotients, powers, remainders and products hold, and are nearer than the box.
#include "tests/kernel/relaxation_units.h"

namespace assay::test {
namespace {

const std::vector<double> kPositive{0x1p-30, 0.1, 0.5, 0.75, 1, 1.25, 2, 3.5, 40};
const std::vector<double> kModerate{-2, -1, -0.3, 0, 0.1, 0.7, 1.9};

Unit pair_of(const std::string& name, Op op, Attributes attributes = NoAttributes{}) {
  return {name, op, std::move(attributes), {{1}, {1}}, {0, 1}};
}
Unit div_unit() { return pair_of("div", Op::div); }
Unit mod_unit(bool truncated) { return pair_of(truncated ? "mod, truncated" : "mod", Op::mod, ModAttributes{truncated}); }
Unit response_unit(std::int64_t size, double alpha, double beta, double bias) {
  return {"local_response", Op::local_response, LocalResponseAttributes{size, alpha, beta, bias}, {{1, 3, 1}}, {0}};
}
Unit product_unit(std::int64_t n) { return {"reduce_prod", Op::reduce_prod, ReduceAttributes{{0}, false}, {{n}}, {0}}; }
Unit running_unit(bool exclusive, bool reverse) {
  return {"cumprod", Op::cumprod, CumulativeAttributes{1, exclusive, reverse}, {{2, 4}}, {0}};
}
Unit batch_norm_unit() {
  return {"batch_norm", Op::batch_norm, BatchNormAttributes{0.01}, {{2, 2, 2}, {2}, {2}, {2}, {2}}, {0, 1, 2, 3, 4}};
}

// Units, and the ends of boxes on which they are defined.
struct Group {
  std::vector<Unit> units;
  std::vector<std::vector<double>> ends;
};

void check_all(const Group& group, std::uint64_t seed, int trials = 60) {
  std::mt19937_64 random(seed);
  for (const Unit& unit : group.units) {
    INFO(unit.name);
    std::size_t lines = 0, points = 0;
    for (const auto& ends : group.ends) {
      const Counts counts = check_unit(unit, ends, trials, random);
      CHECK(counts.violation == "");
      lines += counts.lines;
      points += counts.points;
    }
    CHECK(lines > static_cast<std::size_t>(6 * trials));
    CHECK(points > static_cast<std::size_t>(60 * trials));
  }
}

}  // namespace

TEST_CASE("composed planes of quotients and powers hold on every box for every mix", "[kernel][relaxation]") {
  check_all({{div_unit(),
              {"div, broadcast", Op::div, NoAttributes{}, {{2, 1}, {3}}, {0, 1}},
              {"div, one operand twice", Op::div, NoAttributes{}, {{2}}, {0, 0}}},
             {kPositive, {-7, -2, -0.5, -0.3}, {-1e300, -2, -0x1p-1074, 0x1p-1074, 0.5, 3, 1e300}}},
            41);
  check_all(
      {{pair_of("power", Op::power), {"power, broadcast", Op::power, NoAttributes{}, {{2, 1}, {2}}, {0, 1}}}, {kPositive, {0.5, 1, 2}}},
      42);
  check_all({{mod_unit(false), mod_unit(true)}, {{0.3, 0.7, 1, 2, 5, 5.5, 7.9}, {-9, -4, -2.5, -1}, {10, 10.5, 11, 11.25}}}, 43);
}

// Quotients below 0, where rounding to 0 and down differ.
TEST_CASE("composed planes of quotients: remainders of opposite signs", "[kernel][relaxation]") {
  std::mt19937_64 random(49);
  for (const bool truncated : {false, true}) {
    const Applied a = apply(mod_unit(truncated));
    Counts counts;
    for (const double lo : {-11.0, -3.0, -8.25}) {
      for (const double sign : {1.0, -1.0}) {
        const Box x = sign > 0 ? box({lo}, {lo + 1}) : box({-lo - 1}, {-lo}), y = sign > 0 ? box({4}, {4.5}) : box({-4.5}, {-4});
        check_planes(mod_unit(truncated), a, {x, y}, random, counts);
        check_planes(mod_unit(truncated), a, {x, box({-y.hi[0]}, {-y.lo[0]})}, random, counts);
      }
    }
    CHECK(counts.violation == "");
    CHECK(counts.points > 1000);
  }
}

TEST_CASE("composed planes of products hold on every box for every mix", "[kernel][relaxation]") {
  check_all({{product_unit(1),
              product_unit(2),
              product_unit(5),
              {"reduce_prod, axes", Op::reduce_prod, ReduceAttributes{{0, 2}, true}, {{2, 2, 2}}, {0}}},
             {kModerate, kPositive, kEnds}},
            44);
  check_all({{running_unit(false, false), running_unit(true, false), running_unit(false, true), running_unit(true, true)},
             {kModerate, kPositive}},
            45);
  check_all({{pair_of("prelu", Op::prelu),
              {"prelu, channels", Op::prelu, NoAttributes{}, {{2, 3}, {3}}, {0, 1}},
              {"prelu, own slope", Op::prelu, NoAttributes{}, {{2}}, {0, 0}}},
             {kModerate, kPositive, kEnds}},
            46);
}

TEST_CASE("composed planes of normalisations by variable numbers hold", "[kernel][relaxation]") {
  check_all({{response_unit(3, 0.5, 0.75, 1), response_unit(2, 2, 1.5, 0.1), response_unit(1, 0, 0, 2), response_unit(5, 1e-4, 2, 1)},
             {kModerate, kEnds, kPositive}},
            47, 8);
  check_all({{batch_norm_unit()}, {kPositive, {0.5, 1, 1.5}}}, 48, 8);
}

// The gap between the planes falls with the square of the radius, that of the box with the radius itself.
TEST_CASE("composed planes touch to second order", "[kernel][relaxation]") {
  struct Case {
    Unit unit;
    std::vector<std::vector<double>> at;
    std::size_t element;
  };
  const std::vector<Case> cases{{div_unit(), {{1}, {2}}, 0},
                                {div_unit(), {{-1}, {-3}}, 0},
                                {pair_of("power", Op::power), {{2}, {1.5}}, 0},
                                {pair_of("prelu", Op::prelu), {{-2}, {0.25}}, 0},
                                {response_unit(3, 0.5, 0.75, 1), {{1, -0.5, 0.8}}, 1},
                                {product_unit(4), {{1, -0.7, 1.4, 0.8}}, 0},
                                {running_unit(false, false), {{1, -0.7, 1.4, 0.8, 1, 1, 1, 1}}, 2},
                                {batch_norm_unit(), {{1, 0, -1, 2, 0.5, 0.3, 1, 1}, {0.8, 1.1}, {0.1, -0.2}, {0.3, 0.2}, {1, 0.5}}, 0}};
  for (const Case& one : cases) {
    INFO(one.unit.name);
    const auto share = [&](double r) {
      std::vector<Box> boxes;
      for (const auto& x : one.at) boxes.push_back(around(x, r));
      return share_of_width(one.unit, boxes, one.element);
    };
    CHECK(share(0.1) < 0.5);
    CHECK(share(0.01) < 0.05);
    CHECK(share(0.001) < 0.005);
  }
}

TEST_CASE("composed planes: what is linear on the box is exact", "[kernel][relaxation]") {
  const auto gap = [](const Unit& unit, const std::vector<Box>& boxes) {
    const AtCentre r = at_centre(unit, boxes, 0);
    CHECK_FALSE(without_slopes(r.relaxation));
    return r.above - r.below;
  };
  CHECK(gap(mod_unit(false), {box({10}, {11}), box({4}, {4.5})}) == 0);    // the quotient is 2
  CHECK(gap(mod_unit(true), {box({-11}, {-10}), box({4}, {4.5})}) == 0);   // -2
  CHECK(gap(mod_unit(false), {box({-11}, {-10}), box({4}, {4.5})}) == 0);  // -3
  CHECK(gap(pair_of("prelu", Op::prelu), {box({1}, {3}), box({-1}, {1})}) < 1e-12);
  CHECK(gap(pair_of("prelu", Op::prelu), {box({-3}, {-1}), box({0.25}, {0.25})}) < 1e-12);
  CHECK(gap(div_unit(), {box({-1}, {3}), box({4}, {4})}) < 1e-12);
  CHECK(gap(pair_of("power", Op::power), {box({-2}, {5}), box({1}, {1})}) < 1e-12);
  // Quotients 2 and 3: x - 5/2 y and a half of y on either side, less than the remainders' own [0, 4].
  const AtCentre open = at_centre(mod_unit(false), {box({10}, {11}), box({3.5}, {4})}, 0);
  CHECK(open.above == Approx(10.5 - 2.5 * 3.75 + 0.5 * 4));
  const AtCentre mod = at_centre(mod_unit(false), {box({10}, {11}), box({4}, {4.5})}, 0);
  CHECK(slope_of(mod.relaxation, 0, 0, 0, true) == 1);
  CHECK(slope_of(mod.relaxation, 1, 0, 0, true) == -2);
}

TEST_CASE("composed planes: a constant slope of prelu leaves the lines of leaky_relu", "[kernel][relaxation]") {
  const AtCentre r = at_centre(pair_of("prelu", Op::prelu), {box({-1}, {3}), box({0.25}, {0.25})}, 0);
  CHECK(r.above == Approx(-0.25 + (3.25 / 4) * 2));  // the chord from (-1, -1/4) to (3, 3)
  CHECK(r.below >= 0.25);
}

TEST_CASE("composed planes: over a jump, a pole or an endless box the box stays", "[kernel][relaxation]") {
  CHECK(without_slopes(at_centre(mod_unit(false), {box({0}, {400}), box({3.5}, {4})}, 0).relaxation));
  CHECK(without_slopes(at_centre(div_unit(), {box({1}, {kInfinity}), box({1}, {2})}, 0).relaxation));
  CHECK(without_slopes(at_centre(product_unit(2), {box({1, 1}, {kInfinity, 2})}, 0).relaxation));
  const Applied a = apply(div_unit());  // no box: the kernel gets here only with one, but says nothing either way
  const Box x = box({1}, {2}), y = box({-1}, {1}), whole = box({-kInfinity}, {kInfinity});
  const auto r = relaxed(a.graph, a.graph.node(a.node), std::vector<const Box*>{&x, &y}, whole, {});
  REQUIRE(r.has_value());
  CHECK(without_slopes(*r));
}

TEST_CASE("composed planes: integers stop at the box", "[kernel][relaxation]") {
  for (const Op op : {Op::div, Op::power}) {
    Graph graph;
    const NodeId x = graph.append_input(DType::int64, {1}, "x"), y = graph.append_input(DType::int64, {1}, "y");
    const NodeId node = take(graph.append(op, {x, y}));
    const Box at_x = box({5}, {9}), at_y = box({2}, {3}), result = box({0}, {1000});
    CHECK_FALSE(relaxed(graph, graph.node(node), std::vector<const Box*>{&at_x, &at_y}, result, {}).has_value());
  }
}

TEST_CASE("composed planes: the mix of a product is the hint", "[kernel][relaxation]") {
  const std::vector<Box> boxes{box({0, 1}, {2, 3})};
  const std::vector<float> one{1.0F}, none{std::numeric_limits<float>::quiet_NaN()};
  const auto slopes = [&](const SlopeHints& hints, bool lower) {
    const Relaxation r = at_centre(product_unit(2), boxes, 0, hints).relaxation;
    return std::vector<double>{slope_of(r, 0, 0, 0, lower), slope_of(r, 0, 0, 1, lower)};
  };
  CHECK(slopes({}, true) == std::vector<double>{2, 1});
  CHECK(slopes({one, one}, true) == std::vector<double>{1, 0});
  CHECK(slopes({one, one}, false) == std::vector<double>{3, 0});
  CHECK(slopes({one, {}}, false) == std::vector<double>{2, 1});  // each side has its own
  CHECK(slopes({{}, one}, false) == std::vector<double>{3, 0});
  CHECK(slopes({{}, one}, true) == std::vector<double>{2, 1});
  CHECK(without_slopes(at_centre(product_unit(2), boxes, 0, {none, none}).relaxation));
}

}  // namespace assay::test
