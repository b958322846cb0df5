// The probe plan, run by both backends and by launchers that break its rules.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "runtime/recorder.h"
#include "tests/catch.h"

namespace assay::probes {
namespace {

const ExecutionModel kModel = runtime::execution_model(DType::float32);

audit::RegionAudit::Counts audited(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  audit::RegionAudit::Counts counts;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(trace.regions[r].name + ": " + audit.rejection().to_text());
    if (audit.value().first) UNSCOPED_INFO(trace.regions[r].name << ": " << audit.value().first->text);
    counts += audit.value().total();
  }
  return counts;
}

// In four parts, which run side by side.
void check_backend(const Launcher& launcher, Outcome<Trace> (*gradients)(Op, std::uint64_t), DType dtype, int part) {
  for (int k = part; k < kOpCount; k += 4) {
    const Op op = static_cast<Op>(k);
    if (op_row(op).op_class == OpClass::leaf) continue;
    CAPTURE(op_row(op).name);
    const auto plan = probe_plan(op, {dtype, 3, true});
    REQUIRE(plan.size() >= 3);
    const PlanRun run = run_plan(plan, launcher, kModel);
    CHECK(run.faults.empty());
    CHECK(run.declined.empty());
    CHECK(run.trace.regions.size() == plan.size());
    const auto counts = audited(run.trace);
    CHECK(counts.failed == 0);
    CHECK(counts.unsupported == 0);
    CHECK(counts.passed > counts.vacuous);
    if (gradients == nullptr) continue;
    const auto trace = gradients(op, 5);
    REQUIRE(trace.ok());
    CHECK(trace.value().gradients.empty() == gradients::adjoint_cases(op).empty());
    CHECK(audited(trace.value()).failed == 0);
    for (std::size_t g = 0; g < trace.value().gradients.size(); ++g) {
      for (const audit::GradientStep& step : audit::check_gradient(trace.value(), g, 7)) {
        if (step.failure) FAIL_CHECK(step.failure->to_text());
      }
    }
  }
}

TEST_CASE("eager kernels and gradients pass their plans, ops 0, 4, ...", "[probes]") {
  check_backend(eager_launcher(), eager_gradients, DType::float32, 0);
}
TEST_CASE("eager kernels and gradients pass their plans, ops 1, 5, ...", "[probes]") {
  check_backend(eager_launcher(), eager_gradients, DType::float32, 1);
}
TEST_CASE("eager kernels and gradients pass their plans, ops 2, 6, ...", "[probes]") {
  check_backend(eager_launcher(), eager_gradients, DType::float32, 2);
}
TEST_CASE("eager kernels and gradients pass their plans, ops 3, 7, ...", "[probes]") {
  check_backend(eager_launcher(), eager_gradients, DType::float32, 3);
}
TEST_CASE("compiled programs and gradients pass their plans, ops 0, 4, ...", "[probes]") {
  check_backend(compiled_launcher(), compiled_gradients, DType::float32, 0);
}
TEST_CASE("compiled programs and gradients pass their plans, ops 1, 5, ...", "[probes]") {
  check_backend(compiled_launcher(), compiled_gradients, DType::float32, 1);
}
TEST_CASE("compiled programs and gradients pass their plans, ops 2, 6, ...", "[probes]") {
  check_backend(compiled_launcher(), compiled_gradients, DType::float32, 2);
}
TEST_CASE("compiled programs and gradients pass their plans, ops 3, 7, ...", "[probes]") {
  check_backend(compiled_launcher(), compiled_gradients, DType::float32, 3);
}
TEST_CASE("kernels of float64 pass their plans", "[probes]") {
  for (int part = 0; part < 4; ++part) check_backend(eager_launcher(), nullptr, DType::float64, part);
}

Launcher with(const std::function<void(const Launch&)>& after) {
  return [after, right = eager_launcher()](const Launch& launch) {
    auto done = right(launch);
    if (done) after(launch);
    return done;
  };
}

std::vector<std::string> codes(const PlanRun& run) {
  std::vector<std::string> found;
  for (const auto& fault : run.faults) found.push_back(fault.why.code);
  return found;
}

TEST_CASE("an element that is not written is noticed, whatever it held", "[probes]") {
  const std::vector<Probe> plan = {
      {"add",
       ProbeKind::integers,
       Op::add,
       NoAttributes{},
       {Tensor::of_ints({3}, std::vector<std::int64_t>{1, 2, 3}), Tensor::of_ints({3}, std::vector<std::int64_t>{0, -3, 4})}}};
  // The last element keeps what was there: the right one for int64 only once in 2^64.
  const Launcher lazy = [right = eager_launcher()](const Launch& launch) {
    std::vector<std::byte> full(launch.result.begin(), launch.result.end());
    auto done = right({launch.op, launch.attributes, launch.operands, launch.dtype, launch.shape, full});
    if (done) std::memcpy(launch.result.data(), full.data(), full.size() - byte_size(launch.dtype));
    return done;
  };
  CHECK(codes(run_plan(plan, lazy, kModel)) == std::vector<std::string>{"probe.unwritten"});
  CHECK(run_plan(plan, lazy, kModel).faults[0].why.found == "not written: 1 element: 2");
}

TEST_CASE("operands that are written and results that differ from run to run are noticed", "[probes]") {
  const auto plan = probe_plan(Op::neg, {DType::float32, 1, false});
  const std::vector<Probe> one(plan.begin(), plan.begin() + 1);
  const auto in_place = with([](const Launch& launch) {
    auto* memory = const_cast<std::byte*>(launch.operands[0].bytes().data());  // as a kernel with an aliasing bug does
    memory[3] ^= std::byte{0x80};
  });
  CHECK(codes(run_plan(one, in_place, kModel)) == std::vector<std::string>{"probe.operand", "probe.operand"});
  int runs = 0;
  const auto unsteady = with([&](const Launch& launch) { launch.result[0] ^= static_cast<std::byte>(runs++); });
  CHECK(codes(run_plan(one, unsteady, kModel)) == std::vector<std::string>{"probe.unsteady"});
}

// A right kernel on operands that were changed before.
Launcher after(const std::function<double(double)>& change) {
  return [change, right = eager_launcher()](const Launch& launch) {
    std::vector<Tensor> changed;
    for (const Tensor& operand : launch.operands) {
      if (operand.dtype() != DType::float32) return Outcome<Done>(Rejection{Rejection::Kind::unsupported, "test.type", "", "", "", ""});
      std::vector<float> values;
      for (const double value : operand.to_doubles()) values.push_back(static_cast<float>(change(value)));
      changed.push_back(Tensor::of_floats(operand.shape(), values));
    }
    return right({launch.op, launch.attributes, changed, launch.dtype, launch.shape, launch.result});
  };
}

TEST_CASE("maxima and minima that start at a finite number, and pads that are one, are found", "[probes]") {
  const double largest = std::numeric_limits<float>::max();
  for (const double start : {-largest, -1e30, largest, 1e30}) {
    const bool is_end = std::fabs(start) == largest;  // contracts leave positions among infinities open
    const auto limited = [&](double x) { return std::isnan(x) ? x : start < 0 ? std::max(x, start) : std::min(x, start); };
    for (const Op op : start < 0 ? std::vector{Op::reduce_max, Op::max, Op::arg_max, Op::max_pool, Op::sort, Op::arg_sort}
                                 : std::vector{Op::reduce_min, Op::min, Op::arg_min, Op::sort, Op::arg_sort}) {
      if (is_end && contracts::family_of(op) == contracts::Family::positions) continue;
      CAPTURE(op_row(op).name, start);
      CHECK(audited(run_plan(probe_plan(op, {.blocks = false}), after(limited), kModel).trace).failed > 0);
    }
  }
}

TEST_CASE("functions of one operand get arguments of every ordinary size", "[probes]") {
  for (const Op op : {Op::softplus, Op::sigmoid, Op::tanh, Op::sin}) {
    std::map<int, int> numbers;  // of each octave and sign
    for (const Probe& probe : probe_plan(op, {}))
      for (const double x : probe.operands[0].to_doubles())
        if (std::isfinite(x) && x != 0) ++numbers[std::copysign(1, x) > 0 ? std::ilogb(x) : -1000 - std::ilogb(x)];
    for (const int octave : {3, 4, 5, 6}) {  // 8 to 128
      CAPTURE(op_row(op).name, octave);
      CHECK(numbers[octave] > 200);
      CHECK(numbers[-1000 - octave] > 200);
    }
  }
}

// The maximum over the first half of long rows.
Outcome<Done> half_softmax(const Launch& launch) {
  const std::vector<double> x = launch.operands[0].to_doubles();
  const double most = *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>((x.size() + 1) / 2));
  std::vector<float> y(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += y[i] = std::exp(static_cast<float>(x[i] - most));
  for (float& value : y) value = static_cast<float>(value / sum);
  std::memcpy(launch.result.data(), y.data(), launch.result.size());
  return Done{};
}

TEST_CASE("a softmax whose maximum leaves out a half of a long row is found", "[probes]") {
  std::vector<Probe> plan = probe_plan(Op::softmax);
  std::erase_if(plan, [](const Probe& probe) { return probe.application != "softmax, 8193" || probe.kind != ProbeKind::range; });
  CHECK(audited(run_plan(plan, half_softmax, kModel).trace).failed > 0);
}

// The softmax of one row block by block. Without a guard it subtracts -infinity from itself behind a first block that holds nothing else.
void online_softmax(const std::vector<double>& x, std::size_t block, bool is_guarded, float* y) {
  const auto infinity = std::numeric_limits<float>::infinity();
  float most = -infinity, sum = 0;
  for (std::size_t first = 0; first < x.size(); first += block) {
    const std::size_t last = std::min(first + block, x.size());
    float next = most;
    for (std::size_t i = first; i < last; ++i) next = std::max(next, static_cast<float>(x[i]));
    const float shift = is_guarded && next == -infinity ? 0 : next;
    sum *= std::exp(most - shift);
    for (std::size_t i = first; i < last; ++i) sum += std::exp(static_cast<float>(x[i]) - shift);
    most = next;
  }
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::exp(static_cast<float>(x[i]) - most) / sum;
}

// Elements that fail, of the probes with special values along the last axis.
std::int64_t failures_of_online(std::size_t block, bool is_guarded) {
  std::vector<Probe> plan = probe_plan(Op::softmax);
  std::erase_if(plan, [](const Probe& probe) {
    const Shape& shape = probe.operands[0].shape();
    return probe.kind != ProbeKind::special || shape.size() != 2 || std::get<SoftmaxAttributes>(probe.attributes).axis != 1;
  });
  const auto launcher = [&](const Launch& launch) -> Outcome<Done> {
    const std::vector<double> x = launch.operands[0].to_doubles();
    const auto n = static_cast<std::size_t>(launch.shape[1]);
    std::vector<float> y(x.size());
    for (std::size_t row = 0; row * n < x.size(); ++row) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * n);
      online_softmax({begin, begin + static_cast<std::ptrdiff_t>(n)}, block, is_guarded, y.data() + row * n);
    }
    if (!y.empty()) std::memcpy(launch.result.data(), y.data(), launch.result.size());
    return Done{};
  };
  return audited(run_plan(plan, launcher, kModel).trace).failed;
}

