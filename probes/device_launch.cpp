// Launchers of a device's kernels: operands and poisoned results are copied to its memory, results back.
#include <memory>
#include <utility>
#include <vector>

#include "probes/launch.h"

namespace assay::probes {
namespace {

using runtime::Device;
using runtime::DeviceArray;

Outcome<DeviceArray> copied(Device& device, DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  auto memory = device.allocate(bytes.size());
  if (!memory) return memory.rejection();
  if (auto done = device.copy_in(bytes, memory.value()); !done) return done.rejection();
  return DeviceArray{&shape, std::move(memory).value(), dtype};
}

// Node by node; a node's result stays on the device until the region is done.
Outcome<Done> run_region(Device& device, const RegionLaunch& launch) {
  const Graph& graph = launch.graph;
  std::vector<DeviceArray> values(graph.nodes.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Tensor& operand = launch.operands[k];
    auto array = copied(device, operand.dtype(), operand.shape(), operand.bytes());
    if (!array) return array.rejection();
    values[graph.inputs[k]] = std::move(array).value();
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<std::byte> poison(element_count(node.shape) * byte_size(node.dtype), std::byte{0xff});
    auto array = copied(device, node.dtype, node.shape, node.op == Op::constant ? node.value.bytes() : poison);
    if (!array) return array.rejection();
    values[id] = std::move(array).value();
    if (node.op == Op::constant) continue;
    std::vector<DeviceArray> operands;
    for (const NodeId operand : node.operands) operands.push_back(values[operand]);
    if (auto done = device.run(node.op, node.attributes, operands, values[id]); !done) return done;
  }
  for (std::size_t i = 0; i < launch.results.size(); ++i) {
    if (auto done = device.copy_out(values[graph.outputs[i]].memory, launch.results[i]); !done) return done;
  }
  return Done{};
}

}  // namespace

Launcher device_launcher(std::shared_ptr<Device> device) {
  return [device = std::move(device)](const Launch& launch) -> Outcome<Done> {
    std::vector<DeviceArray> operands;
    for (const Tensor& operand : launch.operands) {
      auto array = copied(*device, operand.dtype(), operand.shape(), operand.bytes());
      if (!array) return array.rejection();
      operands.push_back(std::move(array).value());
    }
    auto result = copied(*device, launch.dtype, launch.shape, launch.result);  // with its poison
    if (!result) return result.rejection();
    if (auto done = device->run(launch.op, launch.attributes, operands, result.value()); !done) return done;
    return device->copy_out(result.value().memory, launch.result);
  };
}

RegionLauncher device_region_launcher(std::shared_ptr<Device> device) {
  return [device = std::move(device)](const RegionLaunch& launch) { return run_region(*device, launch); };
}

}  // namespace assay::probes
