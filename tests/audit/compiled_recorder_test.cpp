// Compiled functions are recorded as they ran, fused steps as regions of several ops; the recording keeps its contracts.
#include <algorithm>
#include <cmath>

#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/audit/judged.h"

using namespace assay;
using namespace assay::runtime;
using test::Judged;
using test::judged;

namespace {

// A training step: a loss, its gradients for the parameters, and arguments that it reads.
struct Task {
  std::vector<Value> parameters, arguments;
  std::function<Value(std::span<const Value>)> loss;
};

Task perceptron(Session& s) {
  Task task;
  for (const auto& [name, shape] : std::vector<std::pair<std::string, Shape>>{{"w1", {8, 6}}, {"b1", {8}}, {"w2", {3, 8}}, {"b2", {3}}})
    task.parameters.push_back(s.parameter(name, s.normal(shape)));
  task.arguments = {s.input(s.normal({5, 6}), "x"), s.input(s.uniform({5, 3}), "target")};
  task.loss = [p = task.parameters](std::span<const Value> v) {
    const Value h = relu(linear(v[0], p[0], p[1]));
    return mean(square(linear(h * 0.5 + h * h, p[2], p[3]) - v[1]));
  };
  return task;
}

Task block(Session& s) {
  Task task;
  task.parameters = {s.parameter("k1", s.normal({4, 4, 3, 3})), s.parameter("k2", s.normal({4, 4, 3, 3})),
                     s.parameter("scale", s.normal({6})), s.parameter("shift", s.normal({6}))};
  task.arguments = {s.input(s.normal({2, 4, 6, 6}), "x")};
  task.loss = [p = task.parameters](std::span<const Value> v) {
    const Value h = relu(conv2d(v[0], p[0], {.padding = 1}));
    return mean(square(layer_norm(relu(v[0] + conv2d(h, p[1], {.padding = 1})), p[2], p[3])));
  };
  return task;
}

Task smooth(Session& s) {
  Task task;
  task.parameters = {s.parameter("w", s.normal({6, 6}))};
  task.arguments = {s.input(s.normal({6}), "x")};
  task.loss = [p = task.parameters](std::span<const Value> v) { return sum(gelu(matmul(p[0], p[0])) * tanh(v[0]) + silu(v[0])); };
  return task;
}

// Cases that programs compute by one kernel and rules by several ops: a pool whose windows meet, and a tensor cut into parts.
Task cuts(Session& s) {
  Task task;
  task.parameters = {s.parameter("p", s.normal({2, 3, 6, 6})), s.parameter("q", s.normal({4, 6}))};
  task.arguments = {s.input(s.normal({2, 3, 6, 6}), "x")};
  task.loss = [p = task.parameters](std::span<const Value> v) {
    const auto part = [&](std::int64_t start) { return apply(Op::slice, p[1], SliceAttributes{{0, start}, {1, 1}, {4, 3}}); };
    return mean(square(max_pool2d(p[0] * v[0], 3, 2, 1))) + sum(tanh(part(0)) * part(3));
  };
  return task;
}

// Slices that passes take out where they lie, forward and backward.
Task gates(Session& s) {
  Task task;
  task.parameters = {s.parameter("w", s.uniform({64, 6}, -0.5, 0.5)), s.parameter("cell", s.normal({5, 16})),
                     s.parameter("v", s.uniform({16, 16}, -0.2, 0.2))};
  task.arguments = {s.input(s.normal({5, 6}), "x")};
  task.loss = [p = task.parameters](std::span<const Value> v) {
    const Value all = linear(v[0], p[0]);
    const auto part = [&](std::int64_t start) { return apply(Op::slice, all, SliceAttributes{{0, 16 * start}, {1, 1}, {5, 16}}); };
    const Value next = sigmoid(part(0)) * p[1] + silu(part(1)) * tanh(part(2));
    return sum(silu(part(3)) * tanh(linear(next, p[2])));
  };
  return task;
}

struct Recorded {
  Trace trace;
  std::vector<std::vector<double>> results;  // the gradients, then the loss
};

Recorded recorded(Session& session, const Task& task, bool compiled) {
  const auto step = [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
    const Value loss = task.loss(v);
    auto results = session.gradients(loss, task.parameters);
    if (results) results.value().push_back(loss);
    return results;
  };
  CompiledFunction function(session, step, task.parameters);
  Recorder recorder(session);
  const auto results = compiled ? function(task.arguments) : step(task.arguments);
  if (!results) FAIL(results.rejection().to_text());
  Recorded one;
  for (const Value& value : results.value()) {
    recorder.output(value);
    one.results.push_back(value.to_doubles());
  }
  one.trace = recorder.take();
  return one;
}

std::size_t largest_region(const Trace& trace) {
  std::size_t most = 0;
  for (const Region& region : trace.regions) most = std::max(most, region.graph.nodes.size() - region.graph.inputs.size());
  return most;
}

}  // namespace

