#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "search/bounds/batch_boxes.h"
#include "search/heuristics/strong_branching.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

constexpr std::size_t kInputs = 3;

// y <= -1 and x_1 <= 1/4, which the network of search_graphs.h reaches on some boxes.
struct Setup {
  Setup() : problem(open_problem()), network(problem), dual(network), scalars(ScalarGraph::of(dual, 0)) { REQUIRE(scalars.has_value()); }
  static std::shared_ptr<const logic::Problem> open_problem() {
    statement::Row input;
    input.terms.push_back({2, {statement::Variable::Side::input, 0, 1}});
    input.bound = Rational(1, 2);
    return search_test::open(search_test::product_of_functions(),
                             {search_test::make_case(kInputs, -1, 1, {search_test::output_row({{0, 3}}, -3), input})});
  }
  std::shared_ptr<const logic::Problem> problem;
  Network network;
  NeuronGraph dual;
  std::optional<ScalarGraph> scalars;
};

InputBox random_box(std::mt19937_64& random) {
  InputBox box;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const double a = static_cast<double>(random() % 257) / 128 - 1, b = static_cast<double>(random() % 257) / 128 - 1;
    box.lo.push_back(std::min(a, b));
    box.hi.push_back(std::max(a, b));
  }
  return box;
}

std::vector<BoxBound> bounds_of(BatchBounds& bounds, const std::vector<InputBox>& boxes, int steps) {
  std::vector<BoxBound> results(boxes.size());
  bounds.load(boxes);
  bounds.bound(0, std::vector<const BoxParameters*>(boxes.size(), nullptr), steps, 0, results);
  return results;
}

}  // namespace

TEST_CASE("the forms of a scalar graph say what the network computes", "[search][strong_branching]") {
  const Setup setup;
  const ScalarGraph& scalars = *setup.scalars;
  CHECK(scalars.products() == 2);
  CHECK(scalars.atoms() == kInputs + 4);
  std::mt19937_64 random(1);
  for (int k = 0; k < 20; ++k) {
    std::vector<double> atoms = random_box(random).lo;
    Workspace workspace;
    REQUIRE(setup.network.evaluate(1, atoms.data(), workspace));
    const std::vector<double> x = atoms;
    for (const ScalarGraph::Neuron& neuron : scalars.neurons()) atoms.push_back(workspace.values[neuron.step->node][neuron.element]);
    const double y = std::sin(3 * x[0]) * x[1] + x[0] * std::max(x[1] + x[2], 0.0);
    const std::vector<double> expected{y + 1, x[1] - 0.25};
    for (std::size_t r = 0; r < 2; ++r) {
      const ScalarForm& row = scalars.rows(0)[r];
      double value = row.constant;
      for (const ScalarEntry& entry : scalars.entries(row)) value += entry.value * atoms[entry.atom];
      CHECK(value == Catch::Approx(expected[r]).margin(1e-6));
    }
  }
}

TEST_CASE("the kernel derives the bounds of the lanes from their mixes and weights", "[search][strong_branching]") {
  const Setup setup;
  BatchBounds bounds(*setup.scalars);
  std::mt19937_64 random(2);
  double gained = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<InputBox> boxes(kLanes);
    for (InputBox& box : boxes) {
      box = random_box(random);
      for (std::vector<double>* end : {&box.lo, &box.hi})
        (*end)[0] = ((*end)[0] + 1) / 4;  // where sin is concave, the kernel's own slopes are those here
    }
    const std::vector<BoxBound> first = bounds_of(bounds, boxes, 0), results = bounds_of(bounds, boxes, 20);
    for (std::size_t l = 0; l < kLanes; ++l) {
      CHECK(results[l].bound >= first[l].bound);
      gained += results[l].bound - first[l].bound;
      auto root = logic::Scope::root(setup.problem, 0);
      REQUIRE(root.ok());
      logic::Scope& scope = root.value();
      const NodeId input = setup.problem->graph().inputs[0];
      for (std::uint32_t i = 0; i < kInputs; ++i) {
        REQUIRE(scope.assume({input, i, true, boxes[l].lo[i]}).ok());
        REQUIRE(scope.assume({input, i, false, boxes[l].hi[i]}).ok());
      }
      REQUIRE(certificate::sweep(*setup.problem, scope, 0, false).ok());
      const logic::CaseMultipliers multipliers = to_multipliers(*setup.scalars, 0, 0, results[l].parameters);
      inspect::Diagnosis diagnosis;
      const auto concluded =
          inspect::conclude(scope, std::span(&multipliers, 1), to_hints(*setup.scalars, results[l].parameters), diagnosis);
      REQUIRE(diagnosis.margins.size() == 1);
      CHECK(diagnosis.margins[0] == Catch::Approx(results[l].bound).margin(2e-6));
      if (results[l].bound > 1e-5) CHECK(concluded.ok());
    }
  }
  CHECK(gained > 1);
}

