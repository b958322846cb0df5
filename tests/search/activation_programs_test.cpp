// Propositional formulas as networks with one hidden layer: y_0 = 1 - sum over clauses of relu(1 - sum of its literals),
// y_1 = sum of relu(x) - relu(2 x - 1); y_0 >= 1 and y_1 <= 0 exactly at the 0/1 points that satisfy all clauses.
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "search/bab/bab.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"
#include "tests/search/runs.h"

namespace assay::search {
namespace {

using search_test::branch;
using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::replays;
using search_test::Run;

using Clause = std::vector<int>;  // variable i as i + 1, negated as -(i + 1)

std::shared_ptr<const logic::Problem> problem_of(std::size_t variables, const std::vector<Clause>& clauses) {
  const std::size_t hidden = clauses.size() + 2 * variables;
  std::vector<float> weight(hidden * variables, 0.0F), bias(hidden, 0.0F), last(2 * hidden, 0.0F);
  for (std::size_t c = 0; c < clauses.size(); ++c) {
    bias[c] = 1;
    last[c] = -1;
    for (const int literal : clauses[c]) {
      weight[c * variables + static_cast<std::size_t>(std::abs(literal)) - 1] = literal > 0 ? -1.0F : 1.0F;
      if (literal < 0) bias[c] -= 1;
    }
  }
  for (std::size_t i = 0; i < variables; ++i) {
    const std::size_t whole = clauses.size() + i, upper = whole + variables;
    weight[whole * variables + i] = 1;
    last[hidden + whole] = 1;
    weight[upper * variables + i] = 2;
    bias[upper] = -1;
    last[hidden + upper] = -1;
  }
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, static_cast<std::int64_t>(variables)}, "x");
  const NodeId relu = search_test::unary(graph, Op::relu, search_test::dense(graph, x, variables, hidden, weight, bias));
  graph.mark_output(search_test::dense(graph, relu, hidden, 2, last, {1, 0}), "y");
  return open(std::move(graph), {make_case(variables, 0, 1, {output_row({{0, -1}}, -1), output_row({{1, 1}}, 0)})});
}

Run run(const logic::Problem& problem, const NeuronGraph& graph, int threads) {
  CHECK(graph.every_neuron_has_input_row());
  CHECK(problem.group_count() == 1);
  BranchingOptions options;
  options.threads = threads;
  options.deadline = Deadline::in(60);
  return branch(graph, options);
}

void check_refuted(std::size_t variables, const std::vector<Clause>& clauses, const std::string& name, std::uint64_t most_leaves) {
  const auto problem = problem_of(variables, clauses);
  const Network network(problem);
  const NeuronGraph graph(network);
  for (const int threads : {1, 2}) {
    const Run result = run(*problem, graph, threads);
    REQUIRE(result.result.refutation.has_value());
    CHECK(result.result.refutation->complete());
    CHECK(result.statistics.leaves <= most_leaves);
    CHECK(replays(problem, result, name + std::to_string(threads)));
  }
}

// Pigeon p sits in hole h: variable p * holes + h + 1.
std::vector<Clause> pigeons(int count, int holes) {
  std::vector<Clause> clauses;
  for (int p = 0; p < count; ++p) {
    Clause somewhere;
    for (int h = 0; h < holes; ++h) somewhere.push_back(p * holes + h + 1);
    clauses.push_back(somewhere);
  }
  for (int h = 0; h < holes; ++h) {
    for (int p = 0; p < count; ++p) {
      for (int q = 0; q < p; ++q) clauses.push_back({-(p * holes + h + 1), -(q * holes + h + 1)});
    }
  }
  return clauses;
}

// The leaves of a random decision tree as clauses, each denying its own path: unsatisfiable, and no clause is too many.
void grow(std::vector<Clause>& clauses, Clause path, std::vector<int> variables, std::mt19937_64& random) {
  if (variables.empty() || (path.size() > 2 && random() % 4 == 0)) {
    clauses.push_back(path);
    return;
  }
  std::swap(variables[random() % variables.size()], variables.back());
  const int variable = variables.back();
  variables.pop_back();
  for (const int literal : {variable, -variable}) {
    Clause longer = path;
    longer.push_back(literal);
    grow(clauses, longer, variables, random);
  }
}

}  // namespace

TEST_CASE("all clauses over three variables are refuted", "[search][lp]") {
  std::vector<Clause> clauses;
  for (int k = 0; k < 8; ++k) clauses.push_back({k & 1 ? 1 : -1, k & 2 ? 2 : -2, k & 4 ? 3 : -3});
  check_refuted(3, clauses, "cube", 8);
}

TEST_CASE("three pigeons do not fit into two holes, nor four into three", "[search][lp]") {
  check_refuted(6, pigeons(3, 2), "pigeons3", 8);
  check_refuted(12, pigeons(4, 3), "pigeons4", 60);
}

TEST_CASE("the leaves of a decision tree are refuted with no more leaves", "[search][lp]") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Clause> clauses;
    std::vector<int> variables;
    for (int i = 1; i <= 9; ++i) variables.push_back(i);
    grow(clauses, {}, variables, random);
    REQUIRE(clauses.size() >= 8);
    check_refuted(9, clauses, "tree" + std::to_string(seed), clauses.size());
  }
}

TEST_CASE("without one of its clauses a tree has a model, and branching finds it", "[search][lp]") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Clause> clauses;
    grow(clauses, {}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, random);
    clauses.erase(clauses.begin() + static_cast<std::ptrdiff_t>(random() % clauses.size()));
    const auto problem = problem_of(9, clauses);
    const Network network(problem);
    const NeuronGraph graph(network);
    const Run result = run(*problem, graph, 1);
    CHECK_FALSE(result.result.refutation.has_value());
    REQUIRE(result.result.witness.has_value());
    CHECK(result.result.witness->kind() == logic::Theorem::Kind::satisfiable);
  }
}

TEST_CASE("branching with programs ends at its deadline", "[search][lp]") {
  const auto problem = problem_of(12, pigeons(4, 3));
  const Network network(problem);
  const NeuronGraph graph(network);
  BranchingOptions options;
  options.deadline = Deadline::in(0);
  CHECK(branch(graph, options).result.reason == "time");
}

TEST_CASE("search() takes programs for few inputs too", "[search][lp]") {
  const auto problem = problem_of(6, pigeons(3, 2));
  Options options;
  options.deadline = Deadline::in(30);
  options.attack = false;
  const auto result = search(problem, options);
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::unsatisfiable);
  CHECK(result.value().statistics.leaves <= 8);
}

}  // namespace assay::search
