// Steps of a recorded run: finds the nodes that are steps and their values in the run, and evaluates a graph with them.

#include "kernel/audit/steps.h"

#include <algorithm>
#include <set>

#include "kernel/audit/point.h"
#include "kernel/contracts/contract.h"

namespace assay::audit {

namespace {

using Values = std::vector<Array<Interval>>;

bool rounds_to_steps(Op op) {
  return op == Op::sign || op == Op::floor || op == Op::ceil || op == Op::round || op == Op::step || op == Op::max_weight;
}
bool jumps_between_reals(const Node& node) {
  return is_float(node.dtype) && (node.op == Op::mod || node.op == Op::thresholded_relu || node.op == Op::shrink);
}
bool hands_on(Op op) { return op_row(op).op_class == OpClass::layout || op_row(op).op_class == OpClass::selection || op == Op::cast; }

// Nodes with finitely many values near each point of the real inputs, such as truth values, integers, signs and floors.
// A node that selects among such values is a step if it is an output.
std::set<NodeId> steps_of(const Graph& graph) {
  // is_real: depends on real inputs. is_fixed: takes step values only.
  std::vector<bool> is_real(graph.nodes.size(), false), is_fixed(graph.nodes.size(), false);
  std::set<NodeId> steps;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    const bool is_number = is_float(node.dtype);
    is_real[id] = (node.op == Op::input && is_number) || std::ranges::any_of(node.operands, [&](NodeId of) { return is_real[of]; });
    is_fixed[id] = !is_real[id] || !is_number || rounds_to_steps(node.op) ||
                   (hands_on(node.op) && std::ranges::all_of(node.operands, [&](NodeId of) { return is_fixed[of]; }));
    const bool decides = rounds_to_steps(node.op) || (!is_number && op_row(node.op).op_class != OpClass::layout);
    const bool is_output = std::ranges::find(graph.outputs, id) != graph.outputs.end();
    if (node.op != Op::input && is_real[id] && is_fixed[id] && (decides || is_output)) steps.insert(id);
  }
  return steps;
}

// Whether no rounding changes the node's result, given operands with the same property.
bool is_exact(const Node& node, bool reads_floats) {
  if (node.op == Op::cast) return !is_float(node.dtype) || !reads_floats;
  if (!is_float(node.dtype) || rounds_to_steps(node.op)) return node.op != Op::max_weight;
  const OpClass kind = op_row(node.op).op_class;
  return kind == OpClass::leaf || kind == OpClass::layout || kind == OpClass::selection || node.op == Op::neg || node.op == Op::abs ||
         node.op == Op::relu || node.op == Op::min || node.op == Op::max;
}

// The steps that decide a jump, as functions of its operands: the quotient, or the sides of thresholds.
Graph choices_of(const Graph& graph, const Node& node) {
  Graph alone;
  std::vector<NodeId> x;
  for (const NodeId operand : node.operands) x.push_back(alone.append_input(node.dtype, graph.node(operand).shape, ""));
  const auto apply = [&](Op op, std::vector<NodeId> operands) { return alone.append(op, std::move(operands)).value(); };
  const auto decides = [&](NodeId id) { alone.mark_output(id, ""); };
  if (node.op == Op::mod) {
    const NodeId quotient = apply(Op::div, x);
    decides(apply(Op::floor, {quotient}));
    if (std::get<ModAttributes>(node.attributes).truncated) decides(apply(Op::ceil, {quotient}));
    return alone;
  }
  const double alpha = std::get<ActivationAttributes>(node.attributes).alpha;
  const auto number = [&](double value) {
    const bool is_double = node.dtype == DType::float64;
    return alone.append_constant(is_double ? Tensor::of_doubles({}, std::vector<double>{value})
                                           : Tensor::of_floats({}, std::vector<float>{static_cast<float>(value)}));
  };
  decides(apply(Op::less, {number(alpha), x[0]}));
  if (node.op == Op::shrink) decides(apply(Op::less, {x[0], number(-alpha)}));
  return alone;
}

std::optional<Values> choices(const Graph& of, const Values& operands) {
  const auto nodes = evaluate<Interval>(of, operands);
  if (!nodes) return std::nullopt;
  Values found;
  for (const NodeId output : of.outputs) found.push_back(nodes.value()[output]);
  return found;
}

// Each element's one value; undefined if it may have several.
Array<Interval> single_values(Array<Interval> values) {
  for (Interval& one : values.values) one = one.is_point() ? one : Interval::undefined();
  return values;
}

}  // namespace

