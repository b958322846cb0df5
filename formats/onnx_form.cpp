// A graph in the forms that an ONNX file can hold.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "formats/onnx_form.h"
#include "formats/onnx_writer.h"

namespace assay::formats {

namespace {

double narrowed(double value) { return static_cast<double>(static_cast<float>(value)); }

Attributes narrowed_attributes(const Node& node) {
  Attributes attributes = node.attributes;
  if (auto* how = std::get_if<BatchNormAttributes>(&attributes)) how->epsilon = narrowed(how->epsilon);
  if (auto* how = std::get_if<NormaliseAttributes>(&attributes)) how->epsilon = narrowed(how->epsilon);
  if (auto* how = std::get_if<LeakyReluAttributes>(&attributes)) how->slope = narrowed(how->slope);
  if (auto* how = std::get_if<ActivationAttributes>(&attributes)) how->alpha = narrowed(how->alpha);
  if (auto* how = std::get_if<GemmAttributes>(&attributes)) how->alpha = narrowed(how->alpha), how->beta = narrowed(how->beta);
  if (auto* how = std::get_if<ClipAttributes>(&attributes); how != nullptr && node.dtype == DType::float32) {
    how->lo = narrowed(how->lo);
    how->hi = narrowed(how->hi);
  }
  return attributes;
}

NodeId number_node(Graph& graph, double value, DType dtype) {
  const auto narrow = static_cast<float>(value);
  return graph.append_constant(dtype == DType::float32 ? Tensor::of_floats({}, std::span(&narrow, 1))
                                                       : Tensor::of_doubles({}, std::span(&value, 1)));
}

NodeId filled_node(Graph& graph, DType dtype, const Shape& shape, double value) {
  const std::vector<double> wide(element_count(shape), value);
  if (dtype == DType::float64) return graph.append_constant(Tensor::of_doubles(shape, wide));
  return graph.append_constant(Tensor::of_floats(shape, std::vector<float>(wide.begin(), wide.end())));
}

// The element of an array `source` that stands behind one of the array of this shape to which it was expanded.
std::size_t element_behind(std::size_t element, const Shape& shape, const Shape& source) {
  std::size_t place = 0, stride = 1;
  for (std::size_t k = shape.size(), from = source.size(); k-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[k]);
    if (from > 0) {
      --from;
      if (source[from] != 1) place += element % extent * stride;
      stride *= static_cast<std::size_t>(source[from]);
    }
    element /= extent;
  }
  return place;
}

Tensor truths(const Shape& shape, const std::function<bool(std::size_t)>& of) {
  std::vector<std::byte> bytes(element_count(shape));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(of(i) ? 1 : 0);
  return {DType::boolean, shape, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// Rewrites a graph node by node.
class Rewriter {
 public:
  explicit Rewriter(const Graph& graph) : graph_(graph), ids_(graph.nodes.size()) {}

  Outcome<Graph> rewrite() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Outcome<NodeId> made = rewritten(id);
      if (!made) return made.rejection();
      ids_[id] = made.value();
    }
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) result_.mark_output(ids_[graph_.outputs[k]], graph_.output_names[k]);
    return std::move(result_);
  }

 private:
  Outcome<NodeId> rewritten(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::input) {
      const auto place = static_cast<std::size_t>(std::ranges::find(graph_.inputs, id) - graph_.inputs.begin());
      return result_.append_input(node.dtype, node.shape, graph_.input_names[place]);
    }
    if (node.op == Op::constant) return result_.append_constant(node.value, node.name);
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(ids_[operand]);
    if (node.op == Op::scale) {
      return result_.append(Op::mul, {operands[0], number_node(result_, std::get<ScaleAttributes>(node.attributes).factor, node.dtype)});
    }
    if (node.op == Op::silu && std::get<ActivationAttributes>(node.attributes).alpha == 1) {
      const auto gate = result_.append(Op::sigmoid, {operands[0]});
      return gate ? result_.append(Op::mul, {operands[0], gate.value()}) : gate;
    }
    if (node.op == Op::masked_softmax) return masked(node, operands);
    if (node.op == Op::normalise && has_layer_form(node) && !layer_scale(graph_, id)) return scaled(node, operands[0]);
    return result_.append(node.op, operands, narrowed_attributes(node), node.name);
  }

  // A mask that is known: numbers plus 0, of which the file says -infinity where the mask shuts. One that is not: a choice between numbers
  // and 0, and between truths.
  Outcome<NodeId> masked(const Node& node, const std::vector<NodeId>& operands) {
    const Node& open = graph_.node(node.operands[1]);
    if (open.op == Op::constant) {
      const auto sum = result_.append(Op::add, {operands[0], filled_node(result_, node.dtype, open.shape, 0)});
      if (!sum) return sum;
      const Tensor wide =
          truths(node.shape, [&](std::size_t i) { return open.value.as_int(element_behind(i, node.shape, open.shape)) != 0; });
      return result_.append(Op::masked_softmax, {sum.value(), result_.append_constant(wide)}, node.attributes);
    }
    const auto all = [&](const Shape& shape, bool value) {
      return result_.append_constant(truths(shape, [&](std::size_t) { return value; }));
    };
    const auto numbers = result_.append(Op::where, {operands[1], operands[0], number_node(result_, 0, node.dtype)});
    if (!numbers) return numbers;
    const auto counts = result_.append(Op::where, {operands[1], all(node.shape, true), all({}, false)});
    return counts ? result_.append(Op::masked_softmax, {numbers.value(), counts.value()}, node.attributes) : counts;
  }

  // With the axes brought to the end and back, and a scale of ones.
  Outcome<NodeId> scaled(const Node& node, NodeId x) {
    auto how = std::get<NormaliseAttributes>(narrowed_attributes(node));
    const std::size_t rank = node.shape.size(), first = rank - how.axes.size();
    std::vector<std::int64_t> order, back(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (std::ranges::count(how.axes, static_cast<std::int64_t>(axis)) == 0) order.push_back(static_cast<std::int64_t>(axis));
    }
    order.insert(order.end(), how.axes.begin(), how.axes.end());
    for (std::size_t k = 0; k < rank; ++k) back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
    const bool moves = !std::ranges::is_sorted(order);
    Shape own;
    for (std::size_t k = 0; k < how.axes.size(); ++k) {
      own.push_back(node.shape[static_cast<std::size_t>(how.axes[k])]);
      how.axes[k] = static_cast<std::int64_t>(first + k);
    }
    Outcome<NodeId> made = moves ? result_.append(Op::permute, {x}, PermuteAttributes{order}) : Outcome<NodeId>(x);
    if (made) made = result_.append(Op::normalise, {made.value()}, how);
    if (made) made = result_.append(Op::mul, {made.value(), filled_node(result_, node.dtype, own, 1)});
    return made && moves ? result_.append(Op::permute, {made.value()}, PermuteAttributes{back}) : made;
  }

  const Graph& graph_;
  Graph result_;
  std::vector<NodeId> ids_;
};

}  // namespace

