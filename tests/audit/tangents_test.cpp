// Forward mode in recorded runs: right tangents are proved, wrong ones are found at the tensor whose tangent they are.
#include <algorithm>
#include <limits>

#include "kernel/audit/tangents.h"
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// y = tanh(x w) * x, with x moving along x_dot and w along w_dot.
struct Moving {
  Run run;
  Run::Id x, w, x_dot, w_dot, z, h, y, z_dot, h_dot, y_dot;
};

Moving moving() {
  Moving m;
  Run& run = m.run;
  m.x = run.given("x", {3, 2}, {0.5F, -1.25F, 2.0F, 0.75F, -0.5F, 1.5F});
  m.w = run.given("w", {2, 2}, {0.3F, -0.7F, 0.9F, 0.2F}, Trace::Origin::parameter);
  m.x_dot = run.given("x_dot", {3, 2}, {1.0F, -0.5F, 0.25F, 2.0F, -1.0F, 0.75F});
  m.w_dot = run.given("w_dot", {2, 2}, {-0.5F, 1.0F, 0.125F, 1.5F});
  const auto one = run.given("one", {}, {1});
  m.z = run.apply(Op::matmul, {m.x, m.w});
  const auto left = run.apply(Op::matmul, {m.x_dot, m.w});
  const auto right = run.apply(Op::matmul, {m.x, m.w_dot});
  m.z_dot = run.apply(Op::add, {left, right});
  m.h = run.apply(Op::tanh, {m.z});
  const auto square = run.apply(Op::mul, {m.h, m.h});
  const auto slope = run.apply(Op::sub, {one, square});
  m.h_dot = run.apply(Op::mul, {m.z_dot, slope});
  m.y = run.apply(Op::mul, {m.h, m.x});
  const auto of_h = run.apply(Op::mul, {m.h_dot, m.x});
  const auto of_x = run.apply(Op::mul, {m.h, m.x_dot});
  m.y_dot = run.apply(Op::add, {of_h, of_x});
  run.trace.outputs = {m.y, m.y_dot};
  run.trace.tangents = {{{{m.x, m.x_dot}, {m.w, m.w_dot}}, {{m.y, m.y_dot}, {m.z, m.z_dot}, {m.h, m.h_dot}}, {}}};
  return m;
}

// Codes and places of the failures, declined ones in brackets.
std::vector<std::string> failures(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  std::vector<std::string> codes;
  for (const audit::TangentStep& step : audit::check_tangents(trace, 0, 7)) {
    if (!step.failure) continue;
    INFO(step.failure->to_text());
    const std::string code = step.failure->code + " at " + step.place;
    codes.push_back(step.failure->kind == Rejection::Kind::rejected ? code : "(" + code + ")");
  }
  return codes;
}

// As run.h has it, for the region that gave a tensor.
void replace_op(Trace& trace, TraceTensorId result, Op op) {
  test::replace_op(*std::ranges::find_if(trace.regions, [&](const Region& one) { return one.results[0] == result; }), op);
}

std::string name(const Trace& trace, TraceTensorId id) { return "'" + trace.tensors[id].name + "'"; }

}  // namespace

TEST_CASE("tangents: a right forward pass is proved tensor by tensor, in the order of the run", "[tangents]") {
  const Moving m = moving();
  const auto steps = audit::check_tangents(m.run.trace, 0, 7);
  REQUIRE(steps.size() == 3);
  for (const audit::TangentStep& step : steps) {
    REQUIRE(step.proof);
    CHECK(step.proof->entries > 0);
    CHECK_FALSE(step.is_dead);
  }
  CHECK(steps[0].tangent == m.z_dot);
  CHECK(steps[0].proof->method == gradients::AdjointMethod::probed);
  CHECK(steps[0].proof->miss_log2 < -60);
  CHECK(steps[1].tangent == m.h_dot);
  CHECK(steps[1].proof->method == gradients::AdjointMethod::opaque);
  CHECK(steps[2].tangent == m.y_dot);
}

