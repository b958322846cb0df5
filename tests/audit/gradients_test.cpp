// The gradients of a recorded run: right ones are proved, wrong products and lost cotangents are found where they are.
#include <algorithm>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// Codes of the failures, in order.
std::vector<std::string> failures(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  std::vector<std::string> codes;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) {
    if (step.failure) codes.push_back(step.failure->code + " at " + step.place);
  }
  return codes;
}

std::size_t region_of(const Trace& trace, TraceTensorId result) {
  const auto found = std::ranges::find_if(trace.regions, [&](const Region& one) { return one.results[0] == result; });
  return static_cast<std::size_t>(found - trace.regions.begin());
}

}  // namespace

TEST_CASE("gradients: a right backward pass is proved step by step", "[gradients]") {
  const Trace trace = training_step().run.trace;
  CHECK(failures(trace).empty());
  std::size_t products = 0, sums = 0;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) ++(step.proof ? products : sums);
  CHECK(products == 6);
  CHECK(sums == 2);  // h has two consumers, z is two factors
}

TEST_CASE("gradients: a wrong product is found at its region", "[gradients]") {
  const Step step = training_step();
  const std::size_t slope = region_of(step.run.trace, step.h_bar) + 2;
  REQUIRE(step.run.trace.regions[slope].name == "sub");
  Trace sign = step.run.trace;
  replace_op(sign.regions[slope], Op::add);  // 1 + tanh^2
  CHECK(failures(sign) == std::vector<std::string>{"gradient.product at region 1 (tanh)"});

  Trace transposed = step.run.trace;  // x^T y_bar with an operand of the wrong side
  Region& weight = transposed.regions[region_of(transposed, step.w_bar)];
  weight.graph.nodes.back().attributes = GemmAttributes{2, 1, true, false};
  CHECK(failures(transposed) == std::vector<std::string>{"gradient.product at region 0 (gemm)"});
}

TEST_CASE("gradients: lost, doubled and foreign cotangents are found", "[gradients]") {
  const Step step = training_step();
  const Trace& right = step.run.trace;

  Trace lost = right;  // h_bar = z_bar - r_bar instead of their sum
  replace_op(lost.regions[region_of(lost, step.h_bar)], Op::sub);
  CHECK(failures(lost) == std::vector<std::string>{"gradient.accumulation at cotangent of 't" + std::to_string(step.h) + "'"});

  Trace overwritten = right;  // tanh gets the cotangent of one consumer only
  const std::size_t add = region_of(right, step.h_bar);
  for (Trace::Vjp& vjp : overwritten.vjps) {
    if (vjp.cotangent == step.h_bar) vjp.cotangent = overwritten.regions[add].operands[0];
  }
  const auto codes = failures(overwritten);
  CHECK(std::ranges::find(codes, "gradient.accumulation at cotangent of 't" + std::to_string(step.h) + "'") != codes.end());

  Trace half = right;  // the product z * z gives one of its two cotangents
  half.vjps[1].cotangents.pop_back();
  CHECK_FALSE(failures(half).empty());

  Trace missing = right;
  missing.vjps.erase(std::ranges::find_if(missing.vjps, [&](const Trace::Vjp& vjp) { return vjp.cotangent == step.h_bar; }));
  CHECK(failures(missing).front() == "gradient.missing at region 1 (tanh)");

  Trace other = right;  // the gradient that is handed out is another tensor of the same shape
  other.gradients[0].of[0].second = other.gradients[0].of[0].first;
  CHECK(failures(other) == std::vector<std::string>{"gradient.accumulation at gradient of 'w'"});
}

TEST_CASE("gradients: what does not lead to the output, or is detached, needs no product", "[gradients]") {
  Step step = training_step();
  Run& run = step.run;
  const auto unused = run.apply(Op::exp, {step.w});
  run.trace.outputs.push_back(unused);
  CHECK(failures(run.trace).empty());

  Trace detached = run.trace;  // no gradient flows into h any more, though one is recorded
  detached.detached = {step.h};
  CHECK(failures(detached) ==
        std::vector<std::string>{"gradient.accumulation at gradient of 'w'", "gradient.accumulation at gradient of 'b'"});

  Run two;  // h is detached, and asked for itself: its own gradient needs no product of the step that gave h
  const auto x = two.given("x", {2}, {1, 2}), seed = two.given("seed", {2}, {1, 1}), none = two.given("none", {}, {0});
  const auto h = two.apply(Op::mul, {x, x}), y = two.apply(Op::scale, {h}, ScaleAttributes{3});
  const auto h_bar = two.apply(Op::scale, {seed}, ScaleAttributes{3}), x_bar = two.apply(Op::expand, {none}, ShapeAttributes{{2}});
  two.trace.outputs = {y, h_bar, x_bar};
  two.trace.vjps = {{1, 0, seed, {{0, h_bar}}}};
  two.trace.gradients = {{y, seed, {{h, h_bar}, {x, x_bar}}}};
  CHECK(failures(two.trace) == std::vector<std::string>{"gradient.missing at region 0 (mul)"});
  two.trace.detached = {h};
  CHECK(failures(two.trace).empty());
}