TEST_CASE("compiled recorder: training steps, forward and backward, keep their contracts", "[recorder][compiled]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto task : {perceptron, block, smooth, cuts, gates}) {
      Session session({.dtype = dtype, .seed = 9, .threads = 2});
      const Recorded one = recorded(session, task(session), true);
      const Judged result = judged(one.trace);
      CHECK(result.failures == std::vector<std::string>{});
      CHECK(result.unsupported == 0);
      CHECK(static_cast<double>(result.vacuous) <= 0.01 * static_cast<double>(result.passed));
      CHECK(largest_region(one.trace) >= 3);  // the fused ops are one region
      REQUIRE(one.trace.gradients.size() == 1);
      CHECK(one.trace.gradients[0].of.size() == one.results.size() - 1);
      CHECK(audit::check_gradient(one.trace, 0, 3).size() >= one.results.size());
    }
  }
}

TEST_CASE("compiled recorder: the trace has the values that the run returned, and those of eager execution", "[recorder][compiled]") {
  for (const auto task : {perceptron, block, smooth, cuts, gates}) {
    Session session({.seed = 10, .threads = 1});
    const Task one = task(session);
    const Recorded eager = recorded(session, one, false), compiled = recorded(session, one, true);
    REQUIRE(compiled.results.size() == eager.results.size());
    for (std::size_t k = 0; k < compiled.results.size(); ++k) {
      const Tensor& in_trace = compiled.trace.tensors[compiled.trace.outputs[k]].value;
      REQUIRE(in_trace.size() == compiled.results[k].size());
      for (std::size_t i = 0; i < in_trace.size(); ++i) {
        CHECK(in_trace.as_double(i) == compiled.results[k][i]);
        CHECK(std::abs(eager.results[k][i] - compiled.results[k][i]) <= 1e-4 * (1 + std::abs(eager.results[k][i])));
      }
    }
    CHECK(compiled.trace.regions.size() < eager.trace.regions.size());
  }
}

TEST_CASE("compiled recorder: a slice that several passes take out where it lies is one value", "[recorder][compiled]") {
  Session session({.seed = 13, .threads = 1});
  const Trace trace = recorded(session, gates(session), true).trace;
  std::size_t slices = 0;
  for (const Region& region : trace.regions) {
    const auto sliced = std::ranges::count(region.graph.nodes, Op::slice, &Node::op);
    slices += static_cast<std::size_t>(sliced);
    if (sliced > 0) CHECK(region.graph.nodes.size() == 2);  // alone
  }
  CHECK(slices == 4);
}

TEST_CASE("compiled recorder: a bent element of a fused region is found, and so is a lost step", "[recorder][compiled]") {
  Session session({.seed = 11, .threads = 1});
  const Trace trace = recorded(session, perceptron(session), true).trace;
  std::size_t bent = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const Region& region = trace.regions[r];
    if (region.graph.nodes.size() - region.graph.inputs.size() < 2) continue;
    for (const TraceTensorId id : region.results) {
      Trace broken = trace;
      const std::size_t element = broken.tensors[id].value.size() / 2;
      if (broken.tensors[id].value.as_double(element) == 0) continue;
      broken.tensors[id].value = test::moved(broken.tensors[id].value, element, 3);
      const auto audit = audit::audit_region(broken, r);
      REQUIRE(audit.ok());
      CHECK(audit.value().total().failed > 0);
      ++bent;
    }
    Trace shorter = trace;
    shorter.regions.erase(shorter.regions.begin() + static_cast<std::ptrdiff_t>(r));
    CHECK_FALSE(audit::check_continuity(shorter).ok());
  }
  CHECK(bent >= 2);
}

