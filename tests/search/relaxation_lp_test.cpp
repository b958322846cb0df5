#include "search/bounds/lp/relaxation_lp.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stop_token>
#include <vector>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;

constexpr std::size_t kInputs = 5;
constexpr Deadline kNoDeadline;

// y_0 - y_1 <= bound and y_1 - y_2 <= 1/4, to be refuted together.
struct Setup {
  std::shared_ptr<const logic::Problem> problem;
  Network network;
  NeuronGraph graph;
  logic::Scope scope;
  NeuronBoxes root;
  RelaxationRows shared;

  static logic::Scope swept(const std::shared_ptr<const logic::Problem>& problem) {
    auto scope = logic::Scope::root(problem, 0);
    REQUIRE(scope.ok());
    REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
    return std::move(scope).value();
  }
  Setup(const Graph& model, const Rational& bound)
      : problem(open(model, {make_case(kInputs, Rational(-1, 2), Rational(1, 2),
                                       {output_row({{0, 1}, {1, -1}}, bound), output_row({{1, 1}, {2, -1}}, Rational(1, 4))})})),
        network(problem),
        graph(network),
        scope(swept(problem)),
        root(NeuronBoxes::of(graph, scope)),
        shared(graph, root) {}

  [[nodiscard]] const std::vector<RowView>& rows() const { return network.rows(0); }
  [[nodiscard]] NeuronBoxes boxes(const std::vector<logic::Literal>& literals) const {
    NeuronBoxes result = root;
    for (const logic::Literal& literal : literals) result.meet(graph, literal);
    return result;
  }
  [[nodiscard]] LpResult solve(const std::vector<logic::Literal>& literals) const {
    return RelaxationLp(shared, rows(), kNoDeadline, {}).solve(boxes(literals), literals);
  }
  [[nodiscard]] double ascent_bound(const std::vector<logic::Literal>& literals, int iterations, const AlphaBeta* start) const {
    const NeuronBoxes here = boxes(literals);
    BoundTask task;
    task.rows = &rows();
    task.boxes = &here;
    task.literals = literals;
    task.start = start;
    AlphaBetaOptions options;
    options.iterations = iterations;
    options.target = INFINITY;
    options.quantize = false;
    BoundResult result;
    AlphaBetaCrown(graph).run({&task, 1}, options, {&result, 1});
    return result.bound;
  }
  // The smallest sampled value of the larger row, over points that satisfy the literals.
  [[nodiscard]] double sampled_minimum(const std::vector<logic::Literal>& literals, std::uint64_t seed) const {
    double smallest = INFINITY;
    search_test::for_samples(network, 20000, seed, [&](const std::vector<double>& x, const Workspace& workspace) {
      if (!search_test::satisfies(workspace, literals)) return;
      std::vector<double> y(network.output_size());
      network.outputs(1, workspace, y.data());
      double largest = -INFINITY;
      for (const RowView& row : rows()) largest = std::max(largest, -slack(row, y.data(), x.data()) / row.scale);
      smallest = std::min(smallest, largest);
    });
    return smallest;
  }
};

std::vector<logic::Literal> some_literals(const Setup& setup, std::size_t count) {
  std::vector<logic::Literal> literals;
  for (std::uint32_t neuron = 0; neuron < setup.graph.neuron_count() && literals.size() < count; ++neuron) {
    if (!setup.root.is_undecided(neuron)) continue;
    const NeuronGraph::Activation& activation = setup.graph.activation_of(neuron);
    literals.push_back({activation.operand, neuron - activation.first_neuron, neuron % 2 == 0, 0});
  }
  REQUIRE(literals.size() == count);
  return literals;
}

}  // namespace

TEST_CASE("one hidden layer: the program's bound is that of its dual solution, above every ascent, below every point", "[search][lp]") {
  double gained = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Setup setup(random_network({kInputs, 14, 3}, seed), 0);
    REQUIRE(RelaxationRows::supports(setup.graph, setup.root));
    const std::vector<logic::Literal> literals = some_literals(setup, seed % 4);
    const LpResult lp = setup.solve(literals);
    if (lp.status == LpResult::Status::contradiction) continue;
    REQUIRE(lp.status == LpResult::Status::solved);
    CHECK(setup.ascent_bound(literals, 1, &lp.parameters) == Approx(lp.bound).margin(1e-6));
    const double climbed = setup.ascent_bound(literals, 300, nullptr);
    CHECK(climbed <= lp.bound + 1e-6);
    gained += lp.bound - climbed;
    CHECK(lp.bound <= setup.sampled_minimum(literals, seed) + 1e-9);
  }
  CHECK(gained > 0);
}

TEST_CASE("the kernel's margin with the program's dual solution is the program's bound", "[search][lp]") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Graph model = random_network({kInputs, 12, 3}, seed);
    const Setup setup(model, 0);
    const std::vector<logic::Literal> literals = some_literals(setup, 2);
    const LpResult lp = setup.solve(literals);
    if (lp.status == LpResult::Status::contradiction) continue;
    logic::Scope scope = setup.scope;
    for (const logic::Literal& literal : literals) REQUIRE(scope.assume(literal).ok());
    inspect::Diagnosis diagnosis;
    const std::vector<logic::CaseMultipliers> cases{{0, lp.parameters.weights}};
    const bool refuted = inspect::conclude(scope, cases, to_hints(setup.graph, lp.parameters), diagnosis).ok();
    REQUIRE(diagnosis.margins.size() == 1);
    CHECK(diagnosis.margins[0] == Approx(lp.bound).margin(1e-6));
    CHECK(refuted == (diagnosis.margins[0] > 0));
  }
}

