#include "search/bounds/alpha_beta/alpha_beta_crown.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "kernel/relax/relaxation.h"
#include "policy/policy.h"
#include "search/relax/elementwise.h"
#include "search/relax/function_lines.h"
#include "search/relax/lines.h"
#include "semantics/graph/family.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;

using Setup = search_test::AscentSetup;
constexpr std::size_t kInputs = search_test::kAscentInputs;

std::vector<logic::Literal> some_literals(const Setup& setup, std::size_t count) {
  std::vector<logic::Literal> literals;
  const NeuronBoxes boxes = NeuronBoxes::of(setup.graph, setup.scope);
  for (std::uint32_t neuron = 0; neuron < setup.graph.neuron_count() && literals.size() < count; ++neuron) {
    if (!(boxes.lo[neuron] < 0 && boxes.hi[neuron] > 0)) continue;
    const NeuronGraph::Activation& activation = setup.graph.activation_of(neuron);
    literals.push_back({activation.operand, neuron - activation.first_neuron, neuron % 2 == 0, 0});
  }
  REQUIRE(literals.size() == count);
  return literals;
}

}  // namespace

TEST_CASE("bounds lie below all points, and ascent only raises them", "[search][dual]") {
  for (const Op op : {Op::relu, Op::sigmoid, Op::tanh, Op::leaky_relu, Op::abs}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Graph model = random_network({kInputs, 8, 8, 2}, seed, Op::relu);
      for (Node& node : model.nodes) {
        if (node.op != Op::relu) continue;
        node.op = op;
        if (op == Op::leaky_relu) node.attributes = LeakyReluAttributes{0.125};
      }
      const Setup setup(model, 0);
      REQUIRE(setup.graph.supported());
      const double first = setup.run(1, {}).bound, last = setup.run(60, {}).bound, sampled = setup.sampled_minimum({}, seed);
      CHECK(first <= last);
      CHECK(last <= sampled + 1e-9);
      CHECK(sampled - last <= 1.01 * (sampled - first) + 1e-9);
    }
  }
}

namespace {

// Functions whose lines come from their records.
const std::vector<std::pair<Op, Attributes>>& recorded_functions() {
  static const std::vector<std::pair<Op, Attributes>> list{{Op::gelu, GeluAttributes{false}},
                                                           {Op::silu, ActivationAttributes{1, 0}},
                                                           {Op::mish, NoAttributes{}},
                                                           {Op::elu, ActivationAttributes{1, 0}},
                                                           {Op::selu, ActivationAttributes{1.67, 1.05}},
                                                           {Op::softplus, NoAttributes{}},
                                                           {Op::softsign, NoAttributes{}},
                                                           {Op::erf, NoAttributes{}},
                                                           {Op::atan, NoAttributes{}},
                                                           {Op::sinh, NoAttributes{}},
                                                           {Op::hard_swish, NoAttributes{}},
                                                           {Op::hard_sigmoid, ActivationAttributes{0.75, 0.5}},
                                                           {Op::hard_sigmoid, ActivationAttributes{-0.5, 0.25}},
                                                           {Op::exp, NoAttributes{}},
                                                           {Op::sin, NoAttributes{}},
                                                           {Op::cos, NoAttributes{}},
                                                           {Op::pow, PowAttributes{Rational(3)}},
                                                           {Op::pow, PowAttributes{Rational(4)}},
                                                           {Op::mul, NoAttributes{}}};
  return list;
}

// Functions that jump.
const std::vector<std::pair<Op, Attributes>>& jumping_functions() {
  static const std::vector<std::pair<Op, Attributes>> list{{Op::sign, NoAttributes{}},
                                                           {Op::step, NoAttributes{}},
                                                           {Op::thresholded_relu, ActivationAttributes{0.5, 0}},
                                                           {Op::shrink, ActivationAttributes{0.5, 0.25}},
                                                           {Op::floor, NoAttributes{}},
                                                           {Op::ceil, NoAttributes{}},
                                                           {Op::round, NoAttributes{}}};
  return list;
}

Graph with_function(Graph model, Op op, const Attributes& attributes) {
  for (Node& node : model.nodes) {
    if (node.op != Op::relu) continue;
    node.op = op;
    node.attributes = attributes;
    if (op == Op::mul) node.operands = {node.operands[0], node.operands[0]};
  }
  return model;
}

std::vector<std::pair<Op, Attributes>> all_functions() {
  std::vector<std::pair<Op, Attributes>> list = recorded_functions();
  list.insert(list.end(), jumping_functions().begin(), jumping_functions().end());
  return list;
}

}  // namespace

