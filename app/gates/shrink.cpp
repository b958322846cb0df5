// The first failing region of a run, cut down, and run again if asked for.
#include <algorithm>
#include <utility>

#include "app/gates/gate.h"
#include "explain/explain.h"
#include "runtime/compiled/program.h"
#include "runtime/session.h"

namespace assay::gates {
namespace {

using Results = std::optional<std::vector<Tensor>>;

Results run_compiled(const Region& region, std::span<const Tensor> operands) {
  const auto program = runtime::Program::compile(region.graph);
  if (!program) return std::nullopt;
  std::vector<runtime::Array> inputs;
  for (const Tensor& operand : operands) inputs.push_back(runtime::Array::from(operand));
  const auto outputs = program.value().replay(inputs);
  if (!outputs) return std::nullopt;
  std::vector<Tensor> results;
  for (const runtime::Array& output : outputs.value()) results.push_back(output.to_tensor());
  return results;
}

Results run_eager(const Region& region, std::span<const Tensor> operands) {
  runtime::Session session;
  const Graph& graph = region.graph;
  std::vector<runtime::Value> values(graph.nodes.size());
  for (std::size_t k = 0; k < operands.size(); ++k) values[graph.inputs[k]] = session.input(operands[k]);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<runtime::Value> arguments;
    for (const NodeId operand : node.operands) arguments.push_back(values[operand]);
    values[id] = node.op == Op::constant ? session.input(node.value) : session.apply(node.op, arguments, node.attributes);
  }
  if (!session.check()) return std::nullopt;
  std::vector<Tensor> results;
  for (const NodeId output : graph.outputs) results.push_back(values[output].array().to_tensor());
  return results;
}

}  // namespace

std::optional<Shrunk> shrink(const Trace& trace, const std::vector<GateCase>& cases, const std::string& rerun) {
  for (std::size_t i = 0; i < std::min(cases.size(), trace.regions.size()); ++i) {
    if (cases[i].failed == 0) continue;
    auto shrunk = explain::shrink(trace, i, rerun.empty() ? explain::Rerun() : rerun == "eager" ? run_eager : run_compiled);
    if (!shrunk) return Shrunk{};
    return Shrunk{std::move(shrunk.value().trace), cases[i].name + ", " + shrunk.value().text};
  }
  return std::nullopt;
}

}  // namespace assay::gates
