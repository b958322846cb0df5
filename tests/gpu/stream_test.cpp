// Arrays that live on a device: what is copied and when, memory that runs out, and failures in the middle. On the emulation, whose
// stream is the code that runs on a CUDA device.
#include <cmath>
#include <functional>

#include "gpu/devices.h"
#include "gpu/facts.h"
#include "runtime/functions.h"
#include "tests/gpu/devices.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using gpu::EmulatedOptions;
using gpu::Failure;
using runtime::Array;
using runtime::Session;
using runtime::Value;

constexpr std::size_t kStepConstants = 3;  // of gradient rules, made anew in each step
constexpr std::int64_t kBatch = 6, kWide = 5, kHidden = 8, kClasses = 3;

// A perceptron under Adam; each step gives its loss, which is all that is read.
class Training {
 public:
  explicit Training(std::shared_ptr<runtime::Device> device) : session_({.seed = 5, .device = std::move(device)}) {
    const auto add = [&](const char* name, const Shape& shape) {
      parameters_.push_back(session_.parameter(name, session_.uniform(shape, -0.5, 0.5)));
    };
    add("w", {kHidden, kWide});
    add("b", {kHidden});
    add("v", {kClasses, kHidden});
    adam_.emplace(session_, parameters_, training::AdamOptions{.rate = 0.05});
  }
  Outcome<double> step() {
    session_.clear();
    const Value x = session_.input(session_.normal({kBatch, kWide}));
    const Value labels = session_.input(Tensor::of_ints({kBatch}, std::vector<std::int64_t>{0, 1, 2, 1, 0, 2}));
    const Value loss = cross_entropy(linear(relu(linear(x, parameters_[0], parameters_[1])), parameters_[2]), labels);
    const auto bars = session_.gradients(loss, parameters_, {std::nullopt, false});
    if (!bars) return bars.rejection();
    if (auto done = adam_->step(bars.value()); !done) return done.rejection();
    const double value = loss.item();
    if (auto fine = session_.check(); !fine) return fine.rejection();
    return value;
  }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] const std::vector<Value>& parameters() const { return parameters_; }

 private:
  Session session_;
  std::vector<Value> parameters_;
  std::optional<training::Adam> adam_;
};

TEST_CASE("gpu stream: a training step copies to the device what is new, and back what is read", "[gpu]") {
  const auto device = gpu::emulated_device();
  Training training(device);
  REQUIRE(training.step().ok());
  REQUIRE(training.step().ok());
  const runtime::Traffic before = device->traffic();
  REQUIRE(training.step().ok());
  const runtime::Traffic after = device->traffic();
  CHECK(after.copies_out - before.copies_out == 1);  // the loss
  CHECK(after.bytes_out - before.bytes_out == sizeof(float));
  CHECK(after.copies_in - before.copies_in == 1 + kStepConstants);  // the classes; random numbers are made there
  CHECK(after.checks - before.checks == 1);                         // the classes, before `take` reads by them
  CHECK(after.launches > before.launches);
  CHECK(after.memory == before.memory);  // nothing stays from step to step
}

TEST_CASE("gpu stream: gradients and new parameters stay on the device until they are read", "[gpu]") {
  const auto device = gpu::emulated_device();
  Training training(device);
  REQUIRE(training.step().ok());
  for (const Value& parameter : training.parameters()) {
    REQUIRE(parameter.array().distant() != nullptr);
    CHECK(parameter.array().distant()->here == nullptr);
  }
  const auto before = device->traffic().copies_out;
  const Array& w = training.parameters()[0].array();
  const Array copy = w;
  CHECK(std::isfinite(w.data<float>()[0]));
  CHECK(copy.data<float>().data() == w.data<float>().data());  // copied once, for all
  CHECK(device->traffic().copies_out == before + 1);
}

TEST_CASE("gpu stream: what is written here is here from then on, and is copied to the device again", "[gpu]") {
  Session session({.seed = 1, .device = gpu::emulated_device()});
  const Value x = session.input(Tensor::of_floats({2}, std::vector<float>{1, 2}));
  Array sum = (x + x).array();
  sum.data<float>()[0] = 10;
  CHECK(sum.distant() == nullptr);
  CHECK((session.input(sum) + x).to_doubles() == std::vector<double>{11, 6});
}

TEST_CASE("gpu stream: a session on the CPU takes values of a device, unless that is lost", "[gpu]") {
  const auto device = gpu::emulated_device_with(EmulatedOptions{.failure = {Failure::At::copy_out, 1}});
  Session there({.seed = 1, .device = device}), here({.seed = 1});
  const Value x = there.input(Tensor::of_floats({2}, std::vector<float>{1, 2}));
  const Value twice = here.input((x + x).array()), other = here.input((x * x).array());
  CHECK((twice + twice).to_doubles() == std::vector<double>{4, 8});
  CHECK_FALSE((other + twice).ok());
  REQUIRE(here.failure());
  CHECK(here.failure()->code == "gpu.launch");
}

