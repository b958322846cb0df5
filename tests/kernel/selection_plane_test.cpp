// Rule selection_plane: the planes of max_pool, reduce_max, reduce_min, sort, where and take hold, are worth having, and bad hints do no
// harm.
#include "tests/kernel/relaxation_units.h"

namespace assay::test {
namespace {

WindowAttributes window(std::vector<std::int64_t> kernel, std::vector<std::int64_t> pads) {
  WindowAttributes w;
  w.strides.assign(kernel.size(), 2);
  w.dilations.assign(kernel.size(), 1);
  w.pads_begin = pads;
  w.pads_end = std::move(pads);
  w.kernel = std::move(kernel);
  return w;
}
Unit pool_of(std::int64_t candidates) { return {"max_pool", Op::max_pool, window({candidates}, {0}), {{1, 1, candidates}}, {0}}; }

std::vector<Unit> units() {
  return {pool_of(2),
          pool_of(5),
          {"max_pool, padded, 2 axes", Op::max_pool, window({2, 3}, {1, 1}), {{1, 2, 3, 4}}, {0}},
          {"reduce_max", Op::reduce_max, ReduceAttributes{{1}, true}, {{2, 3}}, {0}},
          {"reduce_max, first and last axis", Op::reduce_max, ReduceAttributes{{0, 2}, false}, {{2, 2, 2}}, {0}},
          {"reduce_max of one", Op::reduce_max, ReduceAttributes{{0}, false}, {{1}}, {0}},
          {"reduce_min", Op::reduce_min, ReduceAttributes{{0}, false}, {{4, 2}}, {0}},
          {"where", Op::where, NoAttributes{}, {{3}, {3}, {3}}, {0, 1, 2}, -kInfinity, 0},
          {"where, broadcast", Op::where, NoAttributes{}, {{2, 1}, {3}, {}}, {0, 1, 2}, -kInfinity, 0},
          {"sort", Op::sort, SortAttributes{1, 4, true}, {{2, 4}}, {0}},
          {"sort, ascending, first axis", Op::sort, SortAttributes{0, 2, false}, {{3, 2}}, {0}},
          {"sort of one", Op::sort, SortAttributes{0, 1, true}, {{1}}, {0}},
          {"where, one branch twice", Op::where, NoAttributes{}, {{3}, {3}}, {0, 1, 1}, -kInfinity, 0}};
}

}  // namespace

TEST_CASE("selection planes hold on every box for every hint", "[kernel][relaxation]") {
  std::mt19937_64 random(21);
  std::size_t lines = 0, points = 0;
  for (const Unit& unit : units()) {
    INFO(unit.name);
    for (const auto& ends : {kEnds, std::vector<double>{-2, -1, -0.3, 0.1, 0.7, 1.9}}) {
      const Counts counts = check_unit(unit, ends, 40, random);
      CHECK(counts.violation == "");
      lines += counts.lines;
      points += counts.points;
    }
  }
  CHECK(lines > 5000);
  CHECK(points > 100000);
}

TEST_CASE("selection planes of take hold for every index, from either end of the axis", "[kernel][relaxation]") {
  const std::vector<Unit> units{{"take", Op::take, ConcatAttributes{0}, {{3}, {4}}, {0, 1}, -kInfinity, 99, 0},
                                {"take, inner axis", Op::take, ConcatAttributes{1}, {{2, 1, 2}, {2, 3, 2}}, {0, 1}, -kInfinity, 99, 0}};
  std::mt19937_64 random(22);
  for (const Unit& unit : units) {
    INFO(unit.name);
    const Counts counts = check_unit(unit, {-3, -2, -1, 0, 1, 2}, 200, random);
    CHECK(counts.violation == "");
    CHECK(counts.lines > 200);
    CHECK(counts.points > 10000);
  }
  // The index box [1, 2] of elements in [0, 1], [-1, 3], [0, 0]: the planes of max and min of the last two.
  const Unit one{"take", Op::take, ConcatAttributes{0}, {{1}, {3}}, {0, 1}, -kInfinity, 99, 0};
  const Box x = box({0, -1, 0}, {1, 3, 0});
  const AtCentre open = at_centre(one, {box({1}, {2}), x}, 0);
  CHECK(open.above == Approx(1.5));
  CHECK(open.below == Approx(-0.5));
  const AtCentre known = at_centre(one, {box({-2}, {-2}), x}, 0);
  CHECK(known.below == 1);
  CHECK(known.above == 1);
  CHECK(known.relaxation.parts[0].index == std::vector<std::uint32_t>{1});
}

TEST_CASE("selection planes: an element of a sort is known, or between an extremum of few and of many", "[kernel][relaxation]") {
  const Unit sort{"sort", Op::sort, SortAttributes{0, 3, true}, {{3}}, {0}};
  // Boxes that do not overlap: each rank is an operand.
  const std::vector<Box> apart{box({0, 4, 2}, {1, 5, 3})};
  for (const auto& [rank, operand] : {std::pair{0, 1}, {1, 2}, {2, 0}}) {
    const AtCentre r = at_centre(sort, apart, static_cast<std::size_t>(rank));
    std::vector<double> expected(3, 0.0);
    expected[static_cast<std::size_t>(operand)] = 1;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(rank) * 3 + k;
      CHECK(r.relaxation.parts[0].lower[at] == expected[k]);
      CHECK(r.relaxation.parts[0].upper[at] == expected[k]);
    }
    CHECK(r.below == r.above);
  }
  // The median of x in [-1, 3], 0 and 9 is max(x, 0), that of x, 0 and -9 is min(x, 0).
  CHECK(at_centre(sort, {box({-1, 0, 9}, {3, 0, 9})}, 1).above == Approx(1.5));
  CHECK(at_centre(sort, {box({-1, 0, -9}, {3, 0, -9})}, 1).below == Approx(-0.5));
  const Unit rising{"sort", Op::sort, SortAttributes{0, 1, false}, {{3}}, {0}};
  CHECK(at_centre(rising, {box({-1, 0, 9}, {3, 0, 9})}, 0).below == Approx(-0.5));
}