TEST_CASE("compiled recorder: steps before and after a replay are recorded beside it", "[recorder][compiled]") {
  Session session({.seed = 12, .threads = 1});
  const Value w = session.parameter("w", session.normal({4}));
  CompiledFunction twice(session,
                         [&](std::span<const Value> v) -> Outcome<std::vector<Value>> { return std::vector<Value>{v[0] * w * 2.0}; }, {w});
  Recorder recorder(session);
  const Value x = exp(session.input(session.normal({4}), "x"));
  for (int k = 0; k < 2; ++k) {
    const auto results = twice(std::vector<Value>{x});
    REQUIRE(results.ok());
    recorder.output(results.value()[0] + x);
  }
  const Trace trace = recorder.take();
  CHECK(judged(trace).failures == std::vector<std::string>{});
  CHECK(trace.outputs.size() == 2);
}

namespace {

std::size_t failures(const Trace& trace) {
  std::size_t count = 0;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 5)) count += step.failure ? 1 : 0;
  return count;
}

Trace perceptron_trace() {
  Session session({.seed = 13, .threads = 1});
  return recorded(session, perceptron(session), true).trace;
}

}  // namespace

TEST_CASE("compiled recorder: another op in a region, fused or not, is a wrong gradient", "[recorder][compiled]") {
  const Trace trace = perceptron_trace();
  REQUIRE(failures(trace) == 0);
  std::size_t mutants = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    for (NodeId id = 0; id < trace.regions[r].graph.nodes.size(); ++id) {
      const Op op = trace.regions[r].graph.node(id).op;
      if (op != Op::add && op != Op::mul) continue;
      Trace wrong = trace;
      wrong.regions[r].graph.nodes[id].op = op == Op::add ? Op::sub : Op::add;
      INFO("region " << r << " node " << id << " " << op_row(op).name);
      CHECK(failures(wrong) > 0);
      ++mutants;
    }
  }
  CHECK(mutants >= 8);
}

TEST_CASE("compiled recorder: products that are left out or exchanged are found", "[recorder][compiled]") {
  const Trace trace = perceptron_trace();
  for (std::size_t v = 0; v < trace.vjps.size(); ++v) {
    Trace fewer = trace;
    fewer.vjps.erase(fewer.vjps.begin() + static_cast<std::ptrdiff_t>(v));
    CHECK(failures(fewer) > 0);
    Trace foreign = trace;
    foreign.vjps[v].cotangent = foreign.vjps[(v + 1) % trace.vjps.size()].cotangent;
    if (audit::check_continuity(foreign) && foreign.vjps[v].cotangent != trace.vjps[v].cotangent) CHECK(failures(foreign) > 0);
  }
}

TEST_CASE("compiled recorder: values inside regions have to be such", "[recorder][compiled]") {
  const Trace trace = perceptron_trace();
  REQUIRE_FALSE(trace.inner.empty());
  REQUIRE(audit::check_continuity(trace).ok());
  const auto code = [](const Trace& changed) {
    const auto whole = audit::check_continuity(changed);
    return whole ? std::string() : whole.rejection().code;
  };
  Trace no_node = trace, no_region = trace, given = trace, unknown = trace, of_input = trace, of_result = trace;
  no_node.inner[0].node = 99;
  no_region.inner[0].region = 999;
  given.inner[0].node = trace.regions[trace.inner[0].region].graph.inputs[0];
  unknown.vjps[0].cotangent = kFirstInner + 999;
  of_input.vjps[0].node = trace.regions[trace.vjps[0].of].graph.inputs[0];
  of_result.vjps[0].node.reset();
  of_result.vjps.push_back(trace.vjps[0]);
  for (const Trace& changed : {no_node, no_region, given, unknown, of_input, of_result}) CHECK(code(changed) == "audit.vjp");
}

TEST_CASE("compiled recorder: written and read, values inside regions are the same", "[recorder][compiled]") {
  const Trace trace = perceptron_trace();
  const auto again = formats::read_trace(test::file_of(trace));
  if (!again) FAIL(again.rejection().to_text());
  REQUIRE(again.value().inner.size() == trace.inner.size());
  for (std::size_t i = 0; i < trace.inner.size(); ++i) CHECK_FALSE(again.value().inner[i].name.empty());
  CHECK(judged(again.value()).failures == std::vector<std::string>{});
  CHECK(failures(again.value()) == 0);
  CHECK(test::file_of(again.value()) == test::file_of(trace));
}
