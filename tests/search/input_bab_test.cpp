#include <cmath>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "certificates/check/replay.h"
#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "search/heuristics/smart_branching.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::dense;
using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::product_of_functions;
using search_test::random_network;
using search_test::unary;

Options by_input() {
  Options options;
  options.deadline = Deadline::in(60);
  options.branching = Options::Branching::input;
  return options;
}

// Searches, writes, replays (`name` keeps tests that run side by side apart); nullopt unless "unsat" was proved both times.
std::optional<Statistics> proves_unsat(const std::shared_ptr<const logic::Problem>& problem, const std::string& name) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("assay_input_" + name + ".assay");
  auto writer = certificate::Writer::open(path.string(), *problem);
  REQUIRE(writer.ok());
  const auto result = search(problem, by_input(), writer.value().get());
  REQUIRE(result.ok());
  if (result.value().answer != Result::Answer::unsatisfiable) return std::nullopt;
  auto reader = certificate::Reader::open(path.string());
  REQUIRE(reader.ok());
  const auto theorem = certificate::replay(*reader.value(), problem);
  std::filesystem::remove(path);
  REQUIRE(theorem.ok());
  CHECK(theorem.value().kind() == logic::Theorem::Kind::unsatisfiable);
  return result.value().statistics;
}

// y_0 = |x_0| + |x_1| - 3 |x_0 - x_1| / 2 over relus: between -1 and 1 on the box [-1, 1]^2, -1 at (1, -1).
Graph folded_plane() {
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  x = unary(graph, Op::relu, dense(graph, x, 2, 6, {1, 0, -1, 0, 0, 1, 0, -1, 1, -1, -1, 1}, {0, 0, 0, 0, 0, 0}));
  graph.mark_output(dense(graph, x, 6, 1, {1, 1, 1, 1, -1.5F, -1.5F}, {0}), "y");
  return graph;
}

// y = x_0 x_1 + x_2 x_3 - x_0 - x_2, at most 0 on the unit box: x_0 x_1 <= x_0 is one of McCormick's two planes above.
Graph two_products() {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 4}, "x");
  const NodeId left = dense(graph, x, 4, 2, {1, 0, 0, 0, 0, 0, 1, 0}, {0, 0}),
               right = dense(graph, x, 4, 2, {0, 1, 0, 0, 0, 0, 0, 1}, {0, 0});
  const auto products = graph.append(Op::mul, {left, right});
  REQUIRE(products.ok());
  const auto rest = graph.append(Op::sub, {products.value(), left});
  REQUIRE(rest.ok());
  graph.mark_output(dense(graph, rest.value(), 2, 1, {1, 1}, {0}), "y");
  return graph;
}

}  // namespace

TEST_CASE("mixes of two products close a case at the root", "[search][input]") {
  // With middle mixes y reaches (x_1 - x_0 + x_3 - x_2) / 2, which is 1 at a corner.
  const auto statistics = proves_unsat(open(two_products(), {make_case(4, 0, 1, {output_row({{0, -1}}, Rational(-1, 10))})}), "mix");
  REQUIRE(statistics.has_value());
  CHECK(statistics->nodes == 1);
}

TEST_CASE("products of functions are bounded by optimised slopes and mixes, and their branches replay", "[search][input]") {
  const auto statistics =
      proves_unsat(open(product_of_functions(), {make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-23, 10))})}), "functions");
  REQUIRE(statistics.has_value());
  CHECK(statistics->leaves > 1);
  CHECK(statistics->nodes < 100);  // 13
}

TEST_CASE("a case that is closed before the others is left out below, and the branches replay", "[search][input]") {
  const auto problem = open(product_of_functions(), {make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-3))}),
                                                     make_case(3, -1, 1, {output_row({{0, -1}}, Rational(-5, 2))}),
                                                     make_case(3, -1, 1, {output_row({{0, 1}}, Rational(-23, 10))})});
  const auto statistics = proves_unsat(problem, "early");
  REQUIRE(statistics.has_value());
  CHECK(statistics->leaves > 1);
}

