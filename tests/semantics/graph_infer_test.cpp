#include <cmath>
#include <iterator>
#include <limits>
#include <random>

#include "semantics/graph/graph.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using assay::test::OpCase;
using assay::test::window;
using assay::test::with_flags;
using assay::test::with_output_padding;

namespace {

Outcome<ResultType> infer_case(const OpCase& one, DType dtype = DType::float32) {
  Graph graph;
  std::vector<NodeId> operands;
  for (const Shape& shape : one.shapes) operands.push_back(graph.append_input(dtype, shape, "x"));
  return infer(graph, one.op, operands, one.attributes);
}

std::string code_of(const OpCase& one) {
  const Outcome<ResultType> type = infer_case(one);
  return type.ok() ? "accepted " + to_string(type.value().shape) : type.rejection().code;
}

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("shapes are inferred as ONNX defines them", "[graph]") {
  struct {
    OpCase one;
    Shape shape;
  } const rows[] = {
      {{"", Op::reshape, {{2, 6}}, ShapeAttributes{{3, 4}}}, {3, 4}},
      {{"", Op::permute, {{2, 3, 4}}, PermuteAttributes{{2, 0, 1}}}, {4, 2, 3}},
      {{"", Op::slice, {{4, 7}}, SliceAttributes{{1, 6}, {2, -3}, {2, 3}}}, {2, 3}},
      {{"", Op::concat, {{2, 1}, {2, 3}}, ConcatAttributes{1}}, {2, 4}},
      {{"", Op::pad, {{2, 3}}, PadAttributes{{1, -1}, {0, 2}, 0}}, {3, 4}},
      {{"", Op::gather, {{3, 4, 5}}, GatherAttributes{1, {0, 1, 3, 2, 0, 0}, {2, 3}}}, {3, 2, 3, 5}},
      {{"", Op::gather, {{3, 4, 5}}, GatherAttributes{1, {3}, {}}}, {3, 5}},
      {{"", Op::expand, {{3, 1}}, ShapeAttributes{{2, 3, 4}}}, {2, 3, 4}},
      {{"", Op::add, {{2, 1, 3}, {4, 1}}}, {2, 4, 3}},
      {{"", Op::max, {{3}, {2, 1}, {}}}, {2, 3}},
      {{"", Op::gemm, {{3, 2}, {4, 3}, {4}}, GemmAttributes{1, 1, true, true}}, {2, 4}},
      {{"", Op::matmul, {{5, 1, 2, 3}, {4, 3, 6}}}, {5, 4, 2, 6}},
      {{"", Op::matmul, {{3}, {3, 6}}}, {6}},
      {{"", Op::matmul, {{2, 3}, {3}}}, {2}},
      {{"", Op::matmul, {{3}, {3}}}, {}},
      // ONNX Conv: 7 + 1 + 2 - (2*(3-1)+1) = 5, / 2 -> 2, + 1
      {{"", Op::conv, {{1, 2, 7}, {4, 2, 3}}, window({3}, {2}, {2}, {1}, {2})}, {1, 4, 3}},
      // ONNX ConvTranspose: 2*(3-1) + 1 + (2*(3-1)+1) - 1 - 0
      {{"", Op::conv_transpose, {{1, 4, 3}, {4, 3, 3}}, with_output_padding(window({3}, {2}, {2}, {1}, {0}, 2), {1})}, {1, 6, 9}},
      {{"", Op::max_pool, {{1, 2, 5}}, window({2}, {2}, {1}, {0}, {0})}, {1, 2, 2}},
      {{"", Op::max_pool, {{1, 2, 5}}, with_flags(window({2}, {2}, {1}, {0}, {0}), false, true)}, {1, 2, 3}},
      // Rounded up there would be 3 windows, but the third would start at 4, in the padding behind x.
      {{"", Op::avg_pool, {{1, 2, 4}}, with_flags(window({2}, {2}, {1}, {0}, {1}), false, true)}, {1, 2, 2}},
      {{"", Op::batch_norm, {{2, 3, 4}, {3}, {3}, {3}, {3}}, BatchNormAttributes{}}, {2, 3, 4}},
      {{"", Op::reduce_sum, {{2, 3, 4}}, ReduceAttributes{{2, 0}, true}}, {1, 3, 1}},
      {{"", Op::reduce_mean, {{2, 3, 4}}, ReduceAttributes{{2, 0}, false}}, {3}},
      {{"", Op::softmax, {{2, 3}}, SoftmaxAttributes{1}}, {2, 3}},
  };
  for (const auto& row : rows) {
    const Outcome<ResultType> type = infer_case(row.one);
    CAPTURE(op_row(row.one.op).name, to_string(row.shape));
    REQUIRE(type.ok());
    CHECK(type.value().shape == row.shape);
    CHECK(type.value().dtype == DType::float32);
  }
}

TEST_CASE("every case of the catalogue is accepted and names its type", "[graph]") {
  for (const OpCase& one : assay::test::catalogue()) {
    CAPTURE(one.name);
    const Graph graph = assay::test::graph_of(one);
    REQUIRE(graph.outputs.size() == 1);
    CHECK(validate(graph).empty());
  }
}

TEST_CASE("each violated side condition of a layout op has its own code", "[graph]") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  struct {
    OpCase one;
    const char* code;
  } const rows[] = {
      {{"", Op::reshape, {{4}}, ShapeAttributes{{-1, 4}}}, "reshape.S1"},
      {{"", Op::reshape, {{4}}, ShapeAttributes{{huge, huge}}}, "reshape.S1"},
      {{"", Op::reshape, {{4}}, ShapeAttributes{{5}}}, "reshape.S2"},
      {{"", Op::permute, {{2, 3}}, PermuteAttributes{{0, 0}}}, "permute.S1"},
      {{"", Op::permute, {{2, 3}}, PermuteAttributes{{0}}}, "permute.S1"},
      {{"", Op::permute, {{2, 3}}, PermuteAttributes{{1, 2}}}, "permute.S1"},
      {{"", Op::permute, {{2, 3}}, PermuteAttributes{{-1, 0}}}, "permute.S1"},
      {{"", Op::slice, {{4}}, SliceAttributes{{0, 0}, {1}, {4}}}, "slice.S1"},
      {{"", Op::slice, {{4}}, SliceAttributes{{0}, {0}, {4}}}, "slice.S2"},
      {{"", Op::slice, {{4}}, SliceAttributes{{0}, {1}, {-1}}}, "slice.S2"},
      {{"", Op::slice, {{4}}, SliceAttributes{{0}, {1}, {5}}}, "slice.S3"},
      {{"", Op::slice, {{4}}, SliceAttributes{{4}, {1}, {1}}}, "slice.S3"},
      {{"", Op::slice, {{4}}, SliceAttributes{{-1}, {1}, {1}}}, "slice.S3"},
      {{"", Op::slice, {{4}}, SliceAttributes{{2}, {-1}, {4}}}, "slice.S3"},
      {{"", Op::slice, {{4}}, SliceAttributes{{1}, {huge}, {huge}}}, "slice.S3"},
      {{"", Op::concat, {{4}}, ConcatAttributes{1}}, "concat.S1"},
      {{"", Op::concat, {{4}}, ConcatAttributes{-1}}, "concat.S1"},
      {{"", Op::concat, {{4, 2}, {4, 3}}, ConcatAttributes{0}}, "concat.S2"},
      {{"", Op::concat, {{4, 2}, {4}}, ConcatAttributes{0}}, "concat.S2"},
      {{"", Op::concat, {{1 << 30}, {1 << 30}}, ConcatAttributes{0}}, "concat.S3"},
      {{"", Op::pad, {{4}}, PadAttributes{{0, 0}, {0}, 0}}, "pad.S1"},
      {{"", Op::pad, {{4}}, PadAttributes{{-3}, {-2}, 0}}, "pad.S2"},
      {{"", Op::pad, {{4}}, PadAttributes{{huge}, {1}, 0}}, "pad.S2"},
      {{"", Op::pad, {{4}}, PadAttributes{{huge}, {-huge}, 0}}, "pad.S2"},
      {{"", Op::pad, {{4}}, PadAttributes{{0}, {0}, kNaN}}, "pad.S3"},
      {{"", Op::pad, {{4}}, PadAttributes{{0}, {0}, -kInfinity}}, "pad.S3"},
      {{"", Op::gather, {{4}}, GatherAttributes{1, {0}, {1}}}, "gather.S1"},
      {{"", Op::gather, {{4}}, GatherAttributes{0, {0, 1}, {3}}}, "gather.S2"},
      {{"", Op::gather, {{4}}, GatherAttributes{0, {}, {-1}}}, "gather.S2"},
      {{"", Op::gather, {{4}}, GatherAttributes{0, {0, 4}, {2}}}, "gather.S3"},
      {{"", Op::gather, {{4}}, GatherAttributes{0, {-1}, {1}}}, "gather.S3"},
      {{"", Op::expand, {{4}}, ShapeAttributes{{-4}}}, "expand.S1"},
      {{"", Op::expand, {{4}}, ShapeAttributes{{2}}}, "expand.S2"},
      {{"", Op::expand, {{2, 1}}, ShapeAttributes{{5}}}, "expand.S2"},
      {{"", Op::gather, {{1 << 20, 1 << 10}}, GatherAttributes{1, std::vector<std::int64_t>(4096, 0), {4096}}}, "graph.limit"},
  };
  for (const auto& row : rows) CHECK(code_of(row.one) == row.code);
}

