// Gradient bugs that frameworks shipped, replayed as graphs beside the right ones: each is caught, no right one is flagged.
// The references name the public reports; each test builds the formula that its report amounts to.
#include <functional>

#include "kernel/gradients/adjointness/adjointness.h"
#include "tests/catch.h"

using namespace assay;

namespace {

// Appends nodes; a shape that does not fit ends the test.
class Building {
 public:
  NodeId input(Shape shape, const std::string& name) { return graph.append_input(DType::float32, std::move(shape), name); }
  NodeId op(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    auto node = graph.append(op, std::move(operands), std::move(attributes));
    if (!node) FAIL(node.rejection().to_text());
    return node.value();
  }
  NodeId constant(Shape shape, const std::vector<float>& values) {
    return graph.append_constant(Tensor::of_floats(std::move(shape), values));
  }
  Graph graph;
};

struct Replay {
  std::string report;
  std::vector<Shape> inputs;
  std::function<NodeId(Building&, const std::vector<NodeId>& x)> forward;
  // The cotangents of all inputs, as the bug made them.
  std::function<std::vector<NodeId>(Building&, const std::vector<NodeId>& x, NodeId g)> wrong;
  gradients::Domain domain = {-4, 4};
  std::vector<double> kinks = {};
};

Graph graph_of(const Replay& replay, bool backward) {
  Building b;
  std::vector<NodeId> x;
  for (const Shape& shape : replay.inputs) x.push_back(b.input(shape, "x" + std::to_string(x.size())));
  if (!backward) {
    b.graph.mark_output(replay.forward(b, x), "y");
    return b.graph;
  }
  const Graph forward = graph_of(replay, false);
  const NodeId g = b.input(forward.node(forward.outputs[0]).shape, "y_bar");
  for (const NodeId cotangent : replay.wrong(b, x, g)) b.graph.mark_output(cotangent, "x_bar");
  return b.graph;
}

ReduceAttributes over(std::vector<std::int64_t> axes, bool keep = true) { return {std::move(axes), keep}; }

WindowAttributes window(std::vector<std::int64_t> kernel, std::vector<std::int64_t> strides) {
  WindowAttributes attributes;
  attributes.kernel = kernel;
  attributes.strides = std::move(strides);
  attributes.dilations.assign(kernel.size(), 1);
  attributes.pads_begin.assign(kernel.size(), 0);
  attributes.pads_end.assign(kernel.size(), 0);
  return attributes;
}

// y = x r with r = 1 / sqrt(mean of (x - mean)^2 + 1), and what its gradient needs.
struct Norm {
  NodeId centred, r;
};
Norm norm_of(Building& b, NodeId x, const std::vector<std::int64_t>& axes) {
  const NodeId centred = b.op(Op::sub, {x, b.op(Op::reduce_mean, {x}, over(axes))});
  const NodeId variance = b.op(Op::reduce_mean, {b.op(Op::mul, {centred, centred})}, over(axes));
  const NodeId r = b.op(Op::reciprocal, {b.op(Op::sqrt, {b.op(Op::add, {variance, b.constant({}, {1})})})});
  return {centred, r};
}

// g r - (mean of g r + y r mean of (g y)), the means over these axes.
NodeId norm_gradient(Building& b, const Norm& norm, NodeId g, const std::vector<std::int64_t>& axes) {
  const NodeId y = b.op(Op::mul, {norm.centred, norm.r});
  const NodeId plain = b.op(Op::reduce_mean, {g}, over(axes)),
               along = b.op(Op::mul, {y, b.op(Op::reduce_mean, {b.op(Op::mul, {g, y})}, over(axes))});
  return b.op(Op::mul, {norm.r, b.op(Op::sub, {b.op(Op::sub, {g, plain}), along})});
}

NodeId softmax_gradient(Building& b, NodeId p, NodeId used, NodeId g) {
  const NodeId sum = b.op(Op::reduce_sum, {b.op(Op::mul, {g, used})}, over({1}));
  return b.op(Op::mul, {p, b.op(Op::sub, {g, sum})});
}

std::vector<Replay> replays() {
  std::vector<Replay> list;
  list.push_back({"NNlib.jl#205: max pooling whose windows overlap, the last one wins",
                  {{1, 1, 5}},
                  [](Building& b, const auto& x) { return b.op(Op::max_pool, {x[0]}, window({3}, {1})); },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    // the weights of the last window alone, where it covers
                    const NodeId last = b.op(Op::slice, {x[0]}, SliceAttributes{{0, 0, 2}, {1, 1, 1}, {1, 1, 3}});
                    const NodeId y = b.op(Op::reduce_max, {last}, over({2})), one = b.op(Op::step, {b.op(Op::sub, {last, y})});
                    const NodeId bar = b.op(Op::mul, {b.op(Op::slice, {g}, SliceAttributes{{0, 0, 2}, {1, 1, 1}, {1, 1, 1}}), one});
                    return {b.op(Op::pad, {bar}, PadAttributes{{0, 0, 2}, {0, 0, 0}, 0})};
                  }});
  list.push_back({"mxnet#9497: a value with two consumers, one branch lost",
                  {{4}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::add, {b.op(Op::mul, {x[0], x[0]}), b.op(Op::exp, {x[0]})});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::mul, {g, b.op(Op::exp, {x[0]})})};
                  }});
  list.push_back({"mxnet#16938: the backward pass runs the forward formula",
                  {{3}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::add, {b.op(Op::mul, {x[0], x[0]}), x[0]});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::mul, {g, b.op(Op::add, {b.op(Op::mul, {x[0], x[0]}), x[0]})})};
                  }});
  list.push_back({"tf#2641, drjit#528: a product's gradient as product over factor, at a factor of 0",
                  {{3}},
                  [](Building& b, const auto& x) { return b.op(Op::reduce_prod, {x[0]}, over({0})); },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::div, {b.op(Op::mul, {g, b.op(Op::reduce_prod, {x[0]}, over({0}))}), x[0]})};
                  },
                  {-4, 4},
                  {0, 2}});
  list.push_back({"pytorch#51036: a neighbour's cotangent where the right one is exactly 0",
                  {{1, 1, 4}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::slice, {x[0]}, SliceAttributes{{0, 0, 0}, {1, 1, 2}, {1, 1, 2}});
                  },
                  [](Building& b, const auto&, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::gather, {g}, GatherAttributes{2, {0, 0, 1, 1}, {4}})};
                  }});
  list.push_back({"pytorch#63314: transposed convolution with kernel 1 and stride 2, stride ignored on the way back",
                  {{1, 1, 2, 2}, {1, 1, 1, 1}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::conv_transpose, {x[0], x[1]}, window({1, 1}, {2, 2}));
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    const NodeId corner = b.op(Op::slice, {g}, SliceAttributes{{0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 2, 2}});
                    const NodeId right = b.op(Op::slice, {g}, SliceAttributes{{0, 0, 0, 0}, {1, 1, 2, 2}, {1, 1, 2, 2}});
                    return {b.op(Op::mul, {corner, x[1]}), b.op(Op::reduce_sum, {b.op(Op::mul, {right, x[0]})}, over({0, 1, 2, 3}))};
                  }});
  list.push_back({"FlagGems#5392: layer normalisation of rank 3 that takes its rows from axis 0",
                  {{2, 3, 4}},
                  [](Building& b, const auto& x) {
                    const Norm norm = norm_of(b, x[0], {2});
                    return b.op(Op::mul, {norm.centred, norm.r});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    return {norm_gradient(b, norm_of(b, x[0], {2}), g, {1, 2})};
                  }});
  list.push_back({"pytorch#186256: statistics of a normalisation taken for constants",
                  {{2, 4}},
                  [](Building& b, const auto& x) {
                    const Norm norm = norm_of(b, x[0], {1});
                    return b.op(Op::mul, {norm.centred, norm.r});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::mul, {g, norm_of(b, x[0], {1}).r})};
                  }});
  list.push_back({"nki-samples#81: attention with dropout, the softmax after dropout used in its gradient",
                  {{2, 3}, {2, 3}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::mul, {b.op(Op::softmax, {x[0]}, SoftmaxAttributes{1}), x[1]});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    const NodeId p = b.op(Op::softmax, {x[0]}, SoftmaxAttributes{1}), dropped = b.op(Op::mul, {p, x[1]});
                    return {softmax_gradient(b, dropped, p, b.op(Op::mul, {g, x[1]})), b.op(Op::mul, {g, p})};
                  }});
  list.push_back(
      {"tf#14243: depth to space, the gradient in the other data format",
       {{1, 4, 2, 3}},
       [](Building& b, const auto& x) {
         const NodeId split = b.op(Op::reshape, {x[0]}, ShapeAttributes{{1, 2, 2, 1, 2, 3}});
         return b.op(Op::reshape, {b.op(Op::permute, {split}, PermuteAttributes{{0, 3, 4, 1, 5, 2}})}, ShapeAttributes{{1, 1, 4, 6}});
       },
       [](Building& b, const auto&, NodeId g) -> std::vector<NodeId> {
         const NodeId split = b.op(Op::reshape, {g}, ShapeAttributes{{1, 1, 2, 2, 3, 2}});
         return {b.op(Op::reshape, {b.op(Op::permute, {split}, PermuteAttributes{{0, 5, 3, 1, 2, 4}})}, ShapeAttributes{{1, 4, 2, 3}})};
       }});
  list.push_back({"pytorch#52241: the gradient of a loss that expects normalised logits, given others",
                  {{2, 3}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::slice, {x[0]}, SliceAttributes{{0, 1}, {1, 1}, {2, 1}});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    const NodeId hit = b.op(Op::pad, {g}, PadAttributes{{0, 1}, {0, 1}, 0});
                    return {b.op(Op::sub, {hit, b.op(Op::mul, {b.op(Op::softmax, {x[0]}, SoftmaxAttributes{1}), g})})};
                  }});
  list.push_back({"pytorch#136662: two additions to one column, one of them kept",
                  {{2, 3}, {2, 1}},
                  [](Building& b, const auto& x) {
                    const NodeId column = b.op(Op::pad, {x[1]}, PadAttributes{{0, 0}, {0, 2}, 0});
                    return b.op(Op::add, {b.op(Op::add, {x[0], column}), column});
                  },
                  [](Building& b, const auto&, NodeId g) -> std::vector<NodeId> {
                    return {b.op(Op::reshape, {g}, ShapeAttributes{{2, 3}}), b.op(Op::slice, {g}, SliceAttributes{{0, 0}, {1, 1}, {2, 1}})};
                  }});
  list.push_back({"flash-attention#2552: the columns of the value's gradient in another order",
                  {{2, 3}, {3, 4}},
                  [](Building& b, const auto& x) {
                    return b.op(Op::matmul, {x[0], x[1]});
                  },
                  [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
                    const NodeId left = b.op(Op::matmul, {g, b.op(Op::permute, {x[1]}, PermuteAttributes{{1, 0}})});
                    const NodeId right = b.op(Op::matmul, {b.op(Op::permute, {x[0]}, PermuteAttributes{{1, 0}}), g});
                    return {left, b.op(Op::gather, {right}, GatherAttributes{1, {0, 1, 3, 2}, {4}})};
                  }});
  list.push_back(
      {"NSA-triton#27: grouped queries, each head's gradient from its own group only",
       {{4, 2}, {2, 2}},
       [](Building& b, const auto& x) {
         return b.op(Op::mul, {x[0], b.op(Op::gather, {x[1]}, GatherAttributes{0, {0, 0, 1, 1}, {4}})});
       },
       [](Building& b, const auto& x, NodeId g) -> std::vector<NodeId> {
         const NodeId all = b.op(Op::gather, {x[1]}, GatherAttributes{0, {0, 0, 1, 1}, {4}}), products = b.op(Op::mul, {g, x[0]});
         return {b.op(Op::mul, {g, all}), b.op(Op::gather, {products}, GatherAttributes{0, {0, 2}, {2}})};
       }});
  return list;
}

}  // namespace

TEST_CASE("replayed gradient bugs are caught, their right twins pass", "[adjointness][replay]") {
  for (const Replay& replay : replays()) {
    INFO(replay.report);
    gradients::AdjointCase one{replay.report, graph_of(replay, false), std::vector<gradients::Domain>(replay.inputs.size(), replay.domain),
                               replay.kinks};
    const auto twin = gradients::check_adjointness(one, 3);
    if (!twin) FAIL(twin.rejection().to_text());
    const auto wrong = gradients::check_adjointness(one, graph_of(replay, true), 3);
    REQUIRE_FALSE(wrong.ok());
    INFO(wrong.rejection().to_text());
    CHECK(wrong.rejection().kind == Rejection::Kind::rejected);
    CHECK(wrong.rejection().place.find("d y[") != std::string::npos);  // the entry is named
  }
}