TEST_CASE("deeper networks: below every point, and the dual solution proves no more than the program", "[search][lp]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Setup setup(random_network({kInputs, 9, 8, 3}, seed), 0);
    const std::vector<logic::Literal> literals = some_literals(setup, 2);
    const LpResult lp = setup.solve(literals);
    if (lp.status == LpResult::Status::contradiction) continue;
    REQUIRE(lp.status == LpResult::Status::solved);
    CHECK(lp.bound <= setup.sampled_minimum(literals, seed) + 1e-9);
    CHECK(setup.ascent_bound(literals, 1, &lp.parameters) <= lp.bound + 1e-6);
    CHECK(setup.ascent_bound(literals, 100, nullptr) <= lp.bound + 1e-6);
  }
}

TEST_CASE("programs in a row: each node's bound is that of a fresh program", "[search][lp]") {
  const Setup setup(random_network({kInputs, 14, 3}, 3), 0);
  RelaxationLp chained(setup.shared, setup.rows(), kNoDeadline, {});
  std::vector<logic::Literal> literals = some_literals(setup, 5);
  std::mt19937_64 random(2);
  for (int k = 0; k < 40; ++k) {
    std::vector<logic::Literal> some;
    for (logic::Literal literal : literals) {
      literal.at_least = random() % 2 == 0;
      if (random() % 2 == 0) some.push_back(literal);
    }
    const LpResult warm = chained.solve(setup.boxes(some), some), fresh = setup.solve(some);
    REQUIRE(warm.status == fresh.status);
    if (fresh.status != LpResult::Status::solved) continue;
    CHECK(warm.bound == Approx(fresh.bound).margin(1e-6));
    const OptimalFace face = chained.sample_face(setup.boxes(some));
    for (std::size_t i = 0; i < kInputs; ++i) {
      CHECK(face.x_lo[i] <= warm.x[i] + 1e-9);
      CHECK(face.x_hi[i] >= warm.x[i] - 1e-9);
    }
  }
}

TEST_CASE("literals that contradict each other are refuted without the case's rows", "[search][lp]") {
  // z_0 = x_0 + x_1 - 1/4, z_1 = -x_0 - x_1: both >= 0 is impossible, whatever y is.
  Graph model;
  const NodeId x = model.append_input(DType::float32, {1, 5}, "x");
  const NodeId z = search_test::dense(model, x, kInputs, 2, {1, 1, 0, 0, 0, -1, -1, 0, 0, 0}, {-0.25, 0});
  model.mark_output(search_test::dense(model, search_test::unary(model, Op::relu, z), 2, 3, {1, 0, 0, 1, 1, 1}, {0, 0, 0}), "y");
  const Setup setup(model, 5);  // y_0 - y_1 <= 5 holds everywhere
  const std::vector<logic::Literal> literals{{z, 0, true, 0}, {z, 1, true, 0}};
  const LpResult lp = setup.solve(literals);
  REQUIRE(lp.status == LpResult::Status::contradiction);
  CHECK(setup.ascent_bound(literals, 1, &lp.parameters) > 0);
  logic::Scope scope = setup.scope;
  for (const logic::Literal& literal : literals) REQUIRE(scope.assume(literal).ok());
  const std::vector<logic::CaseMultipliers> cases{{0, lp.parameters.weights}};
  CHECK(scope.conclude(cases, to_hints(setup.graph, lp.parameters)).ok());
}

TEST_CASE("a deadline or a stop request ends a program, and the next one starts afresh", "[search][lp]") {
  const Setup setup(random_network({kInputs, 60, 60, 3}, 5), 0);
  REQUIRE(RelaxationLp(setup.shared, setup.rows(), kNoDeadline, {}).solve(setup.root, {}).status == LpResult::Status::solved);
  RelaxationLp late(setup.shared, setup.rows(), Deadline::in(0), {});
  CHECK(late.solve(setup.root, {}).status == LpResult::Status::stopped);
  CHECK(late.solve(setup.root, {}).status == LpResult::Status::stopped);
  std::stop_source source;
  source.request_stop();
  CHECK(RelaxationLp(setup.shared, setup.rows(), kNoDeadline, source.get_token()).solve(setup.root, {}).status ==
        LpResult::Status::stopped);
}

TEST_CASE("networks without finite boxes or with other activations have no program", "[search][lp]") {
  const Setup setup(random_network({kInputs, 6, 3}, 1), 0);
  NeuronBoxes wide = setup.root;
  wide.hi[0] = INFINITY;
  CHECK_FALSE(RelaxationRows::supports(setup.graph, wide));
  const auto problem = open(random_network({kInputs, 6, 3}, 1, Op::tanh), {make_case(kInputs, -1, 1, {output_row({{0, 1}}, 0)})});
  const Network network(problem);
  const NeuronGraph graph(network);
  CHECK_FALSE(RelaxationRows::supports(graph, setup.root));
}

}  // namespace assay::search
