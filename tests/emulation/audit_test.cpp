// audit_kernel on kernels that are right, and on launchers that are wrong in one way each.
#include <string>
#include <vector>

#include "assay/cuda_testing.h"
#include "tests/catch.h"
#include "tests/emulation/audited.h"

namespace assay::test {
namespace {

using testing::audit_kernel;
using testing::CudaLaunch;
using testing::KernelPlan;
using testing::KernelReport;

KernelPlan small() {
  KernelPlan plan;
  plan.probes.large = false;
  return plan;
}

// Audits a kernel's launcher, with a fault or without.
template <class Launcher>
KernelReport audited(const Launcher& launcher, const KernelPlan& plan = small()) {
  return audit_kernel(Op::relu, NoAttributes{}, launcher, plan);
}

int count_of(const CudaLaunch& launch) { return static_cast<int>(launch.operands[0].size()); }
const float* x_of(const CudaLaunch& launch) { return launch.operands[0].data(); }
float* y_of(const CudaLaunch& launch) { return launch.results[0].data(); }
bool is_float(const CudaLaunch& launch) { return launch.operands[0].dtype == DType::float32; }

TEST_CASE("audit_kernel: a right kernel passes, with the size of block that is asked for and with its own", "[gpu]") {
  std::vector<unsigned> tried;
  const KernelReport asked = audited([&](const CudaLaunch& launch) -> Outcome<Done> {
    if (!is_float(launch)) return CudaLaunch::declined("float32 only");
    if (tried.empty() || tried.back() != launch.threads()) tried.push_back(launch.threads());
    relu(x_of(launch), y_of(launch), count_of(launch), static_cast<int>(launch.threads()), launch.stream());
    return Done{};
  });
  INFO(asked.text);
  CHECK(asked.passed());
  CHECK(asked.faults.empty());
  CHECK(tried == std::vector<unsigned>{128, 32, 96});
  const KernelReport own = audited([](const CudaLaunch& launch) -> Outcome<Done> {
    if (!is_float(launch)) return CudaLaunch::declined("float32 only");
    relu(x_of(launch), y_of(launch), count_of(launch), 64, launch.stream());
    return Done{};
  });
  CHECK(own.passed());
  CHECK(own.probes < asked.probes);
  CHECK(own.trace.regions.size() + own.declined == own.probes);
}

TEST_CASE("audit_kernel: what a launcher does wrong is named", "[gpu]") {
  struct Case {
    std::string code;
    std::function<void(const CudaLaunch&)> launch;
  };
  const std::vector<Case> cases = {
      {"gpu.stream", [](const CudaLaunch& l) { relu(x_of(l), y_of(l), count_of(l), 64, nullptr); }},
      {"probe.unwritten", [](const CudaLaunch& l) { relu(x_of(l), y_of(l), count_of(l) - 1, 64, l.stream()); }},
      {"gpu.bounds", [](const CudaLaunch& l) { relu(x_of(l), y_of(l), count_of(l) + 1, 64, l.stream()); }},
      {"gpu.operand", [](const CudaLaunch& l) { relu(x_of(l), const_cast<float*>(x_of(l)), count_of(l), 64, l.stream()); }},
      {"gpu.launch", [](const CudaLaunch& l) { relu(x_of(l), y_of(l), count_of(l), 2048, l.stream()); }},
      {"contract.relu", [](const CudaLaunch& l) { leaky(x_of(l), y_of(l), count_of(l), l.stream()); }},
      {"probe.unsteady", [calls = std::make_shared<int>(0)](
                             const CudaLaunch& l) { relu_or_not(x_of(l), y_of(l), count_of(l), ++*calls % 2 == 0, l.stream()); }},
  };
  for (const Case& one : cases) {
    CAPTURE(one.code);
    const KernelReport report = audited([&](const CudaLaunch& launch) -> Outcome<Done> {
      if (!is_float(launch) || count_of(launch) < 2) return CudaLaunch::declined("two floats at least");
      one.launch(launch);
      return Done{};
    });
    INFO(report.text);
    CHECK(report.verdict() == "failed");
    REQUIRE_FALSE(report.faults.empty());
    CHECK(report.faults[0].code == one.code);
    CHECK(report.faults[0].probes > 0);
  }
}

TEST_CASE("audit_kernel: nothing is concluded from probes that were not run", "[gpu]") {
  const KernelReport none = audited([](const CudaLaunch&) -> Outcome<Done> { return CudaLaunch::declined("anything"); });
  CHECK(none.verdict() == "undecided");
  CHECK(none.declined == none.probes);
  KernelPlan nothing = small();
  nothing.only = [](const std::string&) { return false; };
  CHECK(audited([](const CudaLaunch&) {}, nothing).verdict() == "undecided");
  CHECK(audited([](const CudaLaunch&) { return cudaErrorInvalidValue; }).has("gpu.launch"));
}

TEST_CASE("audit_kernel: an order that is left open on purpose is no fault where the plan says so", "[gpu]") {
  KernelPlan plan;
  plan.only = [](const std::string& name) { return name.find(": dense") != std::string::npos; };
  const auto launcher = [](const CudaLaunch& launch) -> Outcome<Done> {
    if (!is_float(launch)) return CudaLaunch::declined("floats only");
    const auto rows = static_cast<int>(launch.results[0].size());
    totals(x_of(launch), y_of(launch), rows, launch.operands[0].extent(-1), launch.stream());
    return Done{};
  };
  const ReduceAttributes last{{-1}, false};
  CHECK(audit_kernel(Op::reduce_sum, last, launcher, plan).has("probe.unsteady"));
  plan.deterministic = false;
  const KernelReport open = audit_kernel(Op::reduce_sum, last, launcher, plan);
  INFO(open.text);
  CHECK(open.passed());
  CHECK(open.declined < open.probes);
}

TEST_CASE("audit_kernel: attributes say what the kernel is for", "[gpu]") {
  std::vector<std::int64_t> axes, ranks;
  (void)audit_kernel(
      Op::softmax, SoftmaxAttributes{-1},
      [&](const CudaLaunch& launch) -> Outcome<Done> {
        axes.push_back(launch.attributes<SoftmaxAttributes>().axis);
        ranks.push_back(static_cast<std::int64_t>(launch.operands[0].shape.size()));
        return CudaLaunch::declined("nothing is run");
      },
      small());
  REQUIRE_FALSE(axes.empty());
  for (std::size_t i = 0; i < axes.size(); ++i) CHECK((axes[i] == ranks[i] - 1 || axes[i] == -1));
}

}  // namespace
}  // namespace assay::test
