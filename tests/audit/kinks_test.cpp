// Recorded cotangents at kinks: every element of the Clarke derivative passes, anything else is found, row by row.
#include <limits>

#include "kernel/gradients/derivatives/differentiate.h"
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;
using audit::KinkConvention;

namespace {

// y = op(x, ...), y_bar given, and the product as one region of the reference's graph with these recorded results.
struct Case {
  Op op;
  Attributes attributes;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> x;
  std::vector<float> y_bar;
};

Trace recorded(const Case& one, const std::vector<std::vector<float>>& x_bar) {
  Run run;
  std::vector<Run::Id> x;
  for (std::size_t k = 0; k < one.x.size(); ++k) x.push_back(run.given("x" + std::to_string(k), one.shapes[k], one.x[k]));
  const auto y = run.apply(one.op, x, one.attributes);
  const auto seed = run.given("y_bar", run.trace.tensors[y].value.shape(), one.y_bar);
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < x.size(); ++k) positions.push_back(k);
  auto reverse = gradients::differentiate(run.trace.regions[0].graph, 0, positions);
  REQUIRE(reverse);
  Region region{"product", std::move(reverse).value(), float_model(), x, {}};
  region.operands.push_back(seed);
  Trace::Vjp vjp{0, 0, seed, {}};
  Trace::Gradient gradient{y, seed, {}};
  for (std::size_t k = 0; k < x.size(); ++k) {
    run.trace.tensors.push_back({"x_bar" + std::to_string(k), Trace::Origin::result, Tensor::of_floats(one.shapes[k], x_bar[k])});
    const auto id = static_cast<Run::Id>(run.trace.tensors.size() - 1);
    region.results.push_back(id);
    vjp.cotangents.emplace_back(static_cast<std::uint32_t>(k), id);
    gradient.of.emplace_back(x[k], id);
  }
  run.trace.regions.push_back(std::move(region));
  run.trace.vjps = {vjp};
  run.trace.gradients = {gradient};
  return run.trace;
}

struct Verdict {
  std::size_t judged = 0;
  std::string code;
};

Verdict verdict(const Trace& trace, KinkConvention convention = KinkConvention::any) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  Verdict found;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7, convention)) {
    found.judged += step.kinks;
    // A value that is no number there is refused by the product's own step as well.
    if (step.failure && found.code != "gradient.kink") found.code = step.failure->code;
  }
  return found;
}

