// Mechanical mistakes in a graph, as an author of a kernel or a vector-Jacobian product could make them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::probes {

struct Mutant {
  std::string name;  // "node 7 (mul): second factor missing"
  Graph graph;       // with the types of inputs and outputs of the original
};

namespace mutants {

// One node of the graph under construction, with its operands there.
struct Place {
  Graph& graph;
  const Node& node;
  std::vector<NodeId> operands;

  [[nodiscard]] Outcome<NodeId> put(Op op, std::vector<NodeId> of, Attributes attributes = NoAttributes{}) const {
    return graph.append(op, std::move(of), std::move(attributes));
  }
  [[nodiscard]] Outcome<NodeId> again(Attributes attributes) const { return put(node.op, operands, std::move(attributes)); }
  [[nodiscard]] NodeId number(double value) const {
    const auto small = static_cast<float>(value);
    return graph.append_constant(node.dtype == DType::float64 ? Tensor::of_doubles({}, std::vector<double>{value})
                                                              : Tensor::of_floats({}, std::vector<float>{small}));
  }
};

using Mistake = std::function<Outcome<NodeId>(const Place&)>;
using Mistakes = std::vector<std::pair<std::string, Mistake>>;

// The graph with one node replaced; nothing if the replacement has another type or no shape.
inline std::optional<Graph> rewritten(const Graph& graph, NodeId target, const Mistake& mistake) {
  Graph result;
  std::vector<NodeId> id_of;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) {
      const auto at = std::ranges::find(graph.inputs, id) - graph.inputs.begin();
      id_of.push_back(result.append_input(node.dtype, node.shape, graph.input_names[static_cast<std::size_t>(at)]));
      continue;
    }
    Place place{result, node, {}};
    for (const NodeId operand : node.operands) place.operands.push_back(id_of[operand]);
    Outcome<NodeId> made = NodeId{0};
    if (id == target) {
      made = mistake(place);
    } else if (node.op == Op::constant) {
      made = result.append_constant(node.value);
    } else {
      made = result.append(node.op, place.operands, node.attributes);
    }
    if (!made || result.node(made.value()).shape != node.shape || result.node(made.value()).dtype != node.dtype) return std::nullopt;
    id_of.push_back(made.value());
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) result.mark_output(id_of[graph.outputs[k]], graph.output_names[k]);
  return result;
}

inline void add_operand_mistakes(Mistakes& list, const Node& node) {
  if (node.operands.size() > 2 || is_float(node.dtype) == false) return;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    list.emplace_back("operand " + std::to_string(k) + " alone", [k](const Place& p) -> Outcome<NodeId> { return p.operands[k]; });
  }
  if (node.operands.size() == 2)
    list.emplace_back("operands exchanged", [](const Place& p) {
      return p.put(p.node.op, {p.operands[1], p.operands[0]}, p.node.attributes);
    });
  list.emplace_back("the other sign", [](const Place& p) -> Outcome<NodeId> {
    const auto same = p.again(p.node.attributes);
    return same ? p.put(Op::neg, {same.value()}) : same;
  });
  list.emplace_back("a factor of 2", [](const Place& p) -> Outcome<NodeId> {
    const auto same = p.again(p.node.attributes);
    return same ? p.put(Op::scale, {same.value()}, ScaleAttributes{2}) : same;
  });
}

inline void exchange(Mistakes& list, Op other) {
  list.emplace_back("as " + std::string(op_row(other).name),
                    [other](const Place& p) { return p.put(other, p.operands, p.node.attributes); });
}

// A change of the attributes, wherever the op has such.
template <class A, class F>
inline void change(Mistakes& list, const Node& node, const std::string& name, const F& f) {
  if (!std::holds_alternative<A>(node.attributes)) return;
  A attributes = std::get<A>(node.attributes);
  f(attributes);
  list.emplace_back(name, [attributes](const Place& p) { return p.again(attributes); });
}