TEST_CASE("selection planes: a candidate above all others is the maximum itself", "[kernel][relaxation]") {
  const AtCentre r = at_centre(pool_of(3), {box({0, 2, -1}, {1, 3, 2})}, 0);
  CHECK(r.relaxation.parts[0].lower == std::vector<double>{0, 1, 0});
  CHECK(r.relaxation.parts[0].upper == std::vector<double>{0, 1, 0});
  CHECK(r.relaxation.lower_intercept == std::vector<double>{0});
  CHECK(r.relaxation.upper_intercept == std::vector<double>{0});
}

TEST_CASE("selection planes: two candidates as relu, the rest below their chord", "[kernel][relaxation]") {
  // max(x, 0) on [-1, 3]: the upper line 3/4 (x + 1), the lower line x.
  const AtCentre relu = at_centre(pool_of(2), {box({-1, 0}, {3, 0})}, 0);
  CHECK(relu.relaxation.parts[0].upper[0] == 0.75);
  CHECK(relu.above == Approx(1.5));
  CHECK(relu.below == 1);
  // A third one that is never the maximum changes nothing.
  CHECK(at_centre(pool_of(3), {box({-1, 0, -5}, {3, 0, -0.5})}, 0).above == relu.above);
  // Equal candidates: never above the box.
  CHECK(at_centre(pool_of(4), {box({-1, -1, -1, -1}, {1, 1, 1, 1})}, 0).above <= 1);
  // One candidate may exceed the others' upper ends: the chord of max(x_0, 1) from (-1, 1) to (5, 5), at 2.
  CHECK(at_centre(pool_of(3), {box({-1, -1, -1}, {5, 1, 1})}, 0).above == Approx(3));
  // min is max upside down.
  const Unit least{"reduce_min", Op::reduce_min, ReduceAttributes{{0}, false}, {{2}}, {0}};
  const AtCentre minimum = at_centre(least, {box({-3, 0}, {1, 0})}, 0);
  CHECK(minimum.below == Approx(-1.5));
  CHECK(minimum.above == -1);
}

TEST_CASE("selection planes: where takes the decided branch exactly, else both planes", "[kernel][relaxation]") {
  const Unit where{"where", Op::where, NoAttributes{}, {{1}, {1}, {1}}, {0, 1, 2}, -kInfinity, 0};
  const std::vector<Box> branches{box({0}, {1}), box({-1}, {3}), box({0}, {0})};
  const AtCentre open = at_centre(where, branches, 0);
  CHECK(open.above == Approx(1.5));
  CHECK(open.below == Approx(-0.5));  // min(x, 0) on [-1, 3]: the chord from (-1, -1) to (3, 0)
  const AtCentre taken = at_centre(where, {box({1}, {1}), branches[1], branches[2]}, 0);
  CHECK(taken.relaxation.parts[0].lower[0] == 1);
  CHECK(taken.relaxation.parts[0].upper[0] == 1);
  CHECK(taken.below == 1);
  const AtCentre other = at_centre(where, {box({0}, {0}), branches[1], branches[2]}, 0);
  CHECK(other.relaxation.parts[1].upper[0] == 1);
  CHECK(other.above == 0);
}

TEST_CASE("selection planes: a hint chooses the candidate, anything else is the kernel's own choice", "[kernel][relaxation]") {
  const std::vector<Box> boxes{box({-1, -2, -3}, {2, 2, 2})};
  const std::vector<double> own = at_centre(pool_of(3), boxes, 0).relaxation.parts[0].lower;
  CHECK(own == std::vector<double>{1, 0, 0});
  for (const float k : {0.0F, 1.0F, 2.0F}) {
    const std::vector<float> hint{k};
    std::vector<double> expected(3, 0.0);
    expected[static_cast<std::size_t>(k)] = 1;
    CHECK(at_centre(pool_of(3), boxes, 0, {hint, {}}).relaxation.parts[0].lower == expected);
  }
  for (const float k : {-1.0F, 3.0F, 1e30F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> hint{k};
    CHECK(at_centre(pool_of(3), boxes, 0, {hint, hint}).relaxation.parts[0].lower == own);
  }
}

TEST_CASE("selection planes: an endless candidate leaves the box's end, and no slope", "[kernel][relaxation]") {
  const AtCentre r = at_centre(pool_of(2), {box({-kInfinity, 1}, {kInfinity, 2})}, 0);
  CHECK(r.relaxation.parts[0].lower == std::vector<double>{0, 1});
  CHECK(r.relaxation.parts[0].upper == std::vector<double>{0, 0});
  CHECK(r.relaxation.upper_intercept[0] == kInfinity);
}

}  // namespace assay::test