void accepts(const Case& one, const std::vector<std::vector<float>>& x_bar, std::size_t kinks) {
  const Verdict found = verdict(recorded(one, x_bar));
  CHECK(found.code.empty());
  CHECK(found.judged == kinks);
}
void refuses(const Case& one, const std::vector<std::vector<float>>& x_bar) {
  CHECK(verdict(recorded(one, x_bar)).code == "gradient.kink");
}
void breaks_convention(const Case& one, const std::vector<std::vector<float>>& x_bar) {
  CHECK(verdict(recorded(one, x_bar)).code.empty());
  CHECK(verdict(recorded(one, x_bar), KinkConvention::pytorch).code == "gradient.convention");
}
void keeps_convention(const Case& one, const std::vector<std::vector<float>>& x_bar) {
  CHECK(verdict(recorded(one, x_bar), KinkConvention::pytorch).code.empty());
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("kinks: relu, abs, clip and leaky_relu take any weight of their set, and no other", "[gradients]") {
  const Case relu{Op::relu, NoAttributes{}, {{3}}, {{-1, 0, 2}}, {5, 5, 5}};
  for (const float weight : {0.0F, 5.0F, 2.5F, 1.7F, -0.0F}) accepts(relu, {{0, weight, 5}}, 1);
  for (const float weight : {-1e-30F, 5.0000005F, 10.0F, kNaN}) refuses(relu, {{0, weight, 5}});
  keeps_convention(relu, {{0, 0, 5}});
  breaks_convention(relu, {{0, 5, 5}});

  const Case abs{Op::abs, NoAttributes{}, {{3}}, {{-1, 0, 2}}, {3, -3, 3}};
  for (const float weight : {0.0F, 3.0F, -3.0F, 1.0F}) accepts(abs, {{-3, weight, 3}}, 1);
  for (const float weight : {4.0F, -3.0000002F, kNaN}) refuses(abs, {{-3, weight, 3}});
  keeps_convention(abs, {{-3, 0, 3}});
  breaks_convention(abs, {{-3, 3, 3}});

  const Case clip{Op::clip, ClipAttributes{-1, 1}, {{4}}, {{-1, 0, 1, 3}}, {2, 2, 2, 2}};
  accepts(clip, {{2, 2, 0, 0}}, 2);
  refuses(clip, {{2, 2, 2.5F, 0}});
  refuses(clip, {{-1, 2, 2, 0}});
  keeps_convention(clip, {{2, 2, 2, 0}});
  keeps_convention(clip, {{0, 2, 0, 0}});  // hardtanh's
  breaks_convention(clip, {{2, 2, 1, 0}});

  const Case leaky{Op::leaky_relu, LeakyReluAttributes{0.25}, {{2}}, {{0, 1}}, {8, 8}};
  accepts(leaky, {{2, 8}}, 1);
  accepts(leaky, {{8, 8}}, 1);
  refuses(leaky, {{0, 8}});
  keeps_convention(leaky, {{2, 8}});
  breaks_convention(leaky, {{8, 8}});
}

TEST_CASE("kinks: weights of tied elements sum to 1", "[gradients]") {
  const Case pair{Op::max, NoAttributes{}, {{3}, {3}}, {{1, 4, -2}, {1, 0, -2}}, {6, 6, 6}};
  accepts(pair, {{6, 6, 0}, {0, 0, 6}}, 4);
  accepts(pair, {{3, 6, 2}, {3, 0, 4}}, 4);
  refuses(pair, {{6, 6, 0}, {6, 0, 6}});  // both the whole cotangent
  refuses(pair, {{0, 6, 0}, {0, 0, 6}});  // neither
  keeps_convention(pair, {{3, 6, 3}, {3, 0, 3}});
  keeps_convention(pair, {{6, 6, 6}, {0, 0, 0}});  // fmax's
  breaks_convention(pair, {{0, 6, 3}, {6, 0, 3}});
  breaks_convention(pair, {{2, 6, 3}, {4, 0, 3}});

  const Case line{Op::reduce_max, ReduceAttributes{{1}, true}, {{2, 3}}, {{7, 7, 7, 1, 2, 2}}, {1, 10}};
  const float third = 1.0F / 3;
  accepts(line, {{third, third, third, 0, 5, 5}}, 5);
  accepts(line, {{0, 1, 0, 0, 10, 0}}, 5);
  refuses(line, {{1, 1, 1, 0, 5, 5}});
  refuses(line, {{third, third, 0, 0, 5, 5}});
  keeps_convention(line, {{third, third, third, 0, 5, 5}});
  keeps_convention(line, {{1, 0, 0, 0, 10, 0}});  // that of max along an axis
  breaks_convention(line, {{0, 1, 0, 0, 5, 5}});

  const Case pool{Op::max_pool,
                  WindowAttributes{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {}, 1, false, false},
                  {{1, 1, 2, 4}},
                  {{3, 3, 1, 2, 3, 0, 2, 2}},
                  {4, 9}};
  accepts(pool, {{4, 0, 0, 9, 0, 0, 0, 0}}, 6);
  refuses(pool, {{4, 4, 0, 9, 4, 0, 9, 9}});  // every tied element, the whole cotangent
  refuses(pool, {{0, 0, 0, 9, 0, 0, 0, 0}});  // a lost one
  keeps_convention(pool, {{4, 0, 0, 9, 0, 0, 0, 0}});
  breaks_convention(pool, {{0, 4, 0, 9, 0, 0, 0, 0}});
}

namespace {

using Build = NodeId (*)(Graph&, const std::vector<NodeId>&);

NodeId added(Graph& graph, Op op, std::vector<NodeId> operands) { return graph.append(op, std::move(operands)).value(); }
NodeId zero(Graph& graph) { return graph.append_constant(Tensor::of_floats({1}, std::vector<float>{0})); }

// A region of several ops on numbers, with these cotangents of a cotangent of 1.
std::string code_of(Build build, const std::vector<float>& x, const std::vector<float>& x_bar) {
  Case one{Op::max, NoAttributes{}, std::vector<Shape>(x.size(), Shape{1}), {}, {1}};
  std::vector<std::vector<float>> bars;
  for (std::size_t k = 0; k < x.size(); ++k) {
    one.x.push_back({x[k]});
    bars.push_back({x_bar[k]});
  }
  Trace trace = recorded(one, bars);
  Graph graph;
  std::vector<NodeId> inputs;
  std::vector<Array<float>> values;
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < x.size(); ++k) {
    inputs.push_back(graph.append_input(DType::float32, {1}, "x"));
    values.push_back({{1}, {x[k]}});
    positions.push_back(k);
  }
  graph.mark_output(build(graph, inputs), "y");
  trace.tensors[trace.regions[0].results[0]].value =
      Tensor::of_floats({1}, evaluate<float>(graph, values).value()[graph.outputs[0]].values);
  trace.regions[1].graph = gradients::differentiate(graph, 0, positions).value();
  trace.regions[0].graph = std::move(graph);
  return verdict(trace).code;
}

}  // namespace

