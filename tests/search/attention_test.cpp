// Products of matrices and softmax in the search: their values, their planes, and what rests on them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "kernel/floats/named_models.h"
#include "kernel/inspect/inspect.h"
#include "kernel/relax/relaxation.h"
#include "policy/policy.h"
#include "search/bounds/intermediate_bounds.h"
#include "search/bounds/product_operands.h"
#include "search/relax/softmax_planes.h"
#include "search/search.h"
#include "search/strategy/group_search.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/search/ascent.h"
#include "tests/search/graphs.h"
#include "tests/search/runs.h"

namespace assay::search {
namespace {

using search_test::append;
using search_test::make_case;
using search_test::open;
using search_test::output_row;
using Setup = search_test::AscentSetup;
constexpr std::size_t kInputs = search_test::kAscentInputs;

// A dense layer of the inputs, as a tensor of that shape.
NodeId projected(Graph& graph, NodeId x, const Shape& shape, std::mt19937_64& random) {
  const std::size_t size = element_count(shape);
  std::vector<float> weights(size * kInputs), bias(size);
  for (auto* values : {&weights, &bias}) {
    for (float& value : *values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
  }
  return append(graph, Op::reshape, {search_test::dense(graph, x, kInputs, size, weights, bias)}, ShapeAttributes{shape});
}

// softmax(q k) v of two heads on three places, then a layer of relus.
Graph attention(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, kInputs}, "x");
  const NodeId q = projected(graph, x, {2, 3, 2}, random), k = projected(graph, x, {2, 2, 3}, random),
               v = projected(graph, x, {2, 3, 2}, random);
  const NodeId weights = append(graph, Op::softmax, {append(graph, Op::matmul, {q, k})}, SoftmaxAttributes{2});
  const NodeId mean = append(graph, Op::reshape, {append(graph, Op::matmul, {weights, v})}, ShapeAttributes{{1, 12}});
  std::vector<float> first(12 * 8), second(8 * 2);
  for (auto* values : {&first, &second}) {
    for (float& value : *values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
  }
  const NodeId hidden = search_test::unary(graph, Op::relu, search_test::dense(graph, mean, 12, 8, first, std::vector<float>(8, 0.0F)));
  graph.mark_output(search_test::dense(graph, hidden, 8, 2, second, {0, 0}), "y");
  return graph;
}

}  // namespace

TEST_CASE("products of matrices of any ranks agree with the denotation, and cotangents are derivatives", "[search][network]") {
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {3, 2}}, {{2, 2, 3}, {3, 2}},       {{2, 3}, {2, 3, 2}}, {{3}, {2, 3, 2}},
                                            {{2, 2, 3}, {3}}, {{2, 1, 2, 3}, {3, 3, 1}}, {{3}, {3}}};
  for (const auto& [first, second] : shapes) {
    INFO(first.size() << " axes and " << second.size());
    std::mt19937_64 random(7);
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {1, kInputs}, "x");
    const NodeId p = projected(graph, x, first, random), q = search_test::unary(graph, Op::tanh, projected(graph, x, second, random));
    graph.mark_output(append(graph, Op::matmul, {p, q}), "y");
    const auto problem = open(graph, {make_case(kInputs, -1, 1, {output_row({{0, 1}}, 0)})});
    const Network network(problem);
    REQUIRE(network.has_gradient());
    constexpr std::size_t kBatch = 2;
    constexpr double kStep = 1e-6;
    std::uniform_real_distribution<double> uniform(-1, 1);
    const std::size_t m = network.output_size();
    const auto values = [&](const std::vector<double>& points) {
      Workspace workspace;
      std::vector<double> y(kBatch * m);
      network.evaluate(kBatch, points.data(), workspace);
      network.outputs(kBatch, workspace, y.data());
      return y;
    };
    std::vector<double> points(kBatch * kInputs), y_bar(kBatch * m), x_bar(kBatch * kInputs);
    for (auto* list : {&points, &y_bar}) {
      for (double& value : *list) value = uniform(random);
    }
    const std::vector<double> y = values(points);
    for (std::size_t b = 0; b < kBatch; ++b) {
      const Array<double> input{
          {1, kInputs},
          {points.begin() + static_cast<std::ptrdiff_t>(b * kInputs), points.begin() + static_cast<std::ptrdiff_t>((b + 1) * kInputs)}};
      const auto exact = evaluate<double>(problem->graph(), std::span(&input, 1));
      REQUIRE(exact.ok());
      const std::vector<double>& expected = exact.value()[problem->graph().outputs[0]].values;
      REQUIRE(expected.size() == m);
      for (std::size_t i = 0; i < m; ++i) CHECK(y[b * m + i] == Approx(expected[i]).margin(1e-12));
    }
    Workspace workspace;
    network.evaluate(kBatch, points.data(), workspace);
    network.vjp(kBatch, workspace, y_bar.data(), x_bar.data());
    for (std::size_t i = 0; i < x_bar.size(); ++i) {
      std::vector<double> ahead = points, behind = points;
      ahead[i] += kStep;
      behind[i] -= kStep;
      const std::vector<double> up = values(ahead), down = values(behind);
      double difference = 0;
      for (std::size_t j = 0; j < up.size(); ++j) difference += y_bar[j] * (up[j] - down[j]) / (2 * kStep);
      CHECK(x_bar[i] == Approx(difference).margin(1e-6));
    }
  }
}

