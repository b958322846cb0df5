#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "explain/explain.h"
#include "explain/terms.h"
#include "explain/view.h"

namespace assay::explain {

namespace {

// Axes that run over the terms of a sum together: operand, axis.
using SummedAxis = std::vector<std::pair<std::size_t, std::size_t>>;

std::vector<SummedAxis> summed_axes(const Graph& graph, const Node& node) {
  const auto rank = [&](std::size_t k) { return graph.node(node.operands[k]).shape.size(); };
  if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes))
    return {{{0, gemm->transpose_a ? 0 : 1}, {1, gemm->transpose_b ? 1 : 0}}};
  if (node.op == Op::matmul && rank(0) >= 2 && rank(1) >= 2) return {{{0, rank(0) - 1}, {1, rank(1) - 2}}};
  if (node.op == Op::conv && std::get<WindowAttributes>(node.attributes).groups == 1) return {{{0, 1}, {1, 1}}};
  std::vector<SummedAxis> axes;
  if (node.op == Op::reduce_sum) {
    for (const std::int64_t axis : std::get<ReduceAttributes>(node.attributes).axes) axes.push_back({{0, static_cast<std::size_t>(axis)}});
  }
  return axes;
}

Tensor selected(const Tensor& tensor, std::size_t axis, const std::set<std::int64_t>& indices) {
  Shape shape = tensor.shape();
  shape[axis] = static_cast<std::int64_t>(indices.size());
  const std::vector<std::int64_t> kept(indices.begin(), indices.end());
  const std::size_t width = byte_size(tensor.dtype()), count = element_count(shape);
  std::vector<std::byte> bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    Shape index = index_of(shape, i);
    index[axis] = kept[static_cast<std::size_t>(index[axis])];
    std::memcpy(bytes.data() + i * width, tensor.bytes().data() + element_at(tensor.shape(), index) * width, width);
  }
  return {tensor.dtype(), shape, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// The one op of the part on these operands; nullopt where that gives another result than the recorded one's type.
std::optional<Part> on_operands(const Part& part, std::vector<Tensor> operands) {
  Part smaller = part;
  smaller.graph = Graph();
  std::vector<NodeId> inputs;
  for (std::size_t k = 0; k < operands.size(); ++k)
    inputs.push_back(smaller.graph.append_input(operands[k].dtype(), operands[k].shape(), part.graph.input_names[k]));
  const Node& node = part.graph.nodes.back();
  const auto added = smaller.graph.append(node.op, inputs, node.attributes);
  if (!added || smaller.graph.node(added.value()).shape != node.shape) return std::nullopt;
  smaller.graph.mark_output(added.value(), part.graph.output_names[0]);
  smaller.operands = std::move(operands);
  return smaller;
}

// Leaves out what only products with 0 lie along: neither the sum, nor the number of its terms, nor their magnitudes change.
Part without_zeros(Part part) {
  const Graph& graph = part.graph;
  const Node& node = graph.nodes.back();
  if (node.operands != graph.inputs || graph.nodes.size() != graph.inputs.size() + 1 || element_count(node.shape) != 1 ||
      !is_float(node.dtype))
    return part;
  for (const SummedAxis& axes : summed_axes(graph, node)) {
    std::vector<Array<double>> values;
    for (const Tensor& operand : part.operands) values.push_back({operand.shape(), operand.to_doubles()});
    const auto terms = terms_of(part.graph.nodes.back(), values, 0);
    if (!terms) return part;
    std::set<std::int64_t> kept;
    for (const Term& term : terms->terms) {
      const auto [operand, element] = term.factors[0];
      if (operand == axes[0].first) kept.insert(index_of(part.operands[operand].shape(), element)[axes[0].second]);
    }
    if (kept.empty()) kept.insert(0);
    std::vector<Tensor> operands = part.operands;
    for (const auto& [operand, axis] : axes) operands[operand] = selected(operands[operand], axis, kept);
    if (auto smaller = on_operands(part, std::move(operands))) part = std::move(*smaller);
  }
  return part;
}

std::string shapes_text(const Trace& trace, const Region& region) {
  std::string text;
  for (const TraceTensorId id : region.operands) {
    if (!text.empty()) text += ", ";
    text += to_string(trace.tensors[id].value.shape());
  }
  text += " ->";
  for (const TraceTensorId id : region.results) {
    text += ' ';
    text += to_string(trace.tensors[id].value.shape());
  }
  return text;
}

bool fails(const Trace& trace) {
  const auto audit = kernel::audit_region(trace, 0);
  return kernel::check_continuity(trace) && audit && audit.value().total().failed > 0;
}

}  // namespace

Outcome<Shrunk> shrink(const Trace& trace, std::size_t region) {
  const auto audit = kernel::audit_region(trace, region);
  if (!audit) return audit.rejection();
  const auto& worst = audit.value().worst;
  if (!worst)
    return Rejection{Rejection::Kind::rejected, "shrink.passes", "region " + std::to_string(region), "a failure", "none",
                     "explain/explain.h"};
  const Part part = part_of(trace, region, worst->result, worst->element);
  for (const Part& candidate : {without_zeros(part), part}) {
    Trace smaller = trace_of(trace, candidate);
    if (fails(smaller)) {
      std::string text = shapes_text(trace, trace.regions[region]) + ", down to " + shapes_text(smaller, smaller.regions[0]);
      return Shrunk{std::move(smaller), std::move(text)};
    }
  }
  Region alone = trace.regions[region];  // as it is
  Part as_it_is{alone.graph, alone.model, {}, {}, {}, {}, alone.results, worst->result, worst->element, alone.name};
  for (const TraceTensorId id : alone.operands) as_it_is.operands.push_back(trace.tensors[id].value);
  for (const TraceTensorId id : alone.results) as_it_is.results.push_back(trace.tensors[id].value);
  return Shrunk{trace_of(trace, as_it_is), shapes_text(trace, alone) + ", as it is"};
}

}  // namespace assay::explain
