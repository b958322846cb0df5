#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernel/inspect/inspect.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"

namespace assay::search {
namespace {

using Setup = search_test::AscentSetup;
constexpr std::size_t kInputs = search_test::kAscentInputs;

}  // namespace

TEST_CASE("mixes of products are optimised, and the kernel derives the bound that the search computed", "[search][dual]") {
  std::mt19937_64 random(3);
  const auto draw = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    return values;
  };
  double gained = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Graph model;
    const NodeId x = model.append_input(DType::float32, {1, kInputs}, "x");
    const NodeId left = search_test::unary(model, Op::relu, search_test::dense(model, x, kInputs, 6, draw(6 * kInputs), draw(6)));
    const NodeId right = search_test::dense(model, x, kInputs, 6, draw(6 * kInputs), draw(6));
    const NodeId factor = search_test::dense(model, x, kInputs, 1, draw(kInputs), draw(1));  // read by every product
    const auto inner = model.append(Op::mul, {left, right});
    REQUIRE(inner.ok());
    const auto outer = model.append(Op::mul, {inner.value(), factor});
    REQUIRE(outer.ok());
    model.mark_output(search_test::dense(model, outer.value(), 6, 2, draw(12), draw(2)), "y");
    const Setup setup(model, 0);
    REQUIRE(setup.graph.has_planes());
    CHECK(!setup.graph.supported());
    const BoundResult first = setup.run(1, {}), last = setup.run(60, {});
    CHECK(last.bound <= setup.sampled_minimum({}, seed) + 1e-9);
    const std::vector<logic::CaseMultipliers> cases{{0, last.parameters.weights}};
    inspect::Diagnosis own, optimised;
    static_cast<void>(inspect::conclude(setup.scope, cases, {}, own));
    static_cast<void>(inspect::conclude(setup.scope, cases, to_hints(setup.graph, last.parameters), optimised));
    CHECK(own.margins[0] == Approx(first.bound).margin(1e-6));
    CHECK(optimised.margins[0] == Approx(last.bound).margin(1e-6));
    gained += last.bound - first.bound;
  }
  CHECK(gained > 0.1);
}

TEST_CASE("slopes that a layer shares narrow its box, and every value stays inside", "[search][dual]") {
  for (const Op op : {Op::relu, Op::sigmoid, Op::tanh}) {
    INFO(op_row(op).name);
    double before = 0, after = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Setup setup(search_test::random_network({kInputs, 12, 12, 12, 2}, seed, op), 0);
      const NodeId node = setup.graph.activations().back().operand;
      const auto width = [&] {
        double sum = 0;
        for (std::size_t j = 0; j < 12; ++j) sum += setup.scope.box(node).hi[j] - setup.scope.box(node).lo[j];
        return sum;
      };
      const double wide = width();
      const NeuronBoxes boxes = NeuronBoxes::of(setup.graph, setup.scope);
      const std::vector<std::uint32_t> elements = inspect::selected(setup.scope, node, {});
      REQUIRE(!elements.empty());
      const auto slopes = AlphaBetaCrown(setup.graph).share_alphas(node, elements, boxes, nullptr, {});
      REQUIRE(slopes.has_value());
      REQUIRE(inspect::tighten(setup.scope, node, {}, to_hints(setup.graph, *slopes)).ok());
      before += wide;
      after += width();
      setup.check_box_at_samples(node, seed);
    }
    CHECK(after < 0.99 * before);
  }
}

TEST_CASE("shared slopes end without any once the limit is reached", "[search][dual]") {
  const Setup setup(search_test::random_network({kInputs, 8, 8, 2}, 1, Op::sigmoid), 0);
  const NodeId node = setup.graph.activations().back().operand;
  const std::vector<std::uint32_t> elements{0, 1};
  const NeuronBoxes boxes = NeuronBoxes::of(setup.graph, setup.scope);
  CHECK(!AlphaBetaCrown(setup.graph, {Deadline::in(0), {}}).share_alphas(node, elements, boxes, nullptr, {}));
}

}  // namespace assay::search