TEST_CASE("a minimum is refuted just below, and its branches replay", "[search][input]") {
  const auto statistics = proves_unsat(open(folded_plane(), {make_case(2, -1, 1, {output_row({{0, 1}}, Rational(-1001, 1000))})}), "below");
  REQUIRE(statistics.has_value());
  CHECK(statistics->leaves > 1);
  CHECK(statistics->splits_inputs);
  CHECK_FALSE(statistics->splits_activations);
  CHECK(statistics->free_inputs == 2);
  CHECK(statistics->nodes < 2000);
}

TEST_CASE("two rows that contradict each other close a case at the root, where the output takes the value at which they meet",
          "[search][input]") {
  // 2 y < 1 and -3 y <= -3/2: neither multiplier of 2/3 and 3/2 but the second is a float.
  const auto twice = [](bool strict) {
    return std::vector<statement::Row>{output_row({{0, -3}}, Rational(-3, 2)), output_row({{0, 2}}, 1, strict)};
  };
  const auto statistics = proves_unsat(open(folded_plane(), {make_case(2, -1, 1, twice(true))}), "contradiction");
  REQUIRE(statistics.has_value());
  CHECK(statistics->nodes == 1);
  // Without a strict row y = 1/2 does both, and y >= 1/2 with 2 y < 1.001 is a strip.
  const auto met = search(open(folded_plane(), {make_case(2, -1, 1, twice(false))}), by_input());
  REQUIRE(met.ok());
  CHECK(met.value().answer != Result::Answer::unsatisfiable);
  std::vector<statement::Row> strip = twice(true);
  strip[1].bound = Rational(1001, 1000);
  const auto inside = search(open(folded_plane(), {make_case(2, -1, 1, strip)}), by_input());
  REQUIRE(inside.ok());
  CHECK(inside.value().answer != Result::Answer::unsatisfiable);
}

// y = sum over i of (x_0 <= t_i ? a_i : b_i) for the comparison t_i that tree i makes. No halving of the box meets a threshold.
Graph stumps(const std::vector<float>& thresholds, const std::vector<std::int64_t>& made, const std::vector<float>& yes,
             const std::vector<float>& no) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  const auto constant = [&](const std::vector<float>& values) {
    return graph.append_constant(Tensor::of_floats({static_cast<std::int64_t>(values.size())}, values));
  };
  const NodeId column = graph.append(Op::gather, {x}, GatherAttributes{1, {0}, {1}}).value();
  const NodeId at_most = graph.append(Op::less_equal, {column, constant(thresholds)}).value();
  const NodeId of_trees = graph.append(Op::gather, {at_most}, GatherAttributes{1, made, {static_cast<std::int64_t>(made.size())}}).value();
  const NodeId chosen = graph.append(Op::where, {of_trees, constant(yes), constant(no)}).value();
  graph.mark_output(graph.append(Op::reduce_sum, {chosen}, ReduceAttributes{{1}, true}).value(), "y");
  return graph;
}

TEST_CASE("trees are split at their thresholds, and the slices between neighbouring doubles by the comparisons", "[search][input]") {
  // Two of three trees cancel where they have the same threshold, and a third one makes a step down: y is 3 up to 0.3, then 2.
  const Graph forest = stumps({0.1F, 0.3F}, {0, 0, 1}, {1, 0, 2}, {0, 1, 1});
  const auto statistics = proves_unsat(open(forest, {make_case(2, -1, 1, {output_row({{0, -1}}, Rational(-301, 100))})}), "trees");
  REQUIRE(statistics.has_value());
  CHECK(statistics->leaves > 1);
  CHECK(statistics->nodes < 100);
  const auto reached = search(open(forest, {make_case(2, -1, 1, {output_row({{0, 1}}, Rational(2))})}), by_input());
  REQUIRE(reached.ok());
  CHECK(reached.value().answer == Result::Answer::satisfiable);
}

