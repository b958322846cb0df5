// The double filter covers the rounding of every sum. In each test one kind of sum drops hundreds of small terms against a large
// one, far more than all other error bounds together. A filter without exactly that bound would refute a reachable point.
#include <cmath>
#include <random>

#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

constexpr double kLost = 0x1p-53 * 0.99;  // 1 + kLost is 1 in double
constexpr std::size_t kMany = 1000, kLanes = 8;

// Sums run in eight lanes: a large term first in each.
std::vector<double> large_then_lost(double scale = 1) {
  std::vector<double> values(kMany, scale * kLost);
  std::fill(values.begin(), values.begin() + kLanes, scale);
  return values;
}
Rational sum_of(const std::vector<double>& values) {
  Rational sum;
  for (const double v : values) sum += exactly(v);
  return sum;
}
// - sum of all elements of the first output <= - bound
Row total_at_least(const Rational& bound, std::size_t size = kMany) {
  std::vector<Term> terms;
  for (std::uint64_t i = 0; i < size; ++i) terms.push_back({Rational(-1), output(i)});
  return row(std::move(terms), -bound);
}

}  // namespace

TEST_CASE("rounding: the sum of biases of one row", "[kernel][error_bound]") {
  Chain net(1);
  const std::vector<double> bias = large_then_lost();
  net.gemm(kMany, std::vector<double>(kMany, 0.0), bias);
  const auto problem = open(net.output(), {0}, {0}, {total_at_least(sum_of(bias))});
  CHECK(logic::satisfiable(problem, {0, {Rational(0)}}).ok());
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

TEST_CASE("rounding: the concretisation at the inputs", "[kernel][error_bound]") {
  Chain net(kMany);
  net.then(Op::neg);
  net.then(Op::neg);
  const std::vector<double> x = large_then_lost();
  const auto problem = open(net.output(), x, x, {total_at_least(sum_of(x))});
  CHECK(logic::satisfiable(problem, {0, rationals(x)}).ok());
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

TEST_CASE("rounding: the sum of intercepts of one row", "[kernel][error_bound]") {
  Chain net(kMany);
  net.then(Op::relu);
  const std::vector<double> hi = large_then_lost(), lo(kMany, -1.0);
  const auto problem = open(net.output(), lo, hi, {total_at_least(sum_of(hi))});
  CHECK(logic::satisfiable(problem, {0, rationals(hi)}).ok());
  Hints hints;  // upper slope 0: relu <= u
  hints.upper[1].assign(kMany, 0.0F);
  CHECK(code_of(conclude(boxed_root(problem), hints)) == "conclude.S3");
}

TEST_CASE("rounding: the bounds of a node that stops the walk", "[kernel][error_bound]") {
  Chain net(kMany);
  net.then(Op::sin);  // no line: its box [-1, 1]
  const std::vector<double> zero(kMany, 0.0), far(kMany, 7.0);
  // c sin <= 1 with coefficients that are lost against one another: the sum of all |c| is reached at the peaks.
  const std::vector<double> c = large_then_lost();
  std::vector<Term> terms;
  for (std::uint64_t i = 0; i < kMany; ++i) terms.push_back({-exactly(c[i]), output(i)});
  const auto problem = open(net.output(), zero, far, {row(std::move(terms), -sum_of(c))});
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

TEST_CASE("rounding: many paths that meet in one node", "[kernel][error_bound]") {
  // y = x + 300 times kLost x, one scale node and one output for each path.
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 1}, "x");
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i <= 300; ++i) {  // the largest has the highest number and is met first
    graph.mark_output(take(graph.append(Op::scale, {x}, ScaleAttributes{i == 300 ? 1.0 : kLost})), "y" + std::to_string(i));
    terms.push_back({Rational(-1), {Variable::Side::output, i, 0}});
  }
  const Rational most = Rational(1) + Rational(300) * exactly(kLost);
  const auto problem = open(graph, {0}, {1}, {row(terms, -most)});
  CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok());
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

TEST_CASE("rounding: the constant, over many nodes", "[kernel][error_bound]") {
  // y_i = 0 x + b_i, one node and one output each; only the constant grows.
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 1}, "x");
  const NodeId zero = graph.append_constant(tensor({1, 1}, {0.0}));
  std::vector<Term> terms;
  for (std::uint32_t i = 0; i <= 300; ++i) {
    const NodeId bias = graph.append_constant(column({i == 300 ? 1.0 : kLost}));
    graph.mark_output(take(graph.append(Op::gemm, {x, zero, bias}, GemmAttributes{})), "y" + std::to_string(i));
    terms.push_back({Rational(-1), {Variable::Side::output, i, 0}});
  }
  const auto problem = open(graph, {0}, {0}, {row(terms, -(Rational(1) + Rational(300) * exactly(kLost)))});
  CHECK(logic::satisfiable(problem, {0, {Rational(0)}}).ok());
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