TEST_CASE("every function of one variable has lines and a gradient in the search", "[search][dual]") {
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    Node node;
    node.op = op;
    node.operands = {0, 0};
    node.dtype = DType::float32;
    node.attributes = op == Op::clip         ? Attributes(ClipAttributes{-1, 1})
                      : op == Op::pow        ? Attributes(PowAttributes{Rational(3)})
                      : op == Op::leaky_relu ? Attributes(LeakyReluAttributes{})
                      : op == Op::gelu       ? Attributes(GeluAttributes{})
                      : op == Op::cast       ? Attributes(CastAttributes{})
                      : family_of(op) == Family::function && op_row(op).attributes == Attributes(ActivationAttributes{}).index()
                          ? Attributes(ActivationAttributes{0.5, 0.25})
                          : Attributes(NoAttributes{});
    INFO(op_row(op).name);
    if (UnaryFunction::is_one(node)) CHECK(is_unary(node));
  }
}

TEST_CASE("slopes of functions with a record are optimised, and the kernel derives the bound that the search computed", "[search][dual]") {
  for (const auto& [op, attributes] : all_functions()) {
    INFO(op_row(op).name);
    double gained = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Setup setup(with_function(random_network({kInputs, 8, 8, 2}, seed), op, attributes), 0);
      REQUIRE(setup.graph.supported());
      REQUIRE(setup.network.has_gradient());
      for (const Step& step : setup.network.steps()) CHECK(step.kind != Step::Kind::binary);
      const BoundResult result = setup.run(60, {});
      CHECK(result.bound <= setup.sampled_minimum({}, seed) + 1e-9);
      const std::vector<logic::CaseMultipliers> cases{{0, result.parameters.weights}};
      inspect::Diagnosis own, optimised;
      static_cast<void>(inspect::conclude(setup.scope, cases, {}, own));
      static_cast<void>(inspect::conclude(setup.scope, cases, to_hints(setup.graph, result.parameters), optimised));
      CHECK(optimised.margins[0] == Approx(result.bound).margin(1e-4).epsilon(1e-4));
      gained += optimised.margins[0] - own.margins[0];
    }
    CHECK(gained > 0);
  }
}

TEST_CASE("gradients of functions with a record are those of their values", "[search][network]") {
  for (const auto& [op, attributes] : recorded_functions()) {
    INFO(op_row(op).name);
    const Setup setup(with_function(random_network({kInputs, 8, 2}, 5), op, attributes), 0);
    Workspace workspace;
    std::vector<double> x{0.11, -0.27, 0.31, 0.05}, y(2), up(2), down(2), x_bar(kInputs);
    const std::vector<double> y_bar{1, -2};
    setup.network.evaluate(1, x.data(), workspace);
    setup.network.vjp(1, workspace, y_bar.data(), x_bar.data());
    for (std::size_t i = 0; i < kInputs; ++i) {
      const double at = x[i], h = 1e-5;
      x[i] = at + h;
      setup.network.evaluate(1, x.data(), workspace);
      setup.network.outputs(1, workspace, up.data());
      x[i] = at - h;
      setup.network.evaluate(1, x.data(), workspace);
      setup.network.outputs(1, workspace, down.data());
      x[i] = at;
      const double difference = (up[0] - down[0] - 2 * (up[1] - down[1])) / (2 * h);
      CHECK(x_bar[i] == Approx(difference).margin(1e-4));
    }
  }
}

