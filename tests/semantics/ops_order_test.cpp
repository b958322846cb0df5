// take, sort, arg_sort and weighted_gather by hand: points, sets, and every side condition broken alone.
#include <limits>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

template <class S>
Outcome<Array<S>> value_of(const OpCase& one, const std::vector<std::vector<S>>& operands) {
  const Graph graph = graph_of(one);
  REQUIRE(graph.outputs.size() == 1);
  std::vector<Array<S>> arrays;
  for (std::size_t i = 0; i < operands.size(); ++i) arrays.push_back({one.shapes[i], operands[i]});
  return denote_case(graph, arrays);
}

bool is(const Interval& x, double lo, double hi) { return x.lo() == lo && x.hi() == hi; }

const OpCase kTake{"take", Op::take, {{1}, {3}}, ConcatAttributes{0}, {Draw::index}};

std::string code_of(const OpCase& one) {
  Graph graph;
  std::vector<NodeId> operands;
  for (std::size_t i = 0; i < one.shapes.size(); ++i) {
    const DType dtype = draw_of(one, i) == Draw::index ? DType::int64 : draw_of(one, i) == Draw::truth ? DType::boolean : DType::float32;
    operands.push_back(graph.append_input(dtype, one.shapes[i], "x" + std::to_string(i)));
  }
  const Outcome<NodeId> id = graph.append(one.op, operands, one.attributes);
  return id ? "accepted" : id.rejection().code;
}

}  // namespace

TEST_CASE("take: points, hulls over sets of indices, and what lies outside", "[ops]") {
  CHECK(value_of<double>(kTake, {{2}, {5, 6, 7}}).value().values == std::vector<double>{7});
  CHECK(value_of<double>(kTake, {{-3}, {5, 6, 7}}).value().values == std::vector<double>{5});
  const std::vector<Interval> x = {Interval(5), Interval(1, 2), Interval(9)};
  CHECK(is(value_of<Interval>(kTake, {{Interval(0, 1)}, x}).value().values[0], 1, 5));
  CHECK(is(value_of<Interval>(kTake, {{Interval(-1, 0)}, x}).value().values[0], 5, 9));  // the last or the first
  CHECK(is(value_of<Interval>(kTake, {{Interval(0.5, 1.5)}, x}).value().values[0], 1, 2));
  CHECK(value_of<Interval>(kTake, {{Interval(2, 3)}, x}).value().values[0].is_undefined());
  CHECK(value_of<Interval>(kTake, {{Interval(-4, 0)}, x}).value().values[0].is_undefined());
  CHECK(value_of<Interval>(kTake, {{Interval(0.25, 0.75)}, x}).value().values[0].is_undefined());  // no integer at all
  CHECK(value_of<Interval>(kTake, {{Interval(-std::numeric_limits<double>::infinity(), 0)}, x}).value().values[0].is_undefined());
  CHECK(value_of<double>(kTake, {{3}, {5, 6, 7}}).rejection().code == "take.domain");
  CHECK(value_of<Rational>(kTake, {{Rational(-4)}, {1, 2, 3}}).rejection().code == "take.domain");
  CHECK(value_of<Rational>(kTake, {{Rational(1, 2)}, {1, 2, 3}}).rejection().code == "take.domain");
}

TEST_CASE("sort and arg_sort: points, ties and boxes", "[ops]") {
  const auto down = [](Op op, std::int64_t count) { return OpCase{"", op, {{4}}, SortAttributes{0, count, true}}; };
  const OpCase up{"", Op::arg_sort, {{4}}, SortAttributes{0, 4, false}};
  CHECK(value_of<double>(down(Op::sort, 3), {{3, 9, 3, 5}}).value().values == std::vector<double>{9, 5, 3});
  CHECK(value_of<double>(down(Op::arg_sort, 4), {{3, 9, 3, 5}}).value().values == std::vector<double>{1, 3, 0, 2});
  CHECK(value_of<double>(up, {{3, 9, 3, 5}}).value().values == std::vector<double>{0, 2, 3, 1});
  const std::vector<Interval> box = {Interval(0, 2), Interval(1, 3), Interval(10), Interval(-5)};
  const auto sorted = value_of<Interval>(down(Op::sort, 4), {box}).value().values;
  CHECK(is(sorted[0], 10, 10));
  CHECK(is(sorted[1], 1, 3));
  CHECK(is(sorted[2], 0, 2));
  CHECK(is(sorted[3], -5, -5));
  const auto places = value_of<Interval>(down(Op::arg_sort, 4), {box}).value().values;
  CHECK(is(places[0], 2, 2));
  CHECK(is(places[1], 0, 1));
  CHECK(is(places[2], 0, 1));
  CHECK(is(places[3], 3, 3));
  std::vector<Interval> broken = box;
  broken[3] = Interval::undefined();
  CHECK(value_of<Interval>(down(Op::arg_sort, 1), {broken}).value().values[0].is_undefined());
}

