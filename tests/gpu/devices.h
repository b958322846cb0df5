// Ops on devices, judged by the contract of the device's own model.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/cuda.h"
#include "gpu/emulated.h"
#include "runtime/device.h"
#include "tests/runtime/executed.h"

namespace assay::test {

using gpu::Schedule;

inline std::vector<Schedule> schedules() {
  return {{Schedule::Order::forward, 0, true}, {Schedule::Order::reverse, 0, true}, {Schedule::Order::random, 7, true}};
}

// The op's result on a device, whose memory for it was poisoned: an element that is not written is NaN, or -1.
inline Outcome<Tensor> executed_on(runtime::Device& device, Op op, const Attributes& attributes, const std::vector<Tensor>& operands) {
  Graph graph;
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), "x"));
  const Outcome<ResultType> type = infer(graph, op, ids, attributes);
  if (!type) return type.rejection();
  const auto memory_for = [&](std::span<const std::byte> content) {
    auto memory = device.allocate(content.size());
    if (!memory) FAIL(memory.rejection().to_text());
    if (const auto done = device.copy_in(content, memory.value()); !done) FAIL(done.rejection().to_text());
    return std::move(memory).value();
  };
  std::vector<runtime::DeviceArray> there;
  for (const Tensor& operand : operands) there.push_back({&operand.shape(), memory_for(operand.bytes()), operand.dtype()});
  const Shape& shape = type.value().shape;
  auto bytes = std::make_shared<std::vector<std::byte>>(element_count(shape) * byte_size(type.value().dtype), std::byte{0xff});
  runtime::DeviceArray y{&shape, memory_for(*bytes), type.value().dtype};
  if (const auto done = device.run(op, attributes, there, y); !done) return done.rejection();
  if (const auto done = device.copy_out(y.memory, *bytes); !done) return done.rejection();
  return Tensor(type.value().dtype, shape, std::move(bytes));
}

// Empty if the result lies within its contract, else what is wrong with it.
inline std::string fault_of(const Outcome<Tensor>& y, Op op, const Attributes& attributes, const ExecutionModel& model,
                            const std::vector<Tensor>& operands) {
  if (!y) return y.rejection().to_text();
  const Outcome<Admissible> sets = contracts::admissible(op, attributes, model, operands);
  if (!sets) FAIL(sets.rejection().to_text());
  const Judgement judgement = judged(sets.value(), y.value());
  if (!judgement.first_failure) return {};
  return std::to_string(judgement.failed) + " of " + std::to_string(y.value().size()) + ": " +
         contracts::describe(sets.value(), y.value(), *judgement.first_failure);
}

inline Tensor special_values(std::mt19937_64& random, const Shape& shape) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array kValues = {0.0F,
                                  -0.0F,
                                  1.0F,
                                  1.0F,
                                  -2.5F,
                                  kInfinity,
                                  -kInfinity,
                                  std::numeric_limits<float>::quiet_NaN(),
                                  0x1p-149F,
                                  -0x1.8p-127F,
                                  0x1.fffffep127F,
                                  -0x1.fffffep127F,
                                  88.5F,
                                  -104.5F,
                                  1e-30F,
                                  -9.5F};
  std::normal_distribution<float> normal;
  std::vector<float> values(element_count(shape));
  for (float& value : values) value = random() % 6 == 0 ? kValues[random() % kValues.size()] : normal(random);
  return Tensor::of_floats(shape, values);
}

}  // namespace assay::test
