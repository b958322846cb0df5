// Balls: rows that all cases share restrict a group's facts, and nothing else does.
#include <algorithm>
#include <numeric>
#include <random>

#include "kernel/inspect/inspect.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

// The graph with the squares and the products x_i x_{i+1} of its input's elements as further outputs, as the reader of properties
// makes them, and with |x_i - middle_i|.
Graph with_products(Graph graph, std::vector<double> middle = {}) {
  const NodeId x = graph.inputs[0];
  const auto size = static_cast<std::int64_t>(graph.size(x));
  const auto append = [&](Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    return take(graph.append(op, std::move(operands), std::move(attributes)));
  };
  std::vector<std::int64_t> places(static_cast<std::size_t>(size)), next;
  std::iota(places.begin(), places.end(), 0);
  for (const std::int64_t i : places) next.push_back((i + 1) % size);
  const NodeId flat = append(Op::reshape, {x}, ShapeAttributes{{size}}),
               all = append(Op::gather, {flat}, GatherAttributes{0, places, {size}}),
               other = append(Op::gather, {flat}, GatherAttributes{0, next, {size}});
  graph.mark_output(append(Op::mul, {all, all}), "squares");
  graph.mark_output(append(Op::mul, {all, other}), "products");
  middle.resize(graph.size(x));
  graph.mark_output(append(Op::abs, {append(Op::sub, {x, graph.append_constant(Tensor::of_doubles(graph.node(x).shape, middle))})}),
                    "magnitudes");
  return graph;
}

Variable square_of(std::uint64_t element) { return {Variable::Side::output, 1, element}; }
Variable product_of(std::uint64_t element) { return {Variable::Side::output, 2, element}; }
Variable magnitude_of(std::uint64_t element) { return {Variable::Side::output, 3, element}; }

// sum of weight_i (x_i - middle_i)^2 <= bound, multiplied out
Row ball(const std::vector<double>& middle, const std::vector<double>& weights, const Rational& bound) {
  Row result = row({}, bound);
  for (std::size_t i = 0; i < middle.size(); ++i) {
    const Rational weight = exactly(weights[i]), m = exactly(middle[i]);
    result.terms.push_back({weight, square_of(i)});
    if (m.sign() != 0) result.terms.push_back({Rational(-2) * weight * m, input(i)});
    result.bound = result.bound - weight * m * m;
  }
  return result;
}

// sum of weight_i |x_i - middle_i| <= bound, with the middles of the graph
Row octahedron(const std::vector<double>& weights, const Rational& bound) {
  Row result = row({}, bound);
  for (std::size_t i = 0; i < weights.size(); ++i) result.terms.push_back({exactly(weights[i]), magnitude_of(i)});
  return result;
}

}  // namespace

TEST_CASE("a ball gives the dual norm of a linear form", "[kernel][ball]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  Chain net(2);
  net.gemm(1, {3, 4}, {1});
  const NodeId y = net.last;
  const auto problem = open(with_products(net.output()), {-10, -10}, {10, 10},
                            {ball({1, 2}, {1, 1}, Rational(4)), at_least(output(0), Rational(50))}, options);
  REQUIRE(inspect::group_balls(*problem, 0).size() == 1);
  Scope scope = boxed_root(problem);
  CHECK(scope.box(y).hi[0] > 70);
  REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
  // 3 + 8 + 1 +- 2 * 5
  CHECK(scope.box(y).lo[0] <= 2);
  CHECK(scope.box(y).lo[0] > 2 - 1e-5);
  CHECK(scope.box(y).hi[0] >= 22);
  CHECK(scope.box(y).hi[0] < 22 + 1e-5);
  CHECK(code_of(conclude(scope, {}, {0, 1})) == "accepted");
}