TEST_CASE("lines from records stay on their side, and touch what the pieces say", "[search][lines]") {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> uniform(-3, 3), shares(0, 1);
  for (const auto& [op, attributes] : all_functions()) {
    INFO(op_row(op).name);
    const Graph model = with_function(random_network({kInputs, 8, 2}, 5), op, attributes);
    const auto node = std::ranges::find_if(model.nodes, [op = op](const Node& n) { return n.op == op; });
    const UnaryFunction f(*node);
    for (int trial = 0; trial < 20; ++trial) {
      const double a = uniform(random), b = uniform(random), l = std::min(a, b), u = std::max(a, b);
      FunctionLines lines;
      lines.prepare(f, 1, &l, &u);
      const double share = shares(random), slope = (1 - share) * lines.least_slope(0) + share * lines.most_slope(0);
      const Line below = lines.below(0, slope), above = lines.above(0, slope);
      double nearest_below = INFINITY, nearest_above = INFINITY;
      for (int k = 0; k <= 200; ++k) {
        const double z = l + (u - l) * k / 200, value = f.value(z);
        nearest_below = std::min(nearest_below, value - below.slope * z - below.intercept);
        nearest_above = std::min(nearest_above, above.slope * z + above.intercept - value);
      }
      const double rise = (u - l) * (lines.most_slope(0) - lines.least_slope(0));
      CHECK(nearest_below >= -1e-5 * rise - 1e-9);  // of cubics through 17 samples
      CHECK(nearest_above >= -1e-5 * rise - 1e-9);
      const double slack = 0.05 * rise + 1e-6;  // of 16 pieces known by their derivative
      CHECK(nearest_below <= slack);
      CHECK(nearest_above <= slack);
    }
  }
}

// Of the same slope, element by element: neither looser nor tighter than what the kernel derives, at the ends of domains and of jumps, too.
TEST_CASE("lines of the search are those that the kernel derives from the same slopes", "[search][lines]") {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(-2.5, 2.5), shares(0, 1);
  struct {
    Op op;
    Attributes attributes;
    double least;  // of the domain
  } const with_domain[] = {{Op::sqrt, NoAttributes{}, 0},
                           {Op::log, NoAttributes{}, 0x1p-10},
                           {Op::reciprocal, NoAttributes{}, 0x1p-10},
                           {Op::pow, PowAttributes{Rational(3, 2)}, 0},
                           {Op::pow, PowAttributes{Rational(-2)}, 0x1p-6}};
  std::vector<std::tuple<Op, Attributes, double>> functions;
  for (const auto& [op, attributes] : all_functions()) functions.emplace_back(op, attributes, -INFINITY);
  for (const auto& one : with_domain) functions.emplace_back(one.op, one.attributes, one.least);
  for (const auto& [op, attributes, least] : functions) {
    INFO(op_row(op).name);
    const Graph model = with_function(random_network({kInputs, 1, 2}, 5), op, attributes);
    const auto node = std::ranges::find_if(model.nodes, [op = op](const Node& n) { return n.op == op; });
    const UnaryFunction f(*node);
    std::vector<std::pair<double, double>> boxes{{0, 1}, {-0.5, 0}, {0, 0}, {0.5, 2}, {-2, -0.5}, {1, 2}, {-1, 1}, {-0.5, 0.5}, {-2, -1}};
    for (int trial = 0; trial < 20; ++trial) {
      const double a = uniform(random), b = uniform(random);
      boxes.emplace_back(std::min(a, b), std::max(a, b));
    }
    for (auto [l, u] : boxes) {
      l = std::max(l, least);
      u = std::max(u, l);
      INFO("[" << l << ", " << u << "]");
      FunctionLines lines;
      lines.prepare(f, 1, &l, &u);
      const double share = shares(random);
      for (const double slope : {lines.first_slope_below(0), lines.first_slope_above(0),
                                 (1 - share) * lines.least_slope(0) + share * lines.most_slope(0), 0.0}) {
        const std::vector<float> hint{static_cast<float>(slope)};
        const double s = static_cast<double>(hint[0]);
        const Line below = lines.below(0, s), above = lines.above(0, s);
        const relax::Box x{{l}, {u}}, whole{{-INFINITY}, {INFINITY}};
        const std::vector<const relax::Box*> operands(node->operands.size(), &x);
        const auto derived = relax::relax(model, *node, operands, whole, policy::Policy(policy::SlopeHints{hint, hint}));
        REQUIRE(derived.has_value());
        const double rise = 1e-4 * (1 + std::fabs(s) + std::fabs(f.value(l)) + std::fabs(f.value(u)));
        CHECK(std::fabs(derived->lower_intercept[0] - below.intercept) <= rise);
        CHECK(std::fabs(derived->upper_intercept[0] - above.intercept) <= rise);
      }
    }
  }
}

