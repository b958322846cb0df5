// Rows that hold a window of each feature map only: their bounds are those of rows that hold every element, whatever stands between a
// feature map and the input, the exact path agrees, and no sampled value escapes.
#include "certificates/check/meter.h"
#include "kernel/inspect/inspect.h"
#include "semantics/numbers/directed.h"
#include "tests/kernel/random_graph.h"

namespace assay::test {
namespace {

// A random network of feature maps, [1, channels, height, width], whose output is the last one.
class FeatureMaps {
 public:
  explicit FeatureMaps(std::uint64_t seed) : random(seed) {}

  Graph make() {
    maps_.push_back(graph_.append_input(DType::float64, {1, 1 + random.pick(3), 5 + random.pick(3), 5 + random.pick(4)}, "x"));
    const std::int64_t layers = 2 + random.pick(3);
    for (std::int64_t k = 0; k < layers; ++k) {
      layer();
      if (random.pick(3) != 0) between();
    }
    layer();
    graph_.mark_output(maps_.back(), "y");
    return graph_;
  }

  RandomGraph random;

 private:
  [[nodiscard]] const Shape& shape(NodeId id) const { return graph_.node(id).shape; }
  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    maps_.push_back(take(graph_.append(op, std::move(operands), std::move(attributes), std::string(op_row(op).name))));
    return maps_.back();
  }
  NodeId constant(Shape of) {
    const auto count = static_cast<std::int64_t>(element_count(of));
    return graph_.append_constant(tensor(std::move(of), random.weights(count)));
  }
  WindowAttributes window(std::int64_t kernel, std::int64_t groups) {
    WindowAttributes w;
    w.kernel = {kernel, 1 + random.pick(kernel)};
    w.strides = {1 + random.pick(2), 1 + random.pick(2)};
    w.dilations = {1 + random.pick(2), 1};
    w.pads_begin = {random.pick(2), random.pick(2)};
    w.pads_end = {random.pick(2), random.pick(2)};
    w.groups = groups;
    return w;
  }
  void layer() {
    const NodeId x = maps_.back();
    const std::int64_t channels = shape(x)[1];
    if (shape(x)[2] < 5 || shape(x)[3] < 5) {
      WindowAttributes w = window(2, 1);
      w.strides = {2, 2};
      w.pads_begin = w.pads_end = {0, 0};
      append(Op::conv_transpose, {x, constant({channels, 2, w.kernel[0], w.kernel[1]}), constant({2})}, w);
      return;
    }
    switch (random.pick(5)) {
      case 0: {  // each channel by itself
        const WindowAttributes w = window(2, channels);
        append(Op::conv, {x, constant({2 * channels, 1, w.kernel[0], w.kernel[1]})}, w);
        return;
      }
      case 1: {  // around which x is led
        WindowAttributes w = window(3, 1);
        w.kernel = {3, 3};
        w.strides = w.dilations = w.pads_begin = w.pads_end = {1, 1};
        const NodeId y = append(
            Op::conv,
            {append(Op::relu, {append(Op::conv, {x, constant({2, channels, 3, 3}), constant({2})}, w)}), constant({channels, 2, 3, 3})}, w);
        append(Op::add, {y, x});
        return;
      }
      default: {
        const std::int64_t out = 1 + random.pick(9);
        const WindowAttributes w = window(3, 1);
        append(Op::conv, {x, constant({out, channels, w.kernel[0], w.kernel[1]}), constant({out})}, w);
      }
    }
  }
  void between() {
    const NodeId x = maps_.back();
    WindowAttributes pool = window(2, 1);
    pool.kernel = {2, 2};
    pool.dilations = pool.strides = {1, 1};
    pool.pads_begin = pool.pads_end = {0, 0};
    switch (shape(x)[2] < 2 || shape(x)[3] < 2 ? 4 : random.pick(8)) {
      case 0:
        append(Op::max_pool, {x}, pool);
        return;
      case 1:
        append(Op::avg_pool, {x}, pool);
        return;
      case 2:
        append(Op::mul, {x, constant({shape(x)[1], 1, 1})});
        return;
      case 3:
        append(Op::concat, {x, append(Op::neg, {x})}, ConcatAttributes{1});
        return;
      case 4:
        append(Op::leaky_relu, {x}, LeakyReluAttributes{0.1});
        return;
      default:
        append(Op::relu, {x});
    }
  }

  Graph graph_;
  std::vector<NodeId> maps_;
};

struct Net {
  Graph graph;
  std::vector<double> lo, hi;
};
Net random_net(FeatureMaps& maps) {
  Net net{maps.make(), {}, {}};
  for (std::size_t i = 0; i < net.graph.size(net.graph.inputs[0]); ++i) {
    const double center = maps.random.real(-1, 1), radius = maps.random.pick(4) == 0 ? 0.0 : maps.random.real(0, 0.5);
    net.lo.push_back(center - radius);
    net.hi.push_back(center + radius);
  }
  return net;
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b)); }

}  // namespace

