#include "runtime/graph_module.h"

#include <string>
#include <utility>

namespace assay::runtime {

GraphModule::GraphModule(Session& session, Graph graph) : session_(session), graph_(std::move(graph)), constants_(graph_.nodes.size()) {
  for (std::size_t id = 0; id < graph_.nodes.size(); ++id) {
    const Node& node = graph_.nodes[id];
    if (node.op != Op::constant) continue;
    constants_[id] = session_.parameter(node.name.empty() ? "node " + std::to_string(id) : node.name, Array::from(node.value));
    if (is_float(node.dtype)) parameters_.push_back(constants_[id]);
  }
}

Outcome<std::vector<Value>> GraphModule::operator()(std::span<const Value> inputs) const {
  const auto refused = [](std::string place, std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "session.input",  std::move(place),
                     std::move(required),        std::move(found), "give the inputs in the order of the graph"};
  };
  if (inputs.size() != graph_.inputs.size()) {
    return refused("graph", std::to_string(graph_.inputs.size()) + " inputs", std::to_string(inputs.size()));
  }
  std::vector<Value> values = constants_;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Node& node = graph_.node(graph_.inputs[k]);
    if (inputs[k].dtype() != node.dtype || inputs[k].shape() != node.shape) {
      return refused("input '" + graph_.input_names[k] + "'", std::string(to_string(node.dtype)) + to_string(node.shape),
                     std::string(to_string(inputs[k].dtype())) + to_string(inputs[k].shape()));
    }
    values[graph_.inputs[k]] = inputs[k];
  }
  std::vector<Value> operands;
  for (std::size_t id = 0; id < graph_.nodes.size(); ++id) {
    const Node& node = graph_.nodes[id];
    if (op_row(node.op).op_class == OpClass::leaf) continue;
    operands.clear();
    for (const NodeId operand : node.operands) operands.push_back(values[operand]);
    values[id] = session_.apply(node.op, operands, node.attributes);
  }
  std::vector<Value> outputs;
  for (const NodeId id : graph_.outputs) outputs.push_back(values[id]);
  if (auto fine = session_.check(); !fine) return fine.rejection();
  return outputs;
}

}  // namespace assay::runtime