// At points of the box, since the kernel has numbers for what is a single one.
TEST_CASE("planes of softmax are those that the kernel derives", "[search][lines]") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-2, 2), share(0, 1);
  const Shape shape{2, 3, 2};
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, shape, "x");
  const NodeId y = append(graph, Op::softmax, {x}, SoftmaxAttributes{1});
  for (int trial = 0; trial < 60; ++trial) {
    INFO(trial);
    const double width = trial % 3 == 0 ? 0.1 : trial % 3 == 1 ? 1 : 8;
    relax::Box box, own{std::vector<double>(12, 0.0), std::vector<double>(12, 1.0)};
    for (int i = 0; i < 12; ++i) {
      box.lo.push_back(uniform(random));
      box.hi.push_back(box.lo.back() + (i == 5 ? 0 : width * share(random)));
    }
    for (std::size_t j = 0; trial % 2 == 0 && j < 12; ++j) {  // its own box in the middle of all values
      double others_lo = 0, others_hi = 0;
      for (std::size_t k = 0; k < 12; ++k) {
        if (k == j || k / 6 != j / 6 || k % 2 != j % 2) continue;
        others_lo += std::exp(box.lo[k]);
        others_hi += std::exp(box.hi[k]);
      }
      const double least = 1 / (1 + others_hi * std::exp(-box.lo[j])), most = 1 / (1 + others_lo * std::exp(-box.hi[j]));
      own.lo[j] = least + 0.2 * share(random) * (most - least);
      own.hi[j] = most - 0.2 * share(random) * (most - least);
    }
    const std::vector<const relax::Box*> operands{&box};
    const auto derived = relax::relax(graph, graph.node(y), operands, own, policy::Policy({}));
    REQUIRE(derived.has_value());
    const relax::Relaxation::Part& part = derived->parts[0];
    for (const double side : {1.0, -1.0}) {
      const std::vector<double> a(12, side);
      std::vector<double> z(12), found(12), back(12, 0.0);
      for (std::size_t k = 0; k < 12; ++k) z[k] = box.lo[k] + share(random) * (box.hi[k] - box.lo[k]);
      double sum = 0, expected_sum = 0;
      for (const std::size_t first : {0U, 1U, 6U, 7U}) {
        const SoftmaxPlanes planes(first, 3,
                                   {box.lo.data() + first, box.hi.data() + first, own.lo.data() + first, own.hi.data() + first, 2});
        planes.forward(a.data(), z.data(), found.data());
        sum += planes.back(a.data(), back.data());
      }
      for (std::size_t j = 0; j < 12; ++j) {
        double expected = side > 0 ? derived->lower_intercept[j] : derived->upper_intercept[j];
        for (std::size_t k = part.first(j); k < part.last(j); ++k)
          expected += (side > 0 ? part.lower[k] : part.upper[k]) * z[part.element(k)];
        expected_sum += side * expected;
        sum += back[j] * z[j];
        CHECK(found[j] == Approx(expected).margin(1e-9));
      }
      CHECK(sum == Approx(expected_sum).margin(1e-9));
    }
  }
}