TEST_CASE("windows: bounds of feature maps are those of rows over every element", "[kernel][windows]") {
  KernelOptions exact_only;
  exact_only.exact = true;
  std::size_t compared = 0, tightened = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    FeatureMaps maps(seed);
    RandomGraph& random = maps.random;
    const Net net = random_net(maps);
    const NodeId y = net.graph.outputs[0];
    const auto size = static_cast<std::int64_t>(net.graph.size(y));
    // One case for each end of some elements: a row of an output is carried back with all elements of every node.
    std::vector<std::uint64_t> elements;
    for (int k = 0; k < 5; ++k) elements.push_back(static_cast<std::uint64_t>(random.pick(size)));
    const auto box = box_of(rationals(net.lo), rationals(net.hi));
    std::vector<statement::Case> cases;
    for (const std::uint64_t e : elements) {
      for (const int sign : {1, -1}) cases.push_back({box, {row({{Rational(sign), output(e)}}, Rational(0))}});
    }
    const auto problem = open(stated(net.graph, cases)), exact_problem = open(stated(net.graph, cases), exact_only);
    const std::vector<Sample> points = samples(net.graph, net.lo, net.hi, random, 2);
    Scope scope = root(problem), exact_scope = root(exact_problem);
    Hints hints;
    if (random.pick(2) == 0) {  // a literal on the way
      NodeId node = 0;
      do
        node = inspect::active_nodes(
            *problem)[static_cast<std::size_t>(random.pick(static_cast<std::int64_t>(inspect::active_nodes(*problem).size())))];
      while (net.graph.node(node).op == Op::input);
      const auto element = static_cast<std::uint32_t>(random.pick(static_cast<std::int64_t>(net.graph.size(node))));
      const Literal literal{node, element, random.pick(2) == 0, points[8].values[node].values[element].to_interval().midpoint()};
      for (Scope* s : {&scope, &exact_scope}) REQUIRE(s->assume(literal).ok());
      hints.beta = {static_cast<float>(random.real(0, 2))};
    }
    derive_all(scope, *problem);
    derive_all(exact_scope, *exact_problem);
    const Box before = scope.box(y);
    std::vector<CaseMultipliers> all;
    for (std::size_t k = 0; k < cases.size(); ++k) all.push_back({static_cast<std::uint32_t>(k), {}});
    inspect::Diagnosis whole;
    static_cast<void>(inspect::conclude(scope, all, hints, whole));
    REQUIRE(whole.margins.size() == cases.size());

    Selection selection{Selection::Kind::all, {}};
    if (random.pick(3) == 0) {  // a few rows
      selection = {Selection::Kind::mask, std::vector<bool>(static_cast<std::size_t>(size), false)};
      for (const std::uint64_t e : elements) selection.mask[e] = true;
    }
    Scope free = scope;
    REQUIRE(code_of(inspect::tighten(free, y, selection, hints)) == "accepted");
    REQUIRE(code_of(inspect::tighten(exact_scope, y, selection, hints)) == "accepted");
    const Box &after = free.box(y), &exact = exact_scope.box(y);
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const std::uint64_t e = elements[k];
      ++compared;
      CHECK(near(after.lo[e], std::max(before.lo[e], whole.margins[2 * k])));
      CHECK(near(after.hi[e], std::min(before.hi[e], -whole.margins[2 * k + 1])));
    }
    for (std::size_t e = 0; e < after.lo.size(); ++e) {
      tightened += after.lo[e] > before.lo[e] || after.hi[e] < before.hi[e] ? 1 : 0;
      CHECK(near(after.lo[e], exact.lo[e]));
      CHECK(near(after.hi[e], exact.hi[e]));
    }
    // Every point of the scope stays inside, and what one of them reaches cannot be claimed away.
    std::vector<std::uint32_t> chosen = inspect::selected(scope, y, selection);
    Claims claims;
    for (const std::uint32_t e : chosen) {
      claims.lo.push_back(float_down(after.lo[e] - 1e-9 * (1 + std::fabs(after.lo[e]))));
      claims.hi.push_back(float_up(after.hi[e] + 1e-9 * (1 + std::fabs(after.hi[e]))));
    }
    for (const bool in_integers : {false, true}) {
      Scope again = in_integers ? exact_scope : scope;
      CHECK(code_of(inspect::tighten(again, y, selection, hints, &claims)) == "accepted");
    }
    for (const Sample& at : points) {
      bool holds = true;
      for (const Literal& literal : scope.literals()) holds = holds && satisfies(at, literal);
      if (!holds) continue;
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        const Interval z = at.values[y].values[chosen[k]].to_interval();
        CHECK(after.lo[chosen[k]] <= z.hi());
        CHECK(z.lo() <= after.hi[chosen[k]]);
        if (k % 16 != 0) continue;
        Claims wrong = claims;
        Scope copy = scope;
        wrong.lo[k] = float_up(above(z.hi()));
        CHECK(code_of(inspect::tighten(copy, y, selection, hints, &wrong)) == "tighten.S3");
        wrong = claims;
        wrong.hi[k] = float_down(below(z.lo()));
        CHECK(code_of(inspect::tighten(copy, y, selection, hints, &wrong)) == "tighten.S3");
      }
    }
  }
  CHECK(compared >= 150);
  CHECK(tightened >= 500);
}