TEST_CASE("each violated side condition of a computing op has its own code", "[graph]") {
  struct {
    OpCase one;
    const char* code;
  } const rows[] = {
      {{"", Op::add, {{2}, {3}}}, "add.S1"},
      {{"", Op::max, {{2}, {2}, {3}}}, "max.S1"},
      {{"", Op::mul, {{1 << 20, 1}, {1 << 20}}}, "mul.S2"},
      {{"", Op::scale, {{2}}, ScaleAttributes{kNaN}}, "scale.S1"},
      {{"", Op::scale, {{2}}, ScaleAttributes{kInfinity}}, "scale.S1"},
      {{"", Op::gemm, {{2}, {2, 3}}, GemmAttributes{}}, "gemm.S1"},
      {{"", Op::gemm, {{2, 3}, {2, 3}}, GemmAttributes{}}, "gemm.S2"},
      {{"", Op::gemm, {{2, 3}, {3, 4}, {3, 1}}, GemmAttributes{}}, "gemm.S3"},
      {{"", Op::gemm, {{1, 3}, {3, 4}, {2, 4}}, GemmAttributes{}}, "gemm.S3"},
      {{"", Op::gemm, {{2, 3}, {3, 4}}, GemmAttributes{kInfinity, 1, false, false}}, "gemm.S4"},
      {{"", Op::gemm, {{2, 3}, {3, 4}}, GemmAttributes{1, kNaN, false, false}}, "gemm.S4"},
      {{"", Op::matmul, {{}, {3}}}, "matmul.S1"},
      {{"", Op::matmul, {{2, 3}, {2, 3}}}, "matmul.S2"},
      {{"", Op::matmul, {{2, 2, 3}, {3, 3, 2}}}, "matmul.S3"},
      {{"", Op::batch_norm, {{3}, {3}, {3}, {3}, {3}}, BatchNormAttributes{}}, "batch_norm.S1"},
      {{"", Op::batch_norm, {{2, 3}, {3}, {3}, {3}, {2}}, BatchNormAttributes{}}, "batch_norm.S2"},
      {{"", Op::batch_norm, {{2, 3}, {3}, {3}, {3}, {3}}, BatchNormAttributes{-1e-300}}, "batch_norm.S3"},
      {{"", Op::batch_norm, {{2, 3}, {3}, {3}, {3}, {3}}, BatchNormAttributes{kNaN}}, "batch_norm.S3"},
      {{"", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{2}, true}}, "reduce_sum.S1"},
      {{"", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{-1}, true}}, "reduce_sum.S1"},
      {{"", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{1, 1}, true}}, "reduce_sum.S1"},
      {{"", Op::reduce_mean, {{2, 0}}, ReduceAttributes{{1}, true}}, "reduce_mean.S2"},
      {{"", Op::leaky_relu, {{2}}, LeakyReluAttributes{kNaN}}, "leaky_relu.S1"},
      {{"", Op::clip, {{2}}, ClipAttributes{1, 0}}, "clip.S1"},
      {{"", Op::clip, {{2}}, ClipAttributes{kNaN, 0}}, "clip.S1"},
      {{"", Op::clip, {{2}}, ClipAttributes{0, kNaN}}, "clip.S1"},
      {{"", Op::clip, {{2}}, ClipAttributes{kInfinity, kInfinity}}, "clip.S1"},
      {{"", Op::clip, {{2}}, ClipAttributes{-kInfinity, -kInfinity}}, "clip.S1"},
      {{"", Op::softmax, {{2}}, SoftmaxAttributes{1}}, "softmax.S1"},
      {{"", Op::softmax, {{2}}, SoftmaxAttributes{-1}}, "softmax.S1"},
  };
  for (const auto& row : rows) CHECK(code_of(row.one) == row.code);
}

