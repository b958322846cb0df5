#include "search/bab/bab.h"

#include <filesystem>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "certificates/check/session.h"
#include "search/bab/engine.h"
#include "search/strategy/proved.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"
#include "tests/search/runs.h"

namespace assay::search {
namespace {

using search_test::branch;
using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;
using search_test::replays;
using search_test::Run;

// A case that the network misses by `margin`, judged by samples: y_0 <= smallest sampled value - margin.
std::shared_ptr<const logic::Problem> threshold_problem(const Graph& graph, std::size_t inputs, double margin, int cases,
                                                        const Rational& radius = 1) {
  const auto any = open(graph, {make_case(inputs, -radius, radius, {output_row({{0, 1}}, 0)})});
  const Network network(any);
  Workspace workspace;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> smallest(network.output_size(), 1e300);
  for (int k = 0; k < 50000; ++k) {
    std::vector<double> x(inputs), y(network.output_size());
    for (double& value : x) value = (k % 2 == 0 ? uniform(random) : uniform(random) > 0 ? 1 : -1) * radius.double_down();
    network.evaluate(1, x.data(), workspace);
    network.outputs(1, workspace, y.data());
    for (std::size_t i = 0; i < y.size(); ++i) smallest[i] = std::min(smallest[i], y[i]);
  }
  std::vector<statement::Case> list;
  const statement::Case first = make_case(inputs, -radius, radius, {});
  for (int k = 0; k < cases; ++k) {
    const auto element = static_cast<std::uint64_t>(k) % smallest.size();
    list.push_back({first.box, {output_row({{element, 1}}, *Rational::from_double(smallest[element] - margin))}});
  }
  return open(graph, std::move(list));
}

// A property of a small network that a tree of some nodes refutes.
struct Refutable {
  std::shared_ptr<const logic::Problem> problem = threshold_problem(random_network({4, 12, 10, 3}, 7), 4, 0.2, 3);
  Network network{problem};
  NeuronGraph graph{network};
};

// Bounds that close every case, and a kernel that refuses the conclusion.
struct Refusal final : BabMethod {
  struct Worker final : BabWorker {
    explicit Worker(Engine& of) : engine(of) {}
    [[nodiscard]] std::size_t capacity() const override { return 1; }
    bool treat(std::vector<Subdomain>& batch, std::vector<Subdomain>&) override {
      for (OpenCase& one : batch.front().cases) {
        one.looks_closed = true;
        one.bound = 0.5;
      }
      engine.finish("the kernel refused");
      return false;
    }
    Engine& engine;
  };
  [[nodiscard]] const char* phase() const override { return "refusals"; }
  [[nodiscard]] std::uint64_t bytes_of_subdomain() const override { return 1; }
  [[nodiscard]] std::unique_ptr<BabWorker> worker(Engine& engine) override { return std::make_unique<Worker>(engine); }
};

}  // namespace

TEST_CASE("an unreachable threshold is refuted, and the written tree replays", "[search][branching]") {
  for (const int threads : {1, 2}) {
    const auto problem = threshold_problem(random_network({4, 12, 10, 3}, 7), 4, 0.2, 3);
    const Network network(problem);
    const NeuronGraph graph(network);
    BranchingOptions options;
    options.threads = threads;
    options.deadline = Deadline::in(120);
    const Run run = branch(graph, options);
    REQUIRE(run.result.refutation.has_value());
    CHECK(run.result.refutation->complete());
    CHECK_FALSE(run.result.witness.has_value());
    CHECK(run.statistics.leaves > 1);  // the root bound does not do it alone
    CHECK(run.result.tree->size() >= 3);
    const auto theorem = logic::unsatisfiable(problem, std::vector<logic::Refutation>{*run.result.refutation});
    REQUIRE(theorem.ok());
    CHECK(replays(problem, run, "branching" + std::to_string(threads)));
  }
}

TEST_CASE("kfsb splits need fewer nodes, and refute the same", "[search][branching]") {
  const auto problem = threshold_problem(random_network({4, 16, 14, 12, 3}, 11), 4, 0.3, 1);
  const Network network(problem);
  const NeuronGraph graph(network);
  BranchingOptions options;
  options.threads = 1;
  options.deadline = Deadline::in(120);
  const Run quick = branch(graph, options);
  options.kfsb = true;
  const Run kfsb = branch(graph, options);
  REQUIRE(quick.result.refutation.has_value());
  REQUIRE(kfsb.result.refutation.has_value());
  CHECK(kfsb.statistics.leaves > 1);
  CHECK(kfsb.statistics.nodes < quick.statistics.nodes);
  CHECK(replays(problem, kfsb, "kfsb"));
}

TEST_CASE("cases that were refuted in trees of their own are one group of a certificate", "[search][branching]") {
  const auto problem = threshold_problem(random_network({4, 12, 10, 3}, 7), 4, 0.2, 3);
  const Network network(problem);
  const NeuronGraph graph(network);
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
  certificate::Fragment root;
  root.sweep(0, false);
  Proved proved{0, {}, {}};
  for (const std::uint32_t position : {2U, 0U, 1U}) {
    Statistics statistics;
    auto result = branch_on_activations(graph, scope.value(), std::vector{position}, {}, {}, statistics);
    REQUIRE(result.ok());
    REQUIRE(result.value().refutation.has_value());
    proved.add(position == 2 ? root : certificate::Fragment(), std::move(result.value().tree));
  }
  const auto replayed = [&](const Proved& parts) {
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "assay_search_parts.assay";
    auto writer = certificate::Writer::open(path.string(), *problem);
    REQUIRE(writer.ok());
    std::vector<OpenBranch> open;
    parts.write({}, open, *writer.value());
    REQUIRE(writer.value()->finish().ok());
    CHECK(open.empty());
    auto reader = certificate::Reader::open(path.string());
    REQUIRE(reader.ok());
    const auto theorem = certificate::replay(*reader.value(), problem);
    std::filesystem::remove(path);
    return theorem.ok();
  };
  CHECK(replayed(proved));
  proved.parts.pop_back();  // a case without its tree
  CHECK_FALSE(replayed(proved));
}

TEST_CASE("a reachable threshold ends with a witness or undecided, never refuted", "[search][branching]") {
  const auto problem = threshold_problem(random_network({4, 12, 10, 3}, 7), 4, -0.05, 3);
  const Network network(problem);
  const NeuronGraph graph(network);
  BranchingOptions options;
  options.deadline = Deadline::in(20);
  const Run run = branch(graph, options);
  CHECK_FALSE(run.result.refutation.has_value());
  REQUIRE(run.result.witness.has_value());
  CHECK(run.result.witness->kind() == logic::Theorem::Kind::satisfiable);
}

TEST_CASE("only the cases asked for are refuted", "[search][branching]") {
  const auto problem = threshold_problem(random_network({4, 10, 3}, 9), 4, 0.2, 2);
  const Network network(problem);
  const NeuronGraph graph(network);
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
  Statistics statistics;
  const std::vector<std::uint32_t> positions{1};
  const auto result = branch_on_activations(graph, scope.value(), positions, {}, {}, statistics);
  REQUIRE(result.ok());
  REQUIRE(result.value().refutation.has_value());
  CHECK(result.value().refutation->cases() == std::vector<bool>{false, true});
}

TEST_CASE("a tree that is to pause goes on where little of it is open", "[search][branching]") {
  const Refutable net;
  std::uint64_t batches = 0, paused = 0, refuted = 0;
  BranchingOptions options;
  options.threads = 1;
  options.between_nodes = [&] { ++batches; };
  REQUIRE(branch(net.graph, options).result.refutation.has_value());
  REQUIRE(batches > 5);
  for (std::uint64_t pause_at = 1; pause_at <= batches; ++pause_at) {
    std::uint64_t at = 0;
    options.pause = {};
    options.between_nodes = [&] {
      if (++at == pause_at) options.pause = Deadline::in(0);
    };
    const Run run = branch(net.graph, options);
    if (run.result.refutation) {
      ++refuted;
      continue;
    }
    ++paused;
    CHECK(refuted == 0);  // once most of it is closed it ends with all of it
    CHECK(run.result.reason == "time");
    REQUIRE(run.result.unfinished.has_value());
    CHECK(run.result.unfinished->closed_share < kNearlyClosed);
  }
  CHECK(paused > 0);
  CHECK(refuted > 1);
}

TEST_CASE("a trial ends a tree of which too little is closed, and is asked once", "[search][branching]") {
  const Refutable net;
  BranchingOptions options;
  options.threads = 1;
  for (const double least : {0.0, 1.0}) {
    std::uint64_t batches = 0;
    options.trial = {};
    options.between_nodes = [&] {
      if (++batches == 2) options.trial = {Deadline::in(0), least};
      if (batches == 3) options.trial.least_closed = 1;  // too late
    };
    const Run run = branch(net.graph, options);
    CHECK(run.result.refutation.has_value() == (least == 0));
    CHECK((batches > 3) == (least == 0));
    if (least == 0) continue;
    CHECK((run.result.trial_failed && run.result.reason == "time"));
    REQUIRE(run.result.unfinished.has_value());
    CHECK(run.result.unfinished->closed_share < 1);
  }
}

TEST_CASE("deadline, stop request and memory limit end the search with a reason", "[search][branching]") {
  const Refutable net;
  BranchingOptions late;
  late.deadline = Deadline::in(0);
  CHECK(branch(net.graph, late).result.reason == "time");
  std::stop_source source;
  source.request_stop();
  CHECK(branch(net.graph, {}, source.get_token()).result.reason == "time");
  BranchingOptions small;
  small.memory_limit_bytes = 1;
  CHECK(branch(net.graph, small).result.reason == "memory");
}

// Sixteen inputs are too many to split, and of functions other than relu nothing else was.
TEST_CASE("networks of functions other than relu are refuted by splits at jumps, at 0 and in the middle", "[search][branching]") {
  constexpr std::size_t kInputs = 16;
  struct {
    Op op;
    double margin;
  } const rows[] = {{Op::floor, 0.9}, {Op::sign, 1.5}, {Op::round, 0.9}, {Op::leaky_relu, 0.25}, {Op::mul, 1}, {Op::exp, 0.5}};
  for (const auto& row : rows) {
    INFO(op_row(row.op).name);
    std::uint64_t leaves = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Graph model = random_network({kInputs, 6, 1}, seed);
      for (Node& node : model.nodes) {
        if (node.op != Op::relu) continue;
        node.op = row.op;
        if (row.op == Op::leaky_relu) node.attributes = LeakyReluAttributes{0.125};
        if (row.op == Op::mul) node.operands = {node.operands[0], node.operands[0]};
      }
      const auto problem = threshold_problem(model, kInputs, row.margin, 1, Rational(1, 8));
      const Network network(problem);
      const NeuronGraph graph(network);
      BranchingOptions options;
      options.deadline = Deadline::in(60);
      const Run run = branch(graph, options);
      CHECK_FALSE(run.result.witness.has_value());
      REQUIRE(run.result.refutation.has_value());
      CHECK(replays(problem, run, "functions"));
      CHECK(run.statistics.nodes < 2000);
      leaves += run.statistics.leaves;
    }
    CHECK(leaves > 3);  // the root's bounds do not do it alone
  }
}