TEST_CASE("ascent with literals: below all their points, and tighter than without multipliers", "[search][dual]") {
  double gained = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Setup setup(random_network({kInputs, 10, 10, 2}, seed), 0);
    const std::vector<logic::Literal> literals = some_literals(setup, 3);
    const BoundResult first = setup.run(1, literals), last = setup.run(80, literals);
    const double sampled = setup.sampled_minimum(literals, seed);
    if (std::isfinite(sampled)) CHECK(last.bound <= sampled + 1e-9);
    CHECK(last.bound >= first.bound);
    REQUIRE(last.parameters.beta.size() == 3);
    for (const float beta : last.parameters.beta) gained += static_cast<double>(beta);
  }
  CHECK(gained > 0);
}

TEST_CASE("the kernel concludes from the hints exactly what the search computed", "[search][dual]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Graph model = random_network({kInputs, 8, 8, 2}, seed);
    const Setup probe(model, 0);
    const std::vector<logic::Literal> literals = some_literals(probe, 2);
    const double bound = probe.run(40, literals).bound * probe.network.rows(0)[0].scale;
    // A right-hand side just below (above) the computed bound is refuted (is not).
    for (const double margin : {1e-6, -1e-6}) {
      const Setup setup(model, *Rational::from_double(bound - margin));
      const BoundResult result = setup.run(40, literals);
      logic::Scope scope = setup.scope;
      for (const logic::Literal& literal : literals) REQUIRE(scope.assume(literal).ok());
      const std::vector<logic::CaseMultipliers> cases{{0, result.parameters.weights}};
      CHECK(scope.conclude(cases, to_hints(setup.graph, result.parameters)).ok() == (margin > 0));
    }
  }
}

TEST_CASE("warm starts reproduce the bound", "[search][dual]") {
  const Setup setup(random_network({kInputs, 8, 8, 2}, 3), 0);
  const std::vector<logic::Literal> literals = some_literals(setup, 2);
  const BoundResult result = setup.run(30, literals);
  CHECK(setup.run(1, literals, &result.parameters).bound == Approx(result.bound).margin(1e-9));
}

TEST_CASE("lower slopes of relu are multiples of 1/128 in [0, 1]", "[search][dual]") {
  const Setup setup(random_network({kInputs, 8, 8, 2}, 4), 0);
  const BoundResult result = setup.run(17, {});
  REQUIRE(result.parameters.lower_alpha.size() == 16);
  for (const float slope : result.parameters.lower_alpha) {
    CHECK(slope >= 0);
    CHECK(slope <= 1);
    CHECK(slope * 128 == std::floor(slope * 128));
  }
}

TEST_CASE("slopes that are not quantised are still floats in [0, 1]", "[search][dual]") {
  const Setup setup(random_network({kInputs, 8, 8, 2}, 4), 0);
  AlphaBeta thirds = setup.run(17, {}).parameters;
  for (float& slope : thirds.lower_alpha) slope = slope > 0 && slope < 1 ? 1.0F / 3 : slope;
  const NeuronBoxes boxes = NeuronBoxes::of(setup.graph, setup.scope);
  BoundTask task;
  task.rows = &setup.network.rows(0);
  task.boxes = &boxes;
  task.start = &thirds;
  AlphaBetaOptions options;
  options.iterations = 1;
  options.target = INFINITY;
  options.quantize = false;
  BoundResult result;
  AlphaBetaCrown(setup.graph).run({&task, 1}, options, {&result, 1});
  int kept = 0;
  for (std::size_t j = 0; j < thirds.lower_alpha.size(); ++j) {
    CHECK((result.parameters.lower_alpha[j] >= 0 && result.parameters.lower_alpha[j] <= 1));
    kept += std::fabs(result.parameters.lower_alpha[j] - 1.0F / 3) < 1e-7F ? 1 : 0;
  }
  CHECK(kept > 0);
}