TakenSteps::TakenSteps(const Trace& trace, const Graph& graph, const Origins& origins, const std::vector<bool>& was_recorded)
    : trace_(trace), graph_(graph) {
  std::vector<bool> is_same(graph.nodes.size(), false);  // identical to the value in the run
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) is_same[graph.inputs[k]] = was_recorded[k];
  std::map<std::uint32_t, std::set<NodeId>> steps;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    const bool reads_same = std::ranges::all_of(node.operands, [&](NodeId of) { return is_same[of]; });
    const auto origin = origins.find(id);
    const bool reads_floats = std::ranges::any_of(node.operands, [&](NodeId of) { return is_float(graph.node(of).dtype); });
    if (origin == origins.end()) {
      is_same[id] = reads_same && node.op == Op::constant;
      continue;
    }
    const auto& [region, inside] = origin->second;
    const ExecutionModel& model = trace.regions[region].model;
    const bool reads_alike = reads_same && !model.flush_operands && !model.flush_results;
    is_same[id] = reads_alike && is_exact(node, reads_floats);
    // These two ops are free at ties.
    if (reads_alike && node.op != Op::step && node.op != Op::max_weight) continue;
    const auto known = steps.try_emplace(region);
    if (known.second) known.first->second = steps_of(trace.regions[region].graph);
    if (known.first->second.contains(inside) || jumps_between_reals(node)) steps_.emplace(id, origin->second);
  }
}

// S1 and S2, and the operands of S3, for one region.
void TakenSteps::hold(std::uint32_t index) {
  const Region& region = trace_.regions[index];
  Graph inner = region.graph;
  const std::set<NodeId> steps = steps_of(inner);
  std::set<NodeId> wanted = steps;
  for (const Node& node : inner.nodes) {
    if (jumps_between_reals(node)) wanted.insert(node.operands.begin(), node.operands.end());
  }
  std::vector<Tensor> operands;
  std::vector<contracts::Recording> recordings;
  for (std::size_t k = 0; k < region.operands.size(); ++k) {
    operands.push_back(trace_.tensors[region.operands[k]].value);
    held_[{index, inner.inputs[k]}] = enclosed(operands.back());
    wanted.erase(inner.inputs[k]);
  }
  for (std::size_t k = 0; k < region.results.size(); ++k) {
    const Trace::Entry& entry = trace_.tensors[region.results[k]];
    recordings.push_back({inner.outputs[k], entry.value, entry.storage});
    held_[{index, inner.outputs[k]}] = enclosed(entry.value);
    wanted.erase(inner.outputs[k]);
  }
  if (wanted.empty()) return;
  const NodeId last = std::max(*wanted.rbegin(), inner.inputs.empty() ? 0 : *std::ranges::max_element(inner.inputs));
  std::erase_if(recordings, [&](const contracts::Recording& one) { return one.node > last; });
  inner.nodes.resize(last + 1);
  inner.outputs.clear();
  inner.output_names.clear();
  for (const NodeId id : wanted) inner.mark_output(id, "");
  const auto sets = contracts::admissible(inner, region.model, operands, recordings);
  std::size_t at = 0;
  for (const NodeId id : wanted) {
    Array<Interval> values{inner.node(id).shape, std::vector(inner.size(id), Interval::undefined())};
    // NOLINTBEGIN(clang-analyzer-cplusplus.Move): each turn makes its own values
    for (std::size_t i = 0; sets && i < values.values.size(); ++i) values.values[i] = enclosure(sets.value()[at].sets.values[i]);
    held_[{index, id}] = steps.contains(id) ? single_values(std::move(values)) : std::move(values);
    // NOLINTEND(clang-analyzer-cplusplus.Move)
    ++at;
  }
}

// S3.
void TakenSteps::forget_open(NodeId id, const Values& values, Array<Interval>& result) {
  const Node& node = graph_.node(id);
  const auto& [index, inside] = steps_.at(id);
  const Graph decides = choices_of(graph_, node);
  Values exact, held;
  for (const NodeId operand : node.operands) exact.push_back(values[operand]);
  for (const NodeId operand : trace_.regions[index].graph.node(inside).operands) held.push_back(held_.at({index, operand}));
  const auto by_exact = choices(decides, exact), by_held = choices(decides, held);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const auto is_same = [&](std::size_t k) {
      const Interval &a = (*by_exact)[k].values[i], &b = (*by_held)[k].values[i];
      return a.is_point() && b.is_point() && a.lo() == b.lo();
    };
    bool is_one = by_exact && by_held;
    for (std::size_t k = 0; is_one && k < decides.outputs.size(); ++k) is_one = is_same(k);
    if (!is_one) result.values[i] = Interval::undefined();
  }
}

std::optional<Values> TakenSteps::outputs(const Values& point) {
  std::set<std::uint32_t> regions;
  for (const auto& [id, origin] : steps_) regions.insert(origin.first);
  for (const std::uint32_t region : regions) hold(region);
  const auto nodes = nodes_taken(graph_, point, [&](NodeId id, Values& values, const auto& by_op) {
    const auto step = steps_.find(id);
    if (step == steps_.end()) return by_op();
    const bool jumps = jumps_between_reals(graph_.node(id));
    if (jumps && !by_op()) return false;
    if (jumps) forget_open(id, values, values[id]);
    if (!jumps) values[id] = held_.at(step->second);
    return true;
  });
  if (!nodes) return std::nullopt;
  Values found;
  for (const NodeId output : graph_.outputs) found.push_back((*nodes)[output]);
  return found;
}

}  // namespace assay::audit
