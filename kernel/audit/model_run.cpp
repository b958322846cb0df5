// Checks whether a run is one of a model, by value numbering of both (Alpern, Wegman, Zadeck 1988) in one table.
//
// Claim. Two values with the same number are the same expression: the same input, a constant with the same bits, or the
// same op with the same attributes on values with the same numbers. Keys are compared completely, so equal numbers are
// no coincidence. Hence, if every output of the model has the number of a recorded tensor, that tensor was recorded as
// the value that the model's graph defines, on the recorded inputs and with the model's constants. The borders of the
// regions, and repeated computations of a value, do not matter.
//
// A tensor given to the run is the model's input of the same name; any other one counts as a constant with its
// recorded bits. The converse does not hold: a runtime may compute the same outputs by other ops. So a missing node
// declines the check.
#include <map>
#include <set>
#include <utility>

#include "kernel/audit/audit.h"
#include "kernel/audit/slice.h"
#include "semantics/demand.h"

namespace assay::audit {

namespace {

using Number = std::size_t;
using Key = std::string;

class Numbering {
 public:
  Number input(std::size_t position) {
    Key key;
    append_number(key, position);
    // Shorter than any key of a node.
    return of(std::move(key));
  }
  Number constant(const Tensor& value) { return of(node_key(value)); }
  Number node(const Graph& graph, const Node& node, const std::vector<Number>& numbers) {
    Key key = node_key(graph, node);
    for (const NodeId operand : node.operands) append_number(key, numbers[operand]);
    return of(std::move(key));
  }
  // The numbers of all nodes, from those of the inputs.
  std::vector<Number> graph(const Graph& graph, const std::vector<Number>& inputs) {
    std::vector<Number> numbers(graph.nodes.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) numbers[graph.inputs[i]] = inputs[i];
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      if (graph.node(id).op != Op::input) numbers[id] = node(graph, graph.node(id), numbers);
    }
    return numbers;
  }

 private:
  Number of(Key key) { return table_.emplace(std::move(key), table_.size()).first->second; }
  std::map<Key, Number> table_;
};

Rejection declined(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::declined, std::string("model.") + code,
          std::move(place),          std::move(required),
          std::move(found),          "the run may be one of another model, or its regions compute the same by other ops"};
}

std::string words_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return std::string(op_row(node.op).name) + (node.name.empty() ? " (node " + std::to_string(id) + ")" : " '" + node.name + "'") + ", " +
         to_string(node.dtype) + " " + to_string(node.shape);
}

class Binding {
 public:
  Binding(const Trace& trace, const Graph& model) : trace_(trace), model_(without_dead_nodes(model)) {}

  Outcome<ModelRun> check() {
    if (auto done = bind_inputs(); !done) return done.rejection();
    std::map<Number, TraceTensorId> recorded = number_run();
    std::vector<Number> inputs;
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) inputs.push_back(numbering_.input(i));
    const std::vector<Number> numbers = numbering_.graph(model_, inputs);
    for (const NodeId output : model_.outputs) {
      const auto found = recorded.find(numbers[output]);
      if (found == recorded.end()) return missing(numbers);
      run_.outputs.push_back(found->second);
    }
    for (const Node& node : model_.nodes) run_.nodes += op_row(node.op).op_class == OpClass::leaf ? 0 : 1;
    return std::move(run_);
  }

 private:
  Outcome<Done> bind_inputs() {
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
      const Node& node = model_.node(model_.inputs[i]);
      std::size_t id = 0;
      while (id < trace_.tensors.size() &&
             !(trace_.tensors[id].name == model_.input_names[i] && trace_.tensors[id].origin != Trace::Origin::result))
        ++id;
      if (id == trace_.tensors.size())
        return declined("input", "input '" + model_.input_names[i] + "'", "a tensor of this name that was given to the run", "none");
      const Tensor& value = trace_.tensors[id].value;
      if (value.dtype() != node.dtype || value.shape() != node.shape)
        return declined("input", "input '" + model_.input_names[i] + "'", std::string(to_string(node.dtype)) + " " + to_string(node.shape),
                        std::string(to_string(value.dtype())) + " " + to_string(value.shape()));
      run_.inputs.push_back(static_cast<TraceTensorId>(id));
    }
    return Done{};
  }

  // The first tensor with each number.
  std::map<Number, TraceTensorId> number_run() {
    std::vector<Number> numbers(trace_.tensors.size(), 0);
    std::map<Number, TraceTensorId> first;
    const auto note = [&](TraceTensorId id, Number number) {
      numbers[id] = number;
      first.emplace(number, id);
      seen_.insert(number);
    };
    for (TraceTensorId id = 0; id < trace_.tensors.size(); ++id) {
      if (trace_.tensors[id].origin != Trace::Origin::result) note(id, numbering_.constant(trace_.tensors[id].value));
    }
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) note(run_.inputs[i], numbering_.input(i));
    for (const Region& region : trace_.regions) {
      std::vector<Number> inputs;
      for (const TraceTensorId id : region.operands) inputs.push_back(numbers[id]);
      const std::vector<Number> inside = numbering_.graph(region.graph, inputs);
      for (const Number number : inside) seen_.insert(number);
      for (std::size_t i = 0; i < region.results.size(); ++i) note(region.results[i], inside[region.graph.outputs[i]]);
    }
    return first;
  }

  // The first node that the run lacks; all earlier nodes are there.
  [[nodiscard]] Rejection missing(const std::vector<Number>& numbers) const {
    for (NodeId id = 0; id < model_.nodes.size(); ++id) {
      if (!seen_.contains(numbers[id]))
        return declined("node", words_of(model_, id), "a recorded value that is this, with all it is computed from", "none");
    }
    return declined("output", "outputs", "recorded results of regions", "values inside of regions alone");
  }

  const Trace& trace_;
  Graph model_;
  Numbering numbering_;
  std::set<Number> seen_;  // the numbers of all values of the run
  ModelRun run_;
};

}  // namespace

Outcome<ModelRun> check_model(const Trace& trace, const Graph& model) { return Binding(trace, model).check(); }

}  // namespace assay::audit