TEST_CASE("kinks: weights sum to 1 in regions of several choices, and to less where something else may tie", "[gradients]") {
  const Build largest = [](Graph& g, const std::vector<NodeId>& x) {
    return added(g, Op::max, {added(g, Op::max, {x[0], x[1]}), zero(g)});
  };
  for (const float at : {5.0F, 0.0F}) {  // the constant does not tie, or does
    const std::string lost = at == 0 ? "" : "gradient.kink";
    CHECK(code_of(largest, {at, at}, {0.5F, 0.5F}).empty());
    CHECK(code_of(largest, {at, at}, {0.25F, 0.25F}) == lost);
    CHECK(code_of(largest, {at, at}, {0, 0}) == lost);
    CHECK(code_of(largest, {at, at}, {1, 1}) == "gradient.kink");
  }
  CHECK(code_of(largest, {0, -1}, {0.5F, 0}).empty());

  const Build negated = [](Graph& g, const std::vector<NodeId>& x) {
    return added(g, Op::max, {added(g, Op::neg, {x[0]}), added(g, Op::neg, {x[1]})});
  };
  CHECK(code_of(negated, {5, 5}, {-0.5F, -0.5F}).empty());
  CHECK(code_of(negated, {5, 5}, {-1, 0}).empty());
  CHECK(code_of(negated, {5, 5}, {-1, -1}) == "gradient.kink");
  CHECK(code_of(negated, {5, 5}, {0, 0}) == "gradient.kink");

  const Build difference = [](Graph& g, const std::vector<NodeId>& x) {  // its terms share a weight
    return added(g, Op::max, {added(g, Op::sub, {x[0], x[1]}), x[2]});
  };
  CHECK(code_of(difference, {8, 3, 5}, {0.5F, -0.5F, 0.5F}).empty());
  CHECK(code_of(difference, {8, 3, 5}, {1, -1, 0}).empty());
  CHECK(code_of(difference, {8, 3, 5}, {1, -1, 1}) == "gradient.kink");

  const Build bent = [](Graph& g, const std::vector<NodeId>& x) {
    return added(g, Op::max, {added(g, Op::relu, {x[0]}), added(g, Op::relu, {x[1]})});
  };
  CHECK(code_of(bent, {0, 0}, {0, 0}).empty());
  CHECK(code_of(bent, {-1, 0}, {0, 0}).empty());
  CHECK(code_of(bent, {0, 0}, {1, 1}) == "gradient.kink");
  CHECK(code_of(bent, {2, 2}, {0.5F, 0.5F}).empty());
  CHECK(code_of(bent, {2, 2}, {0.25F, 0.25F}) == "gradient.kink");
}

