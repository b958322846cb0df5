#include "runtime/compiled/device_steps.h"

#include <algorithm>
#include <utility>

namespace assay::runtime::compiled {

Outcome<Done> DeviceMemory::prepare(Mirror& device, std::size_t bytes) {
  if (memory_ != nullptr && device_.lock() == device.device()) return Done{};
  auto memory = device.allocate(bytes);
  if (!memory) return memory.rejection();
  memory_ = std::move(memory).value();
  device_ = device.device();
  return Done{};
}

Outcome<Array> DeviceMemory::place_for(Mirror& device, const Item& item, std::size_t offset) const {
  if (offset == kNowhere) return device.place_for(item.dtype, item.shape);
  return device.place_in({memory_, static_cast<std::byte*>(memory_.get()) + offset}, item.dtype, item.shape);
}

namespace {

// The graph of a pass with single numbers written into it, and what is left to read.
struct Written {
  Graph graph;
  std::vector<ProgramValue> operands;
};
Written with_numbers(const Items& items, const ProgramRegion& region) {
  Written written{region.graph, {}};
  written.graph.inputs.clear();
  written.graph.input_names.clear();
  for (std::size_t k = 0; k < region.operands.size(); ++k) {
    const NodeId id = region.graph.inputs[k];
    const auto& constant = items.items[region.operands[k]].constant;
    Node& node = written.graph.nodes[id];
    if (constant && constant->size() == 1 && constant->dtype() == DType::float32) {
      node.op = Op::constant;
      node.value = constant->to_tensor();
      continue;
    }
    written.graph.inputs.push_back(id);
    written.graph.input_names.push_back(region.graph.input_names[k]);
    written.operands.push_back(region.operands[k]);
  }
  return written;
}

// Node by node; intermediate values have memory of their own.
Outcome<Done> run_nodes(Mirror& device, const ProgramRegion& region, std::vector<Array>& values) {
  const Graph& graph = region.graph;
  std::vector<Array> of_node(graph.nodes.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) of_node[graph.inputs[k]] = values[region.operands[k]];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<const Array*> operands;
    for (const NodeId operand : node.operands) operands.push_back(&of_node[operand]);
    const auto output = std::ranges::find(graph.outputs, id);
    if (output != graph.outputs.end()) {
      of_node[id] = values[region.results[static_cast<std::size_t>(output - graph.outputs.begin())]];
      if (auto done = device.run(node.op, node.attributes, operands, of_node[id]); !done) return done;
    } else if (node.op == Op::reshape) {
      of_node[id] = operands[0]->reshaped(node.shape);
    } else {
      auto result = device.run(node.op, node.attributes, operands, node.dtype, node.shape);
      if (!result) return result.rejection();
      of_node[id] = std::move(result).value();
    }
  }
  return Done{};
}

}  // namespace

Outcome<Done> execute_on(Mirror& device, const Items& items, const Step& step, const ProgramRegion& region, std::vector<Array>& values) {
  const Item& item = items.items[step.item];
  if (is_reshape(items, step)) {
    values[step.item] = values[step.operands[0]].reshaped(item.shape);
    return Done{};
  }
  if (step.kind == Step::Kind::op || step.kind == Step::Kind::alias) {
    std::vector<const Array*> operands;
    for (const ItemId operand : step.operands) operands.push_back(&values[operand]);
    return device.run(item.op, item.attributes, operands, values[step.item]);
  }
  if (step.kind == Step::Kind::pass) {
    const Written written = with_numbers(items, region);
    std::vector<const Array*> operands;
    std::vector<Array> places;
    for (const ProgramValue operand : written.operands) operands.push_back(&values[operand]);
    for (const ProgramValue result : region.results) places.push_back(values[result]);
    auto done = device.run_pass(written.graph, operands, places);
    if (done || (done.rejection().code != "gpu.op" && done.rejection().code != "gpu.dtype")) return done;
  }
  return run_nodes(device, region, values);
}

}  // namespace assay::runtime::compiled
