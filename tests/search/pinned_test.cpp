// Searches where little is free. Boxes are pinned in all or nearly all inputs, or are integer boxes that splits bring down to a
// point. Cases have no rows, or rows that are met with equality; at some points a network has no value.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "search/relax/network.h"
#include "search/search.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::append;
using search_test::open;
using search_test::output_row;

constexpr std::size_t kInputs = 3;

// A dozen nodes that read earlier ones; the last two are the outputs. Of integers: sums and products.
Graph random_graph(std::mt19937_64& random, bool whole) {
  Graph graph;
  std::vector<NodeId> nodes{graph.append_input(whole ? DType::int32 : DType::float32, {1, kInputs}, "x")};
  const std::vector<Op> unary{Op::relu, Op::exp, Op::tanh, Op::sin, Op::abs, Op::sigmoid},
      binary{Op::add, Op::mul, Op::sub, Op::max, Op::min};
  for (int k = 0; k < 6; ++k) {
    const NodeId a = nodes[nodes.size() - 1 - random() % std::min<std::size_t>(2, nodes.size())], b = nodes[random() % nodes.size()];
    if (!whole && random() % 2 == 0) {
      nodes.push_back(append(graph, unary[random() % unary.size()], {a}));
    } else if (!whole && random() % 4 == 0) {
      nodes.push_back(append(graph, Op::softmax, {a}, SoftmaxAttributes{1}));
    } else {
      nodes.push_back(append(graph, binary[random() % (whole ? 2 : binary.size())], {a, b}));
    }
  }
  graph.mark_output(nodes.back(), "y");
  return graph;
}

// `free` inputs of some width, the others pinned.
std::shared_ptr<statement::InputBox> random_box(std::mt19937_64& random, std::size_t free, bool whole) {
  auto box = std::make_shared<statement::InputBox>();
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Rational at(static_cast<std::int64_t>(random() % 9) - 4, whole ? 1 : random() % 2 == 0 ? 10 : 4);
    box->lo.push_back(at);
    box->hi.push_back(i < free ? at + Rational(whole ? 3 : 1) : at);
  }
  return box;
}

std::shared_ptr<const logic::Problem> about(Graph graph, std::shared_ptr<const statement::InputBox> box,
                                            std::vector<std::vector<statement::Row>> cases) {
  std::vector<statement::Case> all;
  for (auto& rows : cases) all.push_back({box, std::move(rows)});
  return open(std::move(graph), std::move(all));
}

Result run(const std::shared_ptr<const logic::Problem>& problem, Options options, double seconds) {
  options.deadline = Deadline::in(seconds);
  auto result = search(problem, options);
  if (!result.ok()) FAIL(result.rejection().to_text());
  return std::move(result).value();
}

// y = x.
Graph identity() {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 1}, "x");
  graph.mark_output(append(graph, Op::add, {x, graph.append_constant(Tensor::of_doubles({1, 1}, std::vector<double>{0.0}))}), "y");
  return graph;
}

}  // namespace

TEST_CASE("boxes that are pinned in all or nearly all inputs are searched to an end in every way", "[search][pinned]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 120; ++round) {
    const bool whole = round % 4 == 3;
    Graph graph = random_graph(random, whole);
    const auto box = random_box(random, static_cast<std::size_t>(round % 3) / 2 + (whole ? 1 : 0), whole);
    // The threshold lies just above the value at the lower corner: near enough for bounds to leave it open.
    Array<WideInterval> corner{{1, kInputs}, {}};
    for (const Rational& end : box->lo) corner.values.emplace_back(end);
    const auto values = evaluate<WideInterval>(graph, std::span(&corner, 1));
    const auto value = values.ok() ? values.value()[graph.outputs[0]].values[0].hi() : std::optional<Rational>();
    if (!value) continue;  // beyond the type's range
    const Rational above = *value + (whole ? Rational(1) : Rational(1, 1000000) * Rational(1, 1000000) * Rational(1, 1000000));
    const auto problem = about(std::move(graph), box, {{output_row({{0, -1}}, -above)}, {output_row({{0, 1}, {1, 1}}, -1000)}});
    for (const auto branching : {Options::Branching::automatic, Options::Branching::input, Options::Branching::relu}) {
      Options options;
      options.branching = branching;
      options.attack = round % 2 == 0;
      options.threads = 1 + round % 2;
      options.split.into = round % 5 == 0 ? 4 : 0;
      CAPTURE(round);
      options.deadline = Deadline::in(0.1);
      const auto result = search(problem, options);
      if (!result.ok()) CHECK(result.rejection().code == "propagate_box.S3");  // integers that may leave their type's range
    }
  }
}

TEST_CASE("an evaluation of no points has no values, and no input of a pinned box loses anything", "[search][pinned]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 1}, "x"), power = append(graph, Op::exp, {x});
  graph.mark_output(append(graph, Op::mul, {power, x}), "y");
  auto box = std::make_shared<statement::InputBox>();
  box->lo = box->hi = {Rational(1, 2)};
  const auto problem = about(std::move(graph), box, {{output_row({{0, -1}}, Rational(-9, 10))}});
  const Network network(problem);
  Workspace workspace;
  CHECK(network.evaluate(0, nullptr, workspace));
  CHECK(network.vjp(0, workspace, nullptr, nullptr));
}

