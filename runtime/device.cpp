#include "runtime/device.h"

#include <algorithm>
#include <utility>

namespace assay::runtime {

void Mirror::sweep() {
  std::erase_if(copies_, [](const auto& copy) { return copy.first.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * copies_.size());
}

Outcome<std::shared_ptr<void>> Mirror::allocate(std::size_t bytes) {
  auto memory = device_->allocate(bytes);
  if (memory || memory.rejection().code != "gpu.memory") return memory;
  sweep();
  return device_->allocate(bytes);
}

Outcome<DeviceArray> Mirror::there(const Array& array) {
  const auto& distant = array.distant();
  if (distant != nullptr && distant->device == device_) return DeviceArray{&array.shape(), distant->memory, array.dtype()};
  if (auto done = array.fetch(); !done) return done.rejection();  // from another device
  const std::weak_ptr<void> buffer = distant == nullptr ? array.buffer() : std::weak_ptr<void>(distant->here);
  if (const auto known = copies_.find(buffer); known != copies_.end()) return DeviceArray{&array.shape(), known->second, array.dtype()};
  auto memory = allocate(array.bytes());
  if (!memory) return memory.rejection();
  if (auto done = device_->copy_in({array.raw(), array.bytes()}, memory.value()); !done) return done.rejection();
  if (copies_.size() >= sweep_at_) sweep();
  copies_[buffer] = memory.value();
  return DeviceArray{&array.shape(), std::move(memory).value(), array.dtype()};
}

Array Mirror::place_in(std::shared_ptr<void> memory, DType dtype, Shape shape) const {
  return Array::on_device(dtype, std::move(shape), std::make_shared<Distant>(Distant{device_, std::move(memory), nullptr}));
}

Outcome<Array> Mirror::place_for(DType dtype, Shape shape) {
  auto memory = allocate(element_count(shape) * byte_size(dtype));
  if (!memory) return memory.rejection();
  return place_in(std::move(memory).value(), dtype, std::move(shape));
}

Outcome<Done> Mirror::run(Op op, const Attributes& attributes, std::span<const Array* const> operands, const Array& place) {
  std::vector<DeviceArray> from;
  for (const Array* operand : operands) {
    auto array = there(*operand);
    if (!array) return array.rejection();
    from.push_back(std::move(array).value());
  }
  DeviceArray to{&place.shape(), place.distant()->memory, place.dtype()};
  return device_->run(op, attributes, from, to);
}

Outcome<Array> Mirror::run(Op op, const Attributes& attributes, std::span<const Array* const> operands, DType dtype, Shape shape) {
  auto result = place_for(dtype, std::move(shape));
  if (!result) return result;
  if (auto done = run(op, attributes, operands, result.value()); !done) return done.rejection();
  return result;
}

Outcome<Done> Mirror::run_pass(const Graph& graph, std::span<const Array* const> operands, std::span<const Array> places) {
  std::vector<DeviceArray> from, to;
  for (const Array* operand : operands) {
    auto array = there(*operand);
    if (!array) return array.rejection();
    from.push_back(std::move(array).value());
  }
  for (const Array& place : places) to.push_back({&place.shape(), place.distant()->memory, place.dtype()});
  return device_->run_pass(graph, from, to);
}

Outcome<std::vector<Array>> Mirror::run_pass(const Graph& graph, std::span<const Array* const> operands) {
  std::vector<Array> results;
  for (const NodeId output : graph.outputs) {
    auto result = place_for(graph.node(output).dtype, graph.node(output).shape);
    if (!result) return result.rejection();
    results.push_back(std::move(result).value());
  }
  if (auto done = run_pass(graph, operands, results); !done) return done.rejection();
  return results;
}

}  // namespace assay::runtime