TEST_CASE("each violated side condition of a window op has its own code", "[graph]") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const WindowAttributes plain = window({3}, {1}, {1}, {0}, {0});
  struct {
    OpCase one;
    const char* code;
  } const rows[] = {
      {{"", Op::conv, {{2, 5}, {4, 2, 3}}, plain}, "conv.S1"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3, 1}}, plain}, "conv.S1"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {0}, {1}, {0}, {0})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1}, {0}, {0}, {0})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1}, {1}, {-1}, {0})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1}, {1}, {0}, {huge})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1, 1}, {1}, {0}, {0})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1}, {1}, {0}, {0}, 0)}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, with_output_padding(plain, {1})}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, with_flags(plain, false, true)}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, with_flags(plain, true, false)}, "conv.S2"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 2}}, plain}, "conv.S3"},
      {{"", Op::conv, {{1, 3, 5}, {4, 2, 3}}, plain}, "conv.S4"},
      {{"", Op::conv, {{1, 4, 5}, {3, 2, 3}}, window({3}, {1}, {1}, {0}, {0}, 2)}, "conv.S4"},
      {{"", Op::conv, {{1, 5, 5}, {4, 2, 3}}, window({3}, {1}, {1}, {0}, {0}, 2)}, "conv.S4"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}, {3}}, plain}, "conv.S5"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}, {4, 1}}, plain}, "conv.S5"},
      {{"", Op::conv, {{1, 2, 2}, {4, 2, 3}}, plain}, "conv.S6"},
      {{"", Op::conv, {{1, 2, 5}, {4, 2, 3}}, window({3}, {1}, {3}, {0}, {1})}, "conv.S6"},
      {{"", Op::conv_transpose, {{1, 2, 5}, {4, 2, 3}}, plain}, "conv_transpose.S4"},
      {{"", Op::conv_transpose, {{1, 3, 5}, {3, 2, 3}}, window({3}, {1}, {1}, {0}, {0}, 2)}, "conv_transpose.S4"},
      {{"", Op::conv_transpose, {{1, 2, 5}, {2, 2, 3}, {2, 2}}, plain}, "conv_transpose.S5"},
      {{"", Op::conv_transpose, {{1, 2, 1}, {2, 2, 3}}, window({3}, {1}, {1}, {2}, {1})}, "conv_transpose.S6"},
      {{"", Op::conv_transpose, {{1, 2, 0}, {2, 2, 3}}, plain}, "conv_transpose.S6"},
      {{"", Op::conv_transpose, {{1, 2, 5}, {2, 2, 3}}, with_output_padding(plain, {-1})}, "conv_transpose.S2"},
      {{"", Op::max_pool, {{2, 5}}, plain}, "max_pool.S1"},
      {{"", Op::max_pool, {{1, 2, 5}}, window({0}, {1}, {1}, {0}, {0})}, "max_pool.S2"},
      {{"", Op::max_pool, {{1, 2, 5}}, window({3}, {1}, {1}, {0}, {0}, 2)}, "max_pool.S2"},
      {{"", Op::max_pool, {{1, 2, 5}}, with_flags(plain, true, false)}, "max_pool.S2"},
      {{"", Op::max_pool, {{1, 2, 2}}, plain}, "max_pool.S3"},
      {{"", Op::max_pool, {{1, 2, 5}}, window({3}, {1}, {1}, {3}, {0})}, "max_pool.S4"},
      {{"", Op::max_pool, {{1, 2, 1}}, window({2}, {1}, {2}, {1}, {1})}, "max_pool.S4"},
      {{"", Op::avg_pool, {{1, 2, 5}}, window({3}, {1}, {1}, {0}, {3})}, "avg_pool.S4"},
  };
  for (const auto& row : rows) CHECK(code_of(row.one) == row.code);
}