TEST_CASE("tangents: the last one alone is judged through all regions", "[tangents]") {
  Trace trace = moving().run.trace;
  trace.tangents[0].to.resize(1);
  CHECK(failures(trace).empty());
  replace_op(trace, moving().z_dot, Op::sub);
  CHECK(failures(trace) == std::vector<std::string>{"tangent.product at tangent of " + name(trace, moving().y)});
}

TEST_CASE("tangents: a wrong one is found where it is, and those after it are judged on", "[tangents]") {
  const Moving m = moving();
  for (const auto& [tangent, tensor] : {std::pair(m.z_dot, m.z), std::pair(m.y_dot, m.y)}) {
    Trace trace = m.run.trace;
    replace_op(trace, tangent, Op::sub);
    CHECK(failures(trace) == std::vector<std::string>{"tangent.product at tangent of " + name(trace, tensor)});
  }
}

TEST_CASE("tangents: a tensor that moves and is left out is missed", "[tangents]") {
  const Moving m = moving();
  Trace still = m.run.trace;  // w does not move, and z_dot has its part
  still.tangents[0].from.pop_back();
  CHECK(failures(still) == std::vector<std::string>{"(tangent.product at tangent of " + name(still, m.z) + ")"});  // w_dot may be anything
  Trace foreign = m.run.trace;  // another tensor's tangent
  foreign.tangents[0].to[2].second = m.z_dot;
  const auto codes = failures(foreign);
  REQUIRE_FALSE(codes.empty());
  CHECK(codes[0] == "tangent.product at tangent of " + name(foreign, m.h));
}

