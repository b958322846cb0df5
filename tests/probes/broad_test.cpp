// Kernels that are wrong only where several axes are long at once, or broadcast at once.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernel/audit/audit.h"
#include "probes/launch.h"
#include "runtime/recorder.h"
#include "tests/catch.h"

namespace assay::probes {
namespace {

const ExecutionModel kModel = runtime::execution_model(DType::float32);

using Shapes = std::vector<Shape>;
using Where = std::function<bool(const Shapes&)>;

Shapes shapes_of(std::span<const Tensor> operands) {
  Shapes shapes;
  for (const Tensor& operand : operands) shapes.push_back(operand.shape());
  return shapes;
}

// The bits of the last element become those of a number that no probe has.
void spoil(std::span<std::byte> result) {
  constexpr float kWrong = 12345.678F;
  if (result.size() >= sizeof kWrong) std::memcpy(result.data() + result.size() - sizeof kWrong, &kWrong, sizeof kWrong);
}

std::int64_t failures(const Trace& trace) {
  std::int64_t failed = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(trace.regions[r].name + ": " + audit.rejection().to_text());
    failed += audit.value().total().failed;
  }
  return failed;
}

// Of float32 alone, on the shapes where the kernel is wrong: those on which right kernels are right, too, cost time.
std::int64_t failures_of(Op op, const Where& is_wrong) {
  std::vector<Probe> plan = probe_plan(op);
  std::erase_if(plan, [&](const Probe& probe) { return !is_wrong(shapes_of(probe.operands)); });
  const auto launcher = [right = eager_launcher()](const Launch& launch) {
    auto done = right(launch);
    spoil(launch.result);
    return done;
  };
  return failures(run_plan(plan, launcher, kModel).trace);
}
std::int64_t failures_of(const std::string& region, const Where& is_wrong) {
  std::vector<RegionProbe> plan = region_plan(region);
  std::erase_if(plan, [&](const RegionProbe& probe) { return !is_wrong(shapes_of(probe.operands)); });
  const auto launcher = [right = eager_region_launcher()](const RegionLaunch& launch) {
    auto done = right(launch);
    for (const auto& result : launch.results) spoil(result);
    return done;
  };
  return failures(run_regions(plan, launcher, kModel).trace);
}

TEST_CASE("products that are wrong beyond a tile in both directions, or in one kind of batches, are found", "[probes]") {
  const Where both = [](const Shapes& x) { return x[0].size() > 1 && x[1].size() > 1 && x[0].end()[-2] > 64 && x[1].back() > 64; };
  CHECK(failures_of(Op::matmul, both) > 0);
  CHECK(failures_of(Op::matmul, [&](const Shapes& x) { return both(x) && x[0].back() > 128; }) > 0);
  CHECK(failures_of(Op::gemm, [&](const Shapes& x) { return both(x) && x[0].back() > 128; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) { return x[0].size() == 4 && x[1].size() == 4; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) { return x[0].size() == 2 && x[1].size() == 3; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) { return x[0].size() == 3 && x[1].size() == 2; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) { return x[0].size() == 3 && x[1].size() == 3 && x[0][0] == 1 && x[1][0] > 1; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) { return x[0].size() == 3 && x[1].size() == 3 && x[0][0] > 1 && x[1][0] == 1; }) > 0);
  CHECK(failures_of(Op::matmul, [](const Shapes& x) {
          return x[0].size() == 3 && x[1].size() == 3 && x[0][0] > 1 && x[1][0] > 1 && x[0][1] > 32 && x[1][2] > 32;
        }) > 0);
  CHECK(failures_of(Op::conv, [](const Shapes& x) {
          return x[0].size() == 4 && x[0][0] > 2 && x[0][1] > 16 && x[0][2] > 16 && x[0][3] > 16 && x[1][0] > 32;
        }) > 0);
}

TEST_CASE("operations along rows that are wrong from some row on, or in several long rows, are found", "[probes]") {
  for (const Op op : {Op::softmax, Op::log_softmax, Op::normalise, Op::reduce_sum, Op::reduce_mean, Op::reduce_max, Op::cumsum}) {
    CAPTURE(op_row(op).name);
    CHECK(failures_of(op, [](const Shapes& x) { return x[0].size() == 2 && x[0][0] > 64 && x[0][1] > 64; }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x[0].size() == 2 && x[0][0] > 8 && x[0][1] > 1024; }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x[0].size() == 2 && x[0][0] > 1 && x[0][1] > 8192; }) > 0);
  }
  for (const std::string region : {"layer norm", "rms norm", "layer norm backward", "rms norm backward", "softmax backward"}) {
    CAPTURE(region);
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][0] > 64 && x[0][1] > 64; }) > 0);
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][0] > 8 && x[0][1] > 1024; }) > 0);
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][0] > 1 && x[0][1] > 8192; }) > 0);
  }
}