namespace {

// loss = sum of w * round(x), the cotangent of round handed straight through.
struct StraightThrough {
  Run run;
  Run::Id x, y, y_bar;
};

StraightThrough straight_through(const std::vector<float>& x = {0.4F, -1.7F, 2.2F}) {
  StraightThrough s;
  Run& run = s.run;
  s.x = run.given("x", {3}, x, Trace::Origin::parameter);
  const auto w = run.given("w", {3}, {0.5F, -2.0F, 3.0F});
  s.y = run.apply(Op::round, {s.x});
  const auto weighted = run.apply(Op::mul, {s.y, w}), loss = run.apply(Op::reduce_sum, {weighted}, ReduceAttributes{{0}, false});
  const auto seed = run.given("seed", {}, {1});
  const auto m_bar = run.apply(Op::expand, {seed}, ShapeAttributes{{3}});
  run.claim(loss, seed, {{0, m_bar}});
  s.y_bar = run.apply(Op::mul, {m_bar, w});
  run.claim(weighted, m_bar, {{0, s.y_bar}});
  run.claim(s.y, s.y_bar, {{0, s.y_bar}});
  run.trace.outputs = {loss, s.y_bar};
  run.trace.gradients = {{loss, seed, {{s.x, s.y_bar}}}};
  return s;
}

// An op on one input of that shape.
Graph function(Op op, const Shape& shape, const Attributes& attributes = NoAttributes{}) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, shape, "x");
  graph.mark_output(op == Op::input ? x : graph.append(op, {x}, attributes).value(), "y");
  return graph;
}

}  // namespace

TEST_CASE("gradients: a straight-through gradient passes only where it is declared, and its step says so", "[gradients]") {
  StraightThrough s = straight_through();
  Trace& trace = s.run.trace;
  CHECK(failures(trace) == std::vector<std::string>{"gradient.product at region 0 (round)"});
  trace.vjps[2].surrogate = function(Op::input, {3});
  CHECK(failures(trace).empty());
  std::size_t declared = 0;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) declared += step.is_surrogate ? 1 : 0;
  CHECK(declared == 1);
  trace.vjps[2].surrogate = function(Op::scale, {3}, ScaleAttributes{2});  // the declared graph has to be the recorded one
  CHECK(failures(trace) == std::vector<std::string>{"gradient.product at region 0 (round)"});
  trace.vjps[2].surrogate = function(Op::tanh, {3});
  CHECK(failures(trace) == std::vector<std::string>{"gradient.product at region 0 (round)"});
  for (const Shape& shape : {Shape{2}, Shape{}}) {
    trace.vjps[2].surrogate = function(Op::input, shape);
    const auto whole = audit::check_continuity(trace);
    REQUIRE_FALSE(whole);
    CHECK(whole.rejection().code == "audit.vjp");
  }
}

TEST_CASE("gradients: a clipped straight-through gradient is judged at the kinks of its surrogate", "[gradients]") {
  StraightThrough s = straight_through({0.4F, -1.0F, 2.2F});
  Run& run = s.run;
  const auto inside = run.given("inside", {3}, {1, 0.25F, 0});
  const auto x_bar = run.apply(Op::mul, {s.y_bar, inside});
  run.trace.vjps[2].cotangents = {{0, x_bar}};
  run.trace.vjps[2].surrogate = function(Op::clip, {3}, ClipAttributes{-1, 1});
  run.trace.gradients[0].of[0].second = x_bar;
  // The mask came from elsewhere, so the composition stays undecided; the kink at -1 is judged on its own.
  std::size_t kinks = 0;
  for (const audit::GradientStep& step : audit::check_gradient(run.trace, 0, 7)) {
    kinks += step.kinks;
    if (step.kinks > 0) CHECK((!step.failure && step.is_surrogate));
  }
  CHECK(kinks == 1);
  run.trace.tensors[inside].value = Tensor::of_floats({3}, std::vector<float>{1, 1.25F, 0});
  run.trace.tensors[x_bar].value = Tensor::of_floats({3}, std::vector<float>{0.5F, -2.5F, 0});
  const auto codes = failures(run.trace);
  CHECK(std::ranges::find(codes, "gradient.kink at kinks of region 0 (round)") != codes.end());
}

