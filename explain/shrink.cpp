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
  const auto audit = audit::audit_region(trace, 0);
  return audit::check_continuity(trace) && audit && audit.value().total().failed > 0;
}

// Everything that the region reads and gives.
Part all_of(const Trace& trace, std::size_t index, std::size_t result, std::size_t element) {
  const Region& region = trace.regions[index];
  Part part{region.graph, region.model, {}, {}, {}, region.results, result, element, region.name};
  for (const TraceTensorId id : region.operands) part.operands.push_back(trace.tensors[id].value);
  for (const TraceTensorId id : region.results) part.results.push_back(trace.tensors[id].value);
  return part;
}

// The worst element of a region that fails, and what it reads, in the smallest form that still fails.
std::optional<Trace> cut(const Trace& trace, std::size_t region) {
  const auto audit = audit::audit_region(trace, region);
  if (!audit || !audit.value().worst) return std::nullopt;
  const auto [result, element] = std::pair(audit.value().worst->result, audit.value().worst->element);
  const Part part = part_of(trace, region, result, element);
  for (const Part& candidate : {without_zeros(part), part, all_of(trace, region, result, element)}) {
    Trace smaller = trace_of(trace, candidate);
    if (fails(smaller)) return smaller;
  }
  return std::nullopt;
}

// Delta debugging (Zeller, Hildebrandt 2002) with zeros for what is taken away.
class Reducer {
 public:
  Reducer(const Trace& trace, const Rerun& rerun) : trace_(trace), rerun_(rerun) {}

  // Returns true if the program fails on the operands as they are.
  bool starts() { return try_operand(0, trace_.tensors[trace_.regions[0].operands[0]].value); }

  void reduce() {
    const std::vector<TraceTensorId> operands = trace_.regions[0].operands;  // the trace is exchanged on the way
    for (const TraceTensorId id : operands) {
      if (!is_float(trace_.tensors[id].value.dtype())) continue;
      for (std::size_t length = trace_.tensors[id].value.size(); length > 0; length /= 2) {
        for (std::size_t begin = 0; begin < trace_.tensors[id].value.size(); begin += length) try_zeros(id, begin, length);
      }
    }
  }

  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  void try_zeros(TraceTensorId id, std::size_t begin, std::size_t length) {
    const Tensor& value = trace_.tensors[id].value;
    const std::size_t width = byte_size(value.dtype()), end = std::min(begin + length, value.size());
    std::vector<std::byte> bytes(value.bytes().begin(), value.bytes().end());
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(begin * width),
               last = bytes.begin() + static_cast<std::ptrdiff_t>(end * width);
    if (std::all_of(first, last, [](std::byte byte) { return byte == std::byte{0}; })) return;
    std::fill(first, last, std::byte{0});
    const auto position = std::ranges::find(trace_.regions[0].operands, id) - trace_.regions[0].operands.begin();
    try_operand(static_cast<std::size_t>(position),
                Tensor(value.dtype(), value.shape(), std::make_shared<const std::vector<std::byte>>(std::move(bytes))));
  }

  // Keeps the operand if the program, run on it, fails.
  bool try_operand(std::size_t position, const Tensor& operand) {
    constexpr std::size_t kMostRuns = 2000;
    if (runs_++ >= kMostRuns) return false;
    Trace next = trace_;
    const Region& region = next.regions[0];
    next.tensors[region.operands[position]].value = operand;
    std::vector<Tensor> operands;
    for (const TraceTensorId id : region.operands) operands.push_back(next.tensors[id].value);
    auto results = rerun_(region, operands);
    if (!results || results->size() != region.results.size()) return false;
    for (std::size_t i = 0; i < results->size(); ++i) next.tensors[region.results[i]].value = (*results)[i];
    if (!fails(next)) return false;
    trace_ = std::move(next);
    return true;
  }

  Trace trace_;
  const Rerun& rerun_;
  std::size_t runs_ = 0;
};

// With the program at hand: first on what the element reads, else (where a failure needs its place) on all operands.
std::optional<Trace> reduced(const Trace& trace, std::size_t region, const Trace& smaller, const Rerun& rerun) {
  for (const Trace& start : {smaller, trace_of(trace, all_of(trace, region, 0, 0))}) {
    if (start.regions[0].operands.empty()) continue;
    Reducer reducer(start, rerun);
    if (!reducer.starts()) continue;
    reducer.reduce();
    return cut(reducer.trace(), 0);
  }
  return std::nullopt;
}

std::size_t present(const Trace& trace) {
  std::size_t count = 0;
  for (const TraceTensorId id : trace.regions[0].operands) {
    const Tensor& value = trace.tensors[id].value;
    for (std::size_t i = 0; i < value.size(); ++i) count += contracts::recorded_value(value, i) == 0.0 ? 0 : 1;
  }
  return count;
}

}  // namespace

Outcome<Shrunk> shrink(const Trace& trace, std::size_t region, const Rerun& rerun) {
  auto smaller = cut(trace, region);
  if (!smaller)
    return Rejection{Rejection::Kind::rejected, "shrink.passes", "region " + std::to_string(region), "a failure", "none",
                     "explain/explain.h"};
  std::string how;
  if (rerun) {
    auto least = reduced(trace, region, *smaller, rerun);
    how = least ? "; run again with zeros, " + std::to_string(present(*least)) + " elements other than 0 are left"
                : "; run again, it does not fail";
    if (least) smaller = std::move(least);
  }
  std::string text = shapes_text(trace, trace.regions[region]) + ", down to " + shapes_text(*smaller, smaller->regions[0]) + how;
  return Shrunk{std::move(*smaller), std::move(text)};
}

}  // namespace assay::explain