TEST_CASE("attention has planes with mixes that are optimised, and the kernel derives the bound that the search computed",
          "[search][dual]") {
  double gained = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Setup setup(attention(seed), 0);
    REQUIRE(setup.graph.has_planes());
    CHECK(setup.graph.can_split());
    CHECK(!setup.graph.supported());
    const BoundResult first = setup.run(1, {}), last = setup.run(60, {});
    CHECK(last.bound <= setup.sampled_minimum({}, seed) + 1e-9);
    for (const BoundResult* result : {&first, &last}) {
      const std::vector<logic::CaseMultipliers> cases{{0, result->parameters.weights}};
      inspect::Diagnosis derived;
      static_cast<void>(inspect::conclude(setup.scope, cases, to_hints(setup.graph, result->parameters), derived));
      CHECK(derived.margins[0] == Approx(result->bound).margin(1e-5));
    }
    gained += last.bound - first.bound;
  }
  CHECK(gained > 0.1);
}

TEST_CASE("slopes and mixes that relus behind attention share narrow their box, and every value stays inside", "[search][dual]") {
  double before = 0, after = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Setup setup(attention(seed), 0);
    const NodeId node = setup.graph.activations().back().operand;
    const auto width = [&] {
      double sum = 0;
      for (std::size_t j = 0; j < 8; ++j) sum += setup.scope.box(node).hi[j] - setup.scope.box(node).lo[j];
      return sum;
    };
    before += width();
    const NeuronBoxes boxes = NeuronBoxes::of(setup.graph, setup.scope);
    for (const std::uint32_t element : inspect::selected(setup.scope, node, {})) {
      const auto slopes = AlphaBetaCrown(setup.graph).share_alphas(node, {&element, 1}, boxes, nullptr, {});
      REQUIRE(slopes.has_value());
      inspect::Selection alone{inspect::Selection::Kind::mask, std::vector<bool>(8, false)};
      alone.mask[element] = true;
      REQUIRE(inspect::tighten(setup.scope, node, alone, to_hints(setup.graph, *slopes, node)).ok());
    }
    after += width();
    setup.check_box_at_samples(node, seed);
  }
  CHECK(after < 0.99 * before);
}

TEST_CASE("operands of relus are bounded before those of products, where that is asked for", "[search][root]") {
  const auto problem = Setup(attention(1), 0).problem;
  const auto scope = [&] { return logic::Scope::root(problem, 0).value(); };
  IntermediateBounds boxes(*problem, scope(), 1), kinks(*problem, scope(), 1);
  IntermediatePlan plan;
  plan.refine = IntermediatePlan::Refine::nothing;
  REQUIRE(boxes.advance(plan).ok());
  plan.refine = IntermediatePlan::Refine::kinks;
  REQUIRE(kinks.advance(plan).ok());
  CHECK((kinks.share(plan) > 0 && kinks.share(plan) < 1));
  plan.also = {inspect::pre_activations(*problem).front()};
  CHECK(kinks.share(plan) > kinks.share({.refine = IntermediatePlan::Refine::kinks}));
  CHECK_FALSE(kinks.complete());
  CHECK((kinks.seconds_for_all() > 0 && kinks.seconds_for_all() < 1));
  for (const NodeId node : inspect::pre_activations(*problem))
    CHECK((kinks.scope().box(node).hi != boxes.scope().box(node).hi) == inspect::kink_at_zero(*problem, node));
  REQUIRE(kinks.advance({}).ok());
  CHECK(kinks.complete());
}

