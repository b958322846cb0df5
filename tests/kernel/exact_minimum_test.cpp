// Networks whose exact minimum is known: by the kernel's own rules it can be approached but never passed.
#include <algorithm>
#include <random>

#include "kernel/inspect/inspect.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

KernelOptions mode(bool exact) {
  KernelOptions options;
  options.exact = exact;
  return options;
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-52 - 1; }
  double wild(int exponents) { return std::ldexp(unit(), static_cast<int>(pick(2 * exponents + 1)) - exponents); }

 private:
  std::mt19937_64 random_;
};

using RationalMatrix = std::vector<Rationals>;

// ---- linear networks: y = row vector times x, known exactly ----

struct LinearNet {
  Graph graph;
  std::vector<double> lo, hi;
  RationalMatrix matrix;  // of the last node
  Rationals bias;
};

void multiply(LinearNet& net, const std::vector<double>& w, const std::vector<double>& b, std::size_t rows) {
  const std::size_t columns = net.matrix.size(), inputs = net.lo.size();
  RationalMatrix matrix(rows, Rationals(inputs));
  Rationals bias(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    bias[i] = exactly(b[i]);
    for (std::size_t j = 0; j < columns; ++j) {
      const Rational entry = exactly(w[i * columns + j]);
      bias[i] += entry * net.bias[j];
      for (std::size_t k = 0; k < inputs; ++k) matrix[i][k] += entry * net.matrix[j][k];
    }
  }
  net.matrix = std::move(matrix);
  net.bias = std::move(bias);
}

// Layers of weights over `exponents` binades, with skips that join very different magnitudes.
LinearNet linear_net(Draws& draws, int exponents, std::size_t hidden) {
  const std::size_t inputs = 3;
  LinearNet net;
  Chain chain(static_cast<std::int64_t>(inputs));
  for (std::size_t i = 0; i < inputs; ++i) {
    const double a = draws.wild(exponents / 4), b = draws.pick(4) == 0 ? a : draws.wild(exponents / 4);
    net.lo.push_back(std::min(a, b));
    net.hi.push_back(std::max(a, b));
    net.matrix.emplace_back(inputs);
    net.matrix.back()[i] = Rational(1);
    net.bias.emplace_back(0);
  }
  std::size_t width = inputs;
  for (const std::size_t rows : {hidden, hidden, std::size_t{2}}) {
    std::vector<double> w(rows * width), b(rows);
    for (double& v : w) v = draws.pick(8) == 0 ? 0.0 : draws.wild(exponents);
    for (double& v : b) v = draws.pick(3) == 0 ? 0.0 : draws.wild(exponents);
    const NodeId before = chain.last;
    const RationalMatrix matrix = net.matrix;
    const Rationals bias = net.bias;
    chain.gemm(static_cast<std::int64_t>(rows), w, b);
    multiply(net, w, b, rows);
    if (rows == width) {
      chain.then(Op::add, before);
      for (std::size_t i = 0; i < rows; ++i) {
        net.bias[i] += bias[i];
        for (std::size_t k = 0; k < inputs; ++k) net.matrix[i][k] += matrix[i][k];
      }
    }
    width = rows;
  }
  net.graph = chain.output();
  return net;
}

struct Minimum {
  Rational value, scale;  // scale: sum of all magnitudes, the yard stick of rounding
};
Minimum minimum(const LinearNet& net, const Rationals& c) {
  Minimum result;
  Rationals row(net.lo.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    result.value += c[i] * net.bias[i];
    for (std::size_t k = 0; k < row.size(); ++k) row[k] += c[i] * net.matrix[i][k];
  }
  for (std::size_t k = 0; k < row.size(); ++k) result.value += row[k] * exactly(row[k] > Rational(0) ? net.lo[k] : net.hi[k]);
  return result;
}

// ---- relu networks of one input: piecewise linear, all kinks found exactly ----