TEST_CASE("windows: rows pay for what they touch", "[kernel][windows]") {
  constexpr std::int64_t kSide = 30, kChannels = 4, kLayers = 3;
  RandomGraph random(9);
  Graph graph;
  NodeId x = graph.append_input(DType::float64, {1, kChannels, kSide, kSide}, "x");
  WindowAttributes taps;
  taps.kernel = {3, 3};
  taps.strides = taps.dilations = taps.pads_begin = taps.pads_end = {1, 1};
  taps.groups = 1;
  for (std::int64_t k = 0; k < kLayers; ++k) {
    if (k > 0) x = take(graph.append(Op::relu, {x}, NoAttributes{}, "h"));
    const NodeId w = graph.append_constant(tensor({kChannels, kChannels, 3, 3}, random.weights(kChannels * kChannels * 9)));
    x = take(graph.append(Op::conv, {x, w}, taps, "z"));
  }
  graph.mark_output(x, "y");
  const std::size_t size = graph.size(x), positions = kSide * kSide;
  const auto problem = open(stated(graph, {{box_of(std::vector<Rational>(size, Rational(-1)), std::vector<Rational>(size, Rational(1))),
                                            {row({{Rational(1), output(0)}}, Rational(0))}}}));
  const std::size_t together = inspect::together(*problem, x);
  REQUIRE(together > 1);
  const Scope scope = boxed_root(problem);
  const auto work_of = [&](const std::vector<std::uint32_t>& elements, const Literal* literal = nullptr) {
    const auto left = std::make_shared<double>(1e12);
    Scope copy = scope;
    Hints hints;
    if (literal != nullptr) {
      REQUIRE(copy.assume(*literal).ok());
      hints.beta = {1};
    }
    copy.pay(certificate::meter_of(*problem, left));
    Selection selection{Selection::Kind::mask, std::vector<bool>(size, false)};
    for (const std::uint32_t element : elements) selection.mask[element] = true;
    REQUIRE(code_of(inspect::tighten(copy, x, selection, hints)) == "accepted");
    return 1e12 - *left;
  };
  // The elements at some positions from one on, in the middle.
  const auto at = [&](std::size_t first, std::size_t count) {
    std::vector<std::uint32_t> elements;
    for (std::size_t p = first; p < first + count; ++p) {
      for (std::size_t c = 0; c < kChannels; ++c) elements.push_back(static_cast<std::uint32_t>(c * positions + p));
    }
    return elements;
  };
  constexpr double kTap = kChannels * kChannels * 9;
  const auto rows = static_cast<double>(2 * together);
  const std::size_t middle = kSide * kSide / 2 + kSide / 2, tile = together / kChannels;
  const double one = work_of(at(middle, tile)), whole_row = certificate::Costs(*problem).row_work(x);
  // Four positions side by side reach 3 * 6 of the map before them, and 5 * 8 of the one before that.
  CHECK(one >= whole_row + rows * (4 + 18 + 40) * kTap);
  CHECK(one <= whole_row + 1.5 * rows * (4 + 18 + 40) * kTap);
  CHECK(one <= rows / 4 * whole_row);
  CHECK(one + work_of(at(middle + tile, 2 * tile)) == work_of(at(middle, 3 * tile)));
  // Elements far from each other touch a window each.
  std::vector<std::uint32_t> apart;
  for (std::uint32_t k = 0; k < together; ++k) apart.push_back(3 * kSide + k / 4 * 7 * kSide + 3 + k % 4 * 7);
  CHECK(work_of(apart) >= 3 * one);
  // A literal on the way makes rows whole from there.
  const Literal literal{inspect::active_nodes(*problem)[1], 0, false, 0};
  CHECK(work_of(at(middle, tile), &literal) >= rows * (certificate::Costs(*problem).row_work(literal.node)));
  // A step whose work its elements' windows do not allow is declined, one of few elements is not.
  Scope poor = scope;
  poor.pay(certificate::meter_of(*problem, std::make_shared<double>(2.5 * one)));
  Selection all{Selection::Kind::all, {}};
  CHECK(code_of(inspect::tighten(poor, x, all, {})) == "kernel.work");
}

}  // namespace assay::test