TEST_CASE("one unit less padding is accepted", "[graph]") {
  CHECK(code_of({"", Op::max_pool, {{1, 2, 5}}, window({3}, {1}, {1}, {2}, {0})}) == "accepted [1, 2, 5]");
  CHECK(code_of({"", Op::avg_pool, {{1, 2, 5}}, window({3}, {1}, {1}, {0}, {2})}) == "accepted [1, 2, 5]");
  CHECK(code_of({"", Op::conv, {{1, 2, 3}, {4, 2, 3}}, window({3}, {1}, {1}, {0}, {0})}) == "accepted [1, 4, 1]");
  CHECK(code_of({"", Op::slice, {{4}}, SliceAttributes{{3}, {-1}, {4}}}) == "accepted [4]");
}

TEST_CASE("generic defects of an application", "[graph]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x");
  const NodeId i = graph.append_input(DType::int64, {2}, "i");
  const NodeId d = graph.append_input(DType::float64, {2}, "d");
  const NodeId b = graph.append_input(DType::boolean, {2}, "b");
  struct {
    Op op;
    std::vector<NodeId> operands;
    Attributes attributes;
    const char* code;
  } const rows[] = {
      {Op::input, {}, NoAttributes{}, "graph.leaf"},
      {Op::constant, {}, NoAttributes{}, "graph.leaf"},
      {Op::relu, {}, NoAttributes{}, "graph.arity"},
      {Op::relu, {x, x}, NoAttributes{}, "graph.arity"},
      {Op::concat, {}, ConcatAttributes{0}, "graph.arity"},
      {Op::relu, {x}, ConcatAttributes{0}, "graph.attributes"},
      {Op::concat, {x}, NoAttributes{}, "graph.attributes"},
      {Op::relu, {7}, NoAttributes{}, "graph.operand"},
      {Op::exp, {i}, NoAttributes{}, "graph.dtype"},
      {Op::add, {b, b}, NoAttributes{}, "graph.dtype"},
      {Op::logical_not, {i}, NoAttributes{}, "graph.dtype"},
      {Op::where, {i, x, x}, NoAttributes{}, "graph.dtype"},
      {Op::where, {b, x, d}, NoAttributes{}, "graph.dtype"},
      {Op::where, {b, b}, NoAttributes{}, "graph.arity"},
      {Op::cast, {x}, CastAttributes{static_cast<std::uint8_t>(DType::complex64)}, "cast.S1"},
      {Op::pow, {i}, PowAttributes{Rational(-1)}, "pow.S1"},
      {Op::add, {x, d}, NoAttributes{}, "graph.dtype"},
      {Op::concat, {x, i}, ConcatAttributes{0}, "graph.dtype"},
  };
  for (const auto& row : rows) {
    const Graph before = graph;
    const Outcome<NodeId> result = graph.append(row.op, row.operands, row.attributes);
    REQUIRE_FALSE(result.ok());
    CHECK(result.rejection().code == row.code);
    CHECK(result.rejection().kind == Rejection::Kind::malformed);
    CHECK(graph.nodes.size() == before.nodes.size());
  }
  CHECK(graph.append(Op::concat, {i, i}, ConcatAttributes{0}).ok());  // layout ops move any dtype
  CHECK(graph.append(Op::add, {d, d}).ok());
  const auto type_of = [&](Op op, const std::vector<NodeId>& operands, const Attributes& attributes = NoAttributes{}) {
    const Outcome<NodeId> id = graph.append(op, operands, attributes);
    REQUIRE(id.ok());
    return graph.node(id.value()).dtype;
  };
  CHECK(type_of(Op::add, {i, i}) == DType::int64);
  CHECK(type_of(Op::less, {x, x}) == DType::boolean);
  CHECK(type_of(Op::equal, {b, b}) == DType::boolean);
  CHECK(type_of(Op::where, {b, i, i}) == DType::int64);
  CHECK(type_of(Op::cast, {b}, CastAttributes{static_cast<std::uint8_t>(DType::float64)}) == DType::float64);
  CHECK(type_of(Op::arg_max, {x}, ArgAttributes{0, true, false}) == DType::int64);
}

