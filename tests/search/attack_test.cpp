#include "search/attack/attack.h"

#include <stop_token>
#include <vector>

#include "search/attack/side_attack.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::dense;
using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;
using search_test::unary;

std::optional<logic::Theorem> run(const std::shared_ptr<const logic::Problem>& problem, double seconds = 10, int restarts = 20,
                                  bool corner_walk = true) {
  const Network network(problem);
  AttackOptions options;
  options.seconds = seconds;
  options.restarts = restarts;
  options.corner_walk = corner_walk;
  Statistics statistics;
  return attack_all(network, options, std::stop_token(), statistics);
}

// A clause over booleans as one neuron: max(0, 1 - number of true literals).
struct Clause {
  std::vector<float> signs;  // +1, -1 or 0 per variable
};

// outputs: the sum of the clause neurons, and the sum of min(x, 1 - x).
Graph formula(std::size_t variables, const std::vector<Clause>& clauses) {
  std::vector<float> weight, bias, top(2 * (clauses.size() + variables), 0.0F);
  const std::size_t hidden = clauses.size() + variables;
  for (std::size_t k = 0; k < clauses.size(); ++k) {
    float offset = 1;
    for (const float sign : clauses[k].signs) {
      weight.push_back(-sign);
      if (sign < 0) offset -= 1;
    }
    bias.push_back(offset);
    top[k] = 1;
  }
  for (std::size_t i = 0; i < variables; ++i) {
    for (std::size_t j = 0; j < variables; ++j) weight.push_back(i == j ? 2.0F : 0.0F);
    bias.push_back(-1);
    top[hidden + clauses.size() + i] = -1;
  }
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, static_cast<std::int64_t>(variables)}, "x");
  const NodeId relu = unary(graph, Op::relu, dense(graph, x, variables, hidden, weight, bias));
  graph.mark_output(dense(graph, relu, hidden, 2, top, {0, 0}), "y");
  return graph;
}

}  // namespace

TEST_CASE("a reachable threshold gives a witness that the kernel accepts", "[search][attack]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Graph graph = random_network({3, 8, 8, 2}, seed);
    // Both outputs at their value in the middle of the box, or below: the attack has to search, the box has such points.
    const auto probe = open(graph, {make_case(3, -1, 1, {output_row({{0, 1}}, 0)})});
    const Network network(probe);
    Workspace workspace;
    const std::vector<double> x{0.25, -0.5, 0.75};
    std::vector<double> y(2);
    network.evaluate(1, x.data(), workspace);
    network.outputs(1, workspace, y.data());
    const Rational first = *Rational::from_double(y[0]), second = *Rational::from_double(y[1]);
    const auto problem = open(graph, {make_case(3, -1, 1, {output_row({{0, 1}}, first), output_row({{1, 1}}, second)})});
    const auto theorem = run(problem);
    REQUIRE(theorem.has_value());
    CHECK(theorem->kind() == logic::Theorem::Kind::satisfiable);
    for (const Rational& value : theorem->witness().inputs) {
      CHECK(value >= Rational(-1));
      CHECK(value <= Rational(1));
      CHECK(value.is_double());
    }
  }
}

TEST_CASE("an unreachable threshold gives nothing", "[search][attack]") {
  const auto problem = open(random_network({3, 8, 2}, 1), {make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-1000))})});
  CHECK_FALSE(run(problem, 1, 3).has_value());
}

TEST_CASE("every case of every group is attacked", "[search][attack]") {
  const Graph graph = random_network({3, 8, 2}, 2);
  const auto problem = open(
      graph, {make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-1000))}), make_case(3, 2, 3, {output_row({{0, 1}}, Rational(-1000))}),
              make_case(3, 4, 5, {output_row({{0, 1}}, Rational(1000))})});
  const auto theorem = run(problem);
  REQUIRE(theorem.has_value());
  CHECK(theorem->witness().case_index == 2);
}

TEST_CASE("the case that is nearest is attacked although there are more cases than starts", "[search][attack]") {
  constexpr std::size_t kHidden = 100, kCases = 70, kReachable = 68;  // its number is beyond the 64 starts of a batch
  std::vector<float> below(2 * kHidden, 0.0F), above(kCases * kHidden, 0.0F);
  below[0] = below[3] = 1;
  for (std::size_t k = 0; k < kCases; ++k) {
    for (std::size_t j = 2; j < kHidden; ++j) above[k * kHidden + j] = j % 2 == 0 ? 1.0F : -1.0F;  // of ones: they cancel
    above[k * kHidden] = above[k * kHidden + 1] = k == kReachable ? 1.0F : -1.0F;
  }
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  const NodeId relu = unary(graph, Op::relu, dense(graph, x, 2, kHidden, below, std::vector<float>(kHidden, 1.0F)));
  graph.mark_output(dense(graph, relu, kHidden, kCases, above, std::vector<float>(kCases, 0.0F)), "y");
  std::vector<statement::Case> cases;  // y_k is x_0 + x_1 + 2 where it may be as small as at the corner, else its negative
  statement::Case one = make_case(2, -1, 1, {});
  for (std::uint64_t k = 0; k < kCases; ++k) {
    one.rows = {output_row({{k, 1}}, k == kReachable ? *Rational::from_double(0.0625) : Rational(-20))};
    cases.push_back(one);
  }
  const auto theorem = run(open(std::move(graph), std::move(cases)), 10, 1, false);
  REQUIRE(theorem.has_value());
  CHECK(theorem->witness().case_index == kReachable);
}