TEST_CASE("a formula with a case without rows is sat wherever its box has a point", "[search][pinned]") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<statement::Row>> cases;
    for (std::size_t k = 0; k < 1 + random() % 3; ++k)
      cases.push_back({output_row({{0, 1}}, Rational(-1 - static_cast<std::int64_t>(random() % 3)))});
    cases.insert(cases.begin() + static_cast<std::ptrdiff_t>(random() % (cases.size() + 1)), std::vector<statement::Row>());
    auto box = std::make_shared<statement::InputBox>();
    box->lo = {Rational(static_cast<std::int64_t>(random() % 5), 10)};
    box->hi = {box->lo[0] + Rational(static_cast<std::int64_t>(random() % 3), 10)};
    Options options;
    options.attack = round % 2 == 0;
    CHECK(run(about(identity(), box, std::move(cases)), options, 10).answer == Result::Answer::satisfiable);
  }
}

TEST_CASE("formulas in one variable are decided, with strict rows and rows met with equality", "[search][pinned]") {
  std::mt19937_64 random(3);
  auto box = std::make_shared<statement::InputBox>();
  box->lo = {Rational(0)};
  box->hi = {Rational(1)};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<statement::Row>> cases;
    bool is_sat = false;
    for (std::size_t k = 0; k < 1 + random() % 3; ++k) {
      std::vector<statement::Row> rows;
      Rational lo(0), hi(1);
      bool lo_open = false, hi_open = false;
      for (std::size_t r = 0; r < 1 + random() % 2; ++r) {
        const Rational at(static_cast<std::int64_t>(random() % 7) - 1, 5);  // -1/5 to 1
        const bool strict = random() % 2 == 0, below = random() % 2 == 0;
        rows.push_back(output_row({{0, below ? 1 : -1}}, below ? at : -at, strict));
        if (below && (at < hi || (at == hi && strict))) hi = at, hi_open = strict;
        if (!below && (at > lo || (at == lo && strict))) lo = at, lo_open = strict;
      }
      is_sat = is_sat || lo < hi || (lo == hi && !lo_open && !hi_open);
      cases.push_back(std::move(rows));
    }
    std::string text;
    for (const auto& rows : cases)
      for (const statement::Row& row : rows)
        text += row.terms[0].coefficient.to_string() + " y " + (row.strict ? "< " : "<= ") + row.bound.to_string() +
                (&row == &rows.back() ? "; " : ", ");
    CAPTURE(round, is_sat, text);
    const Result result = run(about(identity(), box, std::move(cases)), {}, 10);
    CHECK(result.answer == (is_sat ? Result::Answer::satisfiable : Result::Answer::unsatisfiable));
  }
}

TEST_CASE("where a network has no value at a point, others are tried", "[search][pinned]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 1}, "x"),
               one = graph.append_constant(Tensor::of_floats({1, 1}, std::vector<float>{1}));
  graph.mark_output(append(graph, Op::div, {one, x}), "y");
  auto box = std::make_shared<statement::InputBox>();
  box->lo = {Rational(-1)};
  box->hi = {Rational(1)};
  for (const std::int64_t least : {5, 50}) {
    const Result result = run(about(graph, box, {{output_row({{0, -1}}, Rational(-least))}}), {}, 10);
    CHECK(result.answer == Result::Answer::satisfiable);
  }
}

TEST_CASE("at a pinned decimal the kernel is asked, whatever doubles say", "[search][pinned]") {
  // floor(10 x) at x = 3/10 is 3, and 2 in doubles that lie below.
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 1}, "x"),
               ten = graph.append_constant(Tensor::of_doubles({1, 1}, std::vector<double>{10}));
  graph.mark_output(append(graph, Op::floor, {append(graph, Op::mul, {x, ten})}), "y");
  for (const std::int64_t tenths : {1, 2, 3, 6, 7, 9}) {
    auto box = std::make_shared<statement::InputBox>();
    box->lo = box->hi = {Rational(tenths, 10)};
    const Result result = run(about(graph, box, {{output_row({{0, -1}}, Rational(-tenths))}}), {}, 10);
    CHECK(result.answer == Result::Answer::satisfiable);
  }
}

TEST_CASE("where an argument meets the step of a function, what rounding adds beyond it is taken off", "[search][pinned]") {
  for (const Op op : {Op::sign, Op::floor}) {
    for (const std::int64_t from : {0, 1}) {  // x in [from, 1]; sign(x - 1) and floor(x - 1) are 0 at most
      Graph graph;
      const NodeId x = graph.append_input(DType::float64, {1, 1}, "x"),
                   one = graph.append_constant(Tensor::of_doubles({1, 1}, std::vector<double>{1}));
      graph.mark_output(append(graph, op, {append(graph, Op::sub, {x, one})}), "y");
      auto box = std::make_shared<statement::InputBox>();
      box->lo = {Rational(from)};
      box->hi = {Rational(1)};
      CHECK(run(about(graph, box, {{output_row({{0, -1}}, Rational(-1, 2))}}), {}, 10).answer == Result::Answer::unsatisfiable);
      CHECK(run(about(graph, box, {{output_row({{0, -1}}, Rational(0))}}), {}, 10).answer == Result::Answer::satisfiable);
      if (from == 1)
        CHECK(run(about(graph, box, {{output_row({{0, 1}}, Rational(-1, 2))}}), {}, 10).answer == Result::Answer::unsatisfiable);
    }
  }
}

}  // namespace assay::search
