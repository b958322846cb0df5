#include "runtime/autodiff/transform.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/autodiff/rules.h"
#include "semantics/demand.h"

namespace assay::runtime {

namespace {

using autodiff::GraphEmitter;
using autodiff::kNone;
using autodiff::Ref;
using autodiff::Term;

struct Seed {
  NodeId value, cotangent;
};

// Which nodes depend, through reals, on one of `leaves`.
std::vector<bool> depends_on(const Graph& graph, const std::vector<NodeId>& leaves) {
  std::vector<bool> depends(graph.nodes.size(), false);
  for (const NodeId leaf : leaves) depends[leaf] = true;
  for (std::size_t id = 0; id < depends.size(); ++id) {
    if (!is_float(graph.nodes[id].dtype)) continue;
    for (const NodeId operand : graph.nodes[id].operands) depends[id] = depends[id] || depends[operand];
  }
  return depends;
}

void accumulate(GraphEmitter& emitter, Ref& sum, Ref more) {
  if (more == kNone) return;
  const Ref both[] = {sum, more};
  sum = sum == kNone ? more : emitter.op(Op::add, both, NoAttributes{});
}

// Appends J^T cotangents, J the Jacobian of the seeds' values in `leaves`; kNone for a leaf that none of them depends on.
std::vector<Ref> reverse(Graph& graph, const std::vector<Seed>& seeds, const std::vector<NodeId>& leaves) {
  GraphEmitter emitter(graph);
  const std::vector<bool> depends = depends_on(graph, leaves);
  std::vector<Ref> bars(depends.size(), kNone);
  for (const Seed& seed : seeds) {
    if (depends[seed.value]) accumulate(emitter, bars[seed.value], seed.cotangent);
  }
  for (std::size_t id = depends.size(); id-- > 0;) {
    if (bars[id] == kNone) continue;
    const Node node = graph.nodes[id];  // a copy: appending moves the nodes
    std::vector<bool> wanted;
    for (const NodeId operand : node.operands) wanted.push_back(depends[operand]);
    const auto sent = autodiff::cotangents_of({emitter, node.op, node.attributes, node.operands, static_cast<Ref>(id), bars[id], wanted});
    for (std::size_t k = 0; k < sent.size(); ++k) {
      if (wanted[k]) accumulate(emitter, bars[node.operands[k]], sent[k]);
    }
  }
  std::vector<Ref> result;
  for (const NodeId leaf : leaves) result.push_back(bars[leaf]);
  return result;
}

NodeId or_zero(Graph& graph, Ref value, NodeId like) {
  if (value != kNone) return value;
  GraphEmitter emitter(graph);
  const Shape shape = graph.node(like).shape;
  return autodiff::expand(Term(emitter, emitter.number(0, graph.node(like).dtype)), shape).ref();
}

Rejection refuse_request(std::string code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::move(code),  std::move(place),
          std::move(required),        std::move(found), "runtime/autodiff/transform.h says what is differentiated"};
}

// The start of the three transformations: the graph without its outputs, and the node to differentiate.
struct Derivation {
  Graph graph;
  NodeId y;
  std::string name;
  std::vector<NodeId> leaves;
};

Outcome<Derivation> start(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  if (output >= graph.outputs.size() || !is_float(graph.node(graph.outputs[output]).dtype)) {
    return refuse_request("autodiff.output", "output " + std::to_string(output), "an output of the graph, of float elements",
                          std::to_string(graph.outputs.size()) + " outputs");
  }
  Derivation s{graph, graph.outputs[output], graph.output_names[output], {}};
  for (const std::size_t input : inputs) {
    if (input >= graph.inputs.size() || !is_float(graph.node(graph.inputs[input]).dtype)) {
      return refuse_request(
          "autodiff.input", "input " + std::to_string(input), "an input of the graph, of float elements",
          input < graph.inputs.size() ? to_string(graph.node(graph.inputs[input]).dtype) : std::to_string(graph.inputs.size()) + " inputs");
    }
    s.leaves.push_back(graph.inputs[input]);
  }
  s.graph.outputs.clear();
  s.graph.output_names.clear();
  return s;
}

NodeId append_like(Graph& graph, NodeId like, std::string name) {
  const Node& node = graph.node(like);
  return graph.append_input(node.dtype, Shape(node.shape), std::move(name));
}

std::string name_of(const Graph& graph, std::span<const std::size_t> inputs, std::size_t k) { return graph.input_names[inputs[k]]; }

// The tangents of the leaves as inputs, each a seed of the cotangent of its leaf.
std::vector<Seed> tangents(Derivation& s, const std::vector<Ref>& bars, std::span<const std::size_t> inputs) {
  std::vector<Seed> seeds;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const NodeId dot = append_like(s.graph, s.leaves[k], name_of(s.graph, inputs, k) + "_dot");
    if (bars[k] != kNone) seeds.push_back({bars[k], dot});
  }
  return seeds;
}

}  // namespace

Outcome<Graph> vjp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  Outcome<Derivation> started = start(graph, output, inputs);
  if (!started) return started.rejection();
  Derivation& s = started.value();
  const NodeId y_bar = append_like(s.graph, s.y, s.name + "_bar");
  const std::vector<Ref> bars = reverse(s.graph, {{s.y, y_bar}}, s.leaves);
  for (std::size_t k = 0; k < bars.size(); ++k)
    s.graph.mark_output(or_zero(s.graph, bars[k], s.leaves[k]), name_of(graph, inputs, k) + "_bar");
  return without_dead_nodes(s.graph);
}

Outcome<Graph> jvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  Outcome<Derivation> started = start(graph, output, inputs);
  if (!started) return started.rejection();
  Derivation& s = started.value();
  const NodeId y_bar = append_like(s.graph, s.y, s.name + "_bar");
  s.graph.inputs.pop_back();  // a place holder: the transposed map is linear in it, so nothing that stays refers to it
  s.graph.input_names.pop_back();
  const std::vector<Ref> bars = reverse(s.graph, {{s.y, y_bar}}, s.leaves);
  const std::vector<Ref> y_dot = reverse(s.graph, tangents(s, bars, inputs), {y_bar});
  s.graph.mark_output(or_zero(s.graph, y_dot[0], s.y), s.name + "_dot");
  const std::size_t listed = s.graph.inputs.size();
  Graph result = without_dead_nodes(s.graph);
  std::size_t present = 0;
  for (const Node& node : result.nodes) present += node.op == Op::input ? 1 : 0;
  demand(present == listed, "jvp: a rule that is not linear in the cotangent");
  return result;
}

Outcome<Graph> hvp(const Graph& graph, std::size_t output, std::span<const std::size_t> inputs) {
  Outcome<Derivation> started = start(graph, output, inputs);
  if (!started) return started.rejection();
  Derivation& s = started.value();
  const NodeId y_bar = append_like(s.graph, s.y, s.name + "_bar");
  const std::vector<Ref> bars = reverse(s.graph, {{s.y, y_bar}}, s.leaves);
  const std::vector<Seed> seeds = tangents(s, bars, inputs);
  const std::vector<Ref> second = reverse(s.graph, seeds, s.leaves);
  for (std::size_t k = 0; k < second.size(); ++k) {
    s.graph.mark_output(or_zero(s.graph, second[k], s.leaves[k]), name_of(graph, inputs, k) + "_bar_dot");
  }
  return without_dead_nodes(s.graph);
}

}  // namespace assay::runtime
