// Cuts over groups of relus: they refute what lines leave open, nothing that a point reaches, and the certificate with them replays.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "certificates/check/replay.h"
#include "search/cuts/group_cuts.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"

namespace assay::search {
namespace {

constexpr std::int64_t kSide = 5, kChannels = 6;
constexpr std::size_t kInputs = kSide * kSide;

// A convolution of one channel with kernels of 2 by 2, relu, and a dense layer to two outputs.
Graph network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    return values;
  };
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 1, kSide, kSide}, "x");
  const NodeId w = graph.append_constant(Tensor::of_floats({kChannels, 1, 2, 2}, draw(4 * kChannels)));
  WindowAttributes window;
  window.kernel = {2, 2};
  window.strides = window.dilations = {1, 1};
  window.pads_begin = window.pads_end = {0, 0};
  window.groups = 1;
  const auto z = graph.append(Op::conv, {x, w}, window);
  REQUIRE(z.ok());
  const std::int64_t size = kChannels * (kSide - 1) * (kSide - 1);
  const auto flat = graph.append(Op::reshape, {search_test::unary(graph, Op::relu, z.value())}, ShapeAttributes{{1, size}});
  REQUIRE(flat.ok());
  graph.mark_output(search_test::dense(graph, flat.value(), static_cast<std::size_t>(size), 2, draw(2 * size), {0, 0}), "y");
  return graph;
}

// y_0 - y_1 <= bound is to be refuted on [-1/2, 1/2]^25.
std::shared_ptr<const logic::Problem> problem_of(const Graph& model, double bound) {
  auto row = search_test::output_row({{0, 1}, {1, -1}}, Rational::from_double(bound).value());
  return search_test::open(model, {search_test::make_case(kInputs, Rational(-1, 2), Rational(1, 2), {std::move(row)})});
}

struct Attempt {
  explicit Attempt(const std::shared_ptr<const logic::Problem>& problem, int threads = 1)
      : network(problem), graph(network), root(*problem, take(logic::Scope::root(problem, 0)), threads) {
    REQUIRE(root.advance({}).ok());
    close_by_cuts(root, graph, open, refutation, {});
  }
  static logic::Scope take(Outcome<logic::Scope> scope) {
    REQUIRE(scope.ok());
    return std::move(scope).value();
  }
  Network network;
  NeuronGraph graph;
  IntermediateBounds root;
  std::vector<std::uint32_t> open{0};
  std::optional<logic::Refutation> refutation;
};

// The least y_0 - y_1 at sampled points, and the bound of an ascent of the lines.
std::pair<double, double> range(const Graph& model) {
  const auto problem = problem_of(model, 0);
  const Network network(problem);
  const NodeId y = problem->graph().outputs[0];
  double least = INFINITY;
  search_test::for_samples(network, 4000, 5, [&](const std::vector<double>&, const Workspace& at) {
    least = std::min(least, at.values[y][0] - at.values[y][1]);
  });
  const NeuronGraph graph(network);
  auto scope = Attempt::take(logic::Scope::root(problem, 0));
  REQUIRE(certificate::sweep(*problem, scope, 0, false).ok());
  const NeuronBoxes boxes = NeuronBoxes::of(graph, scope);
  BoundTask task;
  task.rows = &network.rows(0);
  task.boxes = &boxes;
  AlphaBetaOptions options;
  options.iterations = 200;
  options.target = INFINITY;
  BoundResult result;
  AlphaBetaCrown(graph).run({&task, 1}, options, {&result, 1});
  return {least, result.bound * network.rows(0)[0].scale};
}

}  // namespace

TEST_CASE("cuts refute what the lines of single relus leave open", "[search][cuts]") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    const Graph model = network(seed);
    const auto [least, lines] = range(model);
    REQUIRE(lines < least);
    const auto closed = problem_of(model, lines + 0.3 * (least - lines));
    Attempt attempt(closed);
    CHECK(attempt.open.empty());
    REQUIRE(attempt.refutation.has_value());
    CHECK(attempt.refutation->complete());
    CHECK(!attempt.root.scope().cuts().empty());
    Attempt two(closed, 2);
    CHECK(two.open.empty());
    CHECK(two.root.steps().bytes() == attempt.root.steps().bytes());
    // A point reaches the other one.
    Attempt reached(problem_of(model, least + 1e-9));
    CHECK(reached.open.size() == 1);
    CHECK(!reached.refutation.has_value());
  }
}

TEST_CASE("a search by cuts has one node, and its certificate is accepted", "[search][cuts]") {
  const Graph model = network(2);
  const auto [least, lines] = range(model);
  const auto problem = problem_of(model, lines + 0.3 * (least - lines));
  const auto path = std::filesystem::temp_directory_path() / "assay_search_cuts.assay";
  Options options;
  options.threads = 1;
  options.attack = false;
  options.deadline = Deadline::in(60);
  auto writer = certificate::Writer::open(path.string(), *problem);
  REQUIRE(writer.ok());
  const auto result = search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  CHECK(result.value().answer == Result::Answer::unsatisfiable);
  CHECK(result.value().statistics.nodes == 1);
  auto reader = certificate::Reader::open(path.string());
  REQUIRE(reader.ok());
  std::size_t cuts = 0;
  while (true) {
    const auto record = reader.value()->next(&problem->graph());
    REQUIRE(record.ok());
    if (record.value() == nullptr) break;
    cuts += record.value()->type == certificate::RecordType::cut ? 1 : 0;
  }
  CHECK(cuts > 1);
  for (const int threads : {1, 2}) {
    auto again = certificate::Reader::open(path.string());
    REQUIRE(again.ok());
    certificate::ReplayLimits limits;
    limits.threads = threads;
    CHECK(certificate::replay(*again.value(), problem, nullptr, limits).ok());
  }
  std::filesystem::remove(path);
}

TEST_CASE("cuts are for one layer of relus in several groups", "[search][cuts]") {
  for (const std::vector<std::size_t>& widths : {std::vector<std::size_t>{4, 8, 2}, std::vector<std::size_t>{4, 8, 8, 2}}) {
    const search_test::AscentSetup setup(search_test::random_network(widths, 3), Rational(-1000));
    IntermediateBounds root(*setup.problem, Attempt::take(logic::Scope::root(setup.problem, 0)), 1);
    REQUIRE(root.advance({}).ok());
    const std::size_t before = root.steps().byte_size();
    std::vector<std::uint32_t> open{0};
    std::optional<logic::Refutation> refutation;
    close_by_cuts(root, setup.graph, open, refutation, {});
    CHECK(open.size() == 1);
    CHECK(root.steps().byte_size() == before);
  }
}

}  // namespace assay::search
