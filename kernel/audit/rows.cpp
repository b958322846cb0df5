// Reduces two graphs to one row, op by op. Each result's shape is inferred again and has to be that of the row.

#include "kernel/audit/rows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "semantics/graph/family.h"

namespace assay::audit {

namespace {

struct Kind {
  enum class Part : std::uint8_t { shared, rows, summed } part = Part::shared;
  std::size_t axis = 0;   // for rows: the axis along which they lie
  std::int64_t each = 1;  // elements of a row along that axis
  friend bool operator==(const Kind&, const Kind&) = default;
};
using enum Kind::Part;

std::int64_t extent(const Shape& shape, std::size_t from, std::size_t to) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.begin() + static_cast<std::ptrdiff_t>(to),
                         std::int64_t{1}, std::multiplies<>());
}

// Whether the op works element by element, with operands broadcast.
bool is_pointwise(Op op) {
  return shapes_of(op) == Shapes::broadcast || family_of(op) == Family::function || op == Op::neg || op == Op::scale;
}

bool is_zero(const Tensor& tensor) {
  return std::ranges::all_of(tensor.bytes(), [](std::byte each) { return each == std::byte{0}; });
}
bool is_uniform(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const std::size_t width = byte_size(tensor.dtype());
  return bytes.size() <= width || std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

// The axes that a reduction, or an op along lines, works on; nullopt for other ops.
std::optional<std::vector<std::int64_t>> axes_of(const Node& node) {
  if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) return reduce->axes;
  if (const auto* normalise = std::get_if<NormaliseAttributes>(&node.attributes)) return normalise->axes;
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&node.attributes)) return std::vector{softmax->axis};
  if (const auto* running = std::get_if<CumulativeAttributes>(&node.attributes)) return std::vector{running->axis};
  if (const auto* sort = std::get_if<SortAttributes>(&node.attributes)) return std::vector{sort->axis};
  return std::nullopt;
}

class Narrowing {
 public:
  Narrowing(const Graph& graph, std::int64_t rows) : graph_(graph), rows_(rows), kinds_(graph.nodes.size()), ids_(graph.nodes.size()) {}