bool has_layer_form(const Node& node) {
  const auto form = std::get<NormaliseAttributes>(node.attributes).form;
  return form == NormaliseAttributes::Form::centered || form == NormaliseAttributes::Form::root_mean;
}

std::optional<NodeId> only_user(const Graph& graph, NodeId id, Op op) {
  std::optional<NodeId> found;
  for (NodeId user = id + 1; user < graph.nodes.size(); ++user) {
    const auto count = std::ranges::count(graph.node(user).operands, id);
    if (count > 1 || (count == 1 && found)) return std::nullopt;
    if (count == 1) found = user;
  }
  const bool fits = found && graph.node(*found).op == op && std::ranges::count(graph.outputs, id) == 0;
  return fits ? found : std::nullopt;
}

NodeId other_operand(const Graph& graph, NodeId user, NodeId operand) {
  const auto& both = graph.node(user).operands;
  return both[0] == operand ? both[1] : both[0];
}

std::optional<NodeId> layer_scale(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto& axes = std::get<NormaliseAttributes>(node.attributes).axes;
  const std::size_t first = node.shape.size() - axes.size();
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] != static_cast<std::int64_t>(first + k)) return std::nullopt;
  }
  const auto product = only_user(graph, id, Op::mul);
  return product && is_weight(graph, other_operand(graph, *product, id), node.shape, first) ? product : std::nullopt;
}

bool is_weight(const Graph& graph, NodeId id, const Shape& shape, std::size_t first) {
  const Node& node = graph.node(id);
  return node.op == Op::constant && node.shape == Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
}

std::optional<MaskForm> mask_form(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto& how = std::get<MaskedSoftmaxAttributes>(node.attributes);
  const NodeId sum = node.operands[0], open = node.operands[1];
  const Node &numbers = graph.node(sum), &mask = graph.node(open);
  const auto is_inside = [&](NodeId one, NodeId user) { return only_user(graph, one, graph.node(user).op) == user; };
  const auto is_constant = [&](NodeId one, double value) {
    const Node& constant = graph.node(one);
    if (constant.op != Op::constant) return false;
    for (std::size_t i = 0; i < constant.value.size(); ++i) {
      if (constant.value.as_double(i) != value) return false;
    }
    return true;
  };
  if (how.empty_is_zero || !is_inside(sum, id) || !is_inside(open, id)) return std::nullopt;
  if (numbers.op == Op::where && mask.op == Op::where) {
    const NodeId zero = numbers.operands[2], yes = mask.operands[1], no = mask.operands[2];
    const bool fits = numbers.operands[0] == mask.operands[0] && is_constant(zero, 0) && is_constant(yes, 1) && is_constant(no, 0) &&
                      is_inside(zero, sum) && is_inside(yes, open) && is_inside(no, open);
    return fits ? std::optional(MaskForm{numbers.operands[1], numbers.operands[0], {}, {}, {sum, open, zero, yes, no}}) : std::nullopt;
  }
  if (numbers.op != Op::add || mask.op != Op::constant || mask.shape != node.shape) return std::nullopt;
  const NodeId zeros = numbers.operands[1];
  if (!is_constant(zeros, 0) || !is_inside(zeros, sum)) return std::nullopt;
  MaskForm form{numbers.operands[0], std::nullopt, graph.node(zeros).shape, {}, {sum, open, zeros}};
  form.shut.assign(graph.size(zeros), false);
  const auto behind = [&](std::size_t i) { return element_behind(i, mask.shape, form.shape); };
  for (std::size_t i = 0; i < mask.value.size(); ++i) {
    if (mask.value.as_int(i) == 0) form.shut[behind(i)] = true;
  }
  for (std::size_t i = 0; i < mask.value.size(); ++i) {
    if ((mask.value.as_int(i) == 0) != form.shut[behind(i)]) return std::nullopt;
  }
  return form;
}

Outcome<Graph> as_onnx_says(const Graph& graph) { return Rewriter(graph).rewrite(); }

}  // namespace assay::formats