inline void add_index_mistakes(Mistakes& list, const Node& node) {
  const auto changed = [&](const std::string& name, const auto& f) {
    change<GatherAttributes>(list, node, name, [&](GatherAttributes& a) { f(a.indices); });
    change<PlaceAttributes>(list, node, name, [&](PlaceAttributes& a) { f(a.indices); });
  };
  changed("indices rotated", [](auto& i) {
    if (!i.empty()) std::rotate(i.begin(), i.begin() + 1, i.end());
  });
  changed("indices reversed", [](auto& i) { std::reverse(i.begin(), i.end()); });
  changed("first and last index exchanged", [](auto& i) {
    if (!i.empty()) std::swap(i.front(), i.back());
  });
  changed("one index off", [](auto& i) {
    if (!i.empty()) i.back() = i.back() > 0 ? i.back() - 1 : i.back() + 1;
  });
  change<WeightedGatherAttributes>(list, node, "weights rotated", [](WeightedGatherAttributes& w) {
    if (!w.weights.empty()) std::rotate(w.weights.begin(), w.weights.begin() + 1, w.weights.end());
  });
  change<WeightedGatherAttributes>(list, node, "a term lost", [](WeightedGatherAttributes& w) {
    if (!w.weights.empty()) w.weights.back() = Rational(0);
  });
  change<WeightedGatherAttributes>(list, node, "indices rotated", [](WeightedGatherAttributes& w) {
    if (!w.indices.empty()) std::rotate(w.indices.begin(), w.indices.begin() + 1, w.indices.end());
  });
  change<WeightedGatherAttributes>(list, node, "sums without weights", [](WeightedGatherAttributes& w) {
    for (Rational& weight : w.weights) weight = Rational(1);
  });
  if (node.op != Op::place) return;
  list.emplace_back("accumulation lost", [](const Place& p) -> Outcome<NodeId> {  // the last writer wins
    const auto& [indices, shape] = std::get<PlaceAttributes>(p.node.attributes);
    std::vector<std::int64_t> kept, targets;
    std::set<std::int64_t> seen;
    for (std::size_t k = indices.size(); k-- > 0;) {
      if (!seen.insert(indices[k]).second) continue;
      kept.push_back(static_cast<std::int64_t>(k));
      targets.push_back(indices[k]);
    }
    const auto count = static_cast<std::int64_t>(indices.size()), left = static_cast<std::int64_t>(kept.size());
    const auto flat = p.put(Op::reshape, p.operands, ShapeAttributes{{count}});
    if (!flat) return flat;
    const auto chosen = p.put(Op::gather, {flat.value()}, GatherAttributes{0, kept, {left}});
    return chosen ? p.put(Op::place, {chosen.value()}, PlaceAttributes{targets, shape}) : chosen;
  });
}

inline void add_axis_mistakes(Mistakes& list, const Node& node) {
  const std::size_t rank = node.shape.size();
  for (std::size_t a = 0; a < rank; ++a) {
    for (std::size_t b = a + 1; b < rank; ++b) {
      const std::string name = "axes " + std::to_string(a) + " and " + std::to_string(b) + " exchanged";
      change<PermuteAttributes>(list, node, name, [&](PermuteAttributes& p) { std::swap(p.axes[a], p.axes[b]); });
      list.emplace_back("result's " + name, [a, b, rank](const Place& p) -> Outcome<NodeId> {
        std::vector<std::int64_t> axes;
        for (std::size_t k = 0; k < rank; ++k) axes.push_back(static_cast<std::int64_t>(k));
        std::swap(axes[a], axes[b]);
        const auto same = p.again(p.node.attributes);
        return same ? p.put(Op::permute, {same.value()}, PermuteAttributes{axes}) : same;
      });
    }
  }
  change<ReduceAttributes>(list, node, "an axis left out", [](ReduceAttributes& r) {
    if (!r.axes.empty()) r.axes.pop_back();
  });
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    change<ReduceAttributes>(list, node, "over axis " + std::to_string(axis), [&](ReduceAttributes& r) { r.axes = {axis}; });
    change<SoftmaxAttributes>(list, node, "along axis " + std::to_string(axis), [&](SoftmaxAttributes& s) { s.axis = axis; });
  }
  if (node.op == Op::reduce_sum) exchange(list, Op::reduce_mean);
  if (node.op == Op::reduce_mean) exchange(list, Op::reduce_sum);
  change<CumulativeAttributes>(list, node, "the other direction", [](CumulativeAttributes& c) { c.reverse = !c.reverse; });
  change<CumulativeAttributes>(list, node, "the element itself taken in or left out otherwise",
                               [](CumulativeAttributes& c) { c.exclusive = !c.exclusive; });
}

