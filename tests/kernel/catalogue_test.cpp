// The catalogue of adversarial networks, as far as real arithmetic goes. Each has an exact value that careless arithmetic misses,
// and each statement lies on the edge. A true statement must be refutable where stated, a false one never.
#include <random>

#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

// Refuting `value of y is exactly v`: y <= below(v) and y >= above(v) are unreachable, y <= v and y >= v are reached.
void check_exact_value(const Graph& graph, const std::vector<double>& x, double v) {
  const auto with = [&](const Row& r, bool reachable) {
    for (const bool exact : {false, true}) {
      KernelOptions options;
      options.exact = exact;
      const auto problem = open(graph, x, x, {r}, options);
      INFO((exact ? "exact: " : "filter: ") << r.terms[0].coefficient.to_string() << " y " << (r.strict ? "< " : "<= ")
                                            << r.bound.to_decimal());
      CHECK(code_of(conclude(boxed_root(problem))) == (reachable ? "conclude.S3" : "accepted"));
      CHECK(logic::satisfiable(problem, {0, rationals(x)}).ok() == reachable);
    }
  };
  with(at_most(output(0), exactly(v)), true);
  with(at_least(output(0), exactly(v)), true);
  with(at_most(output(0), exactly(v), true), false);
  with(at_least(output(0), exactly(v), true), false);
  with(at_most(output(0), exactly(below(v))), false);
  with(at_least(output(0), exactly(above(v))), false);
}

// One neuron over inputs that are all 1.
Graph neuron(const std::vector<double>& w, const std::vector<double>& bias = {}) {
  Chain net(static_cast<std::int64_t>(w.size()));
  net.gemm(1, w, bias);
  return net.output();
}
std::vector<double> ones(std::size_t n) { return std::vector<double>(n, 1.0); }

}  // namespace

TEST_CASE("catalogue ORDER1: 15 blocks of 4 x 2^22, 1, 4 x -2^22 make 15", "[kernel][catalogue]") {
  std::vector<double> w;
  for (int block = 0; block < 15; ++block) {
    w.insert(w.end(), 4, 0x1p22);
    w.push_back(1);
    w.insert(w.end(), 4, -0x1p22);
  }
  check_exact_value(neuron(w), ones(w.size()), 15);
}

TEST_CASE("catalogue ORDER2, ORDER3, PREC: small terms beside a large pair", "[kernel][catalogue]") {
  const auto with = [](double small, int count, double large) {
    std::vector<double> w(static_cast<std::size_t>(count), small);
    w.push_back(large);
    return neuron(w, {-large});
  };
  check_exact_value(with(2.0 / 512, 512, 0x1p24), ones(513), 2);
  check_exact_value(with(1, 512, 0x1p24), ones(513), 512);
  check_exact_value(with(1, 1, 0x1p53), ones(2), 1);
  check_exact_value(with(1, 300, 0x1p53), ones(301), 300);
}

TEST_CASE("catalogue FTZ: 2^-140 scaled by 2^127", "[kernel][catalogue]") {
  Chain net(1);
  net.gemm(1, {0x1p-140});
  net.gemm(1, {0x1p127});
  check_exact_value(net.output(), {1}, 0x1p-13);
}

TEST_CASE("catalogue ZOMBORI: a switch of +-1e17 with bias 1e-3", "[kernel][catalogue]") {
  // z = relu(1e17 a - 1e17 b + 1e-3) with a = b = 1: exactly 1e-3 as a double; y = 1000 z. In double z = 0.
  Chain net(1);
  net.gemm(2, {0, 0}, {1, 1});
  net.gemm(1, {1e17, -1e17}, {1e-3});
  const NodeId z = net.last;
  net.then(Op::relu);
  const NodeId relu = net.last;
  net.gemm(1, {1000});
  const Graph graph = net.output();
  const auto backdoor = open(graph, {-1}, {1}, {at_least(output(0), Rational(1, 2))});
  CHECK(logic::satisfiable(backdoor, {0, {Rational(0)}}).ok());
  Hints hints;
  for (const float slope : {0.0F, 1.0F}) {
    hints.lower[relu] = {slope};
    CHECK(code_of(conclude(boxed_root(backdoor), hints)) == "conclude.S3");
  }
  CHECK(boxed_root(backdoor).box(z).hi[0] >= 1e-3);
  const auto open_door = open(graph, {-1}, {1}, {at_most(output(0), Rational(1, 2))});
  CHECK(conclude(boxed_root(open_door), hints).ok());  // exactly 1 > 1/2
  hints.lower[relu] = {0.0F};
  CHECK(code_of(conclude(boxed_root(open_door), hints)) == "conclude.S3");  // the bound 0 of another slope does not do
}

