// The whole vocabulary on the emulated device: every op runs, within its contract, and so does every rule of its gradient.
#include <cmath>
#include <limits>
#include <set>

#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"

namespace assay::test {
namespace {

using runtime::Session;
using runtime::Value;

// A launcher of the probe plan of probes/: the device's kernels on copies of the operands.
probes::Launcher on(runtime::Device& device) {
  return [&device](const probes::Launch& launch) -> Outcome<Done> {
    std::vector<runtime::DeviceArray> there;
    const auto copy = [&](std::span<const std::byte> bytes) {
      auto memory = device.allocate(bytes.size());
      if (!memory) FAIL(memory.rejection().to_text());
      if (const auto done = device.copy_in(bytes, memory.value()); !done) FAIL(done.rejection().to_text());
      return std::move(memory).value();
    };
    for (const Tensor& operand : launch.operands) there.push_back({&operand.shape(), copy(operand.bytes()), operand.dtype()});
    runtime::DeviceArray y{&launch.shape, copy(launch.result), launch.dtype};
    if (auto done = device.run(launch.op, launch.attributes, there, y); !done) return done;
    return device.copy_out(y.memory, launch.result);
  };
}

// Probes of infinities and of cancellation are vacuous by design: here only failures count.
constexpr double kAnyShare = std::numeric_limits<double>::infinity();

bool is_leaf(Op op) { return op == Op::input || op == Op::constant; }

// The device declines two parts of a plan only: element types that it does not hold, and operands without a result.
void check_declined(const std::vector<probes::PlanRun::Note>& notes) {
  for (const auto& note : notes) {
    CAPTURE(note.probe, note.why.to_text());
    CHECK((note.why.code == "gpu.dtype" || note.why.code == "gpu.operand"));
  }
}

TEST_CASE("gpu vocabulary: every op on its probe plan lies within its contract", "[gpu]") {
  const auto device = gpu::emulated_device(schedules()[2]);
  std::size_t ops = 0;
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (is_leaf(op)) continue;
    CAPTURE(op_row(op).name);
    const auto plan = probes::probe_plan(op, {.dtype = DType::float32, .seed = 1, .large = true, .blocks = false});
    const probes::PlanRun run = probes::run_plan(plan, on(*device), device->model());
    for (const auto& note : run.faults) FAIL_CHECK(note.probe + ": " + note.why.to_text());
    check_declined(run.declined);
    CHECK(failures_of(run.trace, kAnyShare) == std::vector<std::string>{});
    CHECK(!run.trace.regions.empty());
    ++ops;
  }
  CHECK(ops == static_cast<std::size_t>(kOpCount) - 2);
}

// The results of a program's second replay: launches that the device has kept.
TEST_CASE("gpu vocabulary: every op as a program whose launches are kept lies within its contract, and so do its gradients", "[gpu]") {
  const auto device = gpu::emulated_device(schedules()[1]);
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (is_leaf(op)) continue;
    CAPTURE(op_row(op).name);
    const auto plan = probes::probe_plan(op, {.dtype = DType::float32, .seed = 2, .large = false, .blocks = false});
    const probes::PlanRun run = probes::run_plan(plan, probes::compiled_launcher(device), device->model());
    for (const auto& note : run.faults) FAIL_CHECK(note.probe + ": " + note.why.to_text());
    check_declined(run.declined);
    CHECK(failures_of(run.trace, kAnyShare) == std::vector<std::string>{});
    std::vector<probes::PlanRun::Note> declined;
    const auto gradients = probes::compiled_gradients(op, 2, device, declined);
    if (!gradients) FAIL(gradients.rejection().to_text());
    check_declined(declined);
    const char* open = op == Op::pow ? "gradient.finite" : "";  // its derivative at 0 may be infinite
    if (!gradients.value().regions.empty()) CHECK(failures_of(gradients.value(), kAnyShare, open) == std::vector<std::string>{});
  }
  CHECK(device->traffic().lists > 1000);
}

// Operands inside the domains of a case, full precision.
Tensor drawn(std::mt19937_64& random, const Node& node, const gradients::Domain& domain) {
  std::vector<double> values(element_count(node.shape));
  for (double& value : values) value = std::uniform_real_distribution<double>(domain.lo, domain.hi)(random);
  if (is_float(node.dtype)) return Tensor::of_floats(node.shape, std::vector<float>(values.begin(), values.end()));
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(static_cast<std::int64_t>(std::floor(value)));
  if (node.dtype == DType::int64) return Tensor::of_ints(node.shape, whole);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const std::int64_t value : whole) bytes->push_back(static_cast<std::byte>(value & 1));
  return Tensor(DType::boolean, node.shape, std::move(bytes));
}

TEST_CASE("gpu vocabulary: every gradient rule's ops run on the device, and its products are right", "[gpu]") {
  std::mt19937_64 random(61);
  std::set<Op> ops;
  for (int i = 0; i < kOpCount; ++i) {
    for (const gradients::AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(i))) {
      CAPTURE(op_row(static_cast<Op>(i)).name, one.name);
      bool fits = true;  // the cases of float64 are not the device's
      for (const Node& node : one.graph.nodes) fits = fits && node.dtype != DType::float64 && node.dtype != DType::complex64;
      if (!fits) continue;
      Session session({.seed = 7, .device = gpu::emulated_device(schedules()[1])});
      runtime::Recorder recorder(session);
      std::vector<Value> values(one.graph.nodes.size(), session.number(0));
      std::vector<Value> of;
      for (std::size_t k = 0; k < one.graph.inputs.size(); ++k) {
        const NodeId id = one.graph.inputs[k];
        values[id] = session.input(drawn(random, one.graph.node(id), one.domains[k]), "x" + std::to_string(k));
        if (is_float(one.graph.node(id).dtype)) of.push_back(values[id]);
      }
      for (NodeId id = 0; id < one.graph.nodes.size(); ++id) {
        const Node& node = one.graph.node(id);
        if (node.op == Op::input) continue;
        if (node.op == Op::constant) {
          values[id] = session.input(node.value);
          continue;
        }
        std::vector<Value> operands;
        for (const NodeId operand : node.operands) operands.push_back(values[operand]);
        values[id] = session.apply(node.op, operands, node.attributes);
      }
      const Value y = values[one.graph.outputs[0]];
      if (session.failure()) FAIL(session.failure()->to_text());
      const auto bars = recorder.gradients(sum(y * session.input(session.normal(y.shape()), "cotangent")), of);
      if (!bars) FAIL(bars.rejection().to_text());
      recorder.output(y);
      CHECK(failures_of(recorder.take(), kAnyShare) == std::vector<std::string>{});
      ops.insert(static_cast<Op>(i));
    }
  }
  CHECK(ops.size() > 70);
}

}  // namespace
}  // namespace assay::test