// Mistakes by one at one axis, in both directions.
inline void add_window_mistakes(Mistakes& list, const Node& node) {
  if (!std::holds_alternative<WindowAttributes>(node.attributes)) return;
  for (std::size_t axis = 0; axis < std::get<WindowAttributes>(node.attributes).kernel.size(); ++axis) {
    const auto along = [axis](const std::string& what) { return what + " along axis " + std::to_string(axis); };
    change<WindowAttributes>(list, node, along("pads exchanged"),
                             [axis](WindowAttributes& w) { std::swap(w.pads_begin[axis], w.pads_end[axis]); });
    for (const std::int64_t by : {1, -1}) {
      const std::string sign = by > 0 ? " + 1" : " - 1";
      change<WindowAttributes>(list, node, along("stride" + sign), [&](WindowAttributes& w) { w.strides[axis] += by; });
      change<WindowAttributes>(list, node, along("dilation" + sign), [&](WindowAttributes& w) { w.dilations[axis] += by; });
      change<WindowAttributes>(list, node, along("pads" + sign), [&](WindowAttributes& w) {
        w.pads_begin[axis] += by;
        w.pads_end[axis] -= by;
      });
      change<WindowAttributes>(list, node, along("first pad and output padding" + sign), [&](WindowAttributes& w) {
        w.pads_begin[axis] += by;
        if (axis < w.output_padding.size()) w.output_padding[axis] += by;
      });
    }
    change<WindowAttributes>(list, node, along("stride ignored"), [axis](WindowAttributes& w) {
      if (axis < w.output_padding.size()) w.output_padding[axis] += (w.strides[axis] - 1);
      w.strides[axis] = 1;
    });
  }
}

inline void add_layout_mistakes(Mistakes& list, const Node& node) {
  for (std::size_t axis = 0; axis < node.shape.size(); ++axis) {
    for (const std::int64_t by : {1, -1}) {
      const std::string name = " along axis " + std::to_string(axis) + (by > 0 ? ", + 1" : ", - 1");
      change<SliceAttributes>(list, node, "start" + name, [&](SliceAttributes& s) { s.starts[axis] += by; });
      change<PadAttributes>(list, node, "pads" + name, [&](PadAttributes& q) {
        q.before[axis] += by;
        q.after[axis] -= by;
      });
    }
    change<PadAttributes>(list, node, "pads exchanged along axis " + std::to_string(axis),
                          [axis](PadAttributes& q) { std::swap(q.before[axis], q.after[axis]); });
  }
  change<PadAttributes>(list, node, "padding 1", [](PadAttributes& q) { q.value = 1; });
  if (node.op == Op::concat)
    list.emplace_back("its operands in reverse order", [](const Place& p) {
      return p.put(Op::concat, {p.operands.rbegin(), p.operands.rend()}, p.node.attributes);
    });
}