TEST_CASE("a message names op, operands and shapes", "[graph]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2, 5}, "image");
  const NodeId w = graph.append_input(DType::float32, {4, 3, 3}, "weight");
  const Outcome<NodeId> result = graph.append(Op::conv, {x, w}, window({3}, {1}, {1}, {0}, {0}));
  REQUIRE_FALSE(result.ok());
  const Rejection& why = result.rejection();
  CHECK(why.code == "conv.S4");
  CHECK(why.place == "conv(node 0 'image' float32[1, 2, 5], node 1 'weight' float32[4, 3, 3])");
  CHECK_FALSE(why.required.empty());
  CHECK_FALSE(why.found.empty());
}

namespace {

// Attributes and shapes full of border values.
std::vector<std::int64_t> wild(std::mt19937_64& random, std::size_t count) {
  const std::int64_t pool[] = {0,
                               1,
                               1,
                               1,
                               2,
                               3,
                               -1,
                               5,
                               1 << 16,
                               (std::int64_t{1} << 31) - 1,
                               std::int64_t{1} << 31,
                               std::int64_t{1} << 62,
                               std::numeric_limits<std::int64_t>::max(),
                               std::numeric_limits<std::int64_t>::min()};
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(pool[random() % std::size(pool)]);
  return values;
}

Attributes wild_attributes(Op op, std::mt19937_64& random, std::size_t rank) {
  const std::size_t spatial = rank < 2 ? 0 : rank - 2;
  switch (op) {
    case Op::reshape:
    case Op::expand:
      return ShapeAttributes{wild(random, rank)};
    case Op::permute:
      return PermuteAttributes{wild(random, rank)};
    case Op::slice:
      return SliceAttributes{wild(random, rank), wild(random, rank), wild(random, rank)};
    case Op::concat:
      return ConcatAttributes{wild(random, 1)[0]};
    case Op::pad:
      return PadAttributes{wild(random, rank), wild(random, rank), 0};
    case Op::gather:
      return GatherAttributes{wild(random, 1)[0], wild(random, 2), wild(random, 1)};
    case Op::reduce_sum:
    case Op::reduce_mean:
      return ReduceAttributes{wild(random, 2), true};
    case Op::softmax:
      return SoftmaxAttributes{wild(random, 1)[0]};
    default:
      break;
  }
  WindowAttributes w;
  for (auto* entries : {&w.kernel, &w.strides, &w.dilations, &w.pads_begin, &w.pads_end, &w.output_padding})
    *entries = wild(random, spatial);
  if (op != Op::conv_transpose) w.output_padding.clear();
  w.groups = random() % 4 == 0 ? wild(random, 1)[0] : 1;
  w.ceil_mode = random() % 4 == 0;
  return w;
}

}  // namespace