TEST_CASE("weighted_gather has exact weights, and enclosures of a rounding", "[ops]") {
  const WeightedGatherAttributes third{0, {0, 2, 2}, {0, 1}, {Rational(1, 3), Rational(2, 3)}};
  const OpCase one{"", Op::weighted_gather, {{2}}, third};
  CHECK(value_of<Rational>(one, {{1, 5}}).value().values == std::vector<Rational>{Rational(11, 3), Rational(0)});
  const Interval enclosed = value_of<Interval>(one, {{Interval(1), Interval(5)}}).value().values[0];
  CHECK(enclosed.lo() == Rational(11, 3).double_down());
  CHECK(enclosed.hi() == Rational(11, 3).double_up());
}

TEST_CASE("side conditions of the selection ops, one at a time", "[ops][graph]") {
  const auto weighted = [](WeightedGatherAttributes a) { return OpCase{"", Op::weighted_gather, {{3}}, std::move(a)}; };
  const std::vector<Rational> ones = {Rational(1), Rational(1)};
  CHECK(code_of(weighted({0, {0, 2}, {0, 2}, ones})) == "accepted");
  CHECK(code_of(weighted({1, {0, 2}, {0, 2}, ones})) == "weighted_gather.S1");
  CHECK(code_of(weighted({0, {}, {0, 2}, ones})) == "weighted_gather.S2");
  CHECK(code_of(weighted({0, {0, 1}, {0, 2}, ones})) == "weighted_gather.S2");
  CHECK(code_of(weighted({0, {1, 2}, {0, 2}, ones})) == "weighted_gather.S2");
  CHECK(code_of(weighted({0, {0, 2, 1, 2}, {0, 2}, ones})) == "weighted_gather.S2");
  CHECK(code_of(weighted({0, {0, 2}, {0, 2}, {Rational(1)}})) == "weighted_gather.S2");
  CHECK(code_of(weighted({0, {0, 2}, {0, 3}, ones})) == "weighted_gather.S3");
  CHECK(code_of(weighted({0, {0, 2}, {-1, 0}, ones})) == "weighted_gather.S3");
  const auto sort = [](std::int64_t axis, std::int64_t count) { return OpCase{"", Op::sort, {{2, 3}}, SortAttributes{axis, count, true}}; };
  CHECK(code_of(sort(1, 3)) == "accepted");
  CHECK(code_of(sort(2, 1)) == "sort.S1");
  CHECK(code_of(sort(-1, 1)) == "sort.S1");
  CHECK(code_of(sort(1, 4)) == "sort.S2");
  CHECK(code_of(sort(1, -1)) == "sort.S2");
  const auto take = [](std::int64_t axis, Shape index, Draw draw) {
    return OpCase{"", Op::take, {std::move(index), {2, 3}}, ConcatAttributes{axis}, {draw}};
  };
  CHECK(code_of(take(1, {2, 5}, Draw::index)) == "accepted");
  CHECK(code_of(take(2, {2, 5}, Draw::index)) == "take.S1");
  CHECK(code_of(take(1, {1, 5}, Draw::index)) == "take.S2");
  CHECK(code_of(take(1, {2}, Draw::index)) == "take.S2");
  CHECK(code_of(take(1, {2, 5}, Draw::any)) == "graph.dtype");
}
