// Products that saw zeros only are found, in runs op by op and in fused ones, and what is alive is not.
#include "kernel/audit/dead.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// The sum of relu(x + b) v, b given.
Trace gated(float b, bool compiled) {
  runtime::Session session;
  runtime::Recorder recorder(session);
  const std::vector<float> x = {1, -2, 3}, shift(3, b), v = {2, 1, -1};
  const auto w = session.parameter("w", runtime::Array::from(Tensor::of_floats({3}, x)));
  const auto input = session.input(Tensor::of_floats({3}, shift), "b"), weights = session.input(Tensor::of_floats({3}, v), "v");
  const std::vector<runtime::Value> parameters = {w};
  const auto step = [&](std::span<const runtime::Value> arguments) -> Outcome<std::vector<runtime::Value>> {
    const auto loss = runtime::sum(runtime::relu(w * w + arguments[0]) * arguments[1]);
    auto bars = session.gradients(loss, parameters);
    if (!bars) return bars.rejection();
    std::vector<runtime::Value> results = std::move(bars).value();
    results.push_back(loss);
    return results;
  };
  const std::vector<runtime::Value> arguments = {input, weights};
  runtime::CompiledFunction function(session, step, parameters);
  const auto results = compiled ? function(arguments) : step(arguments);
  REQUIRE(results.ok());
  for (const runtime::Value& value : results.value()) recorder.output(value);
  return recorder.take();
}

TraceTensorId id_of(const Trace& trace, const std::string& name) {
  for (TraceTensorId id = 0; id < trace.tensors.size(); ++id) {
    if (trace.tensors[id].name == name) return id;
  }
  FAIL("no tensor " << name);
  return 0;
}

}  // namespace

TEST_CASE("dead cotangents: what reads or gives zeros only is found, and shown where no input helps", "[gradients]") {
  for (const bool compiled : {false, true}) {
    CAPTURE(compiled);
    const Trace alive = gated(-3, compiled), dead = gated(-30, compiled);
    CHECK(audit::liveness(alive).products >= 4);
    CHECK(audit::liveness(alive).dead.empty());
    const audit::Liveness life = audit::liveness(dead);
    REQUIRE(life.dead.size() >= 2);  // relu gives zeros, what comes before it reads them
    CHECK(life.dead.size() < life.products);
    for (const audit::DeadProduct& one : life.dead) CHECK((one.elements == 3 && !one.is_always));
    const auto on = [&](double lo, double hi) { return audit::liveness(dead, {{id_of(dead, "b"), Interval(lo, hi)}}).dead; };
    for (const audit::DeadProduct& one : on(-30, -10)) CHECK(one.is_always);  // w * w is at most 9
    for (const audit::DeadProduct& one : on(-30, -8)) CHECK_FALSE(one.is_always);
  }
}

TEST_CASE("dead cotangents: an empty cotangent is not dead, a negative zero is", "[gradients]") {
  for (const std::vector<float>& values : {std::vector<float>{}, {-0.0F}, {0x1p-149F}}) {
    Run run;
    const Shape shape = {static_cast<std::int64_t>(values.size())};
    const auto x = run.given("x", shape, std::vector<float>(values.size(), 2)), y = run.apply(Op::neg, {x});
    const auto y_bar = run.given("y_bar", shape, values), x_bar = run.apply(Op::neg, {y_bar});
    run.claim(y, y_bar, {{0, x_bar}});
    CHECK(audit::liveness(run.trace).products == 1);
    CHECK(audit::liveness(run.trace).dead.size() == (values == std::vector<float>{-0.0F} ? 1 : 0));
  }
}

TEST_CASE("dead cotangents: intervals of a run that costs too much are not computed", "[gradients]") {
  Run run;
  const auto x = run.given("x", {1, 1}, {0});
  const auto y = run.apply(Op::neg, {x}), y_bar = run.given("y_bar", {1, 1}, {0}), x_bar = run.apply(Op::neg, {y_bar});
  run.claim(y, y_bar, {{0, x_bar}});
  CHECK(audit::liveness(run.trace, {{x, Interval(-1, 1)}}).dead[0].is_always);
  Trace& trace = run.trace;
  Region large;
  const NodeId a = large.graph.append_input(DType::float32, {4096, 512}, "a"), b = large.graph.append_input(DType::float32, {512, 64}, "b");
  large.graph.mark_output(large.graph.append(Op::matmul, {a, b}).value(), "y");
  trace.regions.push_back(large);  // never evaluated
  CHECK_FALSE(audit::liveness(trace, {{x, Interval(-1, 1)}}).dead[0].is_always);
}
