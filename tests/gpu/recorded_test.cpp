// Launches that a device keeps and runs in one go: replays of compiled functions give the same bits as launches one by one.
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using gpu::EmulatedOptions;
using gpu::Failure;
using runtime::Array;
using runtime::CompiledFunction;
using runtime::Session;
using runtime::Traffic;
using runtime::Value;
using Results = Outcome<std::vector<Value>>;

// A classifier with dropout under momentum: its parameters, its batches and its random numbers are others in every step, its mean
// image is not.
class Training {
 public:
  explicit Training(std::shared_ptr<runtime::Device> device)
      : device_(std::move(device)),
        session_({.seed = 31, .device = device_}),
        parameters_{session_.parameter("w", session_.uniform({7, 5}, -0.5, 0.5)),
                    session_.parameter("v", session_.uniform({3, 7}, -0.5, 0.5))},
        mean_(session_.parameter("mean", session_.uniform({5}))),
        sgd_(session_, parameters_, {.rate = 0.25, .momentum = 0.5}),
        compiled_(session_, [this](std::span<const Value> v) { return loss_of(v); }, {parameters_[0], parameters_[1], mean_}) {}

  Results loss_of(std::span<const Value> v) {
    const Value hidden = dropout(tanh(linear(v[0] - mean_, parameters_[0])), 0.25);
    const Value loss = cross_entropy(linear(hidden, parameters_[1]), v[1]);
    auto bars = session_.gradients(loss, parameters_);
    if (!bars) return bars.rejection();
    return std::vector<Value>{loss, bars.value()[0], bars.value()[1]};
  }
  Outcome<double> step(std::int64_t batch = 4) {
    session_.clear();
    std::vector<std::int64_t> classes;
    for (std::int64_t i = 0; i < batch; ++i) classes.push_back((i * 5 + count_) % 3);
    ++count_;
    const auto results =
        compiled_(std::vector<Value>{session_.input(session_.normal({batch, 5})), session_.input(Tensor::of_ints({batch}, classes))});
    if (!results) return results.rejection();
    if (auto done = sgd_.step(std::span(results.value()).subspan(1)); !done) return done.rejection();
    const double loss = results.value()[0].item();
    if (auto fine = session_.check(); !fine) return fine.rejection();
    return loss;
  }
  // Losses of steps, then all parameters.
  std::vector<double> numbers(int steps) {
    std::vector<double> all;
    for (int k = 0; k < steps; ++k) {
      const auto loss = step();
      if (!loss) FAIL(loss.rejection().to_text());
      all.push_back(loss.value());
    }
    for (const Value& parameter : parameters_) {
      const auto values = parameter.to_doubles();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] CompiledFunction& compiled() { return compiled_; }
  [[nodiscard]] Traffic traffic() const { return device_->traffic(); }

 private:
  std::shared_ptr<runtime::Device> device_;
  Session session_;
  std::vector<Value> parameters_;
  Value mean_;
  training::Sgd sgd_;
  CompiledFunction compiled_;
  std::int64_t count_ = 0;
};

TEST_CASE("gpu recorded: replays give the bits of launches one by one, with other inputs each time", "[gpu]") {
  for (const Schedule& schedule : schedules()) {
    Training one_by_one(gpu::emulated_device_with({.schedule = schedule, .keeps_launches = false})),
        recorded(gpu::emulated_device_with({.schedule = schedule}));
    const std::vector<double> expected = one_by_one.numbers(6);
    CHECK(recorded.numbers(6) == expected);
    CHECK(std::set<double>(expected.begin(), expected.begin() + 6).size() == 6);
    CHECK(one_by_one.traffic().lists == 0);
    CHECK(recorded.traffic().lists >= 5);
    CHECK(recorded.traffic().launches < one_by_one.traffic().launches);
  }
}

TEST_CASE("gpu recorded: products by a library and rounded factors are recorded as well", "[gpu]") {
  using Factors = ExecutionModel::InputRounding;
  for (const Factors factors : {Factors::none, Factors::bfloat16}) {
    Training one_by_one(gpu::emulated_device_with({.factors = factors, .has_library = true, .keeps_launches = false})),
        recorded(gpu::emulated_device_with({.factors = factors, .has_library = true}));
    CHECK(recorded.numbers(4) == one_by_one.numbers(4));
    CHECK(recorded.traffic().lists > 0);
  }
}

TEST_CASE("gpu recorded: arguments of other shapes have launches of their own", "[gpu]") {
  Training one_by_one(gpu::emulated_device_with({.keeps_launches = false})), recorded(gpu::emulated_device());
  for (const std::int64_t batch : {4, 4, 2, 4, 2, 2, 4}) CHECK(recorded.step(batch).value() == one_by_one.step(batch).value());
  CHECK(recorded.compiled().captures() == 2);
  CHECK(recorded.traffic().lists > 0);
}

TEST_CASE("gpu recorded: a device that does not keep launches runs them one by one", "[gpu]") {
  Training expected(gpu::emulated_device_with({.keeps_launches = false}));
  const std::vector<double> numbers = expected.numbers(5);
  // At the end of each recording in turn; that of one which is given up for a step that looks at its operands does not matter.
  std::size_t not_recorded = 0;
  for (const std::size_t after : {0, 1, 2, 3, 4}) {
    Training training(gpu::emulated_device_with({.failure = {Failure::At::recording, after}}));
    CHECK(training.numbers(5) == numbers);
    not_recorded += training.traffic().lists == 0 ? 1 : 0;
  }
  CHECK(not_recorded >= 2);
}

TEST_CASE("gpu recorded: an input that stays is copied once, and one that the function returns is itself", "[gpu]") {
  const auto device = gpu::emulated_device();
  Session session({.seed = 3, .device = device});
  CompiledFunction f(session,
                     [](std::span<const Value> v) -> Results {
                       return std::vector<Value>{exp(v[0]) + v[1], v[1], reshape(v[1], {2, 1})};
                     },
                     {});
  const Value x = session.input(Tensor::of_floats({2}, std::vector<float>{1, 2})),
              b = session.input(Tensor::of_floats({2}, std::vector<float>{3, 4}));
  std::vector<std::vector<double>> results;
  for (int k = 0; k < 4; ++k) {
    const Traffic before = device->traffic();
    const auto y = f(std::vector<Value>{x, b});
    if (!y) FAIL(y.rejection().to_text());
    if (k == 3) CHECK(device->traffic().copies_in == before.copies_in);
    if (k == 3) CHECK(device->traffic().launches == before.launches + 1);
    results.push_back(y.value()[0].to_doubles());
    CHECK(y.value()[1].array().shares_buffer_with(b.array()));
    CHECK(y.value()[2].to_doubles() == std::vector<double>{3, 4});
  }
  CHECK(results[3] == results[0]);
  // Others in their place.
  const Value c = session.input(Tensor::of_floats({2}, std::vector<float>{-3, 0}));
  const auto y = f(std::vector<Value>{c, c});
  CHECK(y.value()[2].to_doubles() == std::vector<double>{-3, 0});
  CHECK(f(std::vector<Value>{x, b}).value()[0].to_doubles() == results[0]);
}

TEST_CASE("gpu recorded: a step that looks at its operands runs between what is recorded, and refuses what it has to", "[gpu]") {
  const auto device = gpu::emulated_device();
  Session session({.seed = 3, .device = device});
  CompiledFunction f(session,
                     [](std::span<const Value> v) -> Results {
                       const Value rows = apply(Op::take, v[1], sin(v[0]), ConcatAttributes{0});
                       return std::vector<Value>{softmax(rows, 0)};
                     },
                     {});
  const auto at = [&](std::int64_t index) {
    session.clear();
    const Value x = session.input(Tensor::of_floats({3}, std::vector<float>{1, 2, 3}));
    return f(std::vector<Value>{x, session.input(Tensor::of_ints({2}, std::vector<std::int64_t>{0, index}))});
  };
  const std::vector<double> first = at(1).value()[0].to_doubles();
  CHECK(at(2).value()[0].to_doubles() != first);
  CHECK(at(1).value()[0].to_doubles() == first);
  const Traffic before = device->traffic();
  CHECK(at(1).value()[0].to_doubles() == first);
  CHECK(device->traffic().lists == before.lists + 2);
  CHECK(device->traffic().checks == before.checks + 1);
  const auto beyond = at(3);
  REQUIRE_FALSE(beyond.ok());
  CHECK(beyond.rejection().code == "gpu.operand");
  CHECK(at(1).value()[0].to_doubles() == first);
}

TEST_CASE("gpu recorded: a run that is watched is the same run", "[gpu]") {
  Training watched(gpu::emulated_device()), alone(gpu::emulated_device());
  for (int k = 0; k < 5; ++k) {
    if (k != 3) {
      CHECK(watched.step().value() == alone.step().value());
      continue;
    }
    runtime::Recorder recorder(watched.session());
    CHECK(watched.step().value() == alone.step().value());
    CHECK(failures_of(recorder.take(), 0.05) == std::vector<std::string>{});
  }
}

runtime::Program program_of_two_ops(const Shape& shape) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, shape, "x");
  graph.mark_output(graph.append(Op::exp, {graph.append(Op::neg, {x}).value()}).value(), "y");
  return runtime::Program::compile(graph).value();
}

