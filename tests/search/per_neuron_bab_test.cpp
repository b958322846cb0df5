// Ranges behind the first layer by trees of splits: narrower, right, the same on any number of threads, and a proof by them replays.
#include <cstdint>
#include <filesystem>
#include <vector>

#include "certificates/check/replay.h"
#include "kernel/inspect/inspect.h"
#include "search/bounds/per_neuron_bab.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"

namespace assay::search {
namespace {

using Setup = search_test::AscentSetup;
constexpr std::size_t kWidth = 10;

Graph network(std::uint64_t seed) { return search_test::random_network({search_test::kAscentInputs, kWidth, kWidth, kWidth, 2}, seed); }

double width(const logic::Scope& scope, NodeId node) {
  double sum = 0;
  for (std::size_t j = 0; j < kWidth; ++j) sum += scope.box(node).hi[j] - scope.box(node).lo[j];
  return sum;
}

double margin(const logic::Scope& scope, const Setup& setup) {
  inspect::Diagnosis diagnosis;
  const BoundResult best = setup.run(40, {});
  static_cast<void>(
      inspect::conclude(scope, std::vector<logic::CaseMultipliers>{{0, {}}}, to_hints(setup.graph, best.parameters), diagnosis));
  return diagnosis.margins[0];
}

// Complete bounds; then passes of splits.
struct Root {
  Root(const Setup& setup, int threads, int passes, const Limit& limit = {})
      : bounds(*setup.problem, first(setup), threads), splits(setup.graph, threads) {
    REQUIRE(bounds.advance({}).ok());
    REQUIRE(bounds.complete());
    for (int k = 0; k < passes; ++k) REQUIRE(splits.refine(bounds, limit).ok());
  }
  static logic::Scope first(const Setup& setup) {
    auto scope = logic::Scope::root(setup.problem, 0);
    REQUIRE(scope.ok());
    return std::move(scope).value();
  }
  IntermediateBounds bounds;
  PerNeuronBab splits;
};

}  // namespace

TEST_CASE("trees of splits narrow ranges behind the first layer, and every value stays inside", "[search][splits]") {
  double before = 0, once = 0, twice = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Setup setup(network(seed), 0);
    const NodeId last = setup.graph.activations().back().operand;
    Root plain(setup, 1, 0), one(setup, 1, 1), both(setup, 2, 2);
    before += width(plain.bounds.scope(), last);
    once += width(one.bounds.scope(), last);
    twice += width(both.bounds.scope(), last);
    setup.scope = both.bounds.scope();
    for (const NeuronGraph::Activation& activation : setup.graph.activations()) setup.check_box_at_samples(activation.operand, seed);
    Root threads(setup, 2, 1);
    CHECK(threads.bounds.steps().byte_size() == one.bounds.steps().byte_size());
    CHECK(width(threads.bounds.scope(), last) == width(one.bounds.scope(), last));
  }
  CHECK(once < 0.9 * before);
  CHECK(twice < once);
}

TEST_CASE("what only trees of splits refute is refuted by the certificate with them", "[search][splits]") {
  const Graph model = network(1);
  const Setup open(model, 0);
  Root plain(open, 1, 0), split(open, 1, 1);
  const double without = margin(plain.bounds.scope(), open), with = margin(split.bounds.scope(), open);
  REQUIRE(with > without);
  const Setup closed(model, Rational::from_double((without + with) / 2).value());
  Root root(closed, 1, 1);
  const auto path = std::filesystem::temp_directory_path() / "assay_search_per_neuron_bab.assay";
  const auto replays = [&](certificate::Fragment steps) {
    auto writer = certificate::Writer::open(path.string(), *closed.problem);
    REQUIRE(writer.ok());
    writer.value()->begin_group(0);
    steps.conclude(std::vector<logic::CaseMultipliers>{{0, {}}}, to_hints(closed.graph, closed.run(40, {}).parameters));
    writer.value()->append(steps);
    writer.value()->end_group();
    REQUIRE(writer.value()->finish().ok());
    auto reader = certificate::Reader::open(path.string());
    REQUIRE(reader.ok());
    const bool accepted = certificate::replay(*reader.value(), closed.problem).ok();
    std::filesystem::remove(path);
    return accepted;
  };
  CHECK(replays(root.bounds.steps()));
  CHECK(!replays(Root(closed, 1, 0).bounds.steps()));
}

TEST_CASE("trees of splits end with what was gained once the limit is reached", "[search][splits]") {
  const Setup setup(network(2), 0);
  const NodeId last = setup.graph.activations().back().operand;
  Root none(setup, 2, 0), late(setup, 2, 1, {Deadline::in(0), {}});
  CHECK(width(late.bounds.scope(), last) == width(none.bounds.scope(), last));
  CHECK(none.splits.wanted() == 0);
  Root once(setup, 1, 1);
  CHECK(once.splits.wanted() > 0);
  CHECK(once.splits.wanted() < 1e9);
}

}  // namespace assay::search
