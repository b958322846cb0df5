// The stages that search() spends its time on: the root's plan, the first attack, and the limit.

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <random>
#include <vector>

#include "certificates/check/replay.h"
#include "kernel/inspect/inspect.h"
#include "search/attack/attack.h"
#include "search/bounds/intermediate_bounds.h"
#include "search/bounds/needed_neurons.h"
#include "search/search.h"
#include "search/strategy/deadline.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;
using search_test::unary;

constexpr std::size_t kInputs = 20;  // more than are split
constexpr std::int64_t kSide = 96;   // of the slow network's matrices
constexpr std::int64_t kWidth = 24;  // of feature maps

// A property that is far from violated.
std::shared_ptr<const logic::Problem> relu_problem(const std::vector<std::size_t>& hidden, const Rational& radius) {
  std::vector<std::size_t> widths{kInputs};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(1);
  return open(random_network(widths, 3), {make_case(kInputs, -radius, radius, {output_row({{0, 1}}, Rational(-1000000000))})});
}

// The same of convolutions whose maps have more elements than one chunk, about the outputs of each kind from `first` on.
std::shared_ptr<const logic::Problem> map_problem(std::uint64_t first, std::uint64_t outputs) {
  std::mt19937_64 random(6);
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 1, kWidth, kWidth}, "x");
  WindowAttributes window;
  window.kernel = {3, 3};
  window.strides = window.dilations = window.pads_begin = window.pads_end = {1, 1};
  window.groups = 1;
  for (const std::int64_t channels : {1, 5, 5}) {
    std::vector<float> weights(static_cast<std::size_t>(channels * 5 * 9));
    for (float& value : weights) value = static_cast<float>(static_cast<int>(random() % 32) - 16 + 0.5F) / 16.0F;
    const auto z = graph.append(Op::conv, {x, graph.append_constant(Tensor::of_floats({5, channels, 3, 3}, weights))}, window);
    REQUIRE(z.ok());
    x = unary(graph, Op::relu, z.value());
  }
  graph.mark_output(x, "y");
  std::vector<std::pair<std::uint64_t, Rational>> terms;
  for (std::uint64_t k = first; k < first + outputs; ++k) terms.emplace_back(k, Rational(1));
  return open(graph, {make_case(kWidth * kWidth, Rational(-1, 10), Rational(1, 10), {output_row(terms, Rational(-1000000000))})});
}

logic::Scope scope_of(const std::shared_ptr<const logic::Problem>& problem) {
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  return std::move(scope).value();
}

// A forward pass that takes seconds in all, in ops of milliseconds: products of matrices that no linear map stands for.
Graph slow_network() {
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {kSide, kSide}, "x");
  for (int k = 0; k < 200; ++k) {
    const auto product = graph.append(Op::matmul, {x, x});
    REQUIRE(product.ok());
    x = unary(graph, Op::tanh, product.value());
  }
  graph.mark_output(x, "y");
  return graph;
}

}  // namespace

TEST_CASE("the root's plan does not depend on the limit while there is time enough for all of it", "[search][strategy]") {
  constexpr double kRate = 1e9;
  for (const double deadline : {20.0, 100.0, 1e4, static_cast<double>(INFINITY)}) {
    CHECK(is_wanted(3e9, 15e9, kRate, 0.3 * 20, deadline));  // 15 s of work
    CHECK(is_wanted(14e9, 15e9, kRate, 0, deadline));        // even when its share is spent
  }
  // Not enough for all: what fits into the share.
  CHECK(is_wanted(2e9, 15e9, kRate, 3, 10));
  CHECK_FALSE(is_wanted(4e9, 15e9, kRate, 3, 10));
  CHECK_FALSE(is_wanted(4e9, 15e9, kRate, -1, 10));
  CHECK(is_wanted(4e9, 15e9, 2 * kRate, 3, 10));  // a faster machine
}