TEST_CASE("kinks: a constant and an operand without a cotangent count among those that tie", "[gradients]") {
  const Case pair{Op::max, NoAttributes{}, {{2}, {1}}, {{0, 3}, {0}}, {6, 6}};
  for (const bool is_constant : {false, true}) {
    for (const float share : {3.0F, 6.0F, 2.0F, 0.0F}) {
      Trace trace = recorded(pair, {{share, 6}, {6 - share}});
      trace.vjps[0].cotangents.pop_back();
      trace.gradients[0].of.pop_back();
      if (is_constant) {
        Region& region = trace.regions[0];
        Graph graph;
        const NodeId x = graph.append_input(DType::float32, {2}, "x");
        graph.mark_output(graph.append(Op::max, {x, graph.append_constant(Tensor::of_floats({1}, std::vector<float>{0}))}).value(), "y");
        region.graph = std::move(graph);
        region.operands.pop_back();
      }
      const bool is_kept = share == 3 || share == 6;  // half, or all to the first one
      CHECK(verdict(trace).code.empty());
      CHECK(verdict(trace, KinkConvention::pytorch).code == (is_kept ? "" : "gradient.convention"));
    }
  }
}

namespace {

// The recorded product beside what the framework gives by itself, which is declared.
Trace declared(const Case& one, const std::vector<std::vector<float>>& x_bar, const Graph& own, const std::vector<float>& meant) {
  Trace trace = recorded(one, x_bar);
  const Region& product = trace.regions[1];
  trace.tensors.push_back({"meant", Trace::Origin::result, Tensor::of_floats(one.shapes[0], meant)});
  const auto id = static_cast<TraceTensorId>(trace.tensors.size() - 1);
  trace.regions.push_back({"of the framework", own, float_model(), product.operands, {id}});
  trace.vjps[0].convention = {{0, id}};
  return trace;
}

// where(x <= lo, below, y_bar): what comes to x from y_bar.
Graph masked(float lo, float below) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {3}, "x"), y_bar = graph.append_input(DType::float32, {3}, "y_bar");
  const auto number = [&](float value) { return graph.append_constant(Tensor::of_floats({}, std::vector<float>{value})); };
  const NodeId is_below = graph.append(Op::less_equal, {x, number(lo)}).value();
  graph.mark_output(graph.append(Op::where, {is_below, graph.append(Op::mul, {number(below), y_bar}).value(), y_bar}).value(), "x_bar");
  return graph;
}

}  // namespace

TEST_CASE("kinks: a convention that a trace declares is what the product has to give, and no other", "[gradients]") {
  const Case relu{Op::relu, NoAttributes{}, {{3}}, {{-1, 0, 2}}, {5, 5, 5}};
  // The recorded product is masked as well, with 1 or with 0 at 0.
  for (const float own : {0.0F, 1.0F}) {
    Trace trace = declared(relu, {{0, 5 * own, 5}}, masked(0, 0), {0, 0, 5});
    trace.regions[1].graph = own == 0 ? masked(0, 0) : masked(-0x1p-149F, 0);
    CHECK(verdict(trace).code.empty());
    CHECK(verdict(trace, KinkConvention::pytorch).code == (own == 0 ? "" : "gradient.convention"));
    trace.vjps[0].convention = trace.vjps[0].cotangents;  // the product is the framework's own
    CHECK(verdict(trace, KinkConvention::pytorch).code.empty());
  }
  // The framework's value at another kink, and a value that is no derivative, are no convention.
  Trace trace = declared(relu, {{0, 5, 5}}, masked(0, 0.5F), {2.5F, 2.5F, 5});
  trace.regions[1].graph = masked(-0x1p-149F, 0);
  CHECK(verdict(trace).code.empty());
  trace.vjps[0].convention[0].first = 1;
  CHECK(audit::check_continuity(trace).rejection().code == "audit.vjp");
}

namespace {

// y = f(x) for x = 0, 1, 2, and a product that is recorded with what it gives: by PyTorch's convention "right", "wrong" or "open".
std::string by_ops(const std::vector<std::pair<Op, Attributes>>& f, const Graph& product, float at_zero) {
  Trace trace = recorded({Op::relu, NoAttributes{}, {{3}}, {{0, 1, 2}}, {5, 5, 5}}, {{5 * at_zero, 5, 5}});
  Graph graph;
  NodeId y = graph.append_input(DType::float32, {3}, "x");
  for (const auto& [op, attributes] : f) y = graph.append(op, {y}, attributes).value();
  graph.mark_output(y, "y");
  trace.regions[0].graph = std::move(graph);
  trace.regions[1].graph = product;
  std::string found = "right";
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7, KinkConvention::pytorch)) {
    if (!step.failure) continue;
    CHECK(step.failure->code == "gradient.convention");
    found = step.failure->kind == Rejection::Kind::rejected ? "wrong" : "open";
  }
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) CHECK_FALSE(step.failure);
  return found;
}

}  // namespace