TEST_CASE("a search that was asked to stop says unknown", "[search][input]") {
  std::stop_source source;
  source.request_stop();
  Options options = by_input();
  options.stop = source.get_token();
  const auto result = search(open(folded_plane(), {make_case(2, -1, 1, {output_row({{0, 1}}, Rational(-1001, 1000))})}), options);
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::unknown);
  CHECK(!result.value().theorem);
}

TEST_CASE("an answer stands where its certificate cannot be written", "[search][input]") {
  const auto problem = open(folded_plane(), {make_case(2, -1, 1, {output_row({{0, 1}}, Rational(-1001, 1000))})});
  auto writer = certificate::Writer::open("/dev/full", *problem);
  REQUIRE(writer.ok());
  const auto result = search(problem, by_input(), writer.value().get());
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::unsatisfiable);
  REQUIRE(result.value().unwritten);
  CHECK(result.value().unwritten->code == "certificate.io");
}

TEST_CASE("a minimum is found just above", "[search][input]") {
  const auto result = search(open(folded_plane(), {make_case(2, -1, 1, {output_row({{0, 1}}, Rational(-999, 1000))})}), by_input());
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::satisfiable);
}

TEST_CASE("the minimum itself, excluded, is refuted by splits of relus", "[search][input]") {
  // Boxes alone never do: every box around the minimiser keeps the value -1.
  const auto statistics = proves_unsat(open(folded_plane(), {make_case(2, -1, 1, {output_row({{0, 1}}, -1, true)})}), "strict");
  REQUIRE(statistics.has_value());
  CHECK(statistics->nodes < 2000);
}

TEST_CASE("rows that exclude each other are combined", "[search][input]") {
  // y_0 <= -1/2 needs |x_0 - x_1| large, but y_1 = x_0 - x_1 is held near 0.
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  NodeId h = unary(graph, Op::relu, dense(graph, x, 2, 6, {1, 0, -1, 0, 0, 1, 0, -1, 1, -1, -1, 1}, {0, 0, 0, 0, 0, 0}));
  graph.mark_output(dense(graph, h, 6, 2, {1, 1, 1, 1, -1.5F, -1.5F, 0, 0, 0, 0, 1, -1}, {0, 0}), "y");
  const std::vector<statement::Row> rows = {output_row({{0, 1}}, Rational(-1, 2)), output_row({{1, 1}}, Rational(1, 10)),
                                            output_row({{1, -1}}, Rational(1, 10))};
  const auto statistics = proves_unsat(open(graph, {make_case(2, -1, 1, rows)}), "rows");
  REQUIRE(statistics.has_value());
  CHECK(statistics->nodes < 1000);
}

TEST_CASE("an input whose coefficient cancels still carries the loss of its relus", "[search][input]") {
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  x = unary(graph, Op::relu, dense(graph, x, 2, 3, {0, 10, 0, -10, 1, 0}, {0, 0, 2}));
  graph.mark_output(dense(graph, x, 3, 1, {-1, -1, 1}, {0}), "y");  // -10 |x_1| + x_0 + 2
  const auto problem = open(graph, {make_case(2, -1, 1, {output_row({{0, 1}}, -9)})});
  const Network network(problem);
  const NeuronGraph dual(network);
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
  inspect::Diagnosis diagnosis;
  (void)inspect::conclude(scope.value(), std::vector<logic::CaseMultipliers>{{0, {}}}, {}, diagnosis);
  REQUIRE(diagnosis.input_coefficients.size() == 1);
  CHECK(std::fabs(diagnosis.input_coefficients[0][1]) < 1e-9);
  SmartBranching losses(dual);
  const std::vector<double> result = losses(scope.value(), std::vector<std::uint32_t>{0});
  REQUIRE(result.size() == 2);
  CHECK(result[1] > result[0]);
  CHECK(result[0] > 0);
}

}  // namespace assay::search
