// Names and their nodes, of the whole graph and of the branches of If: which nodes are lowered, and in what order.
#include <algorithm>

#include "frontends/onnx/importer.h"

namespace assay::onnx {
namespace {

// The names that a node reads, those that its branches read from outside included.
void for_each_operand(const NodeProto& node, const std::function<void(const std::string&)>& take) {
  for (const std::string& name : node.inputs) take(name);
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const NodeProto& inner : attribute.graph->nodes) for_each_operand(inner, take);  // graphs in each other are few: kMostNested
    for (const ValueInfo& output : attribute.graph->outputs) take(output.name);
  }
}

// The nodes, each behind those whose results it reads, and otherwise as they stand. Nodes of a cycle stand somewhere.
std::vector<const NodeProto*> sorted(const std::vector<NodeProto>& nodes) {
  std::unordered_map<std::string, std::size_t> producers;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].outputs) producers.emplace(name, i);
  std::vector<const NodeProto*> order;
  std::vector<bool> is_met(nodes.size(), false);
  struct Open {
    std::size_t node;
    std::vector<std::size_t> operands;  // that have not been looked at, the first one last
  };
  std::vector<Open> open;
  const auto meet = [&](std::size_t i) {
    if (is_met[i]) return;
    is_met[i] = true;
    open.push_back({i, {}});
    for_each_operand(nodes[i], [&](const std::string& name) {
      if (const auto found = producers.find(name); found != producers.end()) open.back().operands.push_back(found->second);
    });
    std::ranges::reverse(open.back().operands);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    meet(i);
    while (!open.empty()) {
      if (open.back().operands.empty()) {
        order.push_back(&nodes[open.back().node]);
        open.pop_back();
        continue;
      }
      const std::size_t next = open.back().operands.back();
      open.back().operands.pop_back();
      meet(next);
    }
  }
  return order;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<ValueInfo>& values) {
  std::vector<std::string> names;
  for (const ValueInfo& value : values) names.push_back(value.name);
  return names;
}

std::string options_for(const ValueInfo& input) {
  std::string dims, shape;
  std::set<std::string> names;
  bool is_named = input.has_shape;  // each open axis has a name of its own
  for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
    const Dimension& dim = input.dims[axis];
    const bool is_open = dim.value.value_or(-1) < 0;
    shape += (axis == 0 ? "" : ",") + (!is_open ? std::to_string(*dim.value) : axis == 0 ? "1" : "N");
    if (!is_open || axis == 0) continue;
    is_named = is_named && dim.symbol.find_first_not_of("?*-_ ") != std::string::npos && names.insert(dim.symbol).second;
    dims += (dims.empty() ? "" : " ") + ("--dim " + shell_word(dim.symbol + "=N"));
  }
  return is_named ? dims : "--shape " + shell_word(input.name + "=" + (input.has_shape ? shape : "N,..."));
}

void Importer::declare_initializers(const GraphProto& graph, const Declare& take) {
  for (const TensorProto& tensor : graph.initializers) {
    Entry entry;
    entry.initializer = &tensor;
    if (tensor.name.empty() || !take(tensor.name, entry)) {
      refuse_malformed("onnx.duplicate_value", "initializer " + in_quotes(tensor.name), "a name of its own", "an empty or repeated name",
                       "export the model again");
    }
  }
}

void Importer::declare_nodes(const GraphProto& graph, const Declare& take) {
  for (const NodeProto& node : graph.nodes) {
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      if (node.outputs[j].empty()) continue;
      Entry entry;
      entry.producer = &node;
      entry.output = j;
      if (!take(node.outputs[j], entry)) {
        refuse_malformed("onnx.duplicate_value", place_of(node), "results with names of their own", in_quotes(node.outputs[j]) + " twice",
                         "export the model again");
      }
    }
  }
  const std::vector<const NodeProto*> order = sorted(graph.nodes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != &graph.nodes[i] && i < graph.nodes.size())
      lowering_.note("nodes stand before others whose results they read; they are read behind them");
    place_.emplace(order[i], place_.size());
  }
}

void Importer::require(const std::vector<std::string>& names) {
  std::vector<const NodeProto*> needed;
  const auto visit = [&](const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second.producer == nullptr || found->second.done) return;
    if (lowered_.insert(found->second.producer).second) needed.push_back(found->second.producer);
  };
  for (const std::string& name : names) visit(name);
  for (std::size_t i = 0; i < needed.size(); ++i)
    for (const std::string& name : needed[i]->inputs) visit(name);
  std::ranges::sort(needed, {}, [this](const NodeProto* node) { return place_.at(node); });
  for (const NodeProto* node : needed) lower(*node);
}

std::vector<std::string> Importer::inputs_behind(const std::string& name) const {
  std::vector<std::string> inputs, open{name};
  std::set<std::string> met{name};
  while (!open.empty()) {
    const auto found = values_.find(open.back());
    open.pop_back();
    if (found == values_.end() || found->second.initializer != nullptr) continue;
    const NodeProto* producer = found->second.producer;
    for (const std::string& source : found->second.sources)
      if (met.insert(source).second) open.push_back(source);
    if (producer == nullptr && found->second.sources.empty()) {
      inputs.push_back(found->first);
    } else if (producer != nullptr && producer->op_type != "Shape" && producer->op_type != "Size") {
      for_each_operand(*producer, [&](const std::string& operand) {
        if (met.insert(operand).second) open.push_back(operand);
      });
    }
  }
  std::ranges::sort(inputs);
  return inputs;
}

