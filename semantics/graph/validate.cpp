// validate(graph): finds every defect, in the order of the nodes.
#include <algorithm>
#include <limits>

#include "semantics/graph/shape_rules.h"

namespace assay {

namespace {

using shape_rules::kMaximumElements;
using shape_rules::kMaximumNodes;

class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph) {}

  std::vector<Rejection> run() {
    if (graph_.nodes.size() > kMaximumNodes) {
      add("graph.limit", "graph", "at most 2^24 nodes", std::to_string(graph_.nodes.size()) + " nodes", "split the model");
      return std::move(problems_);
    }
    for (std::size_t id = 0; id < graph_.nodes.size(); ++id) check_node(static_cast<NodeId>(id));
    check_inputs();
    check_outputs();
    return std::move(problems_);
  }

 private:
  void add(std::string code, std::string place, std::string required, std::string found, std::string advice) {
    problems_.push_back(
        {Rejection::Kind::malformed, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)});
  }

  [[nodiscard]] std::string place(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const std::string name = node.name.empty() ? "" : " '" + node.name + "'";
    return "node " + std::to_string(id) + name + " (" + std::string(op_row(node.op).name) + ")";
  }

  void check_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (static_cast<int>(node.op) >= kOpCount) {
      return add("graph.op", "node " + std::to_string(id), "an op of the table", std::to_string(static_cast<int>(node.op)),
                 "see the op table");
    }
    std::size_t count = 0;
    if (!checked_element_count(node.shape, kMaximumElements, count)) {
      return add("graph.limit", place(id), "0 <= extents, at most 2^31 - 1 elements", "shape " + to_string(node.shape),
                 "use a smaller batch");
    }
    if (op_row(node.op).op_class == OpClass::leaf) return check_leaf(id, count);
    for (const NodeId operand : node.operands) {
      if (operand >= id) {
        return add("graph.order", place(id), "operands stand before their user", "operand " + std::to_string(operand),
                   "sort the nodes topologically");
      }
    }
    check_type(id);
  }

  void check_type(NodeId id) {
    const Node& node = graph_.nodes[id];
    const Outcome<ResultType> type = infer(graph_, node.op, node.operands, node.attributes);
    if (!type) {
      Rejection why = type.rejection();
      why.place = place(id) + ": " + why.place;
      problems_.push_back(std::move(why));
      return;
    }
    if (node.dtype != type.value().dtype || node.shape != type.value().shape) {
      add("graph.type", place(id), std::string(to_string(type.value().dtype)) + to_string(type.value().shape),
          std::string(to_string(node.dtype)) + to_string(node.shape), "store the inferred type");
    }
  }

  void check_leaf(NodeId id, std::size_t count) {
    const Node& node = graph_.nodes[id];
    if (!node.operands.empty()) {
      add("graph.arity", place(id), "0 operands", std::to_string(node.operands.size()) + " operands", "a leaf has no operands");
    }
    if (node.attributes.index() != op_row(node.op).attributes) {
      add("graph.attributes", place(id), "no attributes", "kind " + std::to_string(node.attributes.index()), "a leaf has no attributes");
    }
    if (node.op == Op::constant) check_constant(id, count);
  }

  void check_constant(NodeId id, std::size_t count) {
    const Node& node = graph_.nodes[id];
    if (node.value.dtype() != node.dtype || node.value.shape() != node.shape ||
        node.value.bytes().size() != count * byte_size(node.dtype)) {
      return add("graph.constant_type", place(id), "data of type " + std::string(to_string(node.dtype)) + to_string(node.shape),
                 std::string(to_string(node.value.dtype())) + to_string(node.value.shape()) + ", " +
                     std::to_string(node.value.bytes().size()) + " bytes",
                 "give the node its tensor's type");
    }
    for (std::size_t i = 0; is_float(node.dtype) && i < count; ++i) {
      const double value = node.value.as_double(i);
      if (value - value == 0) continue;  // finite
      return add("graph.constant_value", place(id) + ", element " + std::to_string(i), "finite values", std::to_string(value),
                 "remove NaN and infinities from the model");
    }
    for (std::size_t i = 0; node.dtype == DType::boolean && i < count; ++i) {
      if (static_cast<unsigned char>(node.value.bytes()[i]) <= 1) continue;
      return add("graph.constant_value", place(id) + ", element " + std::to_string(i), "booleans 0 or 1",
                 std::to_string(static_cast<unsigned char>(node.value.bytes()[i])), "store booleans as one byte, 0 or 1");
    }
  }

  // Every node with Op::input is listed once, and no other node is.
  void check_inputs() {
    std::vector<std::size_t> listed(graph_.nodes.size(), 0);
    for (const NodeId id : graph_.inputs) {
      if (id < graph_.nodes.size() && graph_.nodes[id].op == Op::input) {
        ++listed[id];
      } else {
        add("graph.inputs", "inputs", "nodes with the op input", "node " + std::to_string(id), "list input nodes only");
      }
    }
    for (std::size_t id = 0; id < graph_.nodes.size(); ++id) {
      if (graph_.nodes[id].op != Op::input || listed[id] == 1) continue;
      add("graph.inputs", place(static_cast<NodeId>(id)), "listed once among the inputs", std::to_string(listed[id]) + " times",
          "use append_input");
    }
    if (graph_.input_names.size() != graph_.inputs.size()) {
      add("graph.names", "inputs", std::to_string(graph_.inputs.size()) + " names", std::to_string(graph_.input_names.size()),
          "name every input");
    }
  }

  void check_outputs() {
    if (graph_.outputs.empty()) add("graph.outputs", "outputs", "at least one output", "none", "mark an output");
    for (const NodeId id : graph_.outputs) {
      if (id < graph_.nodes.size()) continue;
      add("graph.outputs", "outputs", "existing nodes", "node " + std::to_string(id), "use mark_output");
    }
    if (graph_.output_names.size() != graph_.outputs.size()) {
      add("graph.names", "outputs", std::to_string(graph_.outputs.size()) + " names", std::to_string(graph_.output_names.size()),
          "name every output");
    }
  }

  const Graph& graph_;
  std::vector<Rejection> problems_;
};

}  // namespace

std::vector<Rejection> validate(const Graph& graph) { return Validator(graph).run(); }

}  // namespace assay