TEST_CASE("tangents: what is detached does not move", "[tangents]") {
  Run run;
  const auto x = run.given("x", {3}, {0.5F, -2, 3}), x_dot = run.given("x_dot", {3}, {1, 2, -1});
  const auto copy = run.apply(Op::reshape, {x}, ShapeAttributes{{3}});
  const auto y = run.apply(Op::mul, {x, copy});
  const auto half = run.apply(Op::mul, {x_dot, copy});
  run.trace.outputs = {y, half};
  run.trace.tangents = {{{{x, x_dot}}, {{y, half}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"tangent.product at tangent of " + name(run.trace, y)});
  run.trace.tangents[0].detached = {copy};
  CHECK(failures(run.trace).empty());
}

TEST_CASE("tangents: a value that is computed again is no mistake", "[tangents]") {
  const Moving m = moving();
  Run run = m.run;  // y_dot by tanh(z), computed again, in place of h
  const auto again = run.apply(Op::tanh, {m.z});
  const auto of_h = run.apply(Op::mul, {m.h_dot, m.x});
  const auto of_x = run.apply(Op::mul, {again, m.x_dot});
  const auto other = run.apply(Op::add, {of_h, of_x});
  run.trace.tangents[0].to[0].second = other;
  CHECK(failures(run.trace).empty());
}

TEST_CASE("tangents: what something opaque gave leaves a difference undecided", "[tangents]") {
  Run run;
  const auto x = run.given("x", {2}, {0.5F, -2}), x_dot = run.given("x_dot", {2}, {1, 2}), z = run.given("z", {2}, {3, 4});
  const auto y = run.apply(Op::mul, {x, z});
  const auto y_dot = run.apply(Op::mul, {x, x_dot});
  run.trace.outputs = {y, y_dot};
  run.trace.tangents = {{{{x, x_dot}}, {{y, y_dot}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"tangent.product at tangent of " + name(run.trace, y)});
  run.trace.opaque = {{"lib::solve", {z}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"(tangent.product at tangent of " + name(run.trace, y) + ")"});
}

TEST_CASE("tangents: a difference beside what nobody knows is undecided", "[tangents]") {
  Run run;  // h certainly moves; composed down to x, y reads the result of something opaque
  const auto x = run.given("x", {2}, {0.5F, -2}), x_dot = run.given("x_dot", {2}, {1, 2}), z = run.given("z", {2}, {3, 4});
  const auto h = run.apply(Op::mul, {x, z});
  const auto h_dot = run.apply(Op::mul, {x_dot, z});
  const auto y = run.apply(Op::mul, {h, x});
  const auto y_dot = run.apply(Op::mul, {h, x_dot});
  run.trace.outputs = {y, y_dot};
  run.trace.tangents = {{{{x, x_dot}}, {{h, h_dot}, {y, y_dot}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"tangent.product at tangent of " + name(run.trace, y)});
  run.trace.opaque = {{"lib::solve", {z}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"(tangent.product at tangent of " + name(run.trace, y) + ")"});
}

TEST_CASE("tangents: a rule that reads what something opaque gave is undecided", "[tangents]") {
  Run run;
  const auto x = run.given("x", {2}, {0.5F, -2}), x_dot = run.given("x_dot", {2}, {1, 2}), factor = run.given("factor", {}, {3});
  const auto y = run.apply(Op::mul, {x, x});
  const auto part = run.apply(Op::mul, {x, x_dot});
  const auto y_dot = run.apply(Op::mul, {part, factor});
  run.trace.outputs = {y, y_dot};
  run.trace.tangents = {{{{x, x_dot}}, {{y, y_dot}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"tangent.product at tangent of " + name(run.trace, y)});
  run.trace.opaque = {{"lib::factor", {factor}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"(tangent.product at tangent of " + name(run.trace, y) + ")"});
}

TEST_CASE("tangents: a tensor that is its own tangent is undecided", "[tangents]") {
  Run run;
  const auto x = run.given("x", {2}, {0.5F, -2});
  const auto y = run.apply(Op::mul, {x, x});
  const auto y_dot = run.apply(Op::add, {y, y});
  run.trace.outputs = {y, y_dot};
  run.trace.tangents = {{{{x, x}}, {{y, y_dot}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"(tangent.twice at tangent of " + name(run.trace, y) + ")"});
}

TEST_CASE("tangents: zeros that the derivative does not give are dead", "[tangents]") {
  Run run;
  const auto x = run.given("x", {2}, {-1, -2}), x_dot = run.given("x_dot", {2}, {0, 0});
  const auto y = run.apply(Op::mul, {x, x});
  const auto part = run.apply(Op::mul, {x, x_dot});
  const auto y_dot = run.apply(Op::add, {part, part});
  const auto s = run.apply(Op::sign, {x});
  const auto flat = run.apply(Op::sub, {x_dot, x_dot});
  run.trace.outputs = {y, y_dot, s, flat};
  run.trace.tangents = {{{{x, x_dot}}, {{y, y_dot}, {s, flat}}, {}}};
  const auto steps = audit::check_tangents(run.trace, 0, 7);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].is_dead);
  CHECK_FALSE(steps[1].is_dead);  // the derivative of sign is 0
}

TEST_CASE("tangents: right at random points and no number at the recorded one", "[tangents]") {
  Run run;  // the tangent of |x| as x_dot x / |x|, which is 0 / 0 at 0
  const auto x = run.given("x", {2}, {0, -2}), x_dot = run.given("x_dot", {2}, {1, 2});
  const auto y = run.apply(Op::mul, {x, x});
  const auto size = run.apply(Op::abs, {x});
  const auto share = run.apply(Op::div, {y, size});
  const auto signs = run.apply(Op::sign, {x});
  const auto both = run.apply(Op::mul, {share, signs});
  const auto part = run.apply(Op::mul, {both, x_dot});
  const auto y_dot = run.apply(Op::add, {part, part});
  REQUIRE_FALSE(run.trace.tensors[y_dot].value.as_double(0) == run.trace.tensors[y_dot].value.as_double(0));
  run.trace.outputs = {y, y_dot};
  run.trace.tangents = {{{{x, x_dot}}, {{y, y_dot}}, {}}};
  CHECK(failures(run.trace) == std::vector<std::string>{"gradient.value at tangent of " + name(run.trace, y)});
}

TEST_CASE("tangents: claims that do not fit the trace are refused", "[tangents]") {
  const Moving m = moving();
  const auto refused = [&](const Trace::Tangents& claim) {
    Trace trace = m.run.trace;
    trace.tangents = {claim};
    const auto whole = audit::check_continuity(trace);
    return whole ? std::string("accepted") : whole.rejection().code;
  };
  const std::vector<std::pair<TraceTensorId, TraceTensorId>> from = {{m.x, m.x_dot}, {m.w, m.w_dot}}, to = {{m.y, m.y_dot}};
  CHECK(refused({from, to, {}}) == "accepted");
  CHECK(refused({from, {{m.y, m.w_dot}}, {}}) == "audit.tangent");                  // another shape
  CHECK(refused({from, {{m.w, m.w_dot}}, {}}) == "audit.tangent");                  // moves twice
  CHECK(refused({{}, {{m.x, m.x_dot}}, {}}) == "audit.tangent");                    // nothing gave it
  CHECK(refused({from, {{m.y, 1000}}, {}}) == "audit.tangent");                     // not there
  CHECK(refused({{{kFirstInner, m.x_dot}}, to, {}}) == "audit.tangent");            // no tensor
  CHECK(refused({from, {{m.y, m.y_dot}, {m.y, m.y_dot}}, {}}) == "audit.tangent");  // twice
  CHECK(refused({from, to, {m.x}}) == "audit.tangent");                             // detached, and moves
  CHECK(refused({from, to, {1000}}) == "audit.tangent");
  Trace whole = m.run.trace;  // no real numbers
  const auto k = static_cast<TraceTensorId>(whole.tensors.size());
  whole.tensors.push_back({"k", Trace::Origin::input, Tensor(DType::int32, {2}, std::make_shared<std::vector<std::byte>>(8))});
  whole.tangents = {{{{k, k}}, to, {}}};
  const auto integers = audit::check_continuity(whole);
  CHECK((integers ? std::string("accepted") : integers.rejection().code) == "audit.tangent");
}

TEST_CASE("tangents: the file has the claims", "[tangents]") {
  Moving m = moving();
  m.run.trace.tangents[0].detached = {m.w_dot};
  const auto again = formats::read_trace(file_of(m.run.trace));
  REQUIRE(again);
  REQUIRE(again.value().tangents.size() == 1);
  const auto named = [](const Trace& trace, std::vector<std::pair<TraceTensorId, TraceTensorId>> pairs) {
    std::vector<std::string> names;
    for (const auto& [tensor, tangent] : pairs) names.push_back(trace.tensors[tensor].name + " by " + trace.tensors[tangent].name);
    std::ranges::sort(names);
    return names;
  };
  CHECK(named(again.value(), again.value().tangents[0].from) == named(m.run.trace, m.run.trace.tangents[0].from));
  CHECK(named(again.value(), again.value().tangents[0].to) == named(m.run.trace, m.run.trace.tangents[0].to));
  CHECK(again.value().tangents[0].detached.size() == 1);
  CHECK(file_of(again.value()) == file_of(again.value()));
}

TEST_CASE("tangents: a step that rounding decides is taken as it was recorded", "[tangents]") {
  for (const float at : {12.0F, 0.5F}) {  // y = x^2, and 2 x x_dot (1 + floor(tanh(x))): in float32 tanh(12) is 1
    Run run;
    const auto x = run.given("x", {1}, {at}), x_dot = run.given("x_dot", {1}, {1}), one = run.given("one", {}, {1});
    const auto y = run.apply(Op::mul, {x, x});
    const auto factor = run.apply(Op::add, {one, run.apply(Op::floor, {run.apply(Op::tanh, {x})})});
    const auto half = run.apply(Op::mul, {x, x_dot});
    const auto y_dot = run.apply(Op::mul, {run.apply(Op::add, {half, half}), factor});
    run.trace.outputs = {y, y_dot};
    run.trace.tangents = {{{{x, x_dot}}, {{y, y_dot}}, {}}};
    const std::vector<std::string> undecided{"(gradient.step at tangent of 't3')"};
    CHECK(failures(run.trace) == (at > 1 ? undecided : std::vector<std::string>{}));
  }
}
