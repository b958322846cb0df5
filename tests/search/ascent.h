// For the tests of dual ascent: a network, the box [-1/2, 1/2]^4 and one row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "certificates/check/session.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search_test {

using search::AlphaBetaCrown, search::NeuronBoxes, search::NeuronGraph, search::AlphaBetaOptions, search::AlphaBeta, search::BoundResult,
    search::BoundTask;
using search::Network, search::Workspace;

inline constexpr std::size_t kAscentInputs = 4;

// Points of [-1/2, 1/2]^n, every second one a corner, with the values of all nodes: visit(x, workspace).
template <class Visit>
void for_samples(const Network& network, int count, std::uint64_t seed, Visit visit) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  Workspace workspace;
  std::vector<double> x(network.input_size());
  for (int k = 0; k < count; ++k) {
    for (double& value : x) value = k % 2 == 0 ? uniform(random) : std::copysign(0.5, uniform(random));
    network.evaluate(1, x.data(), workspace);
    visit(x, workspace);
  }
}

inline bool satisfies(const Workspace& workspace, const std::vector<logic::Literal>& literals) {
  return std::ranges::all_of(literals, [&](const logic::Literal& literal) {
    const double z = workspace.values[literal.node][literal.element];
    return literal.at_least ? z >= literal.threshold : z <= literal.threshold;
  });
}

// A statement with one case, swept, and what ascends on it.
struct AscentSetup {
  std::shared_ptr<const logic::Problem> problem;
  Network network;
  NeuronGraph graph;
  logic::Scope scope;

  static logic::Scope swept(const std::shared_ptr<const logic::Problem>& problem) {
    auto scope = logic::Scope::root(problem, 0);
    REQUIRE(scope.ok());
    REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
    return std::move(scope).value();
  }
  // y_0 - y_1 <= bound is to be refuted.
  AscentSetup(const Graph& model, const Rational& bound)
      : problem(open(model, {make_case(kAscentInputs, Rational(-1, 2), Rational(1, 2), {output_row({{0, 1}, {1, -1}}, bound)})})),
        network(problem),
        graph(network),
        scope(swept(problem)) {}

  [[nodiscard]] BoundResult run(int iterations, const std::vector<logic::Literal>& literals, const AlphaBeta* start = nullptr) const {
    NeuronBoxes boxes = NeuronBoxes::of(graph, scope);
    for (const logic::Literal& literal : literals) boxes.meet(graph, literal);
    BoundTask task;
    task.rows = &network.rows(0);
    task.boxes = &boxes;
    task.literals = literals;
    task.start = start;
    AlphaBetaOptions options;
    options.iterations = iterations;
    options.target = INFINITY;
    options.scores = true;
    BoundResult result;
    AlphaBetaCrown ascent(graph);
    ascent.run({&task, 1}, options, {&result, 1});
    return result;
  }
  // The smallest sampled value of (terms - bound) / scale, over points that satisfy the literals.
  [[nodiscard]] double sampled_minimum(const std::vector<logic::Literal>& literals, std::uint64_t seed) const {
    double smallest = INFINITY;
    for_samples(network, 20000, seed, [&](const std::vector<double>& x, const Workspace& workspace) {
      if (!satisfies(workspace, literals)) return;
      std::vector<double> y(network.output_size());
      network.outputs(1, workspace, y.data());
      smallest = std::min(smallest, -slack(network.rows(0)[0], y.data(), x.data()) / network.rows(0)[0].scale);
    });
    return smallest;
  }
  // The scope's box of the node has its value at every sampled point.
  void check_box_at_samples(NodeId node, std::uint64_t seed) const {
    const relax::Box& box = scope.box(node);
    for_samples(network, 500, seed, [&](const std::vector<double>&, const Workspace& workspace) {
      for (std::size_t j = 0; j < box.lo.size(); ++j) {
        const double z = workspace.values[node][j];
        CHECK((z >= box.lo[j] - 1e-9 && z <= box.hi[j] + 1e-9));
      }
    });
  }
};

}  // namespace assay::search_test
