// One row of a product: it is found where rows are alike, and refused where they are not. Its verdict on right and wrong products
// is that of the whole.
#include "kernel/audit/rows.h"

#include "kernel/gradients/adjointness/adjointness.h"
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

using gradients::AdjointCase;
using Ids = std::vector<NodeId>;

NodeId add(Graph& graph, Op op, Ids operands, const Attributes& attributes = NoAttributes{}) {
  auto node = graph.append(op, std::move(operands), attributes);
  if (!node) FAIL(node.rejection().to_text());
  return node.value();
}
const auto kLast = ReduceAttributes{{1}, true};

struct Case {
  const char* name;
  std::vector<Shape> inputs;
  NodeId (*build)(Graph&, const Ids&);
  std::int64_t rows;  // 1: none
};

NodeId layer_norm(Graph& g, const Ids& x) {
  const NodeId c = add(g, Op::sub, {x[0], add(g, Op::reduce_mean, {x[0]}, kLast)});
  const NodeId variance = add(g, Op::reduce_mean, {add(g, Op::mul, {c, c})}, kLast);
  const NodeId epsilon = g.append_constant(Tensor::of_floats({}, std::vector<float>{0.01F}));
  const NodeId r = add(g, Op::reciprocal, {add(g, Op::sqrt, {add(g, Op::add, {variance, epsilon})})});
  return add(g, Op::add, {add(g, Op::mul, {add(g, Op::mul, {c, r}), x[1]}), x[2]});
}
NodeId attention(Graph& g, const Ids& x) {
  const NodeId scores = add(g, Op::matmul, {x[0], add(g, Op::permute, {x[1]}, PermuteAttributes{{0, 2, 1}})});
  return add(g, Op::matmul, {add(g, Op::softmax, {scores}, SoftmaxAttributes{2}), x[2]});
}

const std::vector<Case> kCases{
    {"layer norm", {{7, 5}, {5}, {5}}, layer_norm, 7},
    {"attention: heads, then queries", {{3, 4, 2}, {3, 5, 2}, {3, 5, 2}}, attention, 12},
    {"both axes",
     {{6, 5}, {6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::mul, {x[0], x[1]});
     },
     30},
    {"a linear layer",
     {{6, 5}, {5, 4}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::matmul, {x[0], x[1]});
     },
     6 * 5 * 4},
    {"a sum of rows",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::scale, {add(g, Op::reduce_sum, {add(g, Op::tanh, {x[0]})}, ReduceAttributes{{0}, false})}, ScaleAttributes{3});
     },
     30},
    {"a mean of rows",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::reduce_mean, {add(g, Op::tanh, {x[0]})}, ReduceAttributes{{0, 1}, false});
     },
     30},
    {"groups of a reshaped axis",
     {{4, 6}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::softmax, {add(g, Op::reshape, {x[0]}, ShapeAttributes{{8, 3}})}, SoftmaxAttributes{1});
     },
     4},
    {"a transposed operand",
     {{6, 5}, {5, 6}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::softmax, {add(g, Op::mul, {x[0], add(g, Op::permute, {x[1]}, PermuteAttributes{{1, 0}})})}, SoftmaxAttributes{1});
     },
     6},
    {"a sum along the rows",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::softmax, {add(g, Op::cumsum, {x[0]}, CumulativeAttributes{0, false, false})}, SoftmaxAttributes{1});
     },
     1},
    {"rows less their mean",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       const NodeId c = add(g, Op::sub, {x[0], add(g, Op::reduce_mean, {x[0]}, ReduceAttributes{{0}, true})});
       return add(g, Op::softmax, {c}, SoftmaxAttributes{1});
     },
     1},
    {"the square of a sum",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       const NodeId sum = add(g, Op::reduce_sum, {x[0]}, ReduceAttributes{{0}, false});
       return add(g, Op::softmax, {add(g, Op::mul, {sum, sum})}, SoftmaxAttributes{0});
     },
     1},
    {"products of rows with each other",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       const NodeId p = add(g, Op::matmul, {x[0], add(g, Op::permute, {x[0]}, PermuteAttributes{{1, 0}})});
       return add(g, Op::softmax, {add(g, Op::mul, {p, p})}, SoftmaxAttributes{0});
     },
     1},
    {"some of the rows",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::softmax, {add(g, Op::slice, {x[0]}, SliceAttributes{{1, 0}, {1, 1}, {3, 5}})}, SoftmaxAttributes{1});
     },
     1},
    {"rows in another order",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       const NodeId turned = add(g, Op::gather, {x[0]}, GatherAttributes{0, {1, 0, 2, 3, 4, 5}, {6}});
       return add(g, Op::softmax, {add(g, Op::mul, {turned, x[0]})}, SoftmaxAttributes{1});
     },
     1},
    {"rows with other numbers",
     {{2, 3}},
     [](Graph& g, const Ids& x) {
       const NodeId weights = g.append_constant(Tensor::of_floats({2, 1}, std::vector<float>{1, 2}));
       return add(g, Op::softmax, {add(g, Op::mul, {x[0], weights})}, SoftmaxAttributes{1});
     },
     1},
    {"rows with one number",
     {{2, 3}},
     [](Graph& g, const Ids& x) {
       const NodeId weights = g.append_constant(Tensor::of_floats({2, 1}, std::vector<float>{2, 2}));
       return add(g, Op::softmax, {add(g, Op::mul, {x[0], weights})}, SoftmaxAttributes{1});
     },
     2},
    {"rows that another axis takes for its own",
     {{6, 5}},
     [](Graph& g, const Ids& x) {
       return add(g, Op::softmax, {add(g, Op::reshape, {x[0]}, ShapeAttributes{{5, 6}})}, SoftmaxAttributes{1});
     },
     1},
};