TEST_CASE("a ball of magnitudes gives the dual norm of a linear form, with the box what is least on both", "[kernel][ball]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  Chain net(2);
  net.gemm(1, {3, 4}, {1});
  const NodeId y = net.last;
  const auto bounds = [&](std::vector<double> low, std::vector<double> high, std::vector<double> weights, const Rational& bound) {
    const auto problem = open(with_products(Chain(net).output(), {1, 2}), std::move(low), std::move(high),
                              {octahedron(weights, bound), at_least(output(0), Rational(-100))}, options);
    REQUIRE(inspect::group_balls(*problem, 0).size() == 1);
    CHECK(std::ranges::count(inspect::pre_activations(*problem), problem->graph().node(problem->graph().outputs[3]).operands[0]) == 0);
    Scope scope = boxed_root(problem);
    REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
    return std::pair(scope.box(y).lo[0], scope.box(y).hi[0]);
  };
  const auto encloses = [](std::pair<double, double> found, double least, double greatest) {
    return found.first <= least && found.first > least - 1e-12 && found.second >= greatest && found.second < greatest + 1e-12;
  };
  // 3 + 8 + 1 at the middle; +- 2 times the greatest coefficient by weight
  CHECK(encloses(bounds({-10, -10}, {10, 10}, {1, 1}, Rational(2)), 4, 20));
  CHECK(encloses(bounds({-10, -10}, {10, 10}, {1, 2}, Rational(2)), 6, 18));
  // x_1 ends at 1.5 and at 2.25: what is left of the 2 goes to x_0.
  CHECK(encloses(bounds({-10, 1.5}, {10, 2.25}, {1, 1}, Rational(2)), 12 - 2 - 4.5, 12 + 1 + 5.25));
  // The middle lies outside of the box: 0.5 of the 2 is used up in it.
  CHECK(encloses(bounds({1.5, -10}, {10, 10}, {1, 1}, Rational(2)), 13.5 - 6, 13.5 + 6));
}

TEST_CASE("with the box a ball gives what is least on both", "[kernel][ball]") {
  Chain net(2);
  net.gemm(1, {1, 1});
  const NodeId y = net.last;
  const auto problem =
      open(with_products(net.output()), {0, -5}, {5, 5}, {ball({0, 0}, {1, 1}, Rational(1)), at_least(output(0), Rational(2))});
  Scope scope = boxed_root(problem);
  REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
  CHECK(scope.box(y).lo[0] <= -1);  // at (0, -1)
  CHECK(scope.box(y).lo[0] > -1.001);
  // On a half of it, x_1 >= 0, the least value is that of the corner.
  Scope half = take([&]() -> Outcome<Scope> {
    Scope copy = scope;
    if (auto done = copy.assume({problem->graph().inputs[0], 1, true, 0}); !done) return done.rejection();
    return copy;
  }());
  REQUIRE(inspect::tighten(half, y, {Selection::Kind::all, {}}, {}).ok());
  CHECK(half.box(y).lo[0] <= 0);
  CHECK(half.box(y).lo[0] > -1e-9);
  CHECK(half.box(y).hi[0] >= std::sqrt(2.0));
  CHECK(half.box(y).hi[0] < std::sqrt(2.0) + 1e-5);
}