// Values of several neurons at the points of one grid, linear between neighbours.
struct Piecewise {
  Rationals grid;
  RationalMatrix values;  // [neuron][point]
};

void relu(Piecewise& p) {
  Rationals grid = p.grid;
  for (const Rationals& z : p.values) {
    for (std::size_t k = 0; k + 1 < p.grid.size(); ++k) {
      if (!(z[k] * z[k + 1] < Rational(0))) continue;
      grid.push_back(p.grid[k] + (p.grid[k + 1] - p.grid[k]) * z[k] / (z[k] - z[k + 1]));
    }
  }
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  for (Rationals& z : p.values) {
    Rationals fine;
    std::size_t k = 0;
    for (const Rational& x : grid) {
      while (k + 2 < p.grid.size() && p.grid[k + 1] < x) ++k;
      const Rational t = p.grid.size() == 1 ? Rational(0) : (x - p.grid[k]) / (p.grid[k + 1] - p.grid[k]);
      const Rational value = p.grid.size() == 1 ? z[0] : z[k] + t * (z[k + 1] - z[k]);
      fine.push_back(max(value, Rational(0)));
    }
    z = std::move(fine);
  }
  p.grid = std::move(grid);
}

void affine(Piecewise& p, const std::vector<double>& w, const std::vector<double>& b) {
  RationalMatrix values(b.size(), Rationals(p.grid.size()));
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < p.grid.size(); ++k) {
      values[i][k] = exactly(b[i]);
      for (std::size_t j = 0; j < p.values.size(); ++j) values[i][k] += exactly(w[i * p.values.size() + j]) * p.values[j][k];
    }
  }
  p.values = std::move(values);
}

struct ReluNet {
  Graph graph;
  Rational least, at;  // the minimum of y over [-1, 1] and where
};

ReluNet relu_net(Draws& draws, std::size_t layers, std::size_t width) {
  Chain chain(1);
  Piecewise p{{Rational(-1), Rational(1)}, {{Rational(-1), Rational(1)}}};
  std::size_t from = 1;
  for (std::size_t layer = 0; layer <= layers; ++layer) {
    const std::size_t rows = layer == layers ? 1 : width;
    std::vector<double> w(rows * from), b(rows);
    for (double& v : w) v = static_cast<double>(draws.pick(65) - 32) / 16;
    for (double& v : b) v = static_cast<double>(draws.pick(65) - 32) / 64;
    chain.gemm(static_cast<std::int64_t>(rows), w, b);
    affine(p, w, b);
    if (layer < layers) {
      chain.then(Op::relu);
      relu(p);
    }
    from = rows;
  }
  ReluNet net{chain.output(), p.values[0][0], p.grid[0]};
  for (std::size_t k = 0; k < p.grid.size(); ++k) {
    if (!(p.values[0][k] < net.least)) continue;
    net.least = p.values[0][k];
    net.at = p.grid[k];
  }
  return net;
}

// Bisection of the input down to `depth`, refined and concluded at the leaves: a refutation of the root, or none.
std::optional<Refutation> search(const ProblemPointer& problem, const Scope& scope, double lo, double hi, int depth) {
  Scope refined = scope;
  for (const NodeId node : inspect::active_nodes(*problem)) {
    REQUIRE(refined.propagate_box(node).ok());
    REQUIRE(inspect::tighten(refined, node, {}, {}).ok());
  }
  if (auto closed = conclude(refined)) return closed.value();
  if (depth == 0) return std::nullopt;
  const double middle = lo / 2 + hi / 2;
  const NodeId x = problem->graph().inputs[0];
  const auto left = search(problem, assumed(refined, {x, 0, false, middle}), lo, middle, depth - 1);
  if (!left) return std::nullopt;
  Scope other = assumed(refined, {x, 0, true, middle});
  const auto right = search(problem, other, middle, hi, depth - 1);
  if (!right) return std::nullopt;
  // Contexts are identities: the two children above are children of `refined`, whose context is that of `scope`.
  return take(logic::join(*left, *right));
}

}  // namespace