  // inputs: the kind of each input.
  bool run(const std::vector<Kind>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) kinds_[graph_.inputs[i]] = inputs[i];
    for (id_ = 0; id_ < graph_.nodes.size(); ++id_) {
      const Node& node = graph_.node(id_);
      if (node.op == Op::input) {
        Shape shape = node.shape;
        if (kinds_[id_].part == rows) shape[kinds_[id_].axis] = kinds_[id_].each;
        ids_[id_] = made_.append_input(node.dtype, shape, node.name);
      } else if (node.op == Op::constant) {
        ids_[id_] = made_.append_constant(node.value, node.name);
      } else if (!visit(node) || made_.node(ids_[id_]).shape != row_shape(id_)) {
        return false;
      }
    }
    return std::ranges::is_sorted(graph_.inputs);
  }
  // Marks an output with this kind. A shared output is cut if rows are wanted; a shared one of zeros is a sum.
  bool mark(std::size_t output, const Kind& kind) {
    const NodeId id = graph_.outputs[output];
    NodeId made = ids_[id];
    if (kinds_[id].part == shared && kind.part == rows) {
      const auto cut = as_rows(id, kind);
      if (!cut) return false;
      made = *cut;
    } else if (kinds_[id].part == shared && kind.part == summed) {
      if (graph_.node(id).op != Op::constant || !is_zero(graph_.node(id).value)) return false;
    } else if (kinds_[id] != kind) {
      return false;
    }
    made_.mark_output(made, graph_.output_names[output]);
    return true;
  }
  [[nodiscard]] const Kind& kind(NodeId id) const { return kinds_[id]; }
  [[nodiscard]] Graph& made() { return made_; }

 private:
  [[nodiscard]] Shape row_shape(NodeId id) const {
    Shape shape = graph_.node(id).shape;
    if (kinds_[id].part == rows) shape[kinds_[id].axis] = kinds_[id].each;
    return shape;
  }
  bool put(const Node& node, std::vector<NodeId> operands, Attributes attributes, const Kind& kind) {
    const auto added = made_.append(node.op, std::move(operands), std::move(attributes), node.name);
    if (added) ids_[id_] = added.value();
    kinds_[id_] = kind;
    return added.ok();
  }
  bool put(const Node& node, Attributes attributes, const Kind& kind) {
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(ids_[operand]);
    return put(node, std::move(operands), std::move(attributes), kind);
  }
  [[nodiscard]] bool fits(const Shape& shape, const Kind& kind) const {
    return kind.axis < shape.size() && shape[kind.axis] == rows_ * kind.each;
  }

  // Cuts a shared node all of whose rows are the same by its shape: a constant, an expansion along the axis, or a node
  // computed from such nodes. Each is cut once; deeper nesting is refused.
  std::optional<NodeId> as_rows(NodeId id, const Kind& kind) {
    constexpr std::size_t kDeepest = 200;
    const auto [at, is_new] = cuts_.try_emplace({id, kind.axis, kind.each}, std::nullopt);
    if (!is_new || depth_ == kDeepest) return at->second;
    ++depth_;
    at->second = newly_cut(id, kind);
    --depth_;
    return at->second;
  }
  std::optional<NodeId> newly_cut(NodeId id, const Kind& kind) {
    const Node& node = graph_.node(id);
    if (!fits(node.shape, kind)) return std::nullopt;
    Shape shape = node.shape;
    shape[kind.axis] = kind.each;
    if (node.op == Op::constant && is_uniform(node.value)) {
      const auto part = node.value.bytes().first(element_count(shape) * byte_size(node.dtype));
      return made_.append_constant({node.dtype, shape, std::make_shared<const std::vector<std::byte>>(part.begin(), part.end())});
    }
    if (node.op != Op::expand && !is_pointwise(node.op)) return std::nullopt;
    auto operands = cut(node, node.shape.size(), kind);
    if (!operands) return std::nullopt;
    const Attributes attributes = node.op == Op::expand ? Attributes(ShapeAttributes{shape}) : node.attributes;
    const auto added = made_.append(node.op, std::move(*operands), attributes);
    return added && made_.node(added.value()).shape == shape ? std::optional(added.value()) : std::nullopt;
  }
  // Operands that broadcast to `rank` axes; those that lie along the rows' axis are cut.
  std::optional<std::vector<NodeId>> cut(const Node& node, std::size_t rank, const Kind& kind) {
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) {
      const Shape& own = graph_.node(operand).shape;
      const std::size_t offset = rank - own.size();
      const bool lies = kind.axis >= offset && own[kind.axis - offset] != 1;
      const std::optional<NodeId> id =
          kinds_[operand].part == shared && lies ? as_rows(operand, {rows, kind.axis - offset, kind.each}) : std::optional(ids_[operand]);
      if (!id) return std::nullopt;
      operands.push_back(*id);
    }
    return operands;
  }

  bool visit(const Node& node) {
    bool any_rows = false, any_summed = false;
    for (const NodeId operand : node.operands) {
      any_rows = any_rows || kinds_[operand].part == rows;
      any_summed = any_summed || kinds_[operand].part == summed;
    }
    if (!any_rows && !any_summed) return put(node, node.attributes, {});
    if (any_summed) return !any_rows && is_linear(node) && put(node, node.attributes, {summed});
    if (is_pointwise(node.op)) return pointwise(node);
    if (axes_of(node)) return along(node, *axes_of(node));
    switch (node.op) {
      case Op::reshape:
        return reshaped(node);
      case Op::permute:
      case Op::expand:
      case Op::slice:
      case Op::gather:
      case Op::weighted_gather:
        return moved(node);
      case Op::concat:
        return joined(node);
      case Op::matmul:
        return product(node);
      default:
        return false;
    }
  }

  // Whether the node is linear in the operands that are sums, and its other operands are shared.
  [[nodiscard]] bool is_linear(const Node& node) const {
    const auto is_sum = [&](NodeId operand) { return kinds_[operand].part == summed; };
    const auto sums = std::ranges::count_if(node.operands, is_sum);
    switch (node.op) {
      case Op::neg:
      case Op::scale:
      case Op::reshape:
      case Op::permute:
      case Op::expand:
      case Op::slice:
      case Op::gather:
      case Op::weighted_gather:
      case Op::reduce_sum:
      case Op::reduce_mean:
        return true;
      case Op::add:
      case Op::sub:
      case Op::concat:
        return static_cast<std::size_t>(sums) == node.operands.size();
      case Op::mul:
      case Op::matmul:
        return sums == 1;
      case Op::div:
        return sums == 1 && is_sum(node.operands[0]);
      default:
        return false;
    }
  }

  // The operands as they broadcast to `rank` axes, of which the last are their own; nullopt if some lie otherwise.
  std::optional<std::pair<std::vector<NodeId>, Kind>> aligned(const Node& node, std::size_t rank, const Shape& shape) {
    std::optional<Kind> kind;
    const auto offset = [&](NodeId operand) { return rank - graph_.node(operand).shape.size(); };
    for (const NodeId operand : node.operands) {
      if (kinds_[operand].part != rows) continue;
      const Kind here{rows, kinds_[operand].axis + offset(operand), kinds_[operand].each};
      if (kind && *kind != here) return std::nullopt;
      kind = here;
    }
    if (!kind || !fits(shape, *kind)) return std::nullopt;
    auto operands = cut(node, rank, *kind);
    return operands ? std::optional(std::pair(std::move(*operands), *kind)) : std::nullopt;
  }
  bool pointwise(const Node& node) {
    auto found = aligned(node, node.shape.size(), node.shape);
    return found && put(node, std::move(found->first), node.attributes, found->second);
  }

  // Ops along axes other than the rows', or sums over all rows.
  bool along(const Node& node, const std::vector<std::int64_t>& axes) {
    if (node.operands.size() != 1) return false;
    Kind kind = kinds_[node.operands[0]];
    const auto is_axis = [&](std::int64_t axis) { return axis == static_cast<std::int64_t>(kind.axis); };
    if (std::ranges::any_of(axes, is_axis)) {
      if (node.op == Op::reduce_sum) return is_float(node.dtype) && put(node, node.attributes, {summed});
      if (node.op != Op::reduce_mean || !put(node, node.attributes, {summed})) return false;
      // The mean over all rows is the sum of the rows' means, divided by their number.
      const float count = static_cast<float>(rows_);
      if (node.dtype != DType::float32 || static_cast<std::int64_t>(count) != rows_) return false;
      const auto quotient = made_.append(Op::div, {ids_[id_], made_.append_constant(Tensor::of_floats({}, std::span(&count, 1)))});
      if (quotient) ids_[id_] = quotient.value();
      return quotient.ok();
    }
    if (shapes_of(node.op) == Shapes::reduce && !std::get<ReduceAttributes>(node.attributes).keep_dims)
      kind.axis -= static_cast<std::size_t>(
          std::ranges::count_if(axes, [&](std::int64_t axis) { return axis < static_cast<std::int64_t>(kind.axis); }));
    else if (node.shape.size() != graph_.node(node.operands[0]).shape.size())
      return false;
    return put(node, node.attributes, kind);
  }

  // Finds an axis of the new shape whose major part is the rows.
  bool reshaped(const Node& node) {
    const Kind& kind = kinds_[node.operands[0]];
    const std::int64_t before = extent(graph_.node(node.operands[0]).shape, 0, kind.axis);
    for (std::size_t axis = 0; axis < node.shape.size(); ++axis) {
      if (extent(node.shape, 0, axis) != before || node.shape[axis] % rows_ != 0 || node.shape[axis] == 0) continue;
      const Kind now{rows, axis, node.shape[axis] / rows_};
      Shape shape = node.shape;
      shape[axis] = now.each;
      return put(node, ShapeAttributes{shape}, now);
    }
    return false;
  }

  bool moved(const Node& node) {
    Kind kind = kinds_[node.operands[0]];
    const std::size_t rank = graph_.node(node.operands[0]).shape.size();
    const auto axis = static_cast<std::int64_t>(kind.axis);
    if (const auto* permute = std::get_if<PermuteAttributes>(&node.attributes)) {
      kind.axis = static_cast<std::size_t>(std::ranges::find(permute->axes, axis) - permute->axes.begin());
      return put(node, node.attributes, kind);
    }
    if (const auto* slice = std::get_if<SliceAttributes>(&node.attributes)) {
      SliceAttributes own = *slice;
      if (own.starts[kind.axis] != 0 || own.steps[kind.axis] != 1 || own.extents[kind.axis] != rows_ * kind.each) return false;
      own.extents[kind.axis] = kind.each;
      return put(node, std::move(own), kind);
    }
    if (const auto* gather = std::get_if<GatherAttributes>(&node.attributes)) {
      if (gather->axis == axis) return false;
      if (gather->axis < axis) kind.axis += gather->index_shape.size() - 1;
      return put(node, node.attributes, kind);
    }
    if (const auto* sums = std::get_if<WeightedGatherAttributes>(&node.attributes))
      return sums->axis != axis && put(node, node.attributes, kind);
    kind.axis += node.shape.size() - rank;  // expand
    Shape shape = node.shape;
    if (!fits(shape, kind)) return false;
    shape[kind.axis] = kind.each;
    return put(node, ShapeAttributes{shape}, kind);
  }

  bool joined(const Node& node) {
    const auto found = aligned(node, node.shape.size(), node.shape);
    if (!found || std::get<ConcatAttributes>(node.attributes).axis == static_cast<std::int64_t>(found->second.axis)) return false;
    // Nothing broadcasts here: a shared operand has equal rows, or its shape is refused.
    return put(node, found->first, node.attributes, found->second);
  }

  bool product(const Node& node) {
    const NodeId a = node.operands[0], b = node.operands[1];
    const std::size_t rank_a = graph_.node(a).shape.size(), rank_b = graph_.node(b).shape.size(), rank = node.shape.size();
    if (rank_a < 2 || rank_b < 2) return false;
    const Kind &left = kinds_[a], &right = kinds_[b];
    const bool is_inner_left = left.part == rows && left.axis + 1 == rank_a,
               is_inner_right = right.part == rows && right.axis + 2 == rank_b;
    if (is_inner_left && is_inner_right) return left.each == right.each && put(node, node.attributes, {summed});
    if (is_inner_left || is_inner_right) return false;
    const bool is_outer_left = left.part == rows && left.axis + 2 == rank_a,
               is_outer_right = right.part == rows && right.axis + 1 == rank_b;
    if (is_outer_left) return right.part == shared && put(node, node.attributes, {rows, rank - 2, left.each});
    if (is_outer_right) return left.part == shared && put(node, node.attributes, {rows, rank - 1, right.each});
    auto found = aligned(node, rank, node.shape);  // along a batch axis
    return found && put(node, std::move(found->first), node.attributes, found->second);
  }

  const Graph& graph_;
  std::int64_t rows_;
  std::vector<Kind> kinds_;                                                              // by node
  std::vector<NodeId> ids_;                                                              // by node, in made_
  std::map<std::tuple<NodeId, std::size_t, std::int64_t>, std::optional<NodeId>> cuts_;  // made by as_rows
  std::size_t depth_ = 0;
  NodeId id_ = 0;
  Graph made_;
};