TEST_CASE("rounding: many literals on one coefficient", "[kernel][error_bound]") {
  // x = 1; each literal x >= 1 takes beta from the coefficient 1, which does not move, and gives it to the constant.
  Chain net(1);
  net.gemm(1, {1});
  const auto problem = open(net.output(), {1}, {1}, {at_most(input(0), Rational(1))});
  CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok());
  Scope scope = boxed_root(problem);
  Hints hints;
  for (int i = 0; i < 400; ++i) {
    REQUIRE(scope.assume({problem->graph().inputs[0], 0, true, 1}).ok());
    hints.beta.push_back(static_cast<float>(0x1p-54 * 0.99));
  }
  CHECK(code_of(conclude(scope, hints)) == "conclude.S3");
}

TEST_CASE("rounding: a chain of lines", "[kernel][error_bound]") {
  // 200 times abs at the point 1, with slopes chosen so that each product of slopes rounds away from the truth.
  constexpr std::size_t kDepth = 200;
  std::mt19937_64 random(31);
  std::vector<float> slopes(kDepth);
  double coefficient = -1;
  for (float& chosen : slopes) {
    double best = 0;
    for (int candidate = 0; candidate < 300; ++candidate) {
      const float slope = 1.0F - static_cast<float>(random() % 2048) * 0x1p-24F;
      const double error = -std::fma(coefficient, double{slope}, -(coefficient * double{slope}));  // computed minus exact
      if (candidate == 0 || error > best) {
        best = error;
        chosen = slope;
      }
    }
    coefficient *= double{chosen};
  }
  Chain net(1);
  Hints hints;
  for (std::size_t i = 0; i < kDepth; ++i) {  // the same line on either side, so that neither intercept covers the rounding of the slopes
    const NodeId node = net.then(Op::abs);
    hints.lower[node] = hints.upper[node] = {slopes[kDepth - 1 - i]};
  }
  const auto problem = open(net.output(), {1}, {1}, {at_least(output(0), Rational(1))});
  CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok());
  CHECK(code_of(conclude(boxed_root(problem), hints)) == "conclude.S3");
}

TEST_CASE("rounding: entries that are no doubles", "[kernel][error_bound]") {
  // The mean of three and a division by 3: the coefficient 1/3 is off by its half-width, on every path the same way.
  for (const std::int64_t divisor : {3, 7, 11, 49}) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float64, {1, divisor}, "x");
    graph.mark_output(take(graph.append(Op::reduce_mean, {x}, ReduceAttributes{{1}, true})), "y");
    const NodeId d = graph.append_constant(column({static_cast<double>(divisor)}));
    graph.mark_output(take(graph.append(Op::div, {x, d})), "q");
    const std::vector<double> lo(static_cast<std::size_t>(divisor), -1.0), hi(static_cast<std::size_t>(divisor), 1.0);
    for (const std::uint32_t tensor : {0u, 1u}) {
      for (const int sign : {1, -1}) {
        for (const bool exact : {false, true}) {
          KernelOptions options;
          options.exact = exact;
          const Rational reached = tensor == 0 ? Rational(1) : Rational(1, divisor);
          const Row r = row({{Rational(sign), {Variable::Side::output, tensor, 0}}}, -reached);
          const auto problem = open(graph, lo, hi, {r}, options);
          const Scope scope = boxed_root(problem);
          CHECK(logic::satisfiable(problem, {0, rationals(sign > 0 ? lo : hi)}).ok());
          CHECK(code_of(conclude(scope)) == "conclude.S3");
          const Box& box = scope.box(graph.outputs[tensor]);
          CHECK(Interval(box.lo[0], box.hi[0]).contains(reached));
          CHECK(Interval(box.lo[0], box.hi[0]).contains(-reached));
        }
      }
    }
  }
}