TEST_CASE("only rows that all cases share, of squares with one sign, are balls", "[kernel][ball]") {
  const std::vector<double> low{-2, -2}, high{2, 2};
  const auto box = box_of(rationals(low), rationals(high));
  const Row unit = ball({0, 0}, {1, 1}, Rational(1)), wide = ball({0, 0}, {1, 1}, Rational(2)), far = at_least(output(0), Rational(3));
  const auto graph = [] {
    Chain net(2);
    net.gemm(1, {1, 1});
    return with_products(net.output());
  };
  const auto balls = [&](std::vector<std::vector<Row>> cases) {
    std::vector<statement::Case> all;
    for (auto& rows : cases) all.push_back({box, std::move(rows)});
    return inspect::group_balls(*open(stated(graph(), std::move(all))), 0).size();
  };
  CHECK(balls({{unit, far}, {far, unit}}) == 1);
  CHECK(balls({{unit, wide, far}, {wide, unit}}) == 2);
  CHECK(balls({{unit, far}, {far}}) == 0);
  CHECK(balls({{unit, far}, {wide, far}}) == 0);
  CHECK(balls({{ball({0, 0}, {1, -1}, Rational(1))}}) == 0);
  CHECK(balls({{row({{Rational(1), square_of(0)}, {Rational(1), product_of(0)}}, Rational(1))}}) == 0);
  CHECK(balls({{row({{Rational(1), product_of(1)}}, Rational(1))}}) == 0);
  CHECK(balls({{row({{Rational(1), square_of(0)}, {Rational(1), output(0)}}, Rational(1))}}) == 0);
  CHECK(balls({{at_most(input(0), Rational(1))}}) == 0);
  CHECK(balls({{at_most(square_of(1), Rational(1))}}) == 1);
  const Row sum = octahedron({1, 1}, Rational(1)), less = octahedron({1, 1}, Rational(1, 2));
  CHECK(balls({{sum, far}, {far, sum}}) == 1);
  CHECK(balls({{sum, unit, far}, {unit, sum}}) == 2);
  CHECK(balls({{sum, far}, {less, far}}) == 0);
  CHECK(balls({{octahedron({1, -1}, Rational(1))}}) == 0);
  for (const Variable& other : {square_of(1), product_of(0), input(1), output(0)})
    CHECK(balls({{row({{Rational(1), magnitude_of(0)}, {Rational(1), other}}, Rational(1))}}) == 0);
  // Terms in another order are the same row; without the option there are no balls.
  Row turned = unit;
  std::ranges::reverse(turned.terms);
  CHECK(balls({{unit, far}, {far, turned}}) == 1);
  CHECK(inspect::group_balls(*open(stated(graph(), {{box, {unit, far}}}), {.balls = false}), 0).empty());
  // A bound of only one of two cases does not hold for the other.
  const auto problem = open(stated(graph(), {{box, {unit, far}}, {box, {far}}}));
  Scope scope = boxed_root(problem);
  REQUIRE(inspect::tighten(scope, problem->graph().outputs[0], {Selection::Kind::all, {}}, {}).ok());
  CHECK(scope.box(problem->graph().outputs[0]).hi[0] >= 4);
  CHECK_FALSE(scope.conclude(std::vector<CaseMultipliers>{{1, {}}}, {}).ok());
}