TEST_CASE("kinks: where a trace declares no convention, the ops tell what PyTorch gives", "[gradients]") {
  const std::pair<Op, Attributes> elu{Op::elu, ActivationAttributes{2, 0}}, relu{Op::relu, NoAttributes{}}, abs{Op::abs, NoAttributes{}};
  CHECK(by_ops({elu}, masked(0, 2), 2) == "right");
  CHECK(by_ops({elu}, masked(0, 1), 1) == "wrong");
  CHECK(by_ops({relu, relu}, masked(0, 0), 0) == "right");
  CHECK(by_ops({relu, relu}, masked(0, 0.5F), 0.5F) == "wrong");
  CHECK(by_ops({abs, abs}, masked(0, 0), 0) == "right");
  CHECK(by_ops({abs, abs}, masked(0, 1), 1) == "wrong");
  CHECK(by_ops({relu, abs}, masked(0, 0), 0) == "open");  // steps of two kinds
  // PyTorch has several operations, of which one gives another number.
  CHECK(by_ops({{Op::clip, ClipAttributes{0, 4}}, relu}, masked(0, 0), 0) == "right");
  CHECK(by_ops({{Op::clip, ClipAttributes{0, 4}}, relu}, masked(0, 1), 1) == "open");
  // A step has no number at 0 that the recorded one could be compared with.
  Graph step;
  const NodeId x = step.append_input(DType::float32, {3}, "x"), y_bar = step.append_input(DType::float32, {3}, "y_bar");
  step.mark_output(step.append(Op::mul, {y_bar, step.append(Op::step, {x}).value()}).value(), "x_bar");
  CHECK(by_ops({relu, relu}, step, 0) == "open");
}