TEST_CASE("catalogue JR-INACTIVE: a bias one step on either side of the exact maximum", "[kernel][catalogue]") {
  std::mt19937_64 random(5);
  int inactive = 0, active = 0;
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<double> w, lo, hi;
    Rational most;  // of w x over the box
    Rationals best;
    for (int i = 0; i < 5; ++i) {
      w.push_back(static_cast<double>(static_cast<std::int64_t>(random() % (1 << 24)) - (1 << 23)) * 0x1p-22);
      const double a = static_cast<double>(random() % (1 << 24)) * 0x1p-24, b = static_cast<double>(random() % (1 << 24)) * 0x1p-24;
      lo.push_back(std::min(a, b));
      hi.push_back(std::max(a, b));
      best.push_back(exactly(w.back() > 0 ? hi.back() : lo.back()));
      most += exactly(w.back()) * best.back();
    }
    const double at = (-most).double_down();
    for (const double bias : {below(at), at, above(at)}) {
      const Graph graph = neuron(w, {bias});
      const bool fires = most + exactly(bias) > Rational(0);
      const auto problem = open(graph, lo, hi, {at_least(output(0), Rational(0), true)});
      CHECK(logic::satisfiable(problem, {0, best}).ok() == fires);
      CHECK(conclude(boxed_root(problem)).ok() == !fires);
      (fires ? active : inactive) += 1;
    }
  }
  CHECK(inactive >= 40);
  CHECK(active >= 30);
}

TEST_CASE("catalogue SPLIT0: an optimum exactly on the split survives in both halves", "[kernel][catalogue]") {
  // y = |x| through two relus; y <= 0 at x = 0 only.
  Chain net(1);
  net.gemm(2, {1, -1});
  const NodeId z = net.last;
  net.then(Op::relu);
  net.gemm(1, {1, 1});
  const Graph graph = net.output();
  const auto halves = [&](bool strict) {
    const auto problem = open(graph, {-1}, {1}, {at_most(output(0), Rational(0), strict)});
    const Scope parent = boxed_root(problem);
    std::vector<std::string> codes;
    for (const bool at_least_side : {false, true}) {
      Scope half = assumed(parent, {problem->graph().inputs[0], 0, at_least_side, 0});
      derive_all(half, *problem);
      REQUIRE(inspect::tighten(half, z, {Selection::Kind::all, {}}, {}).ok());
      codes.push_back(code_of(conclude(half)));
    }
    CHECK(logic::satisfiable(problem, {0, {Rational(0)}}).ok() == !strict);
    return codes;
  };
  CHECK(halves(false) == std::vector<std::string>{"conclude.S3", "conclude.S3"});
  CHECK(halves(true) == std::vector<std::string>{"accepted", "accepted"});
}

TEST_CASE("catalogue CONSTIN: inputs that are points", "[kernel][catalogue]") {
  Chain net(2);
  net.gemm(1, {1, -1}, {0.5});
  net.then(Op::relu);
  check_exact_value(net.output(), {0.25, 0.5}, 0.25);
  check_exact_value(net.output(), {0.25, 1}, 0);
}

TEST_CASE("catalogue DECIMAL: bounds 0.1 and 1/255 are the decimals, not their doubles", "[kernel][catalogue]") {
  Chain net(1);
  net.gemm(1, {1});
  const Graph graph = net.output();
  for (const Rational& end : {Rational(1, 10), Rational(1, 2) + Rational(1, 255), Rational(1, 3)}) {
    const auto with = [&](const Rational& bound, bool strict) {
      return open(stated(graph, {{box_of({Rational(0)}, {end}), {at_least(output(0), bound, strict)}}}));
    };
    const Rational step = *Rational::parse("1e-30");
    CHECK(code_of(conclude(boxed_root(with(end, false)))) == "conclude.S3");
    CHECK(logic::satisfiable(with(end, false), {0, {end}}).ok());
    CHECK(code_of(logic::satisfiable(with(end, true), {0, {end}})) == "satisfiable.S3");
    CHECK(code_of(logic::satisfiable(with(end, false), {0, {end + step}})) == "satisfiable.S2");
    CHECK(code_of(logic::satisfiable(with(end, false), {0, {end - step}})) == "satisfiable.S3");
    CHECK(code_of(logic::satisfiable(with(end + step, false), {0, {end}})) == "satisfiable.S3");
    CHECK(conclude(boxed_root(with(end + Rational(1, std::int64_t{1} << 40), false))).ok());
  }
}

