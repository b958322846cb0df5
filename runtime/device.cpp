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

Outcome<std::vector<DeviceArray>> Mirror::there(std::span<const Array* const> arrays) {
  std::vector<DeviceArray> found;
  for (const Array* array : arrays) {
    auto one = there(*array);
    if (!one) return one.rejection();
    found.push_back(std::move(one).value());
  }
  return found;
}

namespace {

DeviceArray at(const Array& place) { return {&place.shape(), place.distant()->memory, place.dtype()}; }

}  // namespace

Array Mirror::place_in(std::shared_ptr<void> memory, DType dtype, Shape shape) const {
  return Array::on_device(dtype, std::move(shape), std::make_shared<Distant>(Distant{device_, std::move(memory), nullptr}));
}

Outcome<Array> Mirror::place_for(DType dtype, Shape shape) {
  auto memory = allocate(element_count(shape) * byte_size(dtype));
  if (!memory) return memory.rejection();
  return place_in(std::move(memory).value(), dtype, std::move(shape));
}

Outcome<Done> Mirror::run(Op op, const Attributes& attributes, std::span<const Array* const> operands, const Array& place) {
  const auto from = there(operands);
  if (!from) return from.rejection();
  DeviceArray to = at(place);
  return device_->run(op, attributes, from.value(), to);
}

Outcome<Array> Mirror::run(Op op, const Attributes& attributes, std::span<const Array* const> operands, DType dtype, Shape shape) {
  auto result = place_for(dtype, std::move(shape));
  if (!result) return result;
  if (auto done = run(op, attributes, operands, result.value()); !done) return done.rejection();
  return result;
}

Outcome<Done> Mirror::run_pass(const Graph& graph, std::span<const Array* const> operands, std::span<const Array> places) {
  const auto from = there(operands);
  if (!from) return from.rejection();
  std::vector<DeviceArray> to;
  for (const Array& place : places) to.push_back(at(place));
  return device_->run_pass(graph, from.value(), to);
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

Outcome<Array> Mirror::draw(const RandomKey& key, const Drawing& drawing) {
  auto result = place_for(drawing.dtype, drawing.shape);
  if (!result) return result;
  if (auto done = device_->draw(key, drawing, at(result.value())); !done) return done.rejection();
  return result;
}

Outcome<double> Mirror::sum_of_squares(std::span<const Array* const> arrays) {
  const auto from = there(arrays);
  if (!from) return from.rejection();
  return device_->sum_of_squares(from.value());
}

Outcome<Done> Mirror::copy(const Array& array, const Array& place) {
  const auto& distant = array.distant();
  if (distant != nullptr && distant->device == device_) return device_->copy(distant->memory, place.distant()->memory, array.bytes());
  if (auto done = array.fetch(); !done) return done;
  return device_->copy_in({array.raw(), array.bytes()}, place.distant()->memory);
}

}  // namespace assay::runtime