// c = (1e16 + 1/2) - 1e16 is 1/2; over intervals it is [0, 2], whose midpoint is 1.
TEST_CASE("rounding: constants that intervals enclose widely", "[kernel][error_bound]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 1}, "x");
  const NodeId large = graph.append_constant(column({1e16})), half = graph.append_constant(column({0.5}));
  const NodeId c = take(graph.append(Op::sub, {take(graph.append(Op::add, {large, half})), large}));
  graph.mark_output(take(graph.append(Op::mul, {x, c})), "factor");
  graph.mark_output(take(graph.append(Op::add, {x, c})), "bias");
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    for (const std::uint32_t tensor : {0u, 1u}) {
      const Rational reached = tensor == 0 ? Rational(1, 2) : Rational(3, 2);  // at x = 1
      for (const Rational& bound : {reached, Rational(-1)}) {
        const auto problem = open(graph, {1}, {1}, {row({{Rational(1), {Variable::Side::output, tensor, 0}}}, bound)}, options);
        const Scope scope = boxed_root(problem);
        CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok() == (bound == reached));
        CHECK(code_of(conclude(scope)) == (bound == reached ? "conclude.S3" : "accepted"));
        const Box& box = scope.box(graph.outputs[tensor]);
        CHECK(Interval(box.lo[0], box.hi[0]).contains(reached));
      }
    }
  }
}

TEST_CASE("exact path: bits that are dropped are covered", "[kernel][error_bound][exact_rows]") {
  KernelOptions options;
  options.exact = true;
  // y = (2^20 + 1)^5 x: more bits than a mantissa holds.
  Chain net(1);
  Rational factor(1);
  for (int layer = 0; layer < 5; ++layer) {
    net.gemm(1, {0x1p20 + 1});
    factor = factor * Rational((1 << 20) + 1);
  }
  const Graph graph = net.output();
  for (const int x : {1, -1}) {
    for (const int sign : {1, -1}) {
      const auto problem = open(graph, {static_cast<double>(x)}, {static_cast<double>(x)},
                                {row({{Rational(sign), output(0)}}, Rational(sign) * factor * Rational(x))}, options);
      CHECK(logic::satisfiable(problem, {0, {Rational(x)}}).ok());
      CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
    }
  }
}

TEST_CASE("exact path: slopes between grid points are covered", "[kernel][error_bound][exact_rows]") {
  KernelOptions options;
  options.exact = true;
  // x^2 at the points 1 and 2^-20, with the slope 1 and one a quarter of a step off the grid of 1, to either side; all
  // intercepts are exact.
  for (const float slope : {static_cast<float>(0x1p-33 + 0x1p-56), static_cast<float>(0x1p-33 + 0x1.8p-55)}) {
    Chain net(2);
    net.then(Op::mul, net.last);
    Hints hints;
    hints.lower[1] = {1.0F, slope};
    hints.upper = hints.lower;
    const Graph graph = net.output();
    const std::vector<double> x{1, 0x1p-20};
    for (const int sign : {1, -1}) {
      const Row r = row({{Rational(sign), output(1)}}, Rational(sign) * exactly(0x1p-40));
      const auto problem = open(graph, x, x, {r}, options);
      CHECK(logic::satisfiable(problem, {0, rationals(x)}).ok());
      CHECK(code_of(conclude(boxed_root(problem), hints)) == "conclude.S3");
    }
  }
}

TEST_CASE("exact path: ends of boxes between grid points go outward", "[kernel][error_bound][exact_rows]") {
  KernelOptions options;
  options.exact = true;
  Chain net(2);
  net.then(Op::neg);
  net.then(Op::neg);
  const Graph graph = net.output();
  for (const std::vector<double>& x :
       {std::vector<double>{1, 0x1p-60}, {1, -0x1p-60}, {-1, 0x1p-60}, {0x1p1000, 1}, {0x1p1000, -0x1p-1074}}) {
    for (const int sign : {1, -1}) {
      const Row r = row({{Rational(sign), output(0)}, {Rational(sign), output(1)}}, Rational(sign) * (exactly(x[0]) + exactly(x[1])));
      const auto problem = open(graph, x, x, {r}, options);
      CHECK(logic::satisfiable(problem, {0, rationals(x)}).ok());
      CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
    }
  }
}

TEST_CASE("exact path: every rounded grid value is covered", "[kernel][error_bound][exact_rows]") {
  KernelOptions options;
  options.exact = true;
  const std::vector<std::vector<double>> weights{{1, 0x1p-60}, {1, -0x1p-60}, {0.1, 0x1.8p-57}, {3, 0x1.7p-58}, {-1, 0x1p-59}};
  for (const auto& w : weights) {
    for (const int sign : {1, -1}) {
      for (const bool as_bias : {false, true}) {
        // y0 + y1 with weights (or biases) of which the small one is not on the grid of the large one.
        Chain net(1);
        net.gemm(2, as_bias ? std::vector<double>{0, 0} : w, as_bias ? w : std::vector<double>{});
        const Rational sum = exactly(w[0]) + exactly(w[1]);
        const auto problem =
            open(net.output(), {1}, {1}, {row({{Rational(sign), output(0)}, {Rational(sign), output(1)}}, Rational(sign) * sum)}, options);
        CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok());
        CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
      }
    }
  }
}