AdjointCase whole(const Case& one) {
  AdjointCase made;
  Ids ids;
  for (const Shape& shape : one.inputs) {
    ids.push_back(made.graph.append_input(DType::float32, shape, "x"));
    made.domains.push_back({});
  }
  made.graph.mark_output(one.build(made.graph, ids), "y");
  made.name = one.name;
  return made;
}

// The graph with one output doubled.
Graph doubled(Graph graph, std::size_t output) {
  graph.outputs[output] = add(graph, Op::scale, {graph.outputs[output]}, ScaleAttributes{2});
  return graph;
}

bool is_right(AdjointCase one, const Graph& forward, const Graph& backward) {
  one.graph = forward;
  const auto outcome = gradients::check_adjointness(one, backward, 3);
  if (!outcome && outcome.rejection().kind != Rejection::Kind::rejected) FAIL(outcome.rejection().to_text());
  return outcome.ok();
}
}  // namespace

TEST_CASE("rows are found, and refused where they are not alike") {
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    const AdjointCase all = whole(one);
    const auto backward = gradients::reverse_of(all.graph);
    REQUIRE(backward.ok());
    const auto row = audit::one_row(all.graph, backward.value());
    CHECK((row ? row->count : 1) == one.rows);
  }
}

TEST_CASE("a row says of products what the whole says") {
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    const AdjointCase all = whole(one);
    const Graph backward = gradients::reverse_of(all.graph).value();
    CHECK(is_right(all, all.graph, backward));
    const auto row = audit::one_row(all.graph, backward);
    if (row) CHECK(is_right(all, row->forward, row->backward));
    for (std::size_t k = 0; row && k < backward.outputs.size(); ++k) {
      const auto wrong = audit::one_row(all.graph, doubled(backward, k));
      REQUIRE(wrong.has_value());
      CHECK_FALSE(is_right(all, wrong->forward, wrong->backward));
    }
  }
}

TEST_CASE("a mean in place of a sum of rows is wrong for one row, too") {
  Graph forward, backward;
  const NodeId x = forward.append_input(DType::float32, {6, 5}, "x"), b = forward.append_input(DType::float32, {5}, "b");
  forward.mark_output(add(forward, Op::add, {add(forward, Op::tanh, {x}), b}), "y");
  for (const Op op : {Op::reduce_sum, Op::reduce_mean}) {
    backward = gradients::reverse_of(forward).value();
    backward.outputs[1] = add(backward, op, {backward.inputs[2]}, ReduceAttributes{{0}, false});
    const auto row = audit::one_row(forward, backward);
    REQUIRE(row.has_value());
    CHECK(is_right({"sum", {}, {{}, {}}, {}}, row->forward, row->backward) == (op == Op::reduce_sum));
  }
}

TEST_CASE("a product that treats one row otherwise has no rows") {
  Graph forward;
  const NodeId x = forward.append_input(DType::float32, {6, 5}, "x");
  forward.mark_output(add(forward, Op::softmax, {x}, SoftmaxAttributes{1}), "y");
  Graph backward = gradients::reverse_of(forward).value();
  const NodeId right = backward.outputs[0];
  const NodeId first = add(backward, Op::slice, {right}, SliceAttributes{{0, 0}, {1, 1}, {1, 5}});
  const NodeId others = add(backward, Op::slice, {right}, SliceAttributes{{1, 0}, {1, 1}, {5, 5}});
  backward.outputs[0] = add(backward, Op::concat, {add(backward, Op::scale, {first}, ScaleAttributes{2}), others}, ConcatAttributes{0});
  CHECK_FALSE(audit::one_row(forward, backward).has_value());
}

TEST_CASE("what all rows share is cut once, however often it is read, and not at any depth") {
  for (const bool doubles : {true, false}) {
    Graph forward;
    const NodeId x = forward.append_input(DType::float32, {6, 5}, "x");
    NodeId shared = forward.append_constant(Tensor::of_floats({6, 5}, std::vector<float>(30, 1)));
    for (int i = 0; i < (doubles ? 60 : 100000); ++i)
      shared = doubles ? add(forward, Op::add, {shared, shared}) : add(forward, Op::neg, {shared});
    forward.mark_output(add(forward, Op::mul, {x, shared}), "y");
    Graph backward;
    backward.append_input(DType::float32, {6, 5}, "x");
    backward.mark_output(backward.append_input(DType::float32, {6, 5}, "y_bar"), "x_bar");
    const auto row = audit::one_row(forward, backward);
    CHECK(row.has_value() == doubles);
    CHECK((!row || row->count == 30));
  }
}
