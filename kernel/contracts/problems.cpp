// Why a call of admissible() has no answer.
#include "kernel/contracts/problems.h"

#include <string_view>
#include <utility>

#include "kernel/contracts/arithmetic.h"
#include "kernel/floats/forms.h"
#include "semantics/graph/family.h"

namespace assay::contracts {

Rejection unsupported(const Node& node, std::string code, std::string required, std::string found) {
  const std::string name(op_row(node.op).name), place = node.name.empty() ? "step " + name : "node '" + node.name + "' (" + name + ")";
  const char* advice = code == "format"
                           ? "declare a model of this type; or leave casts out, since a result that is rounded once from a wider "
                             "type passes without them"
                           : "docs/contracts/README.md lists the contracts";
  return {Rejection::Kind::unsupported, "contract." + code, place, std::move(required), std::move(found), advice};
}

namespace {

// The reason why the model has no contract for the node, if any.
std::optional<Rejection> obstacle(const Node& node, const ExecutionModel& model) {
  if (node.dtype == DType::complex64) return unsupported(node, "type", "a real element type", to_string(node.dtype));
  const bool computes = op_row(node.op).op_class != OpClass::layout && op_row(node.op).op_class != OpClass::leaf && node.op != Op::cast;
  const DType meant = model.format == ExecutionModel::Format::binary32 ? DType::float32 : DType::float64;
  const OpKind kind = kind_of(node.op);
  // Float64 nodes in a float32 model, as exporters write products of integers: supported for ops that need no table of
  // functions, with the same orders of summation.
  const bool is_wider =
      node.dtype == DType::float64 && (kind == OpKind::arithmetic || kind == OpKind::product || kind == OpKind::convolution ||
                                       kind == OpKind::sum || kind == OpKind::rounding || kind == OpKind::piecewise);
  if (computes && is_number_type(node.dtype) && node.dtype != meant && !is_wider)
    return unsupported(node, "format", to_string(meant), to_string(node.dtype));
  if (!is_number_type(node.dtype)) return std::nullopt;
  const Arithmetic arithmetic(model, format_of(node.dtype));
  const std::string_view own = op_row(node.op).name;
  const auto missing = [&](std::string_view name) {
    return unsupported(node, "function", "a row for " + std::string(name) + " in the model's math table",
                       "'" + model.math_table + "' has none");
  };
  if (contracts::family_of(node.op) == Family::function && !arithmetic.has_rows(own)) return missing(own);
  for (const std::string_view name : floats::functions_of(node, model)) {
    if (!arithmetic.has_rows(name) && !arithmetic.has_rows(own)) return missing(name);
  }
  return std::nullopt;
}

bool fits(const Tensor& tensor, const Node& node) { return tensor.dtype() == node.dtype && tensor.shape() == node.shape; }

}  // namespace

std::optional<Rejection> problem_of(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                    std::span<const Recording> recordings) {
  const auto malformed = [](std::string code, std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "contract." + code, "inputs", std::move(required), std::move(found), ""};
  };
  if (const std::vector<Rejection> problems = assay::validate(model); !problems.empty()) return problems.front();
  if (const std::vector<Rejection> problems = assay::validate(graph); !problems.empty()) return problems.front();
  if (model.kind != ExecutionModel::Kind::floating) return malformed("model", "a floating-point execution model", to_string(model));
  if (model.rewrites != ExecutionModel::Rewrites::none)
    return malformed("rewrites", "regions that say what ran, under a model with rewrites=none", to_string(model));
  if (!model.math_table.empty() && find_math_table(model.math_table) == nullptr) {
    return malformed("table", "a known math table", "'" + model.math_table + "'");
  }
  if (inputs.size() != graph.inputs.size())
    return malformed("inputs", std::to_string(graph.inputs.size()) + " tensors", std::to_string(inputs.size()));
  const auto misfit = [&](const Tensor& tensor, const Node& node) {
    return malformed("inputs", std::string(to_string(node.dtype)) + ' ' + to_string(node.shape),
                     std::string(to_string(tensor.dtype())) + ' ' + to_string(tensor.shape()));
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(inputs[i], graph.node(graph.inputs[i]))) return misfit(inputs[i], graph.node(graph.inputs[i]));
  }
  for (const Recording& recording : recordings) {
    if (recording.node >= graph.nodes.size()) return malformed("recording", "a node of the graph", std::to_string(recording.node));
    if (!fits(recording.value, graph.node(recording.node))) return misfit(recording.value, graph.node(recording.node));
  }
  for (const Node& node : graph.nodes) {
    if (std::optional<Rejection> why = obstacle(node, model)) return why;
  }
  return std::nullopt;
}

// Integers and float64 are stored unchanged.
std::optional<Rejection> problem_of(const Graph& graph, std::span<const Storage> stored) {
  const auto malformed = [](std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "contract.storage", "outputs", std::move(required), std::move(found), ""};
  };
  if (!stored.empty() && stored.size() != graph.outputs.size())
    return malformed(std::to_string(graph.outputs.size()) + " formats, one per output", std::to_string(stored.size()));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const DType dtype = graph.node(graph.outputs[i]).dtype;
    if (stored[i] != Storage::same && dtype != DType::float32)
      return malformed(std::string("float32 that is stored in ") + name_of(stored[i]), to_string(dtype));
  }
  return std::nullopt;
}

}  // namespace assay::contracts
