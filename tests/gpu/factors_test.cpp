// Products whose factors are rounded first, as tensor cores read them: recorded under the model that says so, and no other.
#include "gpu/devices.h"
#include "gpu/kernels/factor.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"
#include "tests/gpu/plan.h"

namespace assay::test {
namespace {

using gpu::Factors;
using runtime::Session;
using runtime::Value;

Trace trained_on(const std::shared_ptr<runtime::Device>& device) {
  Session session({.seed = 17, .device = device});
  runtime::Recorder recorder(session);
  const Value k = session.parameter("k", session.normal({3, 2, 3, 3})), w = session.parameter("w", session.normal({4, 27}));
  const Value v = session.parameter("v", session.normal({4, 5}));
  const Value x = session.input(session.normal({2, 2, 5, 5}), "x");
  const Value y = matmul(linear(reshape(relu(conv2d(x, k)), {2, 27}), w), v);
  const auto bars = recorder.gradients(mean(square(y)), std::vector<Value>{k, w, v});
  if (!bars) FAIL(bars.rejection().to_text());
  recorder.output(y);
  return recorder.take();
}

Trace with_factors(Trace trace, Factors factors) {
  for (Region& region : trace.regions) region.model.input_rounding = factors;
  return trace;
}

TEST_CASE("gpu factors: a run is within the model that its device declares, and outside of others", "[gpu]") {
  const Trace plain = trained_on(gpu::device_named("emulated").value());
  CHECK(failures_of(plain, 0.01) == std::vector<std::string>{});
  for (const auto& [name, factors] : {std::pair<const char*, Factors>{"emulated:tf32", Factors::tf32},
                                      {"emulated:bfloat16", Factors::bfloat16},
                                      {"emulated:float16", Factors::binary16}}) {
    CAPTURE(name);
    const Trace trace = trained_on(gpu::device_named(name).value());
    CHECK(trace.regions.front().model.input_rounding == factors);
    CHECK(failures_of(trace, 0.01) == std::vector<std::string>{});
    CHECK_FALSE(failures_of(with_factors(trace, Factors::none), 0.01).empty());
    CHECK_FALSE(failures_of(with_factors(plain, factors), 0.01).empty());
  }
}

// The stand-in for cuBLAS has its interface: which matrix is which, transposed or not, where rows begin and how far batches lie apart.
TEST_CASE("gpu factors: products by a library lie within their contracts, rounded or not", "[gpu]") {
  for (const Factors factors : {Factors::none, Factors::tf32, Factors::bfloat16, Factors::binary16}) {
    std::mt19937_64 random(44);
    const Draws draw = [&](const Shape& shape) { return gaussians(random, DType::float32, shape); };
    const auto device = gpu::emulated_device_with({.factors = factors, .has_library = true});
    for (const Probe& probe : product_probes(draw)) {
      CAPTURE(static_cast<int>(factors), op_row(probe.op).name, to_string(probe.operands[0].shape()), to_string(probe.operands[1].shape()));
      CHECK(fault_of(executed_on(*device, probe.op, probe.attributes, probe.operands), probe.op, probe.attributes, device->model(),
                     probe.operands) == "");
    }
    CHECK(failures_of(trained_on(device), 0.01) == std::vector<std::string>{});
  }
}

TEST_CASE("gpu factors: numbers are rounded to the nearest, ties to even", "[gpu]") {
  using gpu::rounded_factor;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK(rounded_factor(Factors::none, 1.0000001F) == 1.0000001F);
  for (const float x : {0.0F, -0.0F, 1.0F, -2.5F, 1024.0F, kInf, -kInf}) {
    for (const Factors factors : {Factors::tf32, Factors::bfloat16, Factors::binary16}) CHECK(rounded_factor(factors, x) == x);
  }
  CHECK(rounded_factor(Factors::tf32, 1 + 0x1p-11F) == 1);
  CHECK(rounded_factor(Factors::tf32, 1 + 0x1.8p-10F) == 1 + 0x1p-9F);
  CHECK(rounded_factor(Factors::tf32, -(1 + 0x1.2p-11F)) == -(1 + 0x1p-10F));
  CHECK(rounded_factor(Factors::bfloat16, 1 + 0x1p-8F) == 1);
  CHECK(rounded_factor(Factors::bfloat16, 0x1.fffffep127F) == kInf);
  CHECK(rounded_factor(Factors::binary16, 65519.0F) == 65504.0F);
  CHECK(rounded_factor(Factors::binary16, -65520.0F) == -kInf);
  CHECK(rounded_factor(Factors::binary16, 0x1.8p-24F) == 0x1p-23F);
  CHECK(rounded_factor(Factors::binary16, 0x1p-25F) == 0);
  CHECK(rounded_factor(Factors::binary16, 0x1.1p-25F) == 0x1p-24F);
  CHECK(std::isnan(rounded_factor(Factors::binary16, std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("gpu devices: what may follow a name", "[gpu]") {
  for (const char* name : {"cpu:tf32", "emulated:", "emulated:float32", "cuda:half", ":tf32", ""}) {
    CAPTURE(name);
    CHECK_FALSE(gpu::is_device_name(name));
    CHECK(gpu::device_named(name).rejection().code == "gpu.name");
  }
  CHECK(gpu::is_device_name("cuda:bfloat16"));
}

}  // namespace
}  // namespace assay::test