TEST_CASE("limits of half a minute or more plan the same in the first half of their time", "[search][strategy]") {
  const auto planned = [](double spent, double limit) {
    const Clock::duration ago = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(spent));
    return Limit{Deadline::in(limit - spent), {}, Clock::now() - ago}.planned();
  };
  constexpr double kClock = 0.5;  // seconds that the test may be held up
  for (const double limit : {30.0, 60.0, 100.0, 1e4, static_cast<double>(INFINITY)}) {
    for (const double spent : {0.0, 5.0, 14.9}) CHECK(std::fabs(planned(spent, limit) - (30 - spent)) < kClock);
    if (limit >= 100) CHECK(std::fabs(planned(40, limit) - 40) < kClock);
  }
  CHECK(std::fabs(planned(20, 30) - 10) < kClock);  // never more than there are
  CHECK(std::fabs(planned(0, 5) - 5) < kClock);
  CHECK(Limit::planned_after(1) == 15);
  CHECK(Limit::planned_after(40) == 40);
}

TEST_CASE("a root that does not fit into its share is finished all the same where there is time", "[search][strategy]") {
  const auto problem = relu_problem({400, 400, 400, 400}, Rational(1, 1000));
  const auto steps = [&](const IntermediatePlan& plan) {
    IntermediateBounds root(*problem, scope_of(problem), 1);
    REQUIRE(root.advance(plan).ok());
    CHECK(root.complete());
    return root.steps().bytes();
  };
  IntermediatePlan limited;
  limited.deadline = Deadline::in(60);
  limited.share_end = Deadline::in(0);  // spent
  CHECK(steps(limited) == steps({}));
}

TEST_CASE("a root whose nodes do not fit has boxes everywhere, and goes on later", "[search][strategy]") {
  const auto problem = relu_problem({900, 900, 900, 900}, Rational(1, 1000));  // more than the 10 ms from which a rate is known
  IntermediateBounds whole(*problem, scope_of(problem), 1), late(*problem, scope_of(problem), 1);
  REQUIRE(whole.advance({}).ok());
  IntermediatePlan none;
  none.deadline = none.share_end = Deadline::in(0);
  REQUIRE(late.advance(none).ok());
  CHECK(late.has_all_boxes());
  CHECK_FALSE(late.complete());  // the first chunks measured the rate, the rest was left
  const NodeId last = inspect::pre_activations(*problem).back();
  CHECK(late.scope().box(last).hi != whole.scope().box(last).hi);
  REQUIRE(late.advance({}).ok());
  CHECK(late.complete());
  // Bounds are rounded outward to float; bounds derived in two passes may differ from one pass in that rounding.
  for (std::size_t i = 0; i < whole.scope().box(last).hi.size(); ++i) {
    const double once = whole.scope().box(last).hi[i];
    CHECK(late.scope().box(last).hi[i] <= std::nextafter(static_cast<float>(once), INFINITY) + 0.0);
  }
}

TEST_CASE("a node that does not fit is left in the middle, so that the nodes behind it get boxes", "[search][strategy]") {
  constexpr std::size_t kWide = 8000;
  const auto problem = relu_problem({60, kWide, 4}, Rational(1, 10));
  IntermediateBounds boxes(*problem, scope_of(problem), 1), root(*problem, scope_of(problem), 1);
  IntermediatePlan plan;
  plan.refine = IntermediatePlan::Refine::nothing;
  REQUIRE(boxes.advance(plan).ok());
  plan.refine = IntermediatePlan::Refine::all;
  plan.deadline = plan.share_end = Deadline::in(0);
  REQUIRE(root.advance(plan).ok());
  CHECK(root.has_all_boxes());
  CHECK_FALSE(root.complete());
  const NodeId wide = inspect::pre_activations(*problem)[1];
  REQUIRE(problem->graph().size(wide) == kWide);
  std::size_t narrowed = 0;
  for (std::size_t i = 0; i < kWide; ++i) narrowed += root.scope().box(wide).hi[i] < boxes.scope().box(wide).hi[i] ? 1 : 0;
  CHECK(narrowed < kWide / 2);
}