inline void add_function_mistakes(Mistakes& list, const Node& node) {
  const auto pair = [&](Op a, Op b) {
    if (node.op == a) exchange(list, b);
    if (node.op == b) exchange(list, a);
  };
  pair(Op::add, Op::sub);
  pair(Op::mul, Op::div);
  pair(Op::sin, Op::cos);
  pair(Op::sinh, Op::cosh);
  pair(Op::min, Op::max);
  pair(Op::exp, Op::softplus);
  pair(Op::sigmoid, Op::tanh);
  pair(Op::softmax, Op::log_softmax);
  pair(Op::sqrt, Op::reciprocal);
  change<ScaleAttributes>(list, node, "1 added to the factor", [](ScaleAttributes& s) { s.factor += 1; });
  change<ScaleAttributes>(list, node, "the factor's other sign", [](ScaleAttributes& s) { s.factor = -s.factor; });
  change<PowAttributes>(list, node, "1 added to the exponent", [](PowAttributes& q) { q.exponent += Rational(1); });
  change<PowAttributes>(list, node, "1 taken from the exponent", [](PowAttributes& q) { q.exponent -= Rational(1); });
  change<ClipAttributes>(list, node, "1 added to the upper end", [](ClipAttributes& c) { c.hi += 1; });
  change<ClipAttributes>(list, node, "1 taken from the lower end", [](ClipAttributes& c) { c.lo -= 1; });
  change<GemmAttributes>(list, node, "alpha doubled", [](GemmAttributes& g) { g.alpha *= 2; });
  change<SortAttributes>(list, node, "the other direction", [](SortAttributes& s) { s.descending = !s.descending; });
  change<GeluAttributes>(list, node, "the other form, tanh for erf or erf for tanh", [](GeluAttributes& g) { g.tanh_form = !g.tanh_form; });
  change<ActivationAttributes>(list, node, "1 added to alpha", [](ActivationAttributes& a) { a.alpha += 1; });
  change<ActivationAttributes>(list, node, "1 added to beta", [](ActivationAttributes& a) { a.beta += 1; });
  change<LeakyReluAttributes>(list, node, "1 added to the slope", [](LeakyReluAttributes& a) { a.slope += 1; });
  change<NormaliseAttributes>(list, node, "1 added to epsilon", [](NormaliseAttributes& a) { a.epsilon += 1; });
  change<BatchNormAttributes>(list, node, "1 added to epsilon", [](BatchNormAttributes& a) { a.epsilon += 1; });
  change<MaskedSoftmaxAttributes>(list, node, "the other convention for rows with nothing open",
                                  [](MaskedSoftmaxAttributes& a) { a.empty_is_zero = !a.empty_is_zero; });
  if (node.op == Op::where)
    list.emplace_back("branches exchanged", [](const Place& p) { return p.put(Op::where, {p.operands[0], p.operands[2], p.operands[1]}); });
}

// Where the derivative jumps, one of its values; and a step in the other direction.
inline void add_kink_mistakes(Mistakes& list, const Node& node) {
  if (node.op == Op::step) {
    for (const Op relation : {Op::less, Op::less_equal}) {
      list.emplace_back(relation == Op::less ? "0 at 0" : "1 at 0", [relation](const Place& p) -> Outcome<NodeId> {
        const auto above = p.put(relation, {p.number(0), p.operands[0]});
        return above ? p.put(Op::where, {above.value(), p.number(1), p.number(0)}) : above;
      });
    }
    for (const double value : {0.0, 1.0, 0.5}) {
      list.emplace_back("a constant", [value](const Place& p) -> Outcome<NodeId> {
        return p.put(Op::expand, {p.number(value)}, ShapeAttributes{p.node.shape});
      });
    }
  }
  if (node.op == Op::max_weight) {
    list.emplace_back("1 for each of several greatest", [](const Place& p) -> Outcome<NodeId> {
      ReduceAttributes kept = std::get<ReduceAttributes>(p.node.attributes);
      kept.keep_dims = true;
      const auto greatest = p.put(Op::reduce_max, p.operands, kept);
      if (!greatest) return greatest;
      const auto wins = p.put(Op::equal, {p.operands[0], greatest.value()});
      return wins ? p.put(Op::where, {wins.value(), p.number(1), p.number(0)}) : wins;
    });
  }
  if (node.op == Op::step || node.op == Op::max_weight) {
    list.emplace_back("its operand mirrored", [](const Place& p) -> Outcome<NodeId> {
      const auto mirrored = p.put(Op::neg, p.operands);
      return mirrored ? p.put(p.node.op, {mirrored.value()}, p.node.attributes) : mirrored;
    });
  }
}