TEST_CASE("a network with an op without lines is declined", "[search][branching]") {
  Graph model = random_network({2, 2}, 1);
  const auto softmax = model.append(Op::softmax, {model.outputs[0]}, SoftmaxAttributes{1});
  REQUIRE(softmax.ok());
  model.outputs[0] = softmax.value();
  const auto problem = open(model, {make_case(2, -1, 1, {output_row({{0, 1}}, -1)})});
  const Network network(problem);
  const NeuronGraph graph(network);
  CHECK_FALSE(graph.supported());
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  Statistics statistics;
  const std::vector<std::uint32_t> positions{0};
  const auto result = branch_on_activations(graph, scope.value(), positions, {}, {}, statistics);
  REQUIRE_FALSE(result.ok());
  CHECK(result.rejection().code == "search.lines");
}

TEST_CASE("a search names the cases that the kernel refused, although their bounds close them", "[search][branching]") {
  const Refutable net;
  const auto scope = logic::Scope::root(net.problem, 0);
  REQUIRE(scope.ok());
  Refusal method;
  Statistics statistics;
  const std::vector<std::uint32_t> positions{0, 1, 2};
  const GroupResult result = Engine(net.network, scope.value(), {}, {}).run(method, positions, statistics);
  CHECK(result.reason == "the kernel refused");
  REQUIRE(result.unfinished);
  CHECK(result.unfinished->closed_share == 0);
  REQUIRE(result.unfinished->cases.size() == 3);
  for (const Unfinished::Left& one : result.unfinished->cases) CHECK(one.bound == 0);
}