TEST_CASE("gradients: an operand that was computed and gets no cotangent may be part of the product", "[gradients]") {
  Run run;  // z = x h, h = tanh(x): all that flows to x in one product
  const auto x = run.given("x", {3}, {0.5F, -1.25F, 2.0F}), seed = run.given("seed", {3}, {1, -2, 0.5F}), one = run.given("one", {}, {1});
  const auto h = run.apply(Op::tanh, {x});
  const auto z = run.apply(Op::mul, {x, h});
  const auto direct = run.apply(Op::mul, {seed, h});
  const auto square = run.apply(Op::mul, {h, h});
  const auto slope = run.apply(Op::sub, {one, square});
  const auto through = run.apply(Op::mul, {x, slope});
  const auto other = run.apply(Op::mul, {seed, through});
  const auto x_bar = run.apply(Op::add, {direct, other});
  run.trace.outputs = {z, x_bar};
  run.trace.gradients = {{z, seed, {{x, x_bar}}}};
  run.claim(z, seed, {{0, x_bar}});
  CHECK(failures(run.trace).empty());
  Trace half = run.trace;
  half.vjps[0].cotangents[0].second = direct;
  half.gradients[0].of[0].second = direct;
  CHECK(failures(half) == std::vector<std::string>{"gradient.product at region 1 (mul)"});
}

TEST_CASE("gradients: zeros that flow on without the seed have their products", "[gradients]") {
  Run run;  // y = sign(a) with the cotangent 0 of a = 2 x, which continues to x
  const auto x = run.given("x", {2}, {0.5F, -3}), seed = run.given("seed", {2}, {1, 4}), zero = run.given("zero", {2}, {0, 0});
  const auto a = run.apply(Op::add, {x, x});
  const auto y = run.apply(Op::sign, {a});
  const auto a_bar = run.apply(Op::add, {zero, zero});
  const auto x_bar = run.apply(Op::add, {a_bar, a_bar});
  run.claim(y, seed, {{0, a_bar}});
  run.claim(a, a_bar, {{0, a_bar}, {1, a_bar}});
  run.trace.outputs = {y, x_bar};
  run.trace.gradients = {{y, seed, {{x, x_bar}}}};
  const auto codes = failures(run.trace);
  CHECK(std::ranges::none_of(codes, [](const std::string& code) { return code.starts_with("gradient.missing"); }));
}

namespace {

// y = x w, the gradient of x from that seed: a value of the forward pass. Right, or zero.
Trace with_seed(const std::string& seed, bool right) {
  Run run;
  const auto x = run.given("x", {3}, {1, 2, 3}), w = run.given("w", {3}, {2, 3, 4}, Trace::Origin::parameter);
  const auto y = run.apply(Op::mul, {x, w});
  const auto from = seed == "x" ? x : seed == "w" ? w : y;
  const auto x_bar = right ? run.apply(Op::mul, {from, w}) : run.apply(Op::sub, {from, from});
  run.claim(y, from, {{0, x_bar}});
  run.trace.outputs = {y, x_bar};
  run.trace.gradients = {{y, from, {{x, x_bar}}}};
  return run.trace;
}

}  // namespace

TEST_CASE("gradients: a seed that is a value of the forward pass hides no product", "[gradients]") {
  for (const std::string seed : {"x", "w", "y"}) {
    INFO(seed);
    CHECK(failures(with_seed(seed, true)).empty());
    CHECK(failures(with_seed(seed, false)).size() == 1);
    Trace lost = with_seed(seed, true);  // no product at all, and a gradient that says 0
    lost.vjps.clear();
    CHECK_FALSE(failures(lost).empty());
  }
}