TEST_CASE("pauses lose nothing, and threads find the same bounds", "[search][strategy]") {
  const bool is_map = GENERATE(false, true);
  const auto problem = is_map ? map_problem(0, 5 * kWidth * kWidth) : relu_problem({400, 400, 400, 400}, Rational(1, 1000));
  IntermediateBounds whole(*problem, scope_of(problem), 1), paused(*problem, scope_of(problem), 2);
  REQUIRE(whole.advance({}).ok());
  int pauses = 0;
  for (double seconds = 1e-4; !paused.complete(); seconds *= 1.1, ++pauses) {
    IntermediatePlan plan;
    plan.pause.deadline = Deadline::in(seconds);
    REQUIRE(paused.advance(plan).ok());
  }
  CHECK(pauses > 3);
  // The content of the certificate: one step for each node. (Weights of 0 leave no case to some elements: too few for a mask.)
  logic::Scope replayed = scope_of(problem);
  certificate::Fragment steps;
  for (const NodeId node : inspect::active_nodes(*problem)) {
    REQUIRE(replayed.propagate_box(node).ok());
    steps.box(node);
    if (std::ranges::count(inspect::pre_activations(*problem), node) == 0 || inspect::selected(replayed, node, {}).empty()) continue;
    REQUIRE(inspect::tighten(replayed, node, {}, {}, nullptr, true).ok());
    steps.tighten(node, {}, {}, nullptr, true);
  }
  for (const NodeId node : inspect::active_nodes(*problem)) {
    for (const IntermediateBounds* root : {&paused, &whole}) {
      CHECK(root->scope().box(node).lo == replayed.box(node).lo);
      CHECK(root->scope().box(node).hi == replayed.box(node).hi);
    }
  }
  CHECK(whole.steps().bytes() == steps.bytes());
  CHECK(paused.steps().bytes() == steps.bytes());
}

TEST_CASE("what no case depends on is not refined", "[search][strategy]") {
  const std::uint64_t row = 9, column = 11;
  const auto problem = map_problem(2 * kWidth * kWidth + row * kWidth + column, 1);
  const auto& refined = inspect::pre_activations(*problem);
  REQUIRE(refined.size() == 3);
  IntermediateBounds all(*problem, scope_of(problem), 1);
  REQUIRE(all.advance({}).ok());
  CHECK(all.complete());
  logic::Scope boxes = scope_of(problem), replayed = scope_of(problem);
  for (const NodeId node : inspect::active_nodes(*problem)) {
    REQUIRE(boxes.propagate_box(node).ok());
    REQUIRE(replayed.propagate_box(node).ok());
    if (std::ranges::count(refined, node) > 0) REQUIRE(inspect::tighten(replayed, node, {}, {}, nullptr, true).ok());
  }
  const logic::Scope& scope = all.scope();
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const NodeId node = refined[layer];
    const std::uint64_t reach = 2 - layer;  // pixels, in each direction
    std::size_t narrowed = 0;
    for (std::uint64_t k = 0; k < problem->graph().size(node); ++k) {
      const std::uint64_t y = k / kWidth % kWidth, x = k % kWidth;
      const bool is_channel = layer < 2 || k / (kWidth * kWidth) == 2;
      const bool is_reached = is_channel && y + reach >= row && y <= row + reach && x + reach >= column && x <= column + reach;
      INFO("layer " << layer << ", element " << k);
      if (is_reached) {
        narrowed += scope.box(node).lo[k] > boxes.box(node).lo[k] ? 1 : 0;
        CHECK(scope.box(node).lo[k] == replayed.box(node).lo[k]);
        CHECK(scope.box(node).hi[k] == replayed.box(node).hi[k]);
      } else {
        CHECK(scope.box(node).lo[k] <= replayed.box(node).lo[k]);
        CHECK(scope.box(node).hi[k] >= replayed.box(node).hi[k]);
      }
    }
    if (layer > 0) CHECK(narrowed > 0);
  }
  CHECK(scope.box(refined[2]).lo[0] < replayed.box(refined[2]).lo[0]);
}