TEST_CASE("a probed split gives the bounds of its children", "[search][dual]") {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Setup setup(random_network({kInputs, 12, 2}, seed), 0);
    const BoundResult parent = setup.run(40, {});
    if (parent.strong_split.neuron == StrongSplit::kNone) continue;
    const NeuronGraph::Activation& activation = setup.graph.activation_of(parent.strong_split.neuron);
    for (const bool at_least : {false, true}) {
      const logic::Literal literal{activation.operand, parent.strong_split.neuron - activation.first_neuron, at_least, 0};
      AlphaBeta start = parent.parameters;
      start.beta.push_back(at_least ? parent.strong_split.beta_at_least : parent.strong_split.beta_at_most);
      const double expected = at_least ? parent.strong_split.at_least : parent.strong_split.at_most;
      CHECK(setup.run(1, {literal}, &start).bound == Approx(expected).margin(1e-6));
      CHECK(expected >= parent.bound - 1e-9);
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("rows of a case are weighted against each other", "[search][dual]") {
  // y = x on [-1, 1]: y <= -1/4 and -y <= -1/4 together are impossible, each alone is not.
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 1}, "x");
  const NodeId relu = search_test::unary(graph, Op::relu, search_test::dense(graph, x, 1, 2, {1, -1}, {0, 0}));
  graph.mark_output(search_test::dense(graph, relu, 2, 1, {1, -1}, {0}), "y");
  const auto problem = open(graph, {make_case(1, -1, 1, {output_row({{0, 1}}, Rational(-1, 4)), output_row({{0, -1}}, Rational(-1, 4))})});
  const Network network(problem);
  const NeuronGraph dual(network);
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
  const NeuronBoxes boxes = NeuronBoxes::of(dual, scope.value());
  AlphaBeta skewed;
  skewed.weights = {1, 0.01F};
  BoundTask task;
  task.rows = &network.rows(0);
  task.boxes = &boxes;
  task.start = &skewed;
  BoundResult result;
  AlphaBetaOptions options;
  options.iterations = 200;
  AlphaBetaCrown(dual).run({&task, 1}, options, {&result, 1});
  REQUIRE(result.bound > 0);
  const std::vector<logic::CaseMultipliers> cases{{0, result.parameters.weights}};
  CHECK(scope.value().conclude(cases, to_hints(dual, result.parameters)).ok());
}

TEST_CASE("lines stay on their side and touch", "[search][lines]") {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform(-4, 4), slopes(-0.5, 1.5);
  for (const Op op : {Op::relu, Op::leaky_relu, Op::abs, Op::tanh, Op::sigmoid}) {
    Step step;
    step.op = op;
    step.constants.first = 0.125;
    const auto f = [&](double z) {
      return op == Op::relu         ? std::max(z, 0.0)
             : op == Op::leaky_relu ? std::max(z, 0.125 * z)
             : op == Op::abs        ? std::fabs(z)
             : op == Op::tanh       ? std::tanh(z)
                                    : 1 / (1 + std::exp(-z));
    };
    for (int trial = 0; trial < 200; ++trial) {
      const double a = uniform(random), b = uniform(random), l = std::min(a, b), u = std::max(a, b);
      const double slope = trial % 2 == 0 ? slopes(random) : first_slope_below(step, l, u);
      const double slope_above = trial % 2 == 0 ? slope : first_slope_above(step, l, u);
      const Line below = line_below(step, slope, l, u), above = line_above(step, slope_above, l, u);
      for (int k = 0; k <= 50; ++k) {
        const double z = l + (u - l) * k / 50;
        CHECK(below.slope * z + below.intercept <= f(z) + 1e-9);
        CHECK(above.slope * z + above.intercept >= f(z) - 1e-9);
      }
      CHECK(std::fabs(below.slope * below.point + below.intercept - f(below.point)) <= 1e-9);
      CHECK(std::fabs(above.slope * above.point + above.intercept - f(above.point)) <= 1e-9);
    }
  }
}

}  // namespace assay::search
