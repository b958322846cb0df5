// Compiled functions on a device: the steps of a program there, fused passes included, recorded and audited; random numbers drawn anew.
#include "runtime/compiled_function.h"

#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using runtime::CompiledFunction;
using runtime::Session;
using runtime::Value;
using Results = Outcome<std::vector<Value>>;

// A small image model with dropout, one step: the loss, then the gradients.
class Model {
 public:
  explicit Model(std::shared_ptr<runtime::Device> device)
      : session_({.seed = 23, .device = std::move(device)}),
        parameters_{session_.parameter("k", session_.uniform({3, 1, 3, 3}, -0.5, 0.5)),
                    session_.parameter("c", session_.uniform({3}, 0, 1)), session_.parameter("w", session_.uniform({4, 12}, -0.5, 0.5))},
        compiled_(
            session_, [this](std::span<const Value> v) { return step(v); }, parameters_) {}

  Results step(std::span<const Value> v) {
    const Value hidden = reshape(gelu(conv2d(v[0], parameters_[0], parameters_[1])), {2, 12});
    const Value loss = cross_entropy(linear(dropout(hidden * 2 + 1, 0.25), parameters_[2]), v[1]);
    auto bars = session_.gradients(loss, parameters_);
    if (!bars) return bars.rejection();
    std::vector<Value> results{loss};
    results.insert(results.end(), bars.value().begin(), bars.value().end());
    return results;
  }
  std::vector<Value> arguments() {
    return {session_.input(session_.normal({2, 1, 4, 4}), "x"),
            session_.input(Tensor::of_ints({2}, std::vector<std::int64_t>{3, 1}), "class")};
  }
  // Losses of some steps of gradient descent.
  std::vector<double> train(bool is_compiled) {
    std::vector<double> losses;
    training::Sgd sgd(session_, parameters_, {.rate = 0.25});
    for (int k = 0; k < 4; ++k) {
      session_.clear();
      const std::vector<Value> given = arguments();
      const auto results = is_compiled ? compiled_(given) : step(given);
      if (!results) FAIL(results.rejection().to_text());
      losses.push_back(results.value()[0].item());
      REQUIRE(sgd.step(std::span(results.value()).subspan(1)).ok());
    }
    return losses;
  }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] CompiledFunction& compiled() { return compiled_; }

 private:
  Session session_;
  std::vector<Value> parameters_;
  CompiledFunction compiled_;
};

TEST_CASE("gpu compiled: random numbers are those of the function itself, on both devices", "[gpu]") {
  for (const auto& device : {std::shared_ptr<runtime::Device>(), gpu::emulated_device(schedules()[2])}) {
    Model eager(device), compiled(device);
    const std::vector<double> once = eager.train(false), again = compiled.train(true);
    CHECK(compiled.compiled().captures() == 1);
    // The same ops on the same numbers, but for a weight gradient's sums of 8 terms: 2^-20 is far above what four steps make of those.
    for (std::size_t k = 0; k < once.size(); ++k) CHECK(std::fabs(once[k] - again[k]) <= 0x1p-20);
    CHECK(once[0] == again[0]);
  }
}

TEST_CASE("gpu compiled: a replay on a device is recorded as it ran, and lies within the contracts", "[gpu]") {
  for (const Schedule& schedule : schedules()) {
    Model model(gpu::emulated_device(schedule));
    for (int k = 0; k < 2; ++k) {  // the second finds its program
      runtime::Recorder recorder(model.session());
      const auto results = model.compiled()(model.arguments());
      if (!results) FAIL(results.rejection().to_text());
      for (const Value& value : results.value()) recorder.output(value);
      const Trace trace = recorder.take();
      CHECK(failures_of(trace, 0.05) == std::vector<std::string>{});
      CHECK(std::ranges::any_of(trace.regions, [](const Region& region) { return region.name == "fused pass"; }));
      CHECK_FALSE(trace.gradients.empty());
      model.session().clear();
    }
  }
}

TEST_CASE("gpu compiled: a replay copies its arguments to the device and nothing back, and its memory is planned once", "[gpu]") {
  const auto device = gpu::emulated_device();
  Model model(device);
  for (int k = 0; k < 3; ++k) REQUIRE(model.compiled()(model.arguments()).ok());
  model.session().clear();
  const runtime::Traffic before = device->traffic();
  REQUIRE(model.compiled()(model.arguments()).ok());
  const runtime::Traffic after = device->traffic();
  CHECK(after.copies_in - before.copies_in == 1);  // the classes; images and the mask of dropout are drawn there
  CHECK(after.copies_out == before.copies_out);
  model.session().clear();
  CHECK(device->traffic().memory == before.memory);
  CHECK(device->traffic().most_memory == after.most_memory);
}

TEST_CASE("gpu compiled: a chain that no pass of the device holds runs op by op", "[gpu]") {
  std::vector<std::vector<double>> results;
  for (const auto& device : {std::shared_ptr<runtime::Device>(), gpu::emulated_device()}) {
    Session session({.seed = 3, .device = device});
    CompiledFunction chain(session,
                           [](std::span<const Value> v) -> Results {
                             Value x = v[0];
                             for (int k = 0; k < 40; ++k) x = relu(x + v[1]) - v[0];
                             return std::vector<Value>{x};
                           },
                           {});
    const Value x = session.input(session.normal({5, 3})), b = session.input(session.normal({3}));
    const auto y = chain(std::vector<Value>{x, b});
    if (!y) FAIL(y.rejection().to_text());
    results.push_back(y.value()[0].to_doubles());
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("gpu compiled: a failure in the middle of a replay gives no wrong number", "[gpu]") {
  const double clean = Model(gpu::emulated_device()).train(true)[0];
  std::size_t failed = 0;
  for (const auto at : {gpu::Failure::At::launch, gpu::Failure::At::kernel, gpu::Failure::At::copy_in}) {
    for (std::size_t after = 20; after < 90; after += 7) {
      Model model(gpu::emulated_device_with({.failure = {at, after}}));
      const auto results = model.compiled()(model.arguments());
      const double loss = results ? results.value()[0].item() : std::nan("");
      if (std::isnan(loss))
        ++failed;
      else
        CHECK(loss == clean);
      if (!results) CHECK((results.rejection().code == "gpu.launch" || results.rejection().code == "gpu.lost"));
    }
  }
  CHECK(failed > 0);
}

}  // namespace
}  // namespace assay::test