TEST_CASE("an online softmax that is NaN behind a block of -infinity is found, whatever its block", "[probes]") {
  for (const std::size_t block : {1, 7, 32, 64, 128, 8192, 16384}) {
    CAPTURE(block);
    CHECK(failures_of_online(block, false) > 0);
  }
  CHECK(failures_of_online(64, true) == 0);
}

TEST_CASE("a launcher may decline, and says why", "[probes]") {
  const auto plan = probe_plan(Op::neg, {DType::float32, 1, false});
  const PlanRun run = run_plan(
      plan,
      [](const Launch&) -> Outcome<Done> { return Rejection{Rejection::Kind::unsupported, "mine.rank", "neg", "rank 1", "rank 2", ""}; },
      kModel);
  CHECK(run.declined.size() == plan.size());
  CHECK(run.trace.regions.empty());
  CHECK(run.declined[0].why.code == "mine.rank");
}

TEST_CASE("plans are functions of their options and reach every kind", "[probes]") {
  std::set<ProbeKind> kinds;
  for (const Probe& probe : probe_plan(Op::gemm)) kinds.insert(probe.kind);
  CHECK(kinds.size() == 8);
  const auto a = probe_plan(Op::conv, {DType::float32, 9, true}), b = probe_plan(Op::conv, {DType::float32, 9, true}),
             c = probe_plan(Op::conv, {DType::float32, 10, true});
  REQUIRE(a.size() == b.size());
  bool differs = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::ranges::equal(a[i].operands[0].bytes(), b[i].operands[0].bytes()));
    differs = differs || !std::ranges::equal(a[i].operands[0].bytes(), c[i].operands[0].bytes());
  }
  CHECK(differs);
  CHECK(probe_plan(Op::input).empty());
}

}  // namespace
}  // namespace assay::probes