TEST_CASE("gpu stream: copies that wait keep what they copy", "[gpu]") {
  const auto device = gpu::emulated_device();
  std::vector<std::shared_ptr<void>> there;
  std::vector<float> number(1000);
  for (int k = 0; k < 40; ++k) {  // pinned memory of one size, again and again before the stream has come so far
    number.assign(1000, static_cast<float>(k));
    there.push_back(device->allocate(4000).value());
    REQUIRE(device->copy_in(std::as_bytes(std::span(number)), there.back()).ok());
  }
  for (int k = 0; k < 40; ++k) {
    REQUIRE(device->copy_out(there[static_cast<std::size_t>(k)], std::as_writable_bytes(std::span(number))).ok());
    CHECK(number[0] == static_cast<float>(k));
    CHECK(number[999] == static_cast<float>(k));
  }
  std::vector<std::byte> much((std::size_t{1} << 24) + 3, std::byte{1}), back(much.size());  // more than one piece
  much.back() = std::byte{2};
  const auto memory = device->allocate(much.size()).value();
  REQUIRE(device->copy_in(much, memory).ok());
  REQUIRE(device->copy_out(memory, back).ok());
  CHECK(back == much);
}

TEST_CASE("gpu stream: memory is NaN when it is handed out and when it was given back", "[gpu]") {
  const auto device = gpu::emulated_device();
  auto memory = device->allocate(8).value();
  const auto* words = static_cast<const std::uint32_t*>(memory.get());
  CHECK(words[1] == 0xffffffffU);
  const std::vector<float> ones{1, 1};
  REQUIRE(device->copy_in(std::as_bytes(std::span(ones)), memory).ok());
  memory.reset();
  CHECK(words[1] == 0xffffffffU);  // the copy that waited came before, and the memory is still free
}

