// Small networks with a max pool and with attention: back-substitution through them holds, tightens bounds, and no claim beyond
// it is accepted.
#include "certificates/check/session.h"
#include "tests/kernel/kernel_problems.h"
#include "tests/kernel/random_graph.h"

namespace assay::test {
namespace {

struct Network {
  Graph graph;
  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    return take(graph.append(op, std::move(operands), std::move(attributes), std::string(op_row(op).name)));
  }
  // Fixed weights without a pattern.
  NodeId weights(Shape shape) {
    std::vector<double> values(element_count(shape));
    for (double& v : values) v = static_cast<double>((state_ = state_ * 1103515245 + 12345) >> 16 & 255) / 128 - 1;
    return graph.append_constant(tensor(std::move(shape), values));
  }

 private:
  std::uint32_t state_ = 7;
};

Graph pooled() {
  Network n;
  const NodeId x = n.graph.append_input(DType::float64, {1, 16}, "x");
  const NodeId image = n.append(Op::reshape, {x}, ShapeAttributes{{1, 1, 4, 4}});
  WindowAttributes conv, pool;
  conv.kernel = conv.strides = conv.dilations = conv.pads_begin = conv.pads_end = {1, 1};
  conv.kernel = {3, 3};
  pool.kernel = pool.strides = {2, 2};
  pool.dilations = {1, 1};
  pool.pads_begin = pool.pads_end = {0, 0};
  const NodeId hidden = n.append(Op::relu, {n.append(Op::conv, {image, n.weights({2, 1, 3, 3})}, conv)});
  const NodeId flat = n.append(Op::reshape, {n.append(Op::max_pool, {hidden}, pool)}, ShapeAttributes{{1, 8}});
  n.graph.mark_output(n.append(Op::matmul, {flat, n.weights({8, 2})}), "y");
  return n.graph;
}

Graph attention() {
  Network n;
  const NodeId flat = n.graph.append_input(DType::float64, {1, 16}, "x");
  const NodeId x = n.append(Op::reshape, {flat}, ShapeAttributes{{4, 4}});
  const NodeId q = n.append(Op::matmul, {x, n.weights({4, 2})}), k = n.append(Op::matmul, {x, n.weights({4, 2})});
  const NodeId scores = n.append(Op::matmul, {q, n.append(Op::permute, {k}, PermuteAttributes{{1, 0}})});
  const NodeId shares = n.append(Op::softmax, {scores}, SoftmaxAttributes{1});
  const NodeId mixed = n.append(Op::matmul, {shares, n.append(Op::matmul, {x, n.weights({4, 4})})});
  const NodeId normal =
      n.append(Op::normalise, {n.append(Op::add, {x, mixed})}, NormaliseAttributes{{1}, 1e-5, NormaliseAttributes::Form::centered});
  const NodeId row = n.append(Op::reshape, {normal}, ShapeAttributes{{1, 16}});
  n.graph.mark_output(n.append(Op::matmul, {row, n.weights({16, 2})}), "y");
  return n.graph;
}

struct Bounded {
  ProblemPointer problem;
  Scope scope;
  NodeId output;
};

Bounded swept(const Graph& graph, bool exact) {
  std::vector<double> lo, hi;
  for (int i = 0; i < 16; ++i) {
    const double centre = static_cast<double>(i * 7 % 16) / 8 - 1;
    lo.push_back(centre - 0.03);
    hi.push_back(centre + 0.03);
  }
  const ProblemPointer problem = open(graph, lo, hi, {at_most(output(0), Rational(-100))}, KernelOptions{exact});
  Scope scope = root(problem);
  take(certificate::sweep(*problem, scope, 0, true));  // the same hidden boxes, hence the same planes, in both modes
  const NodeId out = graph.outputs[0];
  take(inspect::tighten(scope, out, {Selection::Kind::all, {}}, {}));
  return {problem, scope, out};
}

double width(const Box& box) { return box.hi[0] - box.lo[0] + box.hi[1] - box.lo[1]; }

}  // namespace

TEST_CASE("planes: networks with a max pool and with attention", "[kernel][relaxation]") {
  for (const Graph& graph : {pooled(), attention()}) {
    for (const bool exact : {false, true}) {
      const Bounded bounded = swept(graph, exact);
      const Box& box = bounded.scope.box(bounded.output);
      Scope boxes_only = boxed_root(bounded.problem);
      CHECK(width(box) < 0.8 * width(boxes_only.box(bounded.output)));
      RandomGraph random(3);
      const Box& x = bounded.scope.box(graph.inputs[0]);
      for (const Sample& sample : samples(graph, x.lo, x.hi, random, 200)) {
        for (std::size_t i = 0; i < 2; ++i) {
          const WideInterval& y = sample.values[bounded.output].values[i];
          CHECK((y.hi_up() >= box.lo[i] && y.lo_down() <= box.hi[i]));
        }
      }
    }
  }
}

TEST_CASE("planes: the two modes agree up to their roundings", "[kernel][relaxation]") {
  for (const Graph& graph : {pooled(), attention()}) {
    const Bounded filter = swept(graph, false), exact = swept(graph, true);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(std::fabs(filter.scope.box(filter.output).lo[i] - exact.scope.box(exact.output).lo[i]) < 1e-9);
      CHECK(std::fabs(filter.scope.box(filter.output).hi[i] - exact.scope.box(exact.output).hi[i]) < 1e-9);
    }
  }
}

TEST_CASE("planes: a raised claim is rejected, and a bad hint cannot make it hold", "[kernel][relaxation]") {
  for (const Graph& graph : {pooled(), attention()}) {
    for (const bool exact : {false, true}) {
      const Bounded bounded = swept(graph, exact);
      const Box& box = bounded.scope.box(bounded.output);
      const std::vector<float> lo{std::nextafter(static_cast<float>(box.lo[0]), -1e30F),
                                  std::nextafter(static_cast<float>(box.lo[1]), -1e30F)};
      const std::vector<float> hi{std::nextafter(static_cast<float>(box.hi[0]), 1e30F),
                                  std::nextafter(static_cast<float>(box.hi[1]), 1e30F)};
      const Selection all{Selection::Kind::all, {}};
      const Claims claims{lo, hi};
      Scope scope = bounded.scope;
      CHECK(inspect::tighten(scope, bounded.output, all, {}, &claims).ok());
      Claims raised = claims;
      raised.lo[1] = static_cast<float>(box.lo[1] + 0.01 * (box.hi[1] - box.lo[1]));
      Scope again = bounded.scope;
      CHECK(code_of(inspect::tighten(again, bounded.output, all, {}, &raised)) == "tighten.S3");
      for (const float hint : {1e30F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Hints hints;
        for (NodeId node = 0; node < graph.nodes.size(); ++node) {
          const Op op = graph.node(node).op;
          if (op == Op::max_pool || op == Op::softmax || op == Op::matmul || op == Op::normalise)
            hints.lower[node].assign(graph.size(node), hint);
        }
        hints.upper = hints.lower;
        CHECK_FALSE(inspect::tighten(again, bounded.output, all, hints, &raised).ok());
      }
    }
  }
}

}  // namespace assay::test
