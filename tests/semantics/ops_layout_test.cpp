// Layout ops: hand-computed cases, and index_map against denote.
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// The op applied to 0, 1, 2, ... (row-major), continued from one operand to the next.
std::vector<double> of_counting(const OpCase& one) {
  const Graph graph = graph_of(one);
  REQUIRE(graph.outputs.size() == 1);
  std::vector<Array<double>> operands;
  double next = 0;
  for (const Shape& shape : one.shapes) {
    operands.push_back({shape, {}});
    for (std::size_t i = 0; i < element_count(shape); ++i) operands.back().values.push_back(next++);
  }
  const Outcome<Array<double>> result = denote_case(graph, operands);
  REQUIRE(result.ok());
  CHECK(result.value().shape == graph.nodes.back().shape);
  return result.value().values;
}

}  // namespace

TEST_CASE("layout ops move elements as ONNX defines", "[ops]") {
  struct {
    OpCase one;
    std::vector<double> expected;
  } const rows[] = {
      {{"reshape", Op::reshape, {{2, 3}}, ShapeAttributes{{3, 2}}}, {0, 1, 2, 3, 4, 5}},
      {{"permute", Op::permute, {{2, 3}}, PermuteAttributes{{1, 0}}}, {0, 3, 1, 4, 2, 5}},
      {{"permute 3", Op::permute, {{1, 2, 3}}, PermuteAttributes{{2, 0, 1}}}, {0, 3, 1, 4, 2, 5}},
      {{"slice", Op::slice, {{3, 4}}, SliceAttributes{{0, 3}, {2, -2}, {2, 2}}}, {3, 1, 11, 9}},
      {{"concat", Op::concat, {{2, 1}, {2, 2}}, ConcatAttributes{1}}, {0, 2, 3, 1, 4, 5}},
      {{"concat 0", Op::concat, {{1, 2}, {2, 2}}, ConcatAttributes{0}}, {0, 1, 2, 3, 4, 5}},
      {{"pad", Op::pad, {{1, 2}}, PadAttributes{{1, 0}, {0, 1}, 9}}, {9, 9, 9, 0, 1, 9}},
      {{"crop", Op::pad, {{4}}, PadAttributes{{-1}, {1}, 9}}, {1, 2, 3, 9}},
      {{"pad away", Op::pad, {{2}}, PadAttributes{{-3}, {3}, 9}}, {9, 9}},
      {{"gather", Op::gather, {{3, 2}}, GatherAttributes{0, {2, 0}, {2}}}, {4, 5, 0, 1}},
      {{"gather 1", Op::gather, {{2, 3}}, GatherAttributes{1, {2, 2, 0}, {3}}}, {2, 2, 0, 5, 5, 3}},
      {{"gather scalar", Op::gather, {{2, 3}}, GatherAttributes{1, {1}, {}}}, {1, 4}},
      {{"expand", Op::expand, {{2, 1}}, ShapeAttributes{{2, 2, 3}}}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.one.name);
    CHECK(of_counting(row.one) == row.expected);
  }
}

TEST_CASE("index_map says where denote takes each element from", "[ops]") {
  std::mt19937_64 random(20);
  std::size_t checked = 0;
  for (const OpCase& one : catalogue()) {
    if (op_row(one.op).op_class != OpClass::layout) continue;
    for (std::size_t which = 0; which < one.shapes.size(); ++which) {
      CAPTURE(one.name, which);
      // Every operand but `which` is a constant.
      Graph graph;
      std::vector<NodeId> ids;
      std::vector<Array<double>> operands;
      for (std::size_t operand = 0; operand < one.shapes.size(); ++operand) {
        std::vector<double> values;
        for (std::size_t i = 0; i < element_count(one.shapes[operand]); ++i) values.push_back(static_cast<double>(random() % 1000) - 500);
        operands.push_back({one.shapes[operand], values});
        ids.push_back(operand == which ? graph.append_input(DType::float64, one.shapes[operand], "x")
                                       : graph.append_constant(Tensor::of_doubles(one.shapes[operand], values)));
      }
      const NodeId id = graph.append(one.op, ids, one.attributes).value();
      const IndexMap map = index_map(graph, id, which);
      const Array<double> direct = denote_case(graph, operands).value();
      REQUIRE(map.index.size() == direct.values.size());
      REQUIRE(map.fill.size() == direct.values.size());
      for (std::size_t i = 0; i < map.index.size(); ++i) {
        REQUIRE(map.index[i] < static_cast<std::int64_t>(operands[which].values.size()));
        CHECK(direct.values[i] == (map.index[i] < 0 ? map.fill[i] : operands[which].values[static_cast<std::size_t>(map.index[i])]));
        ++checked;
      }
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("elements of other operands that are no constants have the fill 0", "[ops]") {
  Graph graph;
  const NodeId a = graph.append_input(DType::float32, {2}, "a"), b = graph.append_input(DType::float32, {1}, "b");
  const NodeId id = graph.append(Op::concat, {a, b, a}, ConcatAttributes{0}).value();
  CHECK(index_map(graph, id, 0).index == std::vector<std::int64_t>{0, 1, -1, -1, -1});
  CHECK(index_map(graph, id, 1).index == std::vector<std::int64_t>{-1, -1, 0, -1, -1});
  CHECK(index_map(graph, id, 2).index == std::vector<std::int64_t>{-1, -1, -1, 0, 1});
  CHECK(index_map(graph, id, 1).fill == std::vector<double>(5, 0));
}

TEST_CASE("index maps of integers and booleans are those of floats", "[ops]") {
  for (const DType dtype : {DType::int64, DType::boolean, DType::uint64}) {
    Graph graph;
    const NodeId a = graph.append_input(dtype, {2, 1}, "a");
    const NodeId id = graph.append(Op::permute, {a}, PermuteAttributes{{1, 0}}).value();
    CHECK(index_map(graph, id, 0).index == std::vector<std::int64_t>{0, 1});
  }
  Graph graph;  // a constant that is no double: its value is not the map's
  const NodeId a = graph.append_input(DType::int64, {1}, "a");
  const NodeId most = graph.append_constant(Tensor::of_ints({1}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()}));
  const NodeId id = graph.append(Op::concat, {a, most}, ConcatAttributes{0}).value();
  CHECK(index_map(graph, id, 0).index == std::vector<std::int64_t>{0, -1});
}

TEST_CASE("layout ops pass special values through", "[ops]") {
  const OpCase one{"permute", Op::permute, {{1, 4}}, PermuteAttributes{{1, 0}}};
  const double infinity = std::numeric_limits<double>::infinity();
  const Array<double> result =
      denote_case<double>(graph_of(one), {{{1, 4}, {-0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}}}).value();
  CHECK(std::signbit(result.values[0]));
  CHECK(result.values[1] == infinity);
  CHECK(result.values[2] == -infinity);
  CHECK(std::isnan(result.values[3]));
}
