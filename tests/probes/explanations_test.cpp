// A failed region is explained by the faults of the bank that reproduce it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/audit/audit.h"
#include "kernel/contracts/contract.h"
#include "probes/faults.h"
#include "probes/launch.h"
#include "probes/plan.h"
#include "runtime/recorder.h"
#include "tests/catch.h"

namespace assay::probes {
namespace {

Trace trace_of(const Probe& probe, const Graph& graph, Tensor result) {
  Trace trace;
  append_region(trace, "probe", graph, runtime::execution_model(DType::float32), probe.operands, std::move(result));
  return trace;
}

// The explanations for a kernel with this fault, on the first probe of the kind that it fails.
std::vector<std::string> told(Op op, const std::string& fault, ProbeKind kind) {
  for (const Probe& probe : probe_plan(op)) {
    const auto graph = graph_of(probe.op, probe.attributes, probe.operands);
    if (probe.kind != kind || !graph || probe.operands[0].dtype() != DType::float32) continue;
    for (const Fault& each : faults_of(graph.value())) {
      if (each.name != fault) continue;
      const auto wrong = each.run(probe.operands);
      REQUIRE(wrong.ok());
      const Trace trace = trace_of(probe, graph.value(), wrong.value());
      const auto audit = audit::audit_region(trace, 0);
      REQUIRE(audit.ok());
      if (audit.value().total().failed > 0) return explanations(trace, trace.regions[0]);
    }
  }
  return {"the fault did not fail"};
}

bool names(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) UNSCOPED_INFO(line);
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST_CASE("faults are named by those of the bank that give the same bits", "[probes]") {
  CHECK(
      names(told(Op::avg_pool, "with last pads ignored", ProbeKind::integers), "equals the reference with last pads ignored, bit for bit"));
  CHECK(names(told(Op::avg_pool, "with padding counted the other way", ProbeKind::integers), "(seen in onnxruntime#26708)"));
  CHECK(names(told(Op::conv, "with the kernel mirrored", ProbeKind::integers), "with the kernel mirrored"));
  CHECK(names(told(Op::gemm, "without the last term of each sum", ProbeKind::integers), "without the last term of each sum"));
  CHECK(names(told(Op::gemm, "with operands rounded to tf32", ProbeKind::sparse), "with operands rounded to tf32"));
  CHECK(names(told(Op::normalise, "with its variance from one pass", ProbeKind::shifted),
              "with its variance from one pass (seen in pytorch#51102)"));
  CHECK(names(told(Op::round, "with halves away from 0", ProbeKind::ties), "with halves away from 0"));
}

// Another order of summation moves the last bits; the fault's own contract still admits them.
TEST_CASE("a fault in another order of summation is named by its contract", "[probes]") {
  const Tensor a = Tensor::of_floats({1, 3}, std::vector<float>{0.1F, 0.7F, 0.3F}),
               b = Tensor::of_floats({3, 1}, std::vector<float>{0.9F, 1.1F, 5.0F});
  const Probe probe{"gemm", ProbeKind::dense, Op::gemm, GemmAttributes{}, {a, b}};
  const Graph graph = graph_of(probe.op, probe.attributes, probe.operands).value();
  const float last_first = 0.7F * 1.1F + 0.1F * 0.9F;  // without the last term
  bool named = false;
  for (const float received : {last_first, std::nextafter(last_first, 1.0F), std::nextafter(last_first, 0.0F)}) {
    const Trace trace = trace_of(probe, graph, Tensor::of_floats({1, 1}, std::vector<float>{received}));
    named = named || names(explanations(trace, trace.regions[0]), "is what the reference without the last term of each sum may give");
  }
  CHECK(named);
}

// A recorded region reads one tensor twice, or holds its weights as constants: the bank has the op on operands of their own.
TEST_CASE("an operand that is read twice and one that is a constant do not hide the fault", "[probes]") {
  const Tensor a = Tensor::of_floats({2, 2}, std::vector<float>{1, 2, 3, 4}), b = Tensor::of_floats({2, 2}, std::vector<float>{5, 6, 7, 8});
  const auto told_of = [&](bool twice, const std::vector<float>& received) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {2, 2}, "x");
    const NodeId w = twice ? x : graph.append_constant(b);
    graph.mark_output(graph.append(Op::gemm, {x, w}, GemmAttributes{}).value(), "y");
    Trace trace;
    append_region(trace, "probe", graph, runtime::execution_model(DType::float32), std::vector{a}, Tensor::of_floats({2, 2}, received));
    return explanations(trace, trace.regions[0]);
  };
  CHECK(names(told_of(true, {1, 2, 3, 6}), "equals the reference without the last term of each sum, bit for bit"));
  CHECK(names(told_of(false, {5, 6, 15, 18}), "equals the reference without the last term of each sum, bit for bit"));
}