TEST_CASE("a lane's bound is below what its rows reach anywhere in the box", "[search][strong_branching]") {
  const Setup setup;
  BatchBounds bounds(*setup.scalars);
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    const InputBox box = random_box(random);
    const BoxBound one = bounds_of(bounds, {box}, 8)[0];
    const double y_weight = one.parameters.weights[0], x_weight = one.parameters.weights[1];
    for (int k = 0; k < 200; ++k) {
      std::vector<double> x;
      for (std::size_t i = 0; i < kInputs; ++i) x.push_back(std::lerp(box.lo[i], box.hi[i], static_cast<double>(random() % 5) / 4));
      const double y = std::sin(3 * x[0]) * x[1] + x[0] * std::max(x[1] + x[2], 0.0);
      CHECK(one.bound <= y_weight * (y + 1) + x_weight * (x[1] - 0.25) + 1e-6);
    }
  }
}

TEST_CASE("lanes do not see each other", "[search][strong_branching]") {
  const Setup setup;
  BatchBounds bounds(*setup.scalars);
  std::mt19937_64 random(4);
  std::vector<InputBox> boxes(kLanes);
  for (InputBox& box : boxes) box = random_box(random);
  boxes[0] = {{-1, -1, -1}, {1, 1, 1}};  // stays open, so that all steps are made
  const std::vector<BoxBound> together = bounds_of(bounds, boxes, 10);
  REQUIRE(together[0].bound < 0);
  for (std::size_t l = 0; l < kLanes; ++l) {
    const std::vector<BoxBound> pair = bounds_of(bounds, {boxes[0], boxes[l]}, 10);
    CHECK(pair[1].bound == together[l].bound);
    CHECK(pair[1].parameters.mixes == together[l].parameters.mixes);
  }
}

TEST_CASE("strong_branching halves the input whose halves gain most, and knows their bounds", "[search][strong_branching]") {
  const Setup setup;
  StrongBranching strong_branching(*setup.scalars, 0);
  const std::vector<std::uint32_t> positions{0};
  const auto scope = logic::Scope::root(setup.problem, 0);
  REQUIRE(scope.ok());
  const TriedBox root = strong_branching.root(scope.value(), positions);
  REQUIRE(root.cases.size() == 1);
  REQUIRE(root.cases[0].bound.bound < 0);
  const auto choice = strong_branching.choose(root);
  REQUIRE(choice.has_value());
  CHECK(choice->threshold == 0);
  CHECK(choice->at_most.box.hi[choice->input] == 0);
  CHECK(choice->at_least.box.lo[choice->input] == 0);
  const auto worth = [&](const TriedBox& a, const TriedBox& b) {
    return std::min(a.cases[0].bound.bound, 0.0) + std::min(b.cases[0].bound.bound, 0.0);
  };
  BatchBounds bounds(*setup.scalars);
  for (std::size_t i = 0; i < kInputs; ++i) {
    std::vector<InputBox> halves(2, root.box);
    halves[0].hi[i] = halves[1].lo[i] = 0;
    std::vector<BoxBound> results(2);
    bounds.load(halves);
    const BoxParameters* start = &root.cases[0].bound.parameters;
    bounds.bound(0, std::vector(2, start), 5, 0, results);
    CHECK(worth(choice->at_most, choice->at_least) >= std::min(results[0].bound, 0.0) + std::min(results[1].bound, 0.0));
  }
  const InputBox point{{0, 0, 0}, {0, 0, 0}};
  CHECK(!strong_branching.choose({point, root.cases}).has_value());
}

TEST_CASE("networks without products, with products of matrices or softmax, and large ones, are no scalar graphs",
          "[search][strong_branching]") {
  const auto is_one = [](Graph graph, std::size_t inputs) {
    const auto problem =
        search_test::open(std::move(graph), {search_test::make_case(inputs, -1, 1, {search_test::output_row({{0, 1}}, -1)})});
    const Network network(problem);
    const NeuronGraph dual(network);
    return ScalarGraph::of(dual, 0).has_value();
  };
  CHECK(is_one(search_test::product_of_functions(), kInputs));
  CHECK(!is_one(search_test::random_network({3, 4, 1}, 1), 3));
  for (const Op op : {Op::mul, Op::matmul, Op::softmax}) {
    INFO(op_row(op).name);
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {2, 2}, "x"), tanh = search_test::unary(graph, Op::tanh, x);
    const auto product = graph.append(Op::mul, {x, tanh});
    REQUIRE(product.ok());
    const auto last =
        op == Op::softmax ? graph.append(op, {product.value()}, SoftmaxAttributes{1}) : graph.append(op, {product.value(), x});
    REQUIRE(last.ok());
    graph.mark_output(search_test::unary(graph, Op::tanh, last.value()), "y");
    CHECK(is_one(std::move(graph), 4) == (op == Op::mul));
  }
  Graph large;
  const std::size_t n = 300;
  const NodeId x = large.append_input(DType::float32, {1, n}, "x");
  const auto shifted = large.append(Op::add, {x, large.append_constant(Tensor::of_floats({1}, std::vector<float>{1}))});
  REQUIRE(shifted.ok());
  const auto product = large.append(Op::mul, {x, shifted.value()});
  REQUIRE(product.ok());
  large.mark_output(product.value(), "y");
  CHECK(!is_one(std::move(large), n));
}

}  // namespace assay::search
