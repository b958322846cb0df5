// Delivered gradients that are NaN or infinite: wrong where the derivative is a number, undecided where that is not known, never passed.
#include <algorithm>
#include <functional>
#include <limits>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

// The steps of the only gradient that failed, in words.
std::vector<std::string> verdicts(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(audit.rejection().to_text());
    CHECK(audit.value().total().failed == 0);
  }
  std::vector<std::string> found;
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) {
    if (!step.failure) continue;
    INFO(step.failure->to_text());
    found.push_back(step.failure->kind == Rejection::Kind::rejected ? step.failure->code : "(" + step.failure->code + ")");
  }
  return found;
}

// One region of what these nodes compute of tensors, with what float32 gives.
Run::Id computed(Run& run, const std::vector<Run::Id>& operands, const std::function<NodeId(Graph&, const std::vector<NodeId>&)>& nodes) {
  Region region{"region", {}, float_model(), operands, {}};
  std::vector<NodeId> inputs;
  std::vector<Array<float>> values;
  for (const Run::Id id : operands) {
    const Tensor& tensor = run.trace.tensors[id].value;
    inputs.push_back(region.graph.append_input(tensor.dtype(), tensor.shape(), "x"));
    values.push_back(lift<float>(tensor));
  }
  const NodeId output = nodes(region.graph, inputs);
  region.graph.mark_output(output, "y");
  auto results = evaluate<float>(region.graph, values);
  if (!results) FAIL(results.rejection().to_text());
  const Array<float>& result = results.value()[output];
  run.trace.tensors.push_back(
      {"t" + std::to_string(run.trace.tensors.size()), Trace::Origin::result, Tensor::of_floats(result.shape, result.values)});
  region.results = {static_cast<Run::Id>(run.trace.tensors.size() - 1)};
  run.trace.regions.push_back(std::move(region));
  return run.trace.regions.back().results[0];
}

NodeId positive(Graph& graph, NodeId x, NodeId taken) {
  const NodeId zero = graph.append_constant(Tensor::of_floats({}, std::vector<float>{0}));
  return graph.append(Op::where, {graph.append(Op::less, {zero, x}).value(), taken, zero}).value();
}

// y = where(x > 0, sqrt(x), 0), op by op, and its gradient as reverse mode has it: each local product is right.
Trace guarded_root(const std::vector<float>& x) {
  Run run;
  const auto n = static_cast<std::int64_t>(x.size());
  const auto input = run.given("x", {n}, x), seed = run.given("seed", {n}, std::vector<float>(x.size(), 1));
  const auto root = run.apply(Op::sqrt, {input});
  const auto behind = [](Graph& graph, const auto& in) { return positive(graph, in[0], in[1]); };
  const auto y = computed(run, {input, root}, behind), root_bar = computed(run, {input, seed}, behind);
  const auto x_bar = run.apply(Op::div, {root_bar, run.apply(Op::scale, {root}, ScaleAttributes{2})});
  run.claim(y, seed, {{1, root_bar}});
  run.claim(root, root_bar, {{0, x_bar}});
  run.trace.outputs = {y, x_bar};
  run.trace.gradients = {{y, seed, {{input, x_bar}}}};
  return run.trace;
}

}  // namespace

TEST_CASE("finite: a root behind a branch that is not taken", "[gradients]") {
  CHECK(verdicts(guarded_root({4, 9})).empty());
  CHECK(verdicts(guarded_root({-1, 4})) == std::vector<std::string>{"gradient.finite"});
  CHECK(verdicts(guarded_root({0, 4})) == std::vector<std::string>{"(gradient.finite)"});    // 0 from the left, infinite from the right
  CHECK(verdicts(guarded_root({0, -1, 1})) == std::vector<std::string>{"gradient.finite"});  // one element is enough
}

TEST_CASE("finite: an infinite slope is infinite, and one that no float32 holds too", "[gradients]") {
  Run run;  // sqrt at 0
  const auto x = run.given("x", {2}, {0, 4}), seed = run.given("seed", {2}, {1, 1}), two = run.given("two", {}, {2});
  const auto y = run.apply(Op::sqrt, {x}), x_bar = run.apply(Op::div, {seed, run.apply(Op::mul, {two, y})});
  run.claim(y, seed, {{0, x_bar}});
  run.trace.outputs = {y, x_bar};
  run.trace.gradients = {{y, seed, {{x, x_bar}}}};
  CHECK(verdicts(run.trace) == std::vector<std::string>{"(gradient.finite)"});

  Run steep;  // w x with w x_bar beyond the greatest float32
  const auto v = steep.given("v", {1}, {1e-30F}), w = steep.given("w", {1}, {1e30F}), by = steep.given("seed", {1}, {1e30F});
  const auto z = steep.apply(Op::mul, {v, w}), v_bar = steep.apply(Op::mul, {by, w});
  steep.claim(z, by, {{0, v_bar}});
  steep.trace.outputs = {z, v_bar};
  steep.trace.gradients = {{z, by, {{v, v_bar}}}};
  CHECK(verdicts(steep.trace) == std::vector<std::string>{"(gradient.finite)"});
}

TEST_CASE("finite: steps that overflow where the derivative does not", "[gradients]") {
  Run run;  // y = (x 1e30) 1e-30 by way of a cotangent 1e38 that a factor takes beyond float32
  const auto x = run.given("x", {1}, {2}), seed = run.given("seed", {1}, {1e38F});
  const auto up = run.apply(Op::scale, {x}, ScaleAttributes{1e-30}), y = run.apply(Op::scale, {up}, ScaleAttributes{1e30});
  const auto up_bar = run.apply(Op::scale, {seed}, ScaleAttributes{1e30}), x_bar = run.apply(Op::scale, {up_bar}, ScaleAttributes{1e-30});
  run.claim(y, seed, {{0, up_bar}});
  run.claim(up, up_bar, {{0, x_bar}});
  run.trace.outputs = {y, x_bar};
  run.trace.gradients = {{y, seed, {{x, x_bar}}}};
  const auto found = verdicts(run.trace);
  CHECK(std::ranges::find(found, "gradient.finite") != found.end());
}

TEST_CASE("finite: a product that gives NaN or infinity by its own formula is found at its region", "[gradients]") {
  for (const float factor : {kNaN, kInfinity}) {
    Run run;  // y = x^2, x_bar = seed x factor
    const auto x = run.given("x", {2}, {1.5F, -2}), seed = run.given("seed", {2}, {1, 1});
    const auto y = run.apply(Op::mul, {x, x});
    const auto bent = run.given("factor", {}, {factor});
    const auto x_bar = run.apply(Op::mul, {run.apply(Op::mul, {seed, x}), bent});
    run.claim(y, seed, {{0, x_bar}});
    run.trace.outputs = {y, x_bar};
    run.trace.gradients = {{y, seed, {{x, x_bar}}}};
    CHECK(verdicts(run.trace) == std::vector<std::string>{"gradient.value", "gradient.finite"});
  }
}

TEST_CASE("finite: what is declared to be another derivative, or is stored in 16 bits, stays undecided", "[gradients]") {
  Trace trace = guarded_root({-1, 4});
  Trace declared = trace;
  Graph same;
  same.mark_output(same.append_input(DType::float32, {2}, "x"), "y");
  declared.vjps[1].surrogate = same;
  const auto found = verdicts(declared);
  CHECK(std::ranges::find(found, "(gradient.finite)") != found.end());
  trace.tensors[0].storage = ExecutionModel::Storage::bfloat16;
  CHECK(verdicts(trace) == std::vector<std::string>{"(gradient.finite)"});
}