// The graphs of one row, if these inputs of the first graph are rows.
std::optional<OneRow> narrowed(const Graph& forward, const Graph& backward, std::int64_t count, std::vector<Kind> inputs) {
  Narrowing y(forward, count);
  if (!y.run(inputs)) return std::nullopt;
  const Kind kind = y.kind(forward.outputs[0]);
  if (kind.part == shared || !y.mark(0, kind)) return std::nullopt;
  inputs.push_back(kind.part == rows ? kind : Kind{});
  Narrowing x(backward, count);
  if (!x.run(inputs)) return std::nullopt;
  std::size_t output = 0;
  for (std::size_t k = 0; k < forward.inputs.size(); ++k) {
    if (!is_float(forward.node(forward.inputs[k]).dtype)) continue;
    if (output == backward.outputs.size() || !x.mark(output++, inputs[k].part == rows ? inputs[k] : Kind{summed})) return std::nullopt;
  }
  return OneRow{without_dead_nodes(y.made()), without_dead_nodes(x.made()), count};
}

// Guesses which inputs have this number of rows.
std::vector<std::vector<Kind>> guesses(const Graph& forward, std::int64_t count) {
  std::size_t most = 0;
  for (const NodeId input : forward.inputs) most = std::max(most, forward.node(input).shape.size());
  std::vector<std::vector<Kind>> found;
  for (const int way : {0, 1, 2}) {  // the first such axis of the tensors of most axes; of all; the last one
    std::vector<Kind> kinds;
    for (const NodeId input : forward.inputs) {
      const Shape& shape = forward.node(input).shape;
      kinds.emplace_back();
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] != count || (way == 0 && shape.size() < most) || (way < 2 && kinds.back().part == rows)) continue;
        kinds.back() = {rows, axis, 1};
      }
    }
    if (std::ranges::find(found, kinds) == found.end()) found.push_back(std::move(kinds));
  }
  return found;
}

std::optional<OneRow> one_step(const Graph& forward, const Graph& backward) {
  std::vector<std::int64_t> counts;
  for (const NodeId input : forward.inputs) counts.insert(counts.end(), forward.node(input).shape.begin(), forward.node(input).shape.end());
  std::ranges::sort(counts, std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const std::int64_t count : counts) {
    if (count < 2) break;
    for (std::vector<Kind>& kinds : guesses(forward, count)) {
      if (auto found = narrowed(forward, backward, count, std::move(kinds))) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<OneRow> one_row(const Graph& forward, const Graph& backward) {
  std::optional<OneRow> found = one_step(forward, backward);
  while (found) {
    auto next = one_step(found->forward, found->backward);
    if (!next) break;
    next->count *= found->count;
    found = std::move(next);
  }
  return found;
}

}  // namespace assay::audit