TEST_CASE("gpu recorded: a program goes from device to device", "[gpu]") {
  const runtime::Program program = program_of_two_ops({3});
  runtime::Mirror mirrors[] = {runtime::Mirror(gpu::emulated_device()), runtime::Mirror(gpu::emulated_device())};
  for (const int k : {0, 0, 0, 1, 1, 1, 0, 1}) {
    const Array in = Array::from(Tensor::of_floats({3}, std::vector<float>{1, static_cast<float>(k), 3}));
    const auto out = program.replay(std::span(&in, 1), nullptr, &mirrors[k]);
    if (!out) FAIL(out.rejection().to_text());
    CHECK(out.value()[0].data<float>()[1] == std::exp(static_cast<float>(-k)));
  }
}

// One by one an input and a result are there; a kept value has a place for each besides.
TEST_CASE("gpu recorded: without memory for what is kept the launches run one by one", "[gpu]") {
  std::size_t recorded = 0, not_recorded = 0;
  for (std::size_t memory = 1000; memory <= 2400; memory += 100) {
    const auto device = gpu::emulated_device_with({.memory = memory});
    runtime::Mirror mirror(device);
    const runtime::Program program = program_of_two_ops({100});
    for (int k = 0; k < 4; ++k) {
      mirror.sweep();
      const Array in = Array::from(Tensor::of_floats({100}, std::vector<float>(100, static_cast<float>(k))));
      const auto out = program.replay(std::span(&in, 1), nullptr, &mirror);
      if (!out) FAIL(out.rejection().to_text());
      CHECK(out.value()[0].data<float>()[99] == std::exp(static_cast<float>(-k)));
    }
    ++(device->traffic().lists == 3 ? recorded : not_recorded);
  }
  CHECK(recorded > 0);
  CHECK(not_recorded > 0);
}