TEST_CASE("gpu stream: a device without memory left refuses, and the session goes on after clear()", "[gpu]") {
  const auto device = gpu::emulated_device_with(EmulatedOptions{.schedule = {}, .memory = 4096, .failure = {}});
  Session session({.seed = 2, .device = device});
  const Value w = session.parameter("w", session.normal({8, 8}));
  Value y = w;
  for (int k = 0; k < 40 && y.ok(); ++k) y = y + w;
  CHECK_FALSE(y.ok());
  REQUIRE(session.failure());
  CHECK(session.failure()->code == "gpu.memory");
  CHECK(session.failure()->kind == Rejection::Kind::declined);
  CHECK((y + w).to_doubles().empty());
  session.clear();
  const std::vector<double> twice = (w + w).to_doubles(), once = w.to_doubles();
  REQUIRE(twice.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(twice[i] == 2 * once[i]);
}

TEST_CASE("gpu stream: memory of arrays that are gone is given back before a request is refused", "[gpu]") {
  const auto device = gpu::emulated_device_with(EmulatedOptions{.schedule = {}, .memory = 1024, .failure = {}});
  Session session({.seed = 2, .device = device});
  for (int k = 0; k < 20; ++k) {
    const Value x = session.input(session.normal({8, 8}));  // 256 bytes, and as much for the result
    CHECK((x + x).ok());
    session.clear();
  }
}

// Until a run needs fewer of them: one failure, at the first place where it may happen, then at the second, ...
void sweep(Failure::At at, std::size_t most, const std::function<void(const Failure&, const std::vector<double>&)>& check) {
  std::vector<double> clean;
  Training training(gpu::emulated_device());
  for (int k = 0; k < 2; ++k) clean.push_back(training.step().value());
  for (std::size_t after = 0; after < most; ++after) check({at, after}, clean);
}

TEST_CASE("gpu stream: a failure in the middle of a training run gives no wrong number", "[gpu]") {
  for (const auto at : {Failure::At::launch, Failure::At::kernel, Failure::At::copy_in, Failure::At::copy_out}) {
    std::size_t failed = 0;
    sweep(at, 24, [&](const Failure& failure, const std::vector<double>& clean) {
      CAPTURE(static_cast<int>(at), failure.after);
      const auto device =
          gpu::emulated_device_with(EmulatedOptions{.schedule = {}, .memory = std::numeric_limits<std::size_t>::max(), .failure = failure});
      Training training(device);
      for (const double expected : clean) {
        const auto loss = training.step();
        if (loss) {
          CHECK(loss.value() == expected);
          continue;
        }
        ++failed;
        CHECK((loss.rejection().code == "gpu.launch" || loss.rejection().code == "gpu.lost"));
        // Closed: what was not read is not given, and nothing else runs.
        Session& session = training.session();
        session.clear();
        CHECK(std::isnan(sum(training.parameters()[0]).item()));
        REQUIRE(session.failure());
        CHECK(session.failure()->code == "gpu.lost");
        for (const Value& parameter : training.parameters()) {
          const auto& distant = parameter.array().distant();
          if (distant != nullptr && distant->here == nullptr) CHECK_THROWS_AS(parameter.array().data<float>(), runtime::DeviceFailure);
        }
        break;
      }
    });
    CHECK(failed > 0);
  }
}

TEST_CASE("gpu stream: an optimiser whose step fails changes no parameter", "[gpu]") {
  for (std::size_t after = 0; after < 6; ++after) {
    const auto device = gpu::emulated_device_with(EmulatedOptions{.schedule = {}, .memory = 1024 + 256 * after, .failure = {}});
    Session session({.seed = 4, .device = device});
    const std::vector<Value> p{session.parameter("p", session.normal({8, 8})), session.parameter("q", session.normal({8, 8}))};
    const std::vector<double> before = p[0].to_doubles(), last = p[1].to_doubles();
    const std::vector<Array> gradients{session.normal({8, 8}), session.normal({8, 8})};
    training::Sgd sgd(session, p, {.rate = 0.5, .momentum = 0.5});
    const auto done = sgd.step(std::span<const Array>(gradients));
    CHECK((p[0].to_doubles() == before) == !done.ok());
    CHECK((p[1].to_doubles() == last) == !done.ok());
    if (!done) CHECK(done.rejection().code == "gpu.memory");
  }
}

// Sums and products of small dyadic numbers are exact, so both processors have to agree to the bit.
TEST_CASE("gpu stream: SGD on a device is SGD", "[gpu]") {
  for (const training::SgdOptions& options :
       {training::SgdOptions{0.5, 0, 0, false}, training::SgdOptions{0.25, 0.5, 0, false}, training::SgdOptions{0.5, 0.5, 0.25, true}}) {
    std::vector<std::vector<double>> results;
    for (const auto& device : {std::shared_ptr<runtime::Device>(), gpu::emulated_device()}) {
      Session session({.device = device});
      const Value p = session.parameter("p", Array::from(Tensor::of_floats({3}, std::vector<float>{1, -2, 0.5F})));
      training::Sgd sgd(session, {p}, options);
      for (int k = 0; k < 3; ++k) {
        const Array g = Array::from(Tensor::of_floats({3}, std::vector<float>{0.5F, static_cast<float>(k), -1}));
        REQUIRE(sgd.step(std::span<const Array>(&g, 1)).ok());
      }
      results.push_back(p.to_doubles());
    }
    CHECK(results[0] == results[1]);
  }
}

// Each side rounds at most 12 times on the way to the change of a parameter, and once more where it is taken off: 2^-19 of the
// change, and one unit in the last place of the parameter, are more than both together.
TEST_CASE("gpu stream: Adam and AdamW on a device are those of the host", "[gpu]") {
  for (const bool decoupled : {false, true}) {
    std::vector<std::vector<double>> results;
    for (const auto& device : {std::shared_ptr<runtime::Device>(), gpu::emulated_device()}) {
      Session session({.seed = 9, .device = device});
      const Value p = session.parameter("p", session.normal({40}));
      const Array g = session.normal({40});
      training::Adam adam(session, {p}, {.rate = 0.125, .weight_decay = 0.25, .decoupled = decoupled});
      REQUIRE(adam.step(std::span<const Array>(&g, 1)).ok());
      results.push_back(p.to_doubles());
    }
    for (std::size_t i = 0; i < 40; ++i)
      CHECK(std::fabs(results[0][i] - results[1][i]) <= 0x1p-19 * 0.25 + 0x1p-23 * std::fabs(results[0][i]));
  }
}

TEST_CASE("gpu devices: names, and what is too old", "[gpu]") {
  CHECK(gpu::device_named("cpu").value() == nullptr);
  CHECK(gpu::device_named("emulated").value() != nullptr);
  CHECK(gpu::device_named("gpu").rejection().code == "gpu.name");
  const gpu::DeviceFacts fine{"some device", 9, 0, true, 13000, 13000, std::size_t{1} << 36, 132};
  CHECK_FALSE(gpu::refusal_of(fine));
  gpu::DeviceFacts facts = fine;
  facts.major = 7;
  facts.minor = 5;
  REQUIRE(gpu::refusal_of(facts));
  CHECK(gpu::refusal_of(facts)->code == "gpu.device");
  CHECK(gpu::refusal_of(facts)->found == "7.5");
  facts = fine;
  facts.driver = 12040;
  CHECK(gpu::refusal_of(facts)->found == "one for CUDA 12.4");
  facts = fine;
  facts.pools = false;
  CHECK(gpu::refusal_of(facts)->found == "none");
}

}  // namespace
}  // namespace assay::test