inline void add_constant_mistakes(Mistakes& list, const Node& node) {
  if (node.op != Op::constant || !is_float(node.dtype) || node.value.size() == 0) return;
  for (const std::size_t at : {std::size_t{0}, node.value.size() - 1}) {
    list.emplace_back("element " + std::to_string(at) + " greater by 1", [at](const Place& p) -> Outcome<NodeId> {
      std::vector<double> values = p.node.value.to_doubles();
      values[at] += 1;
      if (p.node.dtype == DType::float64) return p.graph.append_constant(Tensor::of_doubles(p.node.shape, values));
      return p.graph.append_constant(Tensor::of_floats(p.node.shape, std::vector<float>(values.begin(), values.end())));
    });
  }
}

inline Mistakes mistakes_of(const Node& node) {
  Mistakes list;
  add_constant_mistakes(list, node);
  if (node.op == Op::constant) return list;
  add_operand_mistakes(list, node);
  add_index_mistakes(list, node);
  add_axis_mistakes(list, node);
  add_window_mistakes(list, node);
  add_layout_mistakes(list, node);
  add_function_mistakes(list, node);
  add_kink_mistakes(list, node);
  return list;
}

// x_bar[i] + y_bar[j], y_bar the last input.
inline std::optional<Graph> with_entry_off(const Graph& graph, std::size_t output, std::size_t i, std::size_t j) {
  Graph result = graph;
  const NodeId x_bar = graph.outputs[output], y_bar = graph.inputs.back();
  const auto flat = result.append(Op::reshape, {y_bar}, ShapeAttributes{{static_cast<std::int64_t>(graph.size(y_bar))}});
  if (!flat || result.node(x_bar).dtype != result.node(y_bar).dtype) return std::nullopt;
  const auto one = result.append(Op::gather, {flat.value()}, GatherAttributes{0, {static_cast<std::int64_t>(j)}, {1}});
  const auto placed = result.append(Op::place, {one.value()}, PlaceAttributes{{static_cast<std::int64_t>(i)}, result.node(x_bar).shape});
  result.outputs[output] = result.append(Op::add, {x_bar, placed.value()}).value();
  return result;
}

}  // namespace mutants

// Of every node that has such: a term or a factor missing, sums and differences exchanged, signs, scales, axes, indices, pads, strides,
// dilations and groups changed, accumulation lost, functions left out or exchanged, conventions at kinks, constants.
inline std::vector<Mutant> mutants_of(const Graph& graph) {
  std::vector<Mutant> mutants;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    for (const auto& [name, mistake] : mutants::mistakes_of(node)) {
      if (auto mutant = mutants::rewritten(graph, id, mistake))
        mutants.push_back({"node " + std::to_string(id) + " (" + std::string(op_row(node.op).name) + "): " + name, std::move(*mutant)});
    }
  }
  return mutants;
}

// Of a vector-Jacobian product, whose last input is the cotangent: those, and of every output one entry off.
inline std::vector<Mutant> mutants_of_product(const Graph& graph) {
  std::vector<Mutant> mutants = mutants_of(graph);
  for (std::size_t output = 0; output < graph.outputs.size(); ++output) {
    const std::size_t n = graph.size(graph.outputs[output]), m = graph.size(graph.inputs.back());
    if (n == 0 || m == 0) continue;
    for (const auto& [i, j] : {std::pair(std::size_t{0}, m - 1), std::pair(n - 1, std::size_t{0}), std::pair(n / 2, m / 2)}) {
      if (auto mutant = mutants::with_entry_off(graph, output, i, j)) {
        mutants.push_back(
            {"output " + std::to_string(output) + ": entry " + std::to_string(i) + ", " + std::to_string(j) + " off", std::move(*mutant)});
      }
    }
  }
  return mutants;
}

}  // namespace assay::probes