TEST_CASE("gpu recorded: a failure in the middle of what is recorded gives no wrong number", "[gpu]") {
  Training clean(gpu::emulated_device());
  std::vector<double> losses;
  for (int k = 0; k < 4; ++k) losses.push_back(clean.step().value());
  std::size_t failed = 0;
  for (const auto at : {Failure::At::launch, Failure::At::kernel, Failure::At::copy_in, Failure::At::copy_out}) {
    for (std::size_t after = 0; after < 140; after += 9) {
      CAPTURE(static_cast<int>(at), after);
      Training training(gpu::emulated_device_with({.failure = {at, after}}));
      for (const double expected : losses) {
        const auto loss = training.step();
        if (loss) CHECK(loss.value() == expected);
        if (loss) continue;
        ++failed;
        CHECK((loss.rejection().code == "gpu.launch" || loss.rejection().code == "gpu.lost"));
        CHECK(training.step().rejection().code == "gpu.lost");
        break;
      }
    }
  }
  CHECK(failed > 20);
}

TEST_CASE("gpu recorded: what is recorded keeps its memory, and gives it back", "[gpu]") {
  const auto device = gpu::emulated_device();
  const std::size_t before = device->traffic().memory;
  {
    auto x = device->allocate(12).value(), y = device->allocate(12).value();
    const std::vector<float> ones{1, 2, 3};
    REQUIRE(device->copy_in(std::as_bytes(std::span(ones)), x).ok());
    const Shape shape{3};
    const runtime::DeviceArray from[] = {{&shape, x, DType::float32}};
    runtime::DeviceArray to{&shape, y, DType::float32};
    REQUIRE(device->begin_recording().ok());
    CHECK(device->begin_recording().rejection().code == "gpu.graph");
    REQUIRE(device->run(Op::neg, NoAttributes{}, from, to).ok());
    auto launches = device->end_recording();
    REQUIRE(launches.ok());
    const void* const place = y.get();
    x.reset(), y.reset(), to.memory.reset();
    CHECK(device->traffic().launches == 0);
    REQUIRE(launches.value()->run().ok());
    CHECK(static_cast<const float*>(place)[2] == -3);
    CHECK(device->end_recording().rejection().code == "gpu.graph");
  }
  CHECK(device->traffic().memory == before);
}

}  // namespace
}  // namespace assay::test
