// Every kernel on the emulated device under several schedules, and on a CUDA device where there is one, lies within its contract.
#include <iostream>
#include <map>

#include "tests/gpu/plan.h"

namespace assay::test {
namespace {

// The device's results for the whole plan, each judged; also: two devices of one kind give the same bits.
void check_plan(runtime::Device& device, const Draws& draw, double most_vacuous) {
  std::size_t passed = 0, vacuous = 0;
  std::map<std::string, std::size_t> by_op;
  for (const Probe& probe : all_probes(draw)) {
    CAPTURE(op_row(probe.op).name, to_string(probe.operands[0].shape()), device.name());
    const Outcome<Tensor> y = executed_on(device, probe.op, probe.attributes, probe.operands);
    const std::string fault = fault_of(y, probe.op, probe.attributes, device.model(), probe.operands);
    CHECK(fault == "");
    if (!fault.empty()) continue;
    const Judgement judgement = judged(sets_of(probe.op, probe.attributes, device.model(), probe.operands), y.value());
    passed += judgement.passed;
    vacuous += judgement.vacuous;
    by_op[std::string(op_row(probe.op).name)] += judgement.vacuous;
  }
  for (const auto& [op, count] : by_op) {
    if (count > 0) UNSCOPED_INFO(op << ": " << count << " vacuous");
  }
  CHECK(passed > 1000);
  CHECK(static_cast<double>(vacuous) <= most_vacuous * static_cast<double>(passed));
}

std::map<std::string, Draws> draws(std::mt19937_64& random) {
  return {{"gaussian", [&](const Shape& shape) { return gaussians(random, DType::float32, shape); }},
          {"integers", [&](const Shape& shape) { return small_integers(random, shape); }},
          {"special", [&](const Shape& shape) { return special_values(random, shape); }}};
}

TEST_CASE("gpu: the emulated device keeps its contracts under every schedule", "[gpu]") {
  for (const Schedule& schedule : schedules()) {
    std::mt19937_64 random(31);
    const auto device = gpu::emulated_device(schedule);
    for (const auto& [name, draw] : draws(random)) {
      CAPTURE(name);
      check_plan(*device, draw, name == "special" ? 1 : 0.02);
    }
  }
}

TEST_CASE("gpu: no schedule changes a bit", "[gpu]") {
  std::mt19937_64 random(32);
  const Draws draw = [&](const Shape& shape) { return gaussians(random, DType::float32, shape); };
  const auto forward = gpu::emulated_device(schedules()[0]), reverse = gpu::emulated_device(schedules()[1]);
  const auto shuffled = gpu::emulated_device({Schedule::Order::random, 99, false});
  for (const Probe& probe : all_probes(draw)) {
    CAPTURE(op_row(probe.op).name, to_string(probe.operands[0].shape()));
    const Tensor first = executed_on(*forward, probe.op, probe.attributes, probe.operands).value();
    for (const auto& device : {reverse, shuffled}) {
      const Tensor second = executed_on(*device, probe.op, probe.attributes, probe.operands).value();
      CHECK(std::equal(first.bytes().begin(), first.bytes().end(), second.bytes().begin()));
    }
  }
}

TEST_CASE("gpu: a CUDA device keeps its contracts", "[gpu]") {
  const auto device = gpu::cuda_device();
  if (!device) {
    const std::string& code = device.rejection().code;
    CHECK((code == "gpu.build" || code == "gpu.device"));
    std::cout << "skipped: " << device.rejection().to_text() << "\n";
    return;
  }
  std::mt19937_64 random(33);
  for (const auto& [name, draw] : draws(random)) {
    CAPTURE(name);
    check_plan(*device.value(), draw, name == "special" ? 1 : 0.02);
  }
}

TEST_CASE("gpu: what has no kernel is refused by name", "[gpu]") {
  const auto device = gpu::emulated_device();
  const Tensor x = Tensor::of_floats({1, 1, 1, 1, 1, 2}, std::vector<float>{1, 2});
  const Outcome<Tensor> y =
      executed_on(*device, Op::max_pool, pool_window({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}), {x});
  REQUIRE_FALSE(y.ok());
  CHECK(y.rejection().code == "gpu.op");
  CHECK(y.rejection().place == "max_pool");
  const Outcome<Tensor> wide = executed_on(*device, Op::neg, NoAttributes{}, {Tensor::of_doubles({1}, std::vector<double>{1})});
  REQUIRE_FALSE(wide.ok());
  CHECK(wide.rejection().code == "gpu.dtype");
  CHECK(wide.rejection().place == "neg");
}

TEST_CASE("gpu: operands without a result are refused, and the first one is named", "[gpu]") {
  const auto device = gpu::emulated_device();
  const auto ints = [](const std::vector<std::int64_t>& values) {
    return Tensor::of_ints({static_cast<std::int64_t>(values.size())}, values);
  };
  const Tensor x = Tensor::of_floats({3}, std::vector<float>{1, 2, 3});
  const auto taken = executed_on(*device, Op::take, ConcatAttributes{0}, {ints({0, -3, 3, -4}), x});
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.rejection().code == "gpu.operand");
  CHECK(taken.rejection().place == "take, index, element 2");
  CHECK(taken.rejection().found == "3");
  const auto divided = executed_on(*device, Op::div, NoAttributes{}, {ints({1, 2}), ints({5, 0})});
  REQUIRE_FALSE(divided.ok());
  CHECK(divided.rejection().place == "div, divisor, element 1");
  const auto raised = executed_on(*device, Op::power, NoAttributes{}, {ints({2}), ints({-1})});
  REQUIRE_FALSE(raised.ok());
  CHECK(raised.rejection().code == "gpu.operand");
}

}  // namespace
}  // namespace assay::test