TEST_CASE("gradients lead over jumps that are far away", "[search][attack]") {
  // All of 24 coordinates have to exceed 25 in [-100, 100]; signs of 40 x - 1000 say which do.
  constexpr std::size_t kInputs = 24;
  std::vector<float> weight(kInputs * kInputs, 0.0F);
  for (std::size_t j = 0; j < kInputs; ++j) weight[j * kInputs + j] = 40;
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, kInputs}, "x");
  const NodeId signs = unary(graph, Op::sign, dense(graph, x, kInputs, kInputs, weight, std::vector<float>(kInputs, -1000.0F)));
  graph.mark_output(dense(graph, signs, kInputs, 1, std::vector<float>(kInputs, -1.0F), {0}), "y");
  const auto problem =
      open(std::move(graph), {make_case(kInputs, -100, 100, {output_row({{0, 1}}, Rational(-static_cast<int>(kInputs)))})});
  const auto theorem = run(problem, 10, 1, false);
  REQUIRE(theorem.has_value());
  for (const Rational& value : theorem->witness().inputs) CHECK(value > Rational(25));
}

TEST_CASE("a strict row is not satisfied by equality", "[search][attack]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 1}, "x");
  graph.mark_output(dense(graph, x, 1, 1, {1}, {0}), "y");
  CHECK_FALSE(run(open(graph, {make_case(1, 0, 1, {output_row({{0, 1}}, 0, true)})}), 1, 3).has_value());
  CHECK(run(open(graph, {make_case(1, 0, 1, {output_row({{0, 1}}, 0, false)})})).has_value());
}

TEST_CASE("the corner walk finds the one satisfying corner", "[search][attack]") {
  // x_i = x_{i+1} for all i, and x_0 true: only the corner of ones is left of 2^12.
  constexpr std::size_t kVariables = 12;
  std::vector<Clause> clauses;
  for (std::size_t i = 0; i + 1 < kVariables; ++i) {
    Clause forth{std::vector<float>(kVariables, 0.0F)}, back = forth;
    forth.signs[i] = -1, forth.signs[i + 1] = 1;
    back.signs[i] = 1, back.signs[i + 1] = -1;
    clauses.push_back(forth);
    clauses.push_back(back);
  }
  Clause first{std::vector<float>(kVariables, 0.0F)};
  first.signs[0] = 1;
  clauses.push_back(first);
  statement::Row inputs = output_row({{1, 1}}, 0);  // sum x_i - sum relu(2 x_i - 1) <= 0
  for (std::uint64_t i = 0; i < kVariables; ++i) inputs.terms.push_back({Rational(1), {statement::Variable::Side::input, 0, i}});
  const auto problem = open(formula(kVariables, clauses), {make_case(kVariables, 0, 1, {output_row({{0, 1}}, 0), inputs})});
  const auto theorem = run(problem, 30, 200);
  REQUIRE(theorem.has_value());
  for (const Rational& value : theorem->witness().inputs) CHECK(value == Rational(1));
}

TEST_CASE("a stop request ends the attack", "[search][attack]") {
  const auto problem = open(random_network({3, 8, 2}, 1), {make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-1000))})});
  const Network network(problem);
  std::stop_source source;
  source.request_stop();
  Statistics statistics;
  AttackOptions options;
  options.seconds = 3600;
  options.restarts = 1 << 30;
  CHECK_FALSE(attack_all(network, options, source.get_token(), statistics).has_value());
  CHECK(statistics.attack_steps == 0);
}

TEST_CASE("an attack that fades keeps its share at first, and gives most of it up in a long search", "[search][attack]") {
  const double whole = side_share(0, false);
  CHECK(side_share(1000, false) == whole);
  CHECK(side_share(1, true) == whole);
  CHECK(side_share(60, true) < whole / 10);
  CHECK(side_share(60, true) > 0);
  for (double seconds = 0; seconds < 100; seconds += 0.5) CHECK(side_share(seconds + 0.5, true) <= side_share(seconds, true));
}

}  // namespace assay::search