TEST_CASE("paths are followed through every kind of op", "[search][strategy]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 6}, "x");
  const auto slice = [&](NodeId of, std::int64_t from, std::int64_t count) {
    const auto part = graph.append(Op::slice, {of}, SliceAttributes{{0, from}, {1, 1}, {1, count}});
    REQUIRE(part.ok());
    return part.value();
  };
  const NodeId h = unary(graph, Op::tanh, x), left = slice(h, 0, 3), right = slice(h, 2, 3);
  const auto product = graph.append(Op::mul, {left, right});
  REQUIRE(product.ok());
  const NodeId y = slice(product.value(), 0, 2);
  graph.mark_output(y, "y");
  const auto problem = open(graph, {make_case(6, Rational(-1), Rational(1), {output_row({{1, 1}}, Rational(-5))})});
  const auto reached = needed_neurons(*problem, 0);
  CHECK(reached[y] == std::vector<bool>{false, true});
  CHECK(reached[product.value()] == std::vector<bool>{false, true, false});
  CHECK(reached[h] == std::vector<bool>{true, true, true, true, true, false});  // a product's factors are not told apart
  CHECK(reached[x] == reached[h]);
}

TEST_CASE("what boxes refute is refuted by boxes in the certificate", "[search][strategy]") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "assay_boxes.assay";
  std::size_t roots = 0, branches = 0;
  for (const int bound : {-60, -4, -3, -2}) {
    const auto problem =
        open(random_network({3, 8, 8, 1}, 21), {make_case(3, Rational(-1), Rational(1), {output_row({{0, 1}}, Rational(bound))})});
    auto writer = certificate::Writer::open(path.string(), *problem);
    REQUIRE(writer.ok());
    Options options;
    options.deadline = Deadline::in(60);
    options.branching = Options::Branching::input;
    REQUIRE(search(problem, options, writer.value().get()).value().answer == Result::Answer::unsatisfiable);
    auto reader = certificate::Reader::open(path.string());
    REQUIRE(reader.ok());
    std::size_t boxes = 0;
    while (true) {
      const auto record = reader.value()->next(&problem->graph());
      REQUIRE(record.ok());
      if (record.value() == nullptr) break;
      boxes += record.value()->type == certificate::RecordType::boxes ? 1 : 0;
    }
    (bound == -60 ? roots : branches) += boxes;
    auto again = certificate::Reader::open(path.string());
    REQUIRE(again.ok());
    CHECK(certificate::replay(*again.value(), problem).ok());
  }
  std::filesystem::remove(path);
  CHECK(roots == 1);
  CHECK(branches > 0);
}

TEST_CASE("a root shared by threads replays", "[search][strategy]") {
  const auto problem = relu_problem({600, 600, 600}, Rational(1, 10000));
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "assay_root_threads.assay";
  auto writer = certificate::Writer::open(path.string(), *problem);
  REQUIRE(writer.ok());
  Options options;
  options.deadline = Deadline::in(60);
  const auto result = search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  REQUIRE(result.value().answer == Result::Answer::unsatisfiable);
  CHECK(result.value().statistics.nodes == 1);
  auto reader = certificate::Reader::open(path.string());
  REQUIRE(reader.ok());
  const auto theorem = certificate::replay(*reader.value(), problem);
  std::filesystem::remove(path);
  REQUIRE(theorem.ok());
  CHECK(theorem.value().kind() == logic::Theorem::Kind::unsatisfiable);
}

