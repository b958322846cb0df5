#include "training/export.h"

#include <algorithm>
#include <utility>

#include "formats/onnx_writer.h"
#include "runtime/kernels/kernels.h"
#include "training/atomic_file.h"

namespace assay::training {

namespace {

// Inputs from `first` on become constants with these values and their names.
Graph with_constants(const Graph& graph, std::size_t first, std::span<const Value> values) {
  Graph result = graph;
  for (std::size_t k = first; k < graph.inputs.size(); ++k) {
    Node& node = result.nodes[graph.inputs[k]];
    node.op = Op::constant;
    node.value = values[k - first].array().to_tensor();
    node.name = graph.input_names[k];
  }
  result.inputs.resize(first);
  result.input_names.resize(first);
  return result;
}

// Layout ops, sums and products of integers, and logic.
bool is_folded(const Node& node) {
  const Op op = node.op;
  if (op == Op::logical_and || op == Op::logical_or || op == Op::logical_not) return true;
  if (is_integer(node.dtype) && (op == Op::add || op == Op::sub || op == Op::mul)) return true;
  return op == Op::reshape || op == Op::permute || op == Op::slice || op == Op::concat || op == Op::expand || op == Op::gather;
}

// Folds such ops on constants to constants, as import does.
Outcome<Graph> folded(const Graph& graph) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    const auto is_constant = [&](NodeId operand) { return result.node(operand).op == Op::constant; };
    if (!is_folded(node) || !std::ranges::all_of(node.operands, is_constant)) continue;
    std::vector<Array> arrays;
    for (const NodeId operand : node.operands) arrays.push_back(Array::from(result.node(operand).value));
    std::vector<const Array*> operands;
    for (const Array& array : arrays) operands.push_back(&array);
    Array value = Array::empty(node.dtype, node.shape);
    if (auto done = runtime::run(node.op, node.attributes, operands, value); !done) return done.rejection();
    if (node.operands.size() == 1) node.name = result.node(node.operands[0]).name;
    node.value = value.to_tensor();
    node.op = Op::constant;
    node.operands.clear();
    node.attributes = NoAttributes{};
  }
  return without_dead_nodes(result);
}

}  // namespace

Outcome<ExportedModel> export_onnx(Model& model, const std::function<Value(std::span<const Value>)>& function,
                                   std::span<const ExportInput> inputs, const std::string& output) {
  Session& session = model.session();
  const bool before = model.training();
  session.clear();
  model.set_training(false);
  std::vector<Value> values;
  for (const ExportInput& input : inputs) values.push_back(session.input(input.example, input.name));
  const Value result = function(values);
  model.set_training(before);
  if (auto fine = session.check(); !fine) return fine.rejection();
  const std::vector<Value> parameters = model.all();
  std::vector<Value> leaves = values;
  leaves.insert(leaves.end(), parameters.begin(), parameters.end());
  auto captured = session.capture(leaves, std::vector{result});
  if (!captured) return captured.rejection();
  for (std::size_t k = 0; k < inputs.size(); ++k) captured.value().input_names[k] = inputs[k].name;
  captured.value().output_names[0] = output;
  const auto whole = folded(with_constants(captured.value(), inputs.size(), parameters));
  if (!whole) return whole.rejection();
  auto said = formats::as_onnx_says(whole.value());
  if (!said) return said.rejection();
  const auto file = formats::write_onnx(said.value());
  if (!file) return file.rejection();
  return ExportedModel{std::move(said).value(), file.value()};
}

Outcome<Done> write_onnx_file(const std::string& path, Model& model, const std::function<Value(std::span<const Value>)>& function,
                              std::span<const ExportInput> inputs, const std::string& output) {
  const auto exported = export_onnx(model, function, inputs, output);
  if (!exported) return exported.rejection();
  const std::span<const std::byte> file = std::as_bytes(std::span(exported.value().file));
  return write_atomically(path, std::span(&file, 1));
}

}  // namespace assay::training