// Kernels that lose or spoil the last tile where the size is a whole number of tiles, or one element more or less.
TEST_CASE("kernels that are wrong beside or at a whole number of tiles are found", "[probes]") {
  const auto is_at = [](std::int64_t n, std::int64_t tile, std::int64_t beside) { return n >= 2 * tile - 1 && (n - beside) % tile == 0; };
  for (const std::int64_t tile : {4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    for (const std::int64_t beside : {-1, 0, 1}) {
      CAPTURE(tile, beside);
      const Where flat = [&](const Shapes& x) { return is_at(static_cast<std::int64_t>(element_count(x[0])), tile, beside); };
      CHECK(failures_of(Op::relu, flat) > 0);
      CHECK(failures_of(Op::softmax, [&](const Shapes& x) { return x[0].size() == 2 && x[0][0] > 1 && is_at(x[0][1], tile, beside); }) > 0);
      if (tile > 64) continue;
      CHECK(failures_of(Op::matmul, [&](const Shapes& x) {
              return x[0].size() == 2 && x[1].size() == 2 && is_at(x[0][0], tile, beside) && is_at(x[0][1], tile, beside) &&
                     is_at(x[1][1], tile, beside);
            }) > 0);
    }
  }
  CHECK(failures_of(Op::softmax, [](const Shapes& x) { return x[0].size() == 2 && x[0][0] > 65535 && x[0][1] > 1; }) > 0);
  CHECK(failures_of("layer norm", [](const Shapes& x) { return x[0][0] % 64 == 0 && x[0][1] % 64 == 0; }) > 0);
  CHECK(failures_of("attention", [](const Shapes& x) { return x[0][1] % 64 == 0 && x[1][1] % 64 == 0 && x[1][1] > 64; }) > 0);
}

TEST_CASE("attention that is wrong for usual heads, many queries or a third head is found", "[probes]") {
  CHECK(failures_of("attention", [](const Shapes& x) { return x[0][2] >= 128 && x[2][2] >= 128; }) > 0);
  CHECK(failures_of("attention", [](const Shapes& x) { return x[0][0] > 2 && x[0][1] > 64 && x[0][2] >= 64 && x[2][2] >= 64; }) > 0);
  CHECK(failures_of("attention", [](const Shapes& x) { return x.size() == 4 && x[0][0] > 2 && x[0][1] > 32 && x[1][1] > 64; }) > 0);
  for (const char* region : {"attention", "attention backward"}) {
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][2] > 16 && x[0][2] < 32; }) > 0);
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][2] > 64 && x[0][2] < 128; }) > 0);
    CHECK(failures_of(region, [](const Shapes& x) { return x[0][2] > 128 && x[0][2] % 128 != 0; }) > 0);
  }
  CHECK(failures_of("attention backward", [](const Shapes& x) { return x[0][0] > 2 && x[0][1] > 32 && x[0][2] > 16; }) > 0);
}

TEST_CASE("elementwise kernels that are wrong in one kind of shapes are found", "[probes]") {
  const auto is_long = [](const Shapes& x) { return element_count(x[0]) > 100'000; };
  for (const Op op : {Op::relu, Op::exp, Op::asin}) {
    CAPTURE(op_row(op).name);
    CHECK(failures_of(op, is_long) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x[0].size() > 4; }) > 0);
  }
  for (const Op op : {Op::add, Op::mul, Op::max, Op::min, Op::power}) {
    CAPTURE(op_row(op).name);
    CHECK(failures_of(op, is_long) > 0);
    CHECK(failures_of(op, [](const Shapes& x) {
            return x.size() == 2 && x[0].size() == 2 && x[0][0] == 1 && x[0][1] > 32 && x[1] == Shape{33, 1};
          }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x.size() == 2 && x[0].size() == 3 && x[1].size() == 1; }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x.size() == 2 && x[0].size() == 1 && x[1].size() == 3; }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) {
            return x.size() == 2 && x[0].size() == 3 && x[1].size() == 3 && x[0][1] > 1 && x[1][1] == 1;
          }) > 0);
    CHECK(failures_of(op, [](const Shapes& x) { return x.size() == 2 && x[0].size() == 5; }) > 0);
  }
}

}  // namespace
}  // namespace assay::probes
