// audit_kernel_on over memory of the host: the memory beside a buffer, the names of faults, and the probes that count as vacuous.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "assay/kernel_audit.h"
#include "tests/catch.h"

namespace assay::testing {
namespace {

class HostDevice final : public KernelDevice {
 public:
  [[nodiscard]] std::string name() const override { return "the host"; }
  [[nodiscard]] ExecutionModel model() const override {
    ExecutionModel model;
    model.kind = ExecutionModel::Kind::floating;
    model.accumulator = ExecutionModel::Accumulator::any_order;
    model.math_table = "any-library";
    return model;
  }
  void set_schedule(std::size_t) override {}
  [[nodiscard]] void* stream(bool) override { return nullptr; }
  [[nodiscard]] Outcome<void*> allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* memory) override { std::free(memory); }
  [[nodiscard]] Outcome<Done> copy_in(void* to, std::span<const std::byte> from, void*) override {
    std::memcpy(to, from.data(), from.size());
    return Done{};
  }
  [[nodiscard]] Outcome<Done> copy_out(std::span<std::byte> to, const void* from, void*) override {
    std::memcpy(to.data(), from, to.size());
    return Done{};
  }
  void give(const void*, std::size_t, std::size_t, const std::string&, bool) override {}
  void begin(void*) override {}
  [[nodiscard]] Outcome<Done> end(void*) override { return Done{}; }
};

// A kernel of neg over float32 by a function of each element, which may write beside its result.
template <class F>
KernelReport negated(const F& value, int beside = -1) {
  HostDevice device;
  KernelPlan plan;
  plan.probes.large = false;
  return audit_kernel_on(
      device, Op::neg, NoAttributes{},
      [&](const KernelLaunch& launch) -> Outcome<Done> {
        if (launch.operands[0].dtype != DType::float32) return KernelLaunch::declined("float32 only");
        const float* const x = launch.operands[0].data();
        float* const y = launch.results[0].data();
        for (std::size_t i = 0; i < launch.results[0].size(); ++i) y[i] = value(x[i]);
        if (beside >= 0) std::memset(y + launch.results[0].size(), beside, 8);
        return Done{};
      },
      plan);
}

TEST_CASE("audit_kernel_on: whatever byte is written beside a buffer shows in one of the runs", "[audit]") {
  const auto right = [](float x) { return -x; };
  CHECK(negated(right).passed());
  for (int byte = 0; byte < 256; ++byte) {
    const KernelReport report = negated(right, byte);
    INFO("byte " << byte << "\n" << report.text);
    CHECK(report.has("probe.guard"));
  }
}

TEST_CASE("audit_kernel_on: JUnit has one case for each kind of probe, with the details of all findings", "[audit]") {
  const KernelReport report = negated([](float x) { return x; });
  const std::string path = (std::filesystem::temp_directory_path() / "assay_kernel_audit_test.xml").string();
  REQUIRE(report.write_junit(path));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  const auto count = [&](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  CHECK(report.report.cases.size() > 20);
  CHECK(count("<testcase ") > 3);
  CHECK(count("<testcase ") < 15);
  CHECK(count("name=\"neg: dense float32\"") == 1);
  CHECK(count("in neg") > 5);
}

TEST_CASE("audit_kernel_on: files of a kernel that declined every probe have a failure", "[audit]") {
  KernelReport report;
  report.probes = report.declined = 2;
  REQUIRE(report.verdict() == "undecided");
  for (const bool is_sarif : {false, true}) {
    const std::string path = (std::filesystem::temp_directory_path() / "assay_kernel_audit_declined").string();
    const auto written = is_sarif ? report.write_sarif(path) : report.write_junit(path);
    REQUIRE(written);
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    CHECK(text.find("no probe was judged") != std::string::npos);
    CHECK(text.find(is_sarif ? "\"level\": \"error\"" : "failures=\"1\"") != std::string::npos);
  }
}

TEST_CASE("sarif_json: however many findings are waived, the others have places", "[audit]") {
  reports::GateReport report;
  report.cases.resize(1);
  using Finding = reports::Finding;
  const Finding waived{Finding::Kind::failure, "contract.neg", "y", "known", {"waived by W1"}, 1, "W1"};
  report.cases[0].findings.assign(6000, waived);
  report.cases[0].findings.push_back({Finding::Kind::failure, "contract.neg", "y", "open", {}, 1, {}});
  const std::string text = reports::sarif_json(report, 1);
  CHECK(text.find("\"text\": \"open\"") != std::string::npos);
  CHECK(text.find("W1") != std::string::npos);
}

TEST_CASE("audit_kernel_on: a fault comes first only where it explains most, and never by NaN alone", "[audit]") {
  const KernelReport few = negated([](float x) { return x > 1 ? x : -x; });
  REQUIRE(!few.faults.empty());
  CHECK(few.faults[0].words == "gives values outside of the contract");
  CHECK_FALSE(few.has("computes the reference"));
  CHECK(few.text.find("the result equals the reference") == std::string::npos);
  const KernelReport most = negated([](float x) { return x; });
  REQUIRE(!most.faults.empty());
  CHECK(most.faults[0].words.find("computes the reference") == 0);
  const KernelReport nan = negated([](float) { return std::numeric_limits<float>::quiet_NaN(); });
  for (const KernelFault& fault : nan.faults) CHECK(fault.words == "gives values outside of the contract");
}

TEST_CASE("audit_kernel_on: vacuous elements count by kind, among ordinary probes", "[audit]") {
  reports::GateReport report;
  report.counts_by_op = false;
  const auto add = [&](const std::string& name, std::size_t passed, std::size_t vacuous) {
    reports::GateCase one;
    one.name = name;
    one.share = probes::share_of(name);
    one.passed = passed;
    one.vacuous = vacuous;
    report.cases.push_back(one);
  };
  add("elu: range float32", 10, 90);
  add("elu: dense float32, transposed in memory", 10, 90);
  CHECK(report.verdict(0.25) == "undecided");  // nothing ordinary: all elements
  add("elu: dense float32", 80, 20);
  add("elu, draw 2: integers float16, 96 threads", 80, 20);
  CHECK(report.verdict(0.25) == "passed");
  add("elu: one hot bfloat16", 70, 30);
  CHECK(report.undecided_ops(0.25) == std::vector<std::string>{"one hot"});
}

}  // namespace
}  // namespace assay::testing
