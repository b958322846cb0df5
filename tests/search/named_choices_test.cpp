// Certificates hold in exact mode where rounding chooses between two candidates of a maximum.
#include <filesystem>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "certificates/check/replay.h"
#include "certificates/format/writer.h"
#include "kernel/inspect/inspect.h"
#include "search/bounds/named_choices.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::append;
using search_test::make_case;
using search_test::output_row;

// max (min) of x and x^2, whose ranges on [0, 1] have the same middle, less x, behind a layer that mixes two inputs.
Graph twins(std::mt19937_64& random, Op op) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  std::vector<float> weights;
  for (int k = 0; k < 4; ++k) weights.push_back(static_cast<float>(static_cast<int>(random() % 33) - 16) / 37.0F);
  const NodeId z = append(graph, Op::tanh, {search_test::dense(graph, x, 2, 2, weights, {0.1F, 0.7F})});
  const NodeId one = append(graph, op, {append(graph, Op::mul, {z, z}), z}), two = append(graph, op, {one, append(graph, Op::relu, {z})});
  graph.mark_output(append(graph, Op::sub, {two, z}), "y");
  return graph;
}

}  // namespace

TEST_CASE("a choice between candidates of the same height is named, any other is not", "[search][choices]") {
  for (const Op op : {Op::max, Op::min}) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {1, 2}, "x"), y = append(graph, op, {append(graph, Op::mul, {x, x}), x});
    graph.mark_output(y, "y");
    statement::Case one = make_case(2, 0, 1, {output_row({{0, 1}}, Rational(-1))});
    auto box = std::make_shared<statement::InputBox>(*one.box);
    box->lo[1] = Rational(1, 2);  // of the second element x^2 is in [1/4, 1]
    one.box = box;
    const auto problem = search_test::open(std::move(graph), {one});
    auto scope = logic::Scope::root(problem, 0);
    REQUIRE(scope.ok());
    for (const NodeId node : inspect::active_nodes(*problem)) REQUIRE(scope.value().propagate_box(node).ok());
    const logic::Hints hints = with_named_choices(*problem, scope.value(), {});
    const logic::Slopes& named = op == Op::max ? hints.lower : hints.upper;
    REQUIRE(named.contains(y));
    CHECK(named.at(y)[0] >= 0);
    CHECK(named.at(y)[1] < 0);
    CHECK((op == Op::max ? hints.upper : hints.lower).empty());
  }
}

TEST_CASE("proofs with maxima and minima are accepted in exact mode", "[search][choices]") {
  std::mt19937_64 random(5);
  int proved = 0;
  for (int round = 0; round < 60; ++round) {
    const Op op = round % 2 == 0 ? Op::max : Op::min;
    statement::Statement statement;
    statement.graph = twins(random, op);
    const Rational end(static_cast<std::int64_t>(1 + random() % 20), 10);
    statement.property.cases = {
        make_case(2, 0, end, {output_row({{0, op == Op::max ? 1 : -1}}, Rational(-1, 1 + static_cast<std::int64_t>(random() % 300)))})};
    auto problem = logic::Problem::open(statement);
    REQUIRE(problem.ok());
    const auto path = std::filesystem::temp_directory_path() / "assay_search_choices.assay";
    auto writer = certificate::Writer::open(path.string(), *problem.value());
    REQUIRE(writer.ok());
    Options options;
    options.deadline = Deadline::in(2);
    const auto result = search(problem.value(), options, writer.value().get());
    REQUIRE(result.ok());
    if (result.value().answer == Result::Answer::unsatisfiable) {
      ++proved;
      for (const bool exact : {false, true}) {
        logic::KernelOptions kernel_options;
        kernel_options.exact = exact;
        auto again = logic::Problem::open(statement, kernel_options);
        REQUIRE(again.ok());
        auto reader = certificate::Reader::open(path.string());
        REQUIRE(reader.ok());
        const auto theorem = certificate::replay(*reader.value(), again.value());
        INFO("round " << round << (exact ? ", exact" : ""));
        if (!theorem.ok()) FAIL_CHECK(theorem.rejection().to_text());
      }
    }
    std::filesystem::remove(path);
  }
  CHECK(proved > 20);
}

}  // namespace assay::search
