// Sessions on a device: what they record is one run, within the contracts of the device's model, with right gradients.
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"

namespace assay::test {
namespace {

using runtime::Session;
using runtime::Value;

std::shared_ptr<runtime::Device> cuda_or_emulated(const Schedule& schedule) {
  auto cuda = gpu::cuda_device();
  return cuda ? cuda.value() : gpu::emulated_device(schedule);
}

TEST_CASE("gpu session: linear layers, tanh, relu, sigmoid and softmax, forward and backward", "[gpu]") {
  for (const Schedule& schedule : schedules()) {
    Session session({.seed = 3, .device = cuda_or_emulated(schedule)});
    runtime::Recorder recorder(session);
    const Value w = session.parameter("w", session.normal({8, 6})), b = session.parameter("b", session.normal({8}));
    const Value v = session.parameter("v", session.normal({3, 8}));
    const Value x = session.input(session.normal({5, 6}), "x"), target = session.input(session.uniform({5, 3}), "target");
    const Value h = tanh(linear(x, w, b));
    const Value loss = mean(square(softmax(linear(sigmoid(h) + relu(h), v), 1) - target));
    const auto bars = recorder.gradients(loss, std::vector<Value>{w, b, v});
    if (!bars) FAIL(bars.rejection().to_text());
    recorder.output(loss);
    const Trace trace = recorder.take();
    CHECK(failures_of(trace, 0.01) == std::vector<std::string>{});
    CHECK(trace.regions.front().model.softmax == ExecutionModel::Softmax::online);
  }
}

TEST_CASE("gpu session: layer_norm and max_pool, forward and backward", "[gpu]") {
  Session session({.seed = 4, .device = cuda_or_emulated(schedules()[2])});
  for (const std::int64_t stride : {2, 1}) {
    runtime::Recorder recorder(session);
    const Value x = session.parameter("x", session.normal({2, 2, 4, 6}));
    const Value scale = session.parameter("scale", session.normal({6})), shift = session.parameter("shift", session.normal({6}));
    const Value loss = mean(square(max_pool2d(layer_norm(x, scale, shift), 2, stride)));
    const auto bars = recorder.gradients(loss, std::vector<Value>{x, scale, shift});
    if (!bars) FAIL(bars.rejection().to_text());
    recorder.output(loss);
    CHECK(failures_of(recorder.take(), 0.02) == std::vector<std::string>{});
    session.clear();
  }
}

TEST_CASE("gpu session: a result that one bit leaves its set by is seen", "[gpu]") {
  Session session({.seed = 5, .device = gpu::emulated_device()});
  runtime::Recorder recorder(session);
  const Value x = session.input(session.normal({4}), "x");
  recorder.output(x + x);
  Trace trace = recorder.take();
  CHECK(failures_of(trace, 0) == std::vector<std::string>{});
  std::vector<std::byte> bytes(trace.tensors[1].value.bytes().begin(), trace.tensors[1].value.bytes().end());
  bytes[4] ^= std::byte{1};
  trace.tensors[1].value = Tensor(DType::float32, {4}, std::make_shared<std::vector<std::byte>>(bytes));
  CHECK(failures_of(trace, 1).size() == 1);
}

TEST_CASE("gpu session: arrays are copied to the device once, and dropped with their buffers", "[gpu]") {
  const auto device = gpu::emulated_device();
  runtime::Mirror mirror(device);
  const runtime::Array x = runtime::Array::from(Tensor::of_floats({2}, std::vector<float>{1, 2}));
  for (int round = 0; round < 300; ++round) {
    const runtime::Array z = runtime::Array::from(Tensor::of_floats({2}, std::vector<float>{3, 2}));
    const runtime::Array* operands[] = {&x, &z};
    const auto y = mirror.run(Op::add, NoAttributes{}, operands, DType::float32, {2});
    REQUIRE(y.ok());
    CHECK(y.value().data<float>()[1] == 4.0F);
  }
  CHECK(mirror.copies() <= 66);
  CHECK(device->traffic().copies_in == 301);
  CHECK(device->traffic().copies_out == 300);
  CHECK(device->traffic().memory <= 66 * 8);
}

TEST_CASE("gpu session: what the device cannot do is refused, and nothing is run elsewhere", "[gpu]") {
  Session session({.seed = 6, .device = gpu::emulated_device()});
  const Value x = session.input(session.normal({4}));
  CHECK_FALSE(cast(x, DType::float64).ok());
  REQUIRE(session.failure());
  CHECK(session.failure()->code == "gpu.dtype");
}

}  // namespace
}  // namespace assay::test