TEST_CASE("hostile attributes and shapes are refused or give a possible shape, and quickly", "[graph]") {
  std::mt19937_64 random(3);
  int accepted = 0;
  const Op ops[] = {Op::reshape,    Op::expand,      Op::permute, Op::slice, Op::concat,         Op::pad,      Op::gather,
                    Op::reduce_sum, Op::reduce_mean, Op::softmax, Op::conv,  Op::conv_transpose, Op::max_pool, Op::avg_pool};
  for (int round = 0; round < 30000; ++round) {
    const Op op = ops[random() % std::size(ops)];
    const bool weighted = op == Op::conv || op == Op::conv_transpose;
    const std::size_t rank = weighted || random() % 2 == 0 ? 3 + random() % 2 : random() % 3;
    Graph graph;
    std::vector<NodeId> operands = {graph.append_input(DType::float32, wild(random, rank), "x")};
    const Attributes attributes = wild_attributes(op, random, rank);
    if (weighted) {
      Shape weight = wild(random, 2);
      const auto& kernel = std::get<WindowAttributes>(attributes).kernel;
      weight.insert(weight.end(), kernel.begin(), kernel.end());
      operands.push_back(graph.append_input(DType::float32, weight, "w"));
    }
    const Outcome<ResultType> type = infer(graph, op, operands, attributes);
    if (!type) continue;
    ++accepted;
    std::size_t count = 0;
    REQUIRE(checked_element_count(type.value().shape, (std::size_t{1} << 31) - 1, count));
  }
  CHECK(accepted > 100);
}

TEST_CASE("a window that misses the operand is found wherever it stands", "[graph]") {
  // Every small geometry, against trying all windows and kernel positions.
  int refused = 0, accepted = 0;
  for (std::int64_t extent = 1; extent <= 4; ++extent) {
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (std::int64_t stride = 1; stride <= 4; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 6; ++dilation) {
          for (std::int64_t begin = 0; begin <= 7; ++begin) {
            for (std::int64_t end = 0; end <= 5; ++end) {
              const std::int64_t room = extent + begin + end - dilation * (kernel - 1) - 1;
              if (room < 0) continue;
              bool all_meet = true;
              for (std::int64_t o = 0; o <= room / stride; ++o) {
                bool meets = false;
                for (std::int64_t k = 0; k < kernel; ++k) {
                  const std::int64_t i = o * stride - begin + k * dilation;
                  meets = meets || (i >= 0 && i < extent);
                }
                all_meet = all_meet && meets;
              }
              const OpCase one{"", Op::max_pool, {{1, 1, extent}}, window({kernel}, {stride}, {dilation}, {begin}, {end})};
              const Outcome<ResultType> type = infer_case(one);
              REQUIRE(type.ok() == all_meet);
              if (!all_meet) REQUIRE(type.rejection().code == "max_pool.S4");
              (all_meet ? accepted : refused) += 1;
            }
          }
        }
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(accepted > 1000);
}