TEST_CASE("catalogue HUGE: chains beyond double lose the bound and nothing else", "[kernel][catalogue]") {
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    Chain net(1);
    for (int layer = 0; layer < 12; ++layer) net.gemm(1, {3e38}, {1});
    const Graph graph = net.output();
    // y grows from about 3e423 at x = 0 to 3e461 at x = 1.
    const Rational far = *Rational::parse("1e300"), beyond = *Rational::parse("1e500");
    const auto reached = open(graph, {0}, {1}, {at_least(output(0), far)}, options);
    CHECK(logic::satisfiable(reached, {0, {Rational(1)}}).ok());
    CHECK(code_of(conclude(boxed_root(reached))) == "conclude.S3");
    const auto unreached = open(graph, {0}, {1}, {at_least(output(0), beyond)}, options);
    CHECK_FALSE(logic::satisfiable(unreached, {0, {Rational(1)}}).ok());
    Scope scope = boxed_root(unreached);
    static_cast<void>(conclude(scope));  // either answer is right; none may crash
    CHECK(scope.box(graph.outputs[0]).hi[0] == kInfinity);
    REQUIRE(inspect::tighten(scope, graph.outputs[0], {Selection::Kind::all, {}}, {}).ok());
    CHECK(scope.box(graph.outputs[0]).hi[0] == kInfinity);
  }
}

TEST_CASE("catalogue TINY: chains below double do not become 0", "[kernel][catalogue]") {
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    Chain net(1);
    for (int layer = 0; layer < 12; ++layer) net.gemm(1, {1e-45});
    const Graph graph = net.output();
    const auto positive = open(graph, {0}, {1}, {at_least(output(0), Rational(0), true)}, options);
    CHECK(logic::satisfiable(positive, {0, {Rational(1)}}).ok());
    CHECK(code_of(conclude(boxed_root(positive))) == "conclude.S3");
    CHECK(boxed_root(positive).box(graph.outputs[0]).hi[0] > 0);
    const auto large = open(graph, {0}, {1}, {at_least(output(0), *Rational::parse("1e-100"))}, options);
    CHECK(conclude(boxed_root(large)).ok());
    // A subnormal and -0 among the weights, exactly.
    check_exact_value(neuron({0x1p-1074, -0.0}), {1, 1}, 0x1p-1074);
  }
}

TEST_CASE("catalogue NaN and infinity in the model are refused when it is opened", "[kernel][catalogue]") {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    const Statement s = stated(neuron({1, bad}), {{box_of(rationals({0, 0}), rationals({1, 1})), {at_most(output(0), Rational(0))}}});
    CHECK(code_of(Problem::open(s)) == "graph.constant_value");
  }
}

TEST_CASE("catalogue DUP and MISSING LEAF: a tree with a hole or a doubled leaf gives no theorem", "[kernel][catalogue]") {
  Chain net(1);
  net.gemm(1, {1});
  const auto problem = open(net.output(), {0}, {4}, {at_least(output(0), Rational(5))});
  const NodeId x = problem->graph().inputs[0];
  const Scope parent = boxed_root(problem), left = assumed(parent, {x, 0, false, 2}), right = assumed(parent, {x, 0, true, 2});
  const auto leaf = [&](const Scope& scope, bool at_least_side, double t) {
    return take(conclude(assumed(scope, {x, 0, at_least_side, t})));
  };
  const Refutation ll = leaf(left, false, 1), lr = leaf(left, true, 1), rl = leaf(right, false, 3), rr = leaf(right, true, 3);
  const auto theorem = [&](const Refutation& r) { return code_of(logic::unsatisfiable(problem, std::vector<Refutation>{r})); };
  CHECK(theorem(take(logic::join(take(logic::join(ll, lr)), take(logic::join(rl, rr))))) == "accepted");
  CHECK(theorem(take(logic::join(ll, lr))) == "unsatisfiable.S1");          // half of the tree
  CHECK(code_of(logic::join(take(logic::join(ll, lr)), rr)) == "join.S1");  // a leaf in place of its parent
  CHECK(code_of(logic::join(take(logic::join(ll, lr)), take(logic::join(ll, lr)))) == "join.S3");
  CHECK(code_of(logic::join(ll, rr)) == "join.S1");  // the leaves between them are missing
  CHECK(code_of(logic::join(ll, rl)) == "join.S1");
  CHECK(code_of(logic::merge(ll, lr)) == "merge.S1");  // both halves are needed, not merged
}

}  // namespace assay::test