TEST_CASE("bounds on a ball hold at its points, in both arithmetics", "[kernel][ball]") {
  const bool exact = GENERATE(false, true);
  const auto seed = GENERATE(range(1u, 25u));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const std::size_t n = 1 + seed % 4, hidden = 5;
  const double size = std::ldexp(1.0, static_cast<int>(seed % 7) * 9 - 27);  // from 2^-27 to 2^27
  const auto numbers = [&](std::size_t count, double scale) {
    std::vector<double> values(count);
    for (double& x : values) x = scale * normal(random);
    return values;
  };
  const std::vector<double> w1 = numbers(hidden * n, 1), b1 = numbers(hidden, size), w2 = numbers(2 * hidden, 1);
  const bool of_squares = GENERATE(true, false);
  std::vector<double> middle = numbers(n, size), weights(n), low(n), high(n);
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = std::ldexp(1.0, static_cast<int>(random() % 5) - 2);
    low[i] = middle[i] - size * (seed % 3 == 0 ? 0.3 : 3);
    high[i] = middle[i] + size * (seed % 5 == 0 ? 0.2 : 3);
  }
  Chain net(static_cast<std::int64_t>(n));
  net.gemm(static_cast<std::int64_t>(hidden), w1, b1);
  const NodeId before = net.last;
  net.then(Op::relu);
  net.gemm(2, w2);
  const NodeId last = net.last;
  const Rational radius = of_squares ? exactly(size) * exactly(size) : exactly(size);
  const auto problem =
      open(with_products(net.output(), middle), low, high,
           {of_squares ? ball(middle, weights, radius) : octahedron(weights, radius), at_least(output(0), Rational(0))}, {exact});
  REQUIRE(inspect::group_balls(*problem, 0).size() == 1);
  Scope scope = boxed_root(problem);
  for (const NodeId node : {before, last}) REQUIRE(inspect::tighten(scope, node, {Selection::Kind::all, {}}, {}).ok());
  double tightest = kInfinity;
  for (int sample = 0; sample < 300; ++sample) {
    // A random direction, shortened by halves until the point is in the ball exactly; half of them end on the sphere, nearly.
    // Some are along an axis.
    std::vector<double> direction = numbers(n, 1);
    for (std::size_t i = 0; i < n && sample % 3 == 0; ++i) direction[i] *= i == static_cast<std::size_t>(sample) / 3 % n ? 1 : 0;
    Rationals x(n);
    Rational off;
    double norm = 0;
    for (std::size_t i = 0; i < n; ++i) norm += weights[i] * (of_squares ? direction[i] * direction[i] : std::fabs(direction[i]));
    if (of_squares) norm = std::sqrt(norm);
    for (double length = sample % 2 == 0 ? 1 : std::ldexp(1.0, -static_cast<int>(random() % 6));; length *= 1 - 0x1p-40) {
      off = Rational();
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = exactly(std::clamp(middle[i] + direction[i] / norm * length * size, low[i], high[i]));
        const Rational d = x[i] - exactly(middle[i]);
        off += exactly(weights[i]) * (of_squares ? d * d : abs(d));
      }
      if (off <= radius) break;
    }
    Rationals h(hidden);
    for (std::size_t j = 0; j < hidden; ++j) {
      h[j] = exactly(b1[j]);
      for (std::size_t i = 0; i < n; ++i) h[j] += exactly(w1[j * n + i]) * x[i];
      CHECK(exactly(scope.box(before).lo[j]) <= h[j]);
      CHECK(exactly(scope.box(before).hi[j]) >= h[j]);
      tightest = std::min(tightest, ((exactly(scope.box(before).hi[j]) - h[j]) / exactly(size)).double_up());
    }
    for (std::size_t k = 0; k < 2; ++k) {
      Rational y;
      for (std::size_t j = 0; j < hidden; ++j) y += exactly(w2[k * hidden + j]) * max(h[j], Rational());
      CHECK(exactly(scope.box(last).lo[k]) <= y);
      CHECK(exactly(scope.box(last).hi[k]) >= y);
    }
  }
  if (n == 1) CHECK(tightest < 1e-3);  // of points at either end
}

TEST_CASE("balls of any numbers weaken or refute, and nothing breaks", "[kernel][ball]") {
  Chain net(2);
  net.gemm(1, {1, -1});
  const Graph graph = with_products(net.output());
  const NodeId y = graph.outputs[0];
  for (const bool exact : {false, true}) {
    for (const double middle : {0.0, 1e-300, 1.0, 1e150, 1e300}) {
      for (const double weight : {1e-300, 1.0, 1e300}) {
        for (const Rational& bound : {Rational(0), Rational(-1), Rational(1), exactly(1e300) * exactly(1e300), exactly(5e-324)}) {
          const auto problem =
              open(graph, {-2, -2}, {2, 2}, {ball({middle, -middle}, {weight, weight}, bound), at_least(output(0), Rational(3))}, {exact});
          Scope scope = boxed_root(problem);
          REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
          // (0, 0) is in the ball where its middle is 0, or where it is far and wide.
          const Rational off = Rational(2) * exactly(weight) * exactly(middle) * exactly(middle);
          if (off > bound) continue;
          CHECK(scope.box(y).lo[0] <= 0);
          CHECK(scope.box(y).hi[0] >= 0);
        }
      }
    }
  }
}

}  // namespace assay::test