TEST_CASE("gradients: a forward pass that reads the seed is judged like any other", "[gradients]") {
  for (const bool right : {true, false}) {
    Run run;  // y = tanh(x + 0 seed)
    const auto x = run.given("x", {3}, {1, 2, 3}), seed = run.given("seed", {3}, {1, -2, 5}), one = run.given("one", {}, {1});
    const auto none = run.apply(Op::scale, {seed}, ScaleAttributes{0});
    const auto s = run.apply(Op::add, {x, none}), y = run.apply(Op::tanh, {s});
    const auto slope = run.apply(Op::sub, {one, run.apply(Op::mul, {y, y})});
    const auto s_bar = run.apply(Op::mul, {seed, slope});
    const auto x_bar = right ? s_bar : run.apply(Op::scale, {s_bar}, ScaleAttributes{0});
    run.claim(y, seed, {{0, x_bar}});
    run.claim(s, x_bar, {{0, x_bar}});
    run.trace.outputs = {y, x_bar};
    run.trace.gradients = {{y, seed, {{x, x_bar}}}};
    CHECK(failures(run.trace).empty() == right);
  }
}

TEST_CASE("gradients: a product that reads its cotangent as a value too is judged by what it means", "[gradients]") {
  for (const float factor : {1.0F, 2.0F, 0.5F}) {
    Run run;  // y = x^2 w from the seed w: x_bar = 2 x w w
    const auto x = run.given("x", {2}, {1.5F, -2}), w = run.given("w", {2}, {3, 4});
    const auto y = run.apply(Op::mul, {run.apply(Op::mul, {x, x}), w});
    const auto square = static_cast<Run::Id>(y - 1);
    const auto square_bar = run.apply(Op::mul, {w, w});
    const auto half = run.apply(Op::mul, {square_bar, x});
    const auto x_bar = run.apply(Op::scale, {half}, ScaleAttributes{2 * factor});
    run.claim(y, w, {{0, square_bar}});
    run.claim(square, square_bar, {{0, x_bar}});
    run.trace.outputs = {y, x_bar};
    run.trace.gradients = {{y, w, {{x, x_bar}}}};
    // Two positions of one operand: the product of x^2 is claimed at one of them.
    CHECK(failures(run.trace).empty() == (factor == 1));
  }
}

TEST_CASE("gradients: a recorded product is judged whoever needs it", "[gradients]") {
  for (const bool right : {true, false}) {
    Run run;  // the gradient of w alone is asked for, and that of x was recorded as well
    const auto x = run.given("x", {3}, {1, 2, 3}), w = run.given("w", {3}, {2, 3, 4}), seed = run.given("seed", {3}, {1, 1, 2});
    const auto y = run.apply(Op::mul, {x, w});
    const auto x_bar = run.apply(Op::mul, {seed, right ? w : x}), w_bar = run.apply(Op::mul, {seed, x});
    run.claim(y, seed, {{0, x_bar}, {1, w_bar}});
    run.trace.outputs = {y, x_bar, w_bar};
    run.trace.gradients = {{y, seed, {{w, w_bar}}}};
    CHECK(failures(run.trace) == (right ? std::vector<std::string>{} : std::vector<std::string>{"gradient.product at region 0 (mul)"}));
    // A product off every way to the output.
    const auto unused = run.apply(Op::mul, {x, x});
    run.trace.outputs.push_back(unused);
    run.claim(unused, seed, {{0, x_bar}, {1, x_bar}});
    std::vector<bool> judged(run.trace.vjps.size(), false);
    for (const audit::GradientStep& step : audit::check_gradient(run.trace, 0, 7, audit::KinkConvention::any, &judged))
      CHECK(step.failure.has_value() != right);
    CHECK(judged == std::vector<bool>{true, false});
    const auto others = audit::check_other_products(run.trace, judged, 7);
    REQUIRE(others.size() == 1);
    CHECK(others[0].failure.has_value() == right);  // seed x, or seed w, is half of what x x gives only where x is twice
  }
}

TEST_CASE("gradients: of nothing, and of what is detached, is undecided by name", "[gradients]") {
  const Step step = training_step();
  Trace nothing = step.run.trace;
  nothing.gradients[0].of.clear();
  CHECK(failures(nothing) == std::vector<std::string>{"gradient.nothing at gradient of '" + nothing.tensors[step.loss].name + "'"});
  for (const bool declared : {true, false}) {
    Run run;  // the output itself is detached
    const auto x = run.given("x", {2}, {1, 2}), seed = run.given("seed", {2}, {1, 1}), none = run.given("none", {}, {0});
    const auto y = run.apply(Op::mul, {x, x}), x_bar = run.apply(Op::expand, {none}, ShapeAttributes{{2}});
    run.trace.outputs = {y, x_bar};
    run.trace.gradients = {{y, seed, {{x, x_bar}}}};
    if (declared) run.trace.detached = {y};
    CHECK(failures(run.trace).front() == (declared ? "gradient.detached at gradient of 'x'" : "gradient.missing at region 0 (mul)"));
  }
}