TEST_CASE("kinks: elements that serve several results keep PyTorch's convention, or are undecided", "[gradients]") {
  const Case windows{
      Op::max_pool, WindowAttributes{{1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {}, 1, false, false}, {{1, 1, 1, 3}}, {{5, 5, 5}}, {1, 2}};
  breaks_convention(windows, {{0.5F, 1.5F, 1}});  // the product that is recorded says no more than that something ties
  for (const bool is_first : {true, false}) {
    Graph graph;  // x_bar = (y_bar, 0) + (0, y_bar), where the first of each window gets all, or the last
    const NodeId x = graph.append_input(DType::float32, {1, 1, 1, 3}, "x"),
                 y_bar = graph.append_input(DType::float32, {1, 1, 1, 2}, "y_bar");
    const auto put = [&](Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
      return graph.append(op, std::move(operands), std::move(attributes)).value();
    };
    const auto part = [&](std::int64_t from) { return put(Op::slice, {x}, SliceAttributes{{0, 0, 0, from}, {1, 1, 1, 1}, {1, 1, 1, 2}}); };
    const NodeId is_later = put(is_first ? Op::less : Op::less_equal, {part(0), part(1)});
    const NodeId zero = graph.append_constant(Tensor::of_floats({}, std::vector<float>{0}));
    const NodeId to_left = put(Op::where, {is_later, zero, y_bar}), to_right = put(Op::where, {is_later, y_bar, zero});
    graph.mark_output(put(Op::add, {put(Op::pad, {to_left}, PadAttributes{{0, 0, 0, 0}, {0, 0, 0, 1}, 0}),
                                    put(Op::pad, {to_right}, PadAttributes{{0, 0, 0, 1}, {0, 0, 0, 0}, 0})}),
                      "x_bar");
    Trace trace = recorded(windows, {is_first ? std::vector<float>{1, 2, 0} : std::vector<float>{0, 1, 2}});
    trace.regions[1].graph = std::move(graph);
    CHECK(verdict(trace).code.empty());
    CHECK(verdict(trace, KinkConvention::pytorch).code == (is_first ? "" : "gradient.convention"));
  }
}

TEST_CASE("kinks: overlapping windows and broadcast operands are judged element by element", "[gradients]") {
  const Case overlapping{
      Op::max_pool, WindowAttributes{{1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {}, 1, false, false}, {{1, 1, 1, 3}}, {{5, 5, 5}}, {1, 2}};
  accepts(overlapping, {{1, 2, 0}}, 3);
  accepts(overlapping, {{0, 3, 0}}, 3);
  refuses(overlapping, {{0, 3.5F, 0}});
  const Case broadcast{Op::max, NoAttributes{}, {{2}, {1}}, {{0, 0}, {0}}, {1, 2}};
  accepts(broadcast, {{0.5F, 1}, {1.5F}}, 3);
  refuses(broadcast, {{0.5F, 1}, {4}});
}

TEST_CASE("kinks: a fused chain is judged where its values are read once", "[gradients]") {
  const Case sum{Op::add, NoAttributes{}, {{3}, {3}}, {{1, 2, 3}, {-1, 1, -4}}, {5, 5, 5}};
  Trace trace = recorded(sum, {{1.5F, 5, 0}, {5, 5, 0}});
  Region& region = trace.regions[0];
  const auto relu = region.graph.append(Op::relu, {region.graph.outputs[0]});
  REQUIRE(relu);
  region.graph.outputs[0] = relu.value();
  const std::size_t both[] = {0, 1};
  trace.regions[1].graph = gradients::differentiate(region.graph, 0, both).value();
  trace.tensors[region.results[0]].value = Tensor::of_floats({3}, std::vector<float>{0, 3, 0});
  const Verdict fine = verdict(trace);
  CHECK(fine.code.empty());
  CHECK(fine.judged == 2);
  trace.tensors[trace.regions[1].results[0]].value = Tensor::of_floats({3}, std::vector<float>{7, 5, 0});
  CHECK(verdict(trace).code == "gradient.kink");
}

TEST_CASE("kinks: points off every kink are not judged here, and an infinite cotangent refuses nothing", "[gradients]") {
  accepts({Op::relu, NoAttributes{}, {{2}}, {{-1, 2}}, {5, 5}}, {{0, 5}}, 0);
  const float infinity = std::numeric_limits<float>::infinity();
  accepts({Op::relu, NoAttributes{}, {{2}}, {{0, 2}}, {infinity, 5}}, {{0, 5}}, 0);
  accepts({Op::relu, NoAttributes{}, {{3}}, {{kNaN, infinity, 0}}, {5, 5, 5}}, {{5, 5, 1}}, 1);
  accepts({Op::max, NoAttributes{}, {{2}, {2}}, {{kNaN, 1}, {0, 1}}, {5, 5}}, {{5, 2}, {0, 3}}, 2);
  refuses({Op::max, NoAttributes{}, {{2}, {2}}, {{kNaN, 1}, {0, 1}}, {5, 5}}, {{5, 6}, {0, 3}});
  accepts({Op::tanh, NoAttributes{}, {{2}}, {{0, 2}}, {5, 5}}, {{5, 0.1F}}, 0);
}

TEST_CASE("kinks: cotangents that were stored in 16 bits are compared as they are stored", "[gradients]") {
  const auto stored = [](Trace trace) {
    for (Trace::Entry& entry : trace.tensors) entry.storage = ExecutionModel::Storage::bfloat16;
    return trace;
  };
  // 0.7 is no number of bfloat16: its product is below the end of the set.
  const Case leaky{Op::leaky_relu, LeakyReluAttributes{0.7F}, {{1}}, {{0}}, {1}};
  CHECK(verdict(stored(recorded(leaky, {{0x1.66p-1F}}))).code.empty());
  CHECK(verdict(stored(recorded(leaky, {{0x1.64p-1F}}))).code == "gradient.kink");
  // Three shares of a third, each stored.
  const Case most{Op::reduce_max, ReduceAttributes{{0}, true}, {{3}}, {{2, 2, 2}}, {1}};
  const float third = 0x1.56p-2F;
  CHECK(verdict(stored(recorded(most, {{third, third, third}}))).code.empty());
  CHECK(verdict(stored(recorded(most, {{third, third, 0.5F}}))).code == "gradient.kink");
}