TEST_CASE("of each product the operand is bounded that its rows narrow, where a case loses by the product", "[search][root]") {
  std::mt19937_64 random(5);
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, kInputs}, "x");
  const NodeId curved = search_test::unary(graph, Op::tanh, projected(graph, x, {1, 8}, random));
  std::vector<float> weights(4 * 8);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 == 0 ? 1.0F : -0.9F;
  const NodeId p = search_test::dense(graph, curved, 8, 4, weights, std::vector<float>(4, 0.0F));
  const NodeId q = projected(graph, x, {1, 4}, random);
  const NodeId other = search_test::unary(graph, Op::tanh, projected(graph, x, {1, 4}, random));
  graph.mark_output(append(graph, Op::concat, {append(graph, Op::mul, {p, q}), other}, ConcatAttributes{1}), "y");
  const auto problem =
      open(graph, {make_case(kInputs, -1, 1, {output_row({{0, 1}, {1, 1}}, 0)}), make_case(kInputs, -1, 1, {output_row({{5, 1}}, 0)})});
  const Network network(problem);
  const NeuronGraph dual(network);
  IntermediateBounds root(*problem, logic::Scope::root(problem, 0).value(), 1);
  IntermediatePlan plan;
  plan.refine = IntermediatePlan::Refine::nothing;
  REQUIRE(root.advance(plan).ok());
  const std::vector<std::uint32_t> by_product{0}, by_other{1};
  const std::vector<NodeId> chosen = product_operands(dual, root.scope(), by_product, {});
  REQUIRE(chosen.size() == 1);
  CHECK(problem->graph().size(chosen[0]) == 4);
  CHECK(inspect::affine(*problem, chosen[0]) != nullptr);
  CHECK(root.scope().box(chosen[0]).hi[0] > 3);  // p; each element of q is affine in the inputs, whose box rows do not narrow
  CHECK(product_operands(dual, root.scope(), by_other, {}).empty());
}

TEST_CASE("a tree on the bounds of relus' operands alone proves what needs no others", "[search][root]") {
  int trees = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Graph model = attention(seed);
    const Setup probe(model, 0);
    const double bound = probe.run(60, {}).bound, sampled = probe.sampled_minimum({}, seed);
    const double scale = probe.network.rows(0)[0].scale;
    Setup setup(model, *Rational::from_double(scale * (bound + 0.1 * (sampled - bound))));
    Options options;
    options.deadline = Deadline::in(60);
    options.branching = Options::Branching::relu;
    SearchState search(setup.problem, options);
    const auto result = GroupSearch(search, logic::Scope::root(setup.problem, 0).value(), {0}).run();
    REQUIRE(result.ok());
    CHECK(result.value().refutation.has_value() == !search.proved.empty());
    const bool is_early = std::ranges::find(search.statistics.stages, std::string_view("CROWN bounds of the root"), &StageTime::name) ==
                          search.statistics.stages.end();
    if (!result.value().refutation || !is_early) continue;
    CHECK(result.value().refutation->complete());
    const Proved& proved = search.proved[0];
    trees += proved.parts[0].tree != nullptr ? 1 : 0;
    CHECK(search_test::replays(setup.problem, proved, "early"));
  }
  CHECK(trees > 0);
}

TEST_CASE("relus behind attention are split, and nothing else is", "[search][branching]") {
  std::uint64_t leaves = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Graph model = attention(seed);
    const Setup probe(model, 0);
    const double bound = probe.run(60, {}).bound, sampled = probe.sampled_minimum({}, seed);
    // Between the root's bound and the least value.
    const double scale = probe.network.rows(0)[0].scale;
    const Setup setup(model, *Rational::from_double(scale * (bound + 0.25 * (sampled - bound))));
    BranchingOptions options;
    options.deadline = Deadline::in(60);
    options.most_nodes = 3000;
    const search_test::Run run = search_test::branch(setup.graph, options);
    CHECK_FALSE(run.result.witness.has_value());
    if (!run.result.refutation) continue;
    CHECK(search_test::replays(setup.problem, run, "attention"));
    leaves += run.statistics.leaves;
  }
  CHECK(leaves > 4);
}