TEST_CASE("what a branch and bound leaves open shrinks as it goes on", "[search][branching]") {
  const Refutable net;
  BranchingOptions options;
  options.threads = 1;
  options.deadline = Deadline::in(120);
  const Run whole = branch(net.graph, options);
  REQUIRE(whole.result.refutation.has_value());
  CHECK_FALSE(whole.result.unfinished);
  REQUIRE(whole.statistics.nodes > 8);
  double before = -1;
  for (std::uint64_t most = 1; most < whole.statistics.nodes / 2; most *= 2) {
    options.most_nodes = most;
    const Run part = branch(net.graph, options);
    if (part.result.refutation) break;  // a last batch beyond the limit
    REQUIRE(part.result.unfinished);
    const Unfinished& left = *part.result.unfinished;
    CHECK(left.closed_share >= before);
    CHECK(left.closed_share < 1);
    CHECK_FALSE(left.cases.empty());
    for (const Unfinished::Left& one : left.cases) CHECK(one.bound <= 0);
    CHECK((left.pace > 0) == (left.closed_share > 0));
    before = left.closed_share;
  }
  CHECK(before > 0);
}

TEST_CASE("the pace of a tree is that of the last third to half of its time", "[search][branching]") {
  Pace pace;
  CHECK(pace.at(2, 0.5) == 0.25);
  double closed = 0, seconds = 0;
  for (int k = 1; k <= 1000; ++k) {  // half as fast from 30 s on
    seconds = 0.1 * k;
    closed += seconds <= 30 ? 0.002 : 0.001;
    if (pace.is_due(seconds)) pace.note(seconds, closed);
  }
  CHECK_THAT(pace.at(seconds, closed), Catch::Matchers::WithinRel(0.01, 1e-9));
  CHECK(pace.at(200, 0.2) == 0.001);  // nothing lately
  CHECK(pace.at(seconds, 0) == 0);
  pace.begin(seconds);  // a tree that began anew
  CHECK(pace.at(seconds, 0) == 0);
  CHECK(pace.at(seconds + 2, 0.5) == 0.25);
}

}  // namespace assay::search