TEST_CASE("exact path: a coefficient that vanishes on an unbounded element loses the bound", "[kernel][error_bound][exact_rows]") {
  // The second element of z = 1e308 x has no bound in double; it enters y with 2^-100, below the mantissa of the first.
  KernelOptions options;
  options.exact = true;
  Chain net(2);
  net.gemm(2, {1e308, 0, 0, 1e308});
  net.gemm(2, {1, 0, 0, 0x1p-50});
  net.gemm(1, {1, 0x1p-50});
  for (const double x : {-1e10, 1e10}) {
    const auto problem =
        open(net.output(), {0, x}, {0, x}, {x < 0 ? at_most(output(0), Rational(-1)) : at_least(output(0), Rational(1))}, options);
    CHECK(logic::satisfiable(problem, {0, rationals({0, x})}).ok());
    CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
  }
}

TEST_CASE("exact path: what an alignment drops is covered", "[kernel][error_bound][exact_rows]") {
  // y = x + 2^-130 x on two branches; the small one does not fit beside the large one.
  KernelOptions options;
  options.exact = true;
  for (const bool small_last : {false, true}) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float64, {1, 1}, "x");
    std::vector<NodeId> branches;
    for (const bool small : {!small_last, small_last}) {
      const NodeId w = graph.append_constant(tensor({1, 1}, {small ? 0x1p-130 : 1.0}));
      branches.push_back(take(graph.append(Op::gemm, {x, w}, GemmAttributes{})));
    }
    graph.mark_output(take(graph.append(Op::add, branches)), "y");
    const Rational factor = Rational(1) + exactly(0x1p-130);
    for (const int at : {1, -1}) {
      for (const int sign : {1, -1}) {
        const Row reached = row({{Rational(sign), output(0)}}, Rational(sign) * factor * Rational(at));
        const auto problem = open(graph, {static_cast<double>(at)}, {static_cast<double>(at)}, {reached}, options);
        CHECK(logic::satisfiable(problem, {0, {Rational(at)}}).ok());
        CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
      }
    }
  }
}

TEST_CASE("a bound beyond all doubles bounds nothing", "[kernel][error_bound][exact_rows]") {
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    Chain net(1);
    net.then(Op::exp);
    const auto problem = open(net.output(), {0}, {1000}, {at_least(output(0), exactly(1e300))}, options);
    CHECK(logic::satisfiable(problem, {0, {Rational(1000)}}).ok());
    CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
  }
}

TEST_CASE("rounding: the sum of products of one element of a box", "[kernel][error_bound][box]") {
  const std::vector<double> w = large_then_lost(), one(kMany, 1.0);
  Chain net(kMany);
  net.gemm(1, w);
  const auto problem = open(net.output(), one, one, {at_least(output(0), sum_of(w))});
  const Box box = boxed_root(problem).box(problem->graph().outputs[0]);
  CHECK(Interval(box.lo[0], box.hi[0]).contains(sum_of(w)));
}

TEST_CASE("box: what overflows is the whole line", "[kernel][box]") {
  for (const double x : {1e10, -1e10}) {
    Chain net(1);
    net.gemm(1, {1e308});
    const auto problem = open(net.output(), {x}, {x}, {at_least(output(0), Rational(0))});
    const Box box = boxed_root(problem).box(problem->graph().outputs[0]);
    CHECK(box.lo[0] == -kInfinity);
    CHECK(box.hi[0] == kInfinity);
  }
}

TEST_CASE("rounding: a large bias before many terms of a convolution", "[kernel][error_bound][box]") {
  // y = 2^53 + a thousand ones, each lost against the bias, which comes first.
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, static_cast<std::int64_t>(kMany), 1}, "x");
  const NodeId w = graph.append_constant(tensor({1, static_cast<std::int64_t>(kMany), 1}, std::vector<double>(kMany, 1.0)));
  WindowAttributes window;
  window.kernel = window.strides = window.dilations = {1};
  window.pads_begin = window.pads_end = {0};
  graph.mark_output(take(graph.append(Op::conv, {x, w, graph.append_constant(column({0x1p53}))}, window)), "y");
  const std::vector<double> one(kMany, 1.0);
  const auto problem = open(graph, one, one, {at_least(output(0), Rational(0))});
  const Box box = boxed_root(problem).box(problem->graph().outputs[0]);
  CHECK(Interval(box.lo[0], box.hi[0]).contains(exactly(0x1p53) + Rational(static_cast<std::int64_t>(kMany))));
}

}  // namespace assay::test