// Exporters write minus a large number where a score is not to count: -1e9, -1e10, and the least float.
TEST_CASE("attention with masks ends in an accepted certificate, over the reals and in float32", "[search][attention]") {
  for (const bool floating : {false, true}) {
    for (const bool decomposed : {false, true}) {
      for (const float mask : {-1e4F, -1e9F, -1e10F, -3.4028234663852886e38F}) {
        if (floating && (decomposed || mask < -1e38F)) continue;  // a sum with the least float may overflow, by the kernel's bounds
        std::mt19937_64 random(3);
        Graph graph;
        const NodeId x = graph.append_input(DType::float32, {1, kInputs}, "x");
        const NodeId q = projected(graph, x, {3, 2}, random), k = projected(graph, x, {2, 3}, random),
                     v = projected(graph, x, {3, 2}, random);
        std::vector<float> masks(9, 0.0F);
        masks[1] = masks[2] = masks[5] = mask;  // no place sees a later one
        NodeId scores =
            append(graph, Op::add, {append(graph, Op::matmul, {q, k}), graph.append_constant(Tensor::of_floats({3, 3}, masks))});
        NodeId weights = 0;
        if (decomposed) {
          const NodeId power = append(
              graph, Op::exp, {append(graph, Op::sub, {scores, append(graph, Op::reduce_max, {scores}, ReduceAttributes{{1}, true})})});
          weights = append(graph, Op::div, {power, append(graph, Op::reduce_sum, {power}, ReduceAttributes{{1}, true})});
        } else {
          weights = append(graph, Op::softmax, {scores}, SoftmaxAttributes{1});
        }
        const NodeId logs = append(graph, Op::log_softmax, {append(graph, Op::matmul, {weights, v})}, SoftmaxAttributes{1});
        graph.mark_output(append(graph, Op::reshape, {weights}, ShapeAttributes{{1, 9}}), "weights");
        graph.mark_output(append(graph, Op::reshape, {logs}, ShapeAttributes{{1, 6}}), "logs");
        statement::Statement statement;
        statement.graph = std::move(graph);
        if (floating) statement.semantics = floats::semantics_named("float32").value();
        const Rational width = Rational(1, 10);
        statement.property.cases = {make_case(kInputs, -width, width, {output_row({{1, -1}}, Rational(-1, 100))}),
                                    make_case(kInputs, -width, width, {output_row({{5, -1}, {2, -1}}, Rational(-1, 100))})};
        statement.property.cases[1].box = statement.property.cases[0].box;
        statement::Row last = output_row({{0, 1}}, Rational(-1000));
        last.terms[0].variable.tensor = 1;
        statement.property.cases.push_back({statement.property.cases[0].box, {last}});
        auto problem = logic::Problem::open(std::move(statement));
        REQUIRE(problem.ok());
        INFO("mask " << mask << (floating ? ", float32" : "") << (decomposed ? ", written out" : ""));
        const auto path = std::filesystem::temp_directory_path() / "assay_search_masks.assay";
        auto writer = certificate::Writer::open(path.string(), *problem.value());
        REQUIRE(writer.ok());
        Options options;
        options.deadline = Deadline::in(60);
        const auto result = search(problem.value(), options, writer.value().get());
        REQUIRE(result.ok());
        CHECK(result.value().reason == "");
        REQUIRE(result.value().answer == Result::Answer::unsatisfiable);
        auto reader = certificate::Reader::open(path.string());
        REQUIRE(reader.ok());
        const auto theorem = certificate::replay(*reader.value(), problem.value());
        std::filesystem::remove(path);
        CHECK(theorem.ok());
      }
    }
  }
}

}  // namespace assay::search