TEST_CASE("linear networks of wild exponents: the exact minimum is never passed", "[kernel][exact_rows]") {
  Draws draws(21);
  int proved_nearby = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int exponents = trial % 3 == 0 ? 2 : trial % 3 == 1 ? 30 : 150;
    const std::size_t hidden = trial % 20 == 18 ? 300 : 4;
    INFO("trial " << trial << ", 2^+-" << exponents << ", width " << hidden);
    const LinearNet net = linear_net(draws, exponents, hidden);
    const Rationals c{exactly(draws.wild(5)), exactly(draws.wild(5))};
    const Rational least = minimum(net, c).value;
    const Row reached = row({{c[0], output(0)}, {c[1], output(1)}}, least);
    for (const bool exact : {false, true}) {
      const auto problem = open(net.graph, net.lo, net.hi, {reached}, mode(exact));
      inspect::Diagnosis diagnosis;
      const std::vector<CaseMultipliers> cases{{0, {}}};
      Scope scope = boxed_root(problem);
      CHECK(code_of(inspect::conclude(scope, cases, {}, diagnosis)) == "conclude.S3");
      for (NodeId node = 0; node < net.graph.nodes.size(); ++node) {  // extremes of both outputs lie in the boxes
        if (node != net.graph.outputs[0]) continue;
        REQUIRE(inspect::tighten(scope, node, {Selection::Kind::all, {}}, {}).ok());
        for (std::uint64_t i = 0; i < 2; ++i) {
          Rationals plus(2), minus(2);
          plus[i] = Rational(1);
          minus[i] = Rational(-1);
          const Rational lowest = minimum(net, plus).value, highest = -minimum(net, minus).value;
          CHECK(Interval(scope.box(node).lo[i], scope.box(node).hi[i]).contains(lowest));
          CHECK(Interval(scope.box(node).lo[i], scope.box(node).hi[i]).contains(highest));
        }
      }
      // Tame weights: a bound within 10^-9 of the minimum is found.
      if (exponents > 2) continue;
      Row near = reached;
      near.bound = least - Rational(1, 1000000000) * (Rational(1) + abs(least));
      CHECK(conclude(boxed_root(open(net.graph, net.lo, net.hi, {near}, mode(exact)))).ok());
      ++proved_nearby;
    }
  }
  CHECK(proved_nearby >= 30);
}

TEST_CASE("relu networks: bisection proves what lies below the exact minimum and never the minimum", "[kernel][conclude]") {
  Draws draws(22);
  int proved = 0;
  for (int trial = 0; trial < 24; ++trial) {
    INFO("trial " << trial);
    const ReluNet net = relu_net(draws, 1 + static_cast<std::size_t>(trial % 3), 3);
    const auto with = [&](const Rational& bound, bool strict, bool exact) {
      return open(net.graph, {-1}, {1}, {at_most(output(0), bound, strict)}, mode(exact));
    };
    const auto reached = with(net.least, false, trial % 2 == 0);
    CHECK(take(logic::satisfiable(reached, {0, {net.at}})).kind() == Theorem::Kind::satisfiable);
    CHECK(code_of(logic::satisfiable(with(net.least, true, false), {0, {net.at}})) == "satisfiable.S3");
    CHECK_FALSE(search(reached, root(reached), -1, 1, 5).has_value());
    const auto missed = with(net.least - Rational(1, 1000), false, trial % 2 == 0);
    const auto refutation = search(missed, root(missed), -1, 1, 12);
    CHECK(refutation.has_value());
    if (!refutation) continue;
    CHECK(logic::unsatisfiable(missed, std::vector<Refutation>{*refutation}).ok());
    ++proved;
  }
  CHECK(proved >= 20);
}

}  // namespace assay::test