Operand Importer::result_of_branch(const ValueInfo& output, const NodeProto& node) { return entry_of(output.name, place_of(node)).operand; }

const GraphProto& Importer::graph_of(const NodeProto& node, const std::string& name, std::size_t inputs, std::size_t outputs) const {
  const auto attribute = std::ranges::find(node.attributes, name, &AttributeProto::name);
  const GraphProto* graph = attribute != node.attributes.end() ? attribute->graph.get() : nullptr;
  const auto counts = [](std::size_t in, std::size_t out) {
    return std::to_string(in) + " inputs and " + std::to_string(out) + " outputs";
  };
  if (graph == nullptr || graph->inputs.size() != inputs || graph->outputs.size() != outputs)
    refuse_malformed("onnx.attribute", place_of(node), "a " + name + " with " + counts(inputs, outputs),
                     graph == nullptr ? "none" : counts(graph->inputs.size(), graph->outputs.size()), "check the model with onnx.checker");
  if (graph->has_sparse_initializers)
    refuse_unsupported("onnx.sparse", place_of(node), "dense initializers", "sparse ones", "store the weights as dense tensors");
  return *graph;
}

// The graph stands in the place of the node. Its names are new ones, as the standard asks, and mean nothing behind it; so nodes outside
// that are lowered for it read what they read without it.
Results Importer::results_of(Inside& inside, const NodeProto& node, const GraphProto& graph, const Results& operands) {
  std::vector<std::string> read = names_of(graph.outputs);
  for (const NodeProto& inner : graph.nodes) {
    for_each_operand(inner, [&](const std::string& name) { read.push_back(name); });
    lowered_.erase(&inner);  // in an earlier turn
  }
  require(read);  // before the graph has names, which a graph of another node may have, too
  const Declare take = [&](const std::string& one, const Entry& entry) { return inside.declare(one, entry); };
  const std::size_t skipped = node.op_type == "Loop" ? 1 : 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Entry entry{operands[i], nullptr, nullptr, 0, true, {}};
    if (i < node.inputs.size()) entry.sources.push_back(node.inputs[i]);
    if (i >= skipped && i - skipped < graph.outputs.size()) entry.sources.push_back(graph.outputs[i - skipped].name);  // of the last turn
    const std::string& name = graph.inputs[i].name;
    if (name.empty() || !take(name, entry))
      refuse_malformed("onnx.duplicate_value", place_of(node), "inputs of its body with names of their own", in_quotes(name),
                       "export the model again");
    if (std::ranges::any_of(entry.sources, [&](const std::string& source) { return halves_.contains(source); })) halves_.insert(name);
  }
  declare_initializers(graph, take);
  declare_nodes(graph, take);
  require(names_of(graph.outputs));
  Results results;
  for (const ValueInfo& output : graph.outputs) results.push_back(result_of_branch(output, node));
  return results;
}

bool Importer::decided(const NodeProto& node, const Operand& condition, const std::string& name) const {
  if (condition->dtype != DType::boolean || condition->parts || element_count(condition->shape) != 1)
    refuse_malformed("onnx.input", place_of(node), "one truth value as condition",
                     std::string(to_string(condition->dtype)) + to_string(condition->shape), "check the model with onnx.checker");
  if (!condition->constant) refuse_condition(node, name, "a condition");
  return condition->constant->as_int(0) != 0;
}

// The branch that a constant condition takes.
void Importer::lower_if(const NodeProto& node) {
  const bool holds = decided(node, entry_of(node.inputs[0], place_of(node)).operand, node.inputs[0]);
  const std::string name = holds ? "then_branch" : "else_branch";
  const GraphProto& branch = graph_of(node, name, 0, node.outputs.size());
  Inside inside(values_);
  const Results results = results_of(inside, node, branch);
  inside.leave();
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (halves_.contains(branch.outputs[i].name)) halves_.insert(node.outputs[i]);
  }
  define(node, results);
  lowering_.note(place_of(node) + " takes its " + name + ", since its condition is constant");
}

void Importer::refuse_condition(const NodeProto& node, const std::string& name, const std::string& what) const {
  std::string names, options;
  std::vector<std::string> inputs = inputs_behind(name);
  if (inputs.empty()) inputs = inputs_behind(node.outputs.front());
  for (const std::string& input : inputs) {
    names += (names.empty() ? "" : ", ") + in_quotes(input);
    options += (options.empty() ? "" : " ") + ("--set " + shell_word(input + "=VALUE"));
  }
  if (names.empty())
    refuse_unsupported("onnx.condition", place_of(node), what + " that constants decide",
                       "arithmetic on constant floats, or an unknown value", "store it as a constant");
  refuse_unsupported("onnx.condition", place_of(node), what + " that constants decide", "one that depends on the input " + names,
                     "make the input a constant: " + options);
}

}  // namespace assay::onnx