// Additions in 16 bits have many orders; a kernel that only rounds its result, or its operands too, is called so.
TEST_CASE("sums in 16 bits are named by their bound, and told from a rounding of the result", "[probes]") {
  const auto half = [](double x) { return contracts::rounded_to(ExecutionModel::Storage::binary16, x); };
  const auto brain = [](double x) { return contracts::rounded_to(ExecutionModel::Storage::bfloat16, x); };
  constexpr std::size_t kTerms = 30;
  std::vector<float> left, right;
  for (std::size_t k = 0; k < kTerms; ++k) left.push_back(0.1F + std::sin(static_cast<float>(k)));
  for (std::size_t k = 0; k < 2 * kTerms; ++k) right.push_back(std::cos(static_cast<float>(k)));
  const Tensor a = Tensor::of_floats({1, kTerms}, left), b = Tensor::of_floats({kTerms, 2}, right);
  const Graph graph = graph_of(Op::matmul, NoAttributes{}, {a, b}).value();
  const auto told = [&](const auto& change, const auto& add) {
    std::vector<float> y;
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t k = kTerms; k-- > 0;) sum = add(sum + add(change(a.as_double(k)) * change(b.as_double(2 * k + j))));
      y.push_back(static_cast<float>(half(sum)));
    }
    const Trace trace = trace_of({"matmul", ProbeKind::dense, Op::matmul, NoAttributes{}, {a, b}}, graph, Tensor::of_floats({1, 2}, y));
    return explanations(trace, trace.regions[0]);
  };
  const auto same = [](double x) { return x; };
  CHECK(names(told(same, half), "is what the reference with sums in float16 may give"));
  CHECK(names(told(half, half), "is what the reference with sums in float16 may give"));
  CHECK(names(told(same, brain), "is what the reference with sums in bfloat16 may give"));
  CHECK(told(same, same).front() == "equals the reference with its result rounded to binary16, bit for bit");
  CHECK(told(half, same).front() == "equals the reference with operands and result rounded to binary16, bit for bit");
}

TEST_CASE("no fault is named where the runtime's own result has the same bits", "[probes]") {
  const Tensor x = Tensor::of_floats({3}, std::vector<float>{1, 2, 3});
  const Probe probe{"neg", ProbeKind::dense, Op::neg, NoAttributes{}, {x}};
  const Trace right =
      trace_of(probe, graph_of(probe.op, probe.attributes, probe.operands).value(), Tensor::of_floats({3}, std::vector<float>{-1, -2, -3}));
  const auto lines = explanations(right, right.regions[0]);
  REQUIRE(lines.size() == 1);
  CHECK(names(lines, "equals what this project's runtime gives, bit for bit"));
}

TEST_CASE("a result of NaN alone names no fault, and words by rule read as sentences", "[probes]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of_floats({2}, std::vector<float>{-2, nan});
  const Probe probe{"gelu", ProbeKind::dense, Op::gelu, GeluAttributes{}, {x}};
  const Graph graph = graph_of(probe.op, probe.attributes, probe.operands).value();
  const Trace alone = trace_of(probe, graph, Tensor::of_floats({2}, std::vector<float>{nan, nan}));
  CHECK(explanations(alone, alone.regions[0]).empty());
  // Beside a number NaN has any sign.
  const Tensor rows = Tensor::of_floats({2, 2}, std::vector<float>{100, 100, 0, 1});
  const Probe softmax{"softmax", ProbeKind::dense, Op::softmax, SoftmaxAttributes{1}, {rows}};
  const Graph of_rows = graph_of(softmax.op, softmax.attributes, softmax.operands).value();
  for (const float sign : {-1.0F, 1.0F}) {
    for (const Fault& fault : faults_of(of_rows)) {
      if (fault.name != "without the maximum taken out") continue;
      const Tensor wrong = fault.run(softmax.operands).value();
      const std::vector<float> received = {std::copysign(nan, sign), std::copysign(nan, sign), static_cast<float>(wrong.as_double(2)),
                                           static_cast<float>(wrong.as_double(3))};
      const Trace beside = trace_of(softmax, of_rows, Tensor::of_floats({2, 2}, received));
      CHECK(names(explanations(beside, beside.regions[0]), "without the maximum taken out"));
    }
  }
  for (const Fault& fault : faults_by_rule(graph)) {
    INFO(fault.name);
    CHECK(fault.name != "with form");
  }
}

TEST_CASE("what no fault explains stays unexplained, and so do regions of several ops", "[probes]") {
  const Tensor x = Tensor::of_floats({3}, std::vector<float>{1, 2, 3});
  const Probe probe{"neg", ProbeKind::dense, Op::neg, NoAttributes{}, {x}};
  Graph graph = graph_of(probe.op, probe.attributes, probe.operands).value();
  const Trace odd = trace_of(probe, graph, Tensor::of_floats({3}, std::vector<float>{17, -2, 41}));
  CHECK(explanations(odd, odd.regions[0]).empty());
  graph.outputs[0] = graph.append(Op::neg, {graph.outputs[0]}).value();
  const Trace two = trace_of(probe, graph, x);
  CHECK(explanations(two, two.regions[0]).empty());
}

}  // namespace
}  // namespace assay::probes