TEST_CASE("an easy refutation spends nothing on the attack", "[search][strategy]") {
  const auto problem = relu_problem({30, 30}, Rational(1, 1000));
  Options options;
  options.deadline = Deadline::in(60);
  const auto result = search(problem, options);
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::unsatisfiable);
  CHECK(result.value().statistics.attack_steps == 0);
  CHECK(result.value().statistics.attack_seconds == 0);
  CHECK_FALSE((result.value().statistics.splits_inputs || result.value().statistics.splits_activations));
}

TEST_CASE("an attack ends within its seconds where one forward pass takes longer", "[search][strategy]") {
  const auto problem = open(slow_network(), {make_case(kSide * kSide, -1, 1, {output_row({{0, 1}}, Rational(-1000))})});
  const Network network(problem);
  AttackOptions options;
  options.seconds = 0.05;
  Statistics statistics;
  const std::clock_t begin = std::clock();
  CHECK_FALSE(attack_all(network, options, std::stop_token(), statistics).has_value());
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 0.3);  // of this process, however busy the machine is
  CHECK(statistics.attack_steps == 0);                                      // the pass did not come to its end
}

TEST_CASE("the check of a witness ends at the limit", "[search][strategy]") {
  const auto problem = open(slow_network(), {make_case(kSide * kSide, -1, 1, {output_row({{0, 1}}, Rational(1000))})});
  const Network network(problem);
  const logic::Witness witness{0, std::vector<Rational>(kSide * kSide, Rational(1, 3))};
  const std::clock_t begin = std::clock();
  CHECK_FALSE(check_witness(network, witness, {Deadline::in(0.05), {}}).has_value());
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 0.3);
}

// y = relu(x), and the unsafe set touches the box in its upper corner alone.
search::Result touching_corner(const Rational& lo, const Rational& hi) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  graph.mark_output(unary(graph, Op::relu, x), "y");
  const auto problem = open(graph, {make_case(2, lo, hi, {output_row({{0, Rational(-1)}}, -hi), output_row({{1, Rational(-1)}}, -hi)})});
  Options options;
  options.threads = 1;
  options.seconds = 10;
  auto result = search(problem, options);
  REQUIRE(result.ok());
  return std::move(result).value();
}

TEST_CASE("a counterexample at an end of the box is found, though no float32 and no double is that number", "[search][strategy]") {
  const Rational decimal(3, 10);
  const Result result = touching_corner(Rational(1, 10), decimal);
  REQUIRE(result.answer == Result::Answer::satisfiable);
  CHECK(result.theorem->witness().inputs == std::vector<Rational>{decimal, decimal});
}

TEST_CASE("a counterexample at a double between two float32 values is found", "[search][strategy]") {
  const Rational between = *Rational::from_double(1 + 0x1p-40);
  const Result result = touching_corner(Rational(0), between);
  REQUIRE(result.answer == Result::Answer::satisfiable);
  CHECK(result.theorem->witness().inputs == std::vector<Rational>{between, between});
}

// y = x0 + |x1 - c| <= 5e-10 holds near (0, c) alone, and c lies in the middle between two float32 values.
TEST_CASE("a counterexample in a set that is far smaller than the distance of float32 values is found", "[search][strategy]") {
  using search_test::dense;
  constexpr float kMost = 1.0F / 3, kLeast = 0x1p-26F;
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  x = dense(graph, x, 2, 2, {1, 0, 0, 1}, {0, -kMost});
  x = dense(graph, x, 2, 2, {1, 0, 0, 1}, {0, -kLeast});
  graph.mark_output(dense(graph, unary(graph, Op::abs, x), 2, 1, {1, 1}, {0}), "y");
  const Rational bound(1, 2000000000);
  const auto problem = open(graph, {make_case(2, Rational(0), Rational(1), {output_row({{0, Rational(1)}}, bound)})});
  for (const std::uint64_t seed : {1, 2, 3}) {
    Options options;
    options.threads = 1;
    options.seconds = 10;
    options.seed = seed;
    const auto result = search(problem, options);
    REQUIRE(result.ok());
    CHECK(result.value().answer == Result::Answer::satisfiable);
  }
}

}  // namespace assay::search
