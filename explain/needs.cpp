// Which parts of its operands an op reads for a part of its result.
#include <algorithm>
#include <utility>

#include "explain/box.h"
#include "kernel/contracts/contract.h"

namespace assay::explain {

namespace {

struct Wanted {
  const Graph& graph;
  const Node& node;
  const Box& box;

  [[nodiscard]] const Shape& operand(std::size_t k) const { return graph.node(node.operands[k]).shape; }
  [[nodiscard]] std::size_t count() const { return node.operands.size(); }
  template <class T>
  [[nodiscard]] const T& get() const {
    return std::get<T>(node.attributes);
  }
  [[nodiscard]] Needs needs() const { return {box, {}, node.attributes}; }
};

// The part of an operand that broadcasts to the box: axes aligned at the last.
Box aligned(const Shape& operand, const Box& box) {
  Box part = whole(operand);
  const std::size_t more = box.begin.size() - operand.size();
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] == 1) continue;
    part.begin[axis] = box.begin[axis + more];
    part.end[axis] = box.end[axis + more];
  }
  return part;
}

Needs of_elementwise(const Wanted& wanted) {
  Needs needs = wanted.needs();
  for (std::size_t k = 0; k < wanted.count(); ++k) needs.operands.push_back(aligned(wanted.operand(k), wanted.box));
  return needs;
}

// The whole of these axes, and of the others what is wanted.
Needs along(const Wanted& wanted, const std::vector<std::int64_t>& axes) {
  Needs needs = wanted.needs();
  for (const std::int64_t axis : axes) {
    needs.result.begin[static_cast<std::size_t>(axis)] = 0;
    needs.result.end[static_cast<std::size_t>(axis)] = wanted.node.shape[static_cast<std::size_t>(axis)];
  }
  for (std::size_t k = 0; k < wanted.count(); ++k) needs.operands.push_back(aligned(wanted.operand(k), needs.result));
  return needs;
}

Needs of_reduction(const Wanted& wanted, const std::vector<std::int64_t>& axes, bool keep_dims) {
  Needs needs = wanted.needs();
  Box part = whole(wanted.operand(0));
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < part.end.size(); ++axis) {
    const bool reduced = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    if (!reduced) {
      part.begin[axis] = wanted.box.begin[at];
      part.end[axis] = wanted.box.end[at];
    }
    at += !reduced || keep_dims ? 1 : 0;
  }
  needs.operands = {std::move(part)};
  return needs;
}

// The elements before (or behind) the wanted ones along the axis, and these.
Needs of_cumulation(const Wanted& wanted) {
  const auto& attributes = wanted.get<CumulativeAttributes>();
  Needs needs = wanted.needs();
  const auto axis = static_cast<std::size_t>(attributes.axis);
  if (attributes.reverse)
    needs.result.end[axis] = wanted.node.shape[axis];
  else
    needs.result.begin[axis] = 0;
  needs.operands = {needs.result};
  return needs;
}

Needs of_gemm(const Wanted& wanted) {
  const auto& attributes = wanted.get<GemmAttributes>();
  Needs needs = wanted.needs();
  Box a = whole(wanted.operand(0)), b = whole(wanted.operand(1));
  const std::size_t row = attributes.transpose_a ? 1 : 0, column = attributes.transpose_b ? 0 : 1;
  std::tie(a.begin[row], a.end[row]) = std::pair(wanted.box.begin[0], wanted.box.end[0]);
  std::tie(b.begin[column], b.end[column]) = std::pair(wanted.box.begin[1], wanted.box.end[1]);
  needs.operands = {std::move(a), std::move(b)};
  if (wanted.count() == 3) needs.operands.push_back(aligned(wanted.operand(2), wanted.box));
  return needs;
}

std::optional<Needs> of_matmul(const Wanted& wanted) {
  if (wanted.operand(0).size() < 2 || wanted.operand(1).size() < 2) return std::nullopt;
  Needs needs = wanted.needs();
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t summed = wanted.operand(k).size() - (k == 0 ? 1 : 2);
    Box part = aligned(wanted.operand(k), wanted.box);
    part.begin[summed] = 0;
    part.end[summed] = wanted.operand(k)[summed];
    needs.operands.push_back(std::move(part));
  }
  return needs;
}

// Sets the region that windows at the wanted positions cover, with the padding that they meet. False where that is padding alone,
// or where a mean counts less than it covers.
bool put_windows(const Wanted& wanted, WindowAttributes& attributes, Box& x) {
  for (std::size_t axis = 0; axis + 2 < x.end.size(); ++axis) {
    const std::int64_t extent = x.end[axis + 2], begin = wanted.box.begin[axis + 2], end = wanted.box.end[axis + 2];
    const std::int64_t first = begin * attributes.strides[axis] - attributes.pads_begin[axis];
    const std::int64_t last =
        (end - 1) * attributes.strides[axis] - attributes.pads_begin[axis] + (attributes.kernel[axis] - 1) * attributes.dilations[axis] + 1;
    if (attributes.count_include_pad && last > extent + attributes.pads_end[axis]) return false;
    x.begin[axis + 2] = std::max<std::int64_t>(0, first);
    x.end[axis + 2] = std::min(extent, last);
    if (x.begin[axis + 2] >= x.end[axis + 2]) return false;
    attributes.pads_begin[axis] = std::max<std::int64_t>(0, -first);
    attributes.pads_end[axis] = std::max<std::int64_t>(0, last - extent);
  }
  attributes.ceil_mode = false;
  return true;
}

std::optional<Needs> of_pool(const Wanted& wanted) {
  Needs needs = wanted.needs();
  Box x = whole(wanted.operand(0));
  for (const std::size_t axis : {0U, 1U}) std::tie(x.begin[axis], x.end[axis]) = std::pair(wanted.box.begin[axis], wanted.box.end[axis]);
  if (!put_windows(wanted, std::get<WindowAttributes>(needs.attributes), x)) return std::nullopt;
  needs.operands = {std::move(x)};
  return needs;
}

std::optional<Needs> of_conv(const Wanted& wanted) {
  Needs needs = wanted.needs();
  auto& attributes = std::get<WindowAttributes>(needs.attributes);
  Box x = whole(wanted.operand(0)), w = whole(wanted.operand(1));
  const std::int64_t per_group = w.end[0] / attributes.groups, begin = wanted.box.begin[1], end = wanted.box.end[1];
  const std::int64_t first = begin / per_group, last = (end - 1) / per_group;
  if (first != last && (begin % per_group != 0 || end % per_group != 0)) return std::nullopt;
  std::tie(x.begin[0], x.end[0]) = std::pair(wanted.box.begin[0], wanted.box.end[0]);
  std::tie(x.begin[1], x.end[1]) = std::pair(first * w.end[1], (last + 1) * w.end[1]);
  std::tie(w.begin[0], w.end[0]) = std::pair(begin, end);
  attributes.groups = last - first + 1;
  if (!put_windows(wanted, attributes, x)) return std::nullopt;
  needs.operands = {std::move(x), std::move(w)};
  if (wanted.count() == 3) needs.operands.push_back({{begin}, {end}});
  return needs;
}

// Of one sample; along the other axes everything.
std::optional<Needs> of_conv_transpose(const Wanted& wanted) {
  Needs needs = wanted.needs();
  needs.result = whole(wanted.node.shape);
  const bool channels = wanted.get<WindowAttributes>().groups == 1;
  for (std::size_t axis = 0; axis < (channels ? 2 : 1); ++axis)
    std::tie(needs.result.begin[axis], needs.result.end[axis]) = std::pair(wanted.box.begin[axis], wanted.box.end[axis]);
  Box x = whole(wanted.operand(0)), w = whole(wanted.operand(1));
  std::tie(x.begin[0], x.end[0]) = std::pair(wanted.box.begin[0], wanted.box.end[0]);
  if (channels) std::tie(w.begin[1], w.end[1]) = std::pair(needs.result.begin[1], needs.result.end[1]);
  needs.operands = {std::move(x), std::move(w)};
  if (wanted.count() == 3) needs.operands.push_back({{needs.result.begin[1]}, {needs.result.end[1]}});
  return needs;
}

Needs of_batch_norm(const Wanted& wanted) {
  Needs needs = wanted.needs();
  needs.operands.assign(wanted.count(), {{wanted.box.begin[1]}, {wanted.box.end[1]}});
  needs.operands[0] = wanted.box;
  return needs;
}

Needs of_permute(const Wanted& wanted) {
  Needs needs = wanted.needs();
  const auto& axes = wanted.get<PermuteAttributes>().axes;
  Box part = whole(wanted.operand(0));
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    part.begin[static_cast<std::size_t>(axes[axis])] = wanted.box.begin[axis];
    part.end[static_cast<std::size_t>(axes[axis])] = wanted.box.end[axis];
  }
  needs.operands = {std::move(part)};
  return needs;
}

Needs of_expand(const Wanted& wanted) {
  Needs needs = of_elementwise(wanted);
  std::get<ShapeAttributes>(needs.attributes).shape = extents(wanted.box);
  return needs;
}

std::optional<Needs> of_reshape(const Wanted& wanted) {
  if (element_count(extents(wanted.box)) != 1) return std::nullopt;
  Needs needs = wanted.needs();
  needs.operands = {one_element(wanted.operand(0), element_at(wanted.node.shape, wanted.box.begin))};
  std::get<ShapeAttributes>(needs.attributes).shape = extents(wanted.box);
  return needs;
}

Needs of_slice(const Wanted& wanted) {
  Needs needs = wanted.needs();
  auto& attributes = std::get<SliceAttributes>(needs.attributes);
  Box part = whole(wanted.operand(0));
  for (std::size_t axis = 0; axis < part.end.size(); ++axis) {
    const std::int64_t first = attributes.starts[axis] + wanted.box.begin[axis] * attributes.steps[axis],
                       last = attributes.starts[axis] + (wanted.box.end[axis] - 1) * attributes.steps[axis];
    part.begin[axis] = std::min(first, last);
    part.end[axis] = std::max(first, last) + 1;
    attributes.starts[axis] = first - part.begin[axis];
    attributes.extents[axis] = wanted.box.end[axis] - wanted.box.begin[axis];
  }
  needs.operands = {std::move(part)};
  return needs;
}

bool is_elementwise(Op op) {
  using contracts::Family;
  const Family family = contracts::family_of(op);
  return family == Family::elementwise || family == Family::function || family == Family::comparison || family == Family::integers ||
         family == Family::activation || op == Op::where || op == Op::cast;
}

std::optional<Needs> of_window(const Wanted& wanted) {
  if (wanted.node.op == Op::conv) return of_conv(wanted);
  return wanted.node.op == Op::conv_transpose ? of_conv_transpose(wanted) : of_pool(wanted);
}

std::optional<Needs> of_layout(const Wanted& wanted) {
  if (wanted.node.op == Op::permute) return of_permute(wanted);
  if (wanted.node.op == Op::expand) return of_expand(wanted);
  if (wanted.node.op == Op::reshape) return of_reshape(wanted);
  if (wanted.node.op == Op::slice) return of_slice(wanted);
  return std::nullopt;
}

}  // namespace

std::optional<Needs> needs_of(const Graph& graph, const Node& node, const Box& wanted) {
  const Wanted call{graph, node, wanted};
  if (is_elementwise(node.op)) return of_elementwise(call);
  if (std::holds_alternative<WindowAttributes>(node.attributes)) return of_window(call);
  if (op_row(node.op).op_class == OpClass::layout) return of_layout(call);
  if (node.op == Op::gemm) return of_gemm(call);
  if (node.op == Op::matmul) return of_matmul(call);
  if (node.op == Op::batch_norm) return of_batch_norm(call);
  if (node.op == Op::max_weight) return std::nullopt;
  if (const auto* one = std::get_if<ReduceAttributes>(&node.attributes)) return of_reduction(call, one->axes, one->keep_dims);
  if (const auto* one = std::get_if<ArgAttributes>(&node.attributes)) return of_reduction(call, {one->axis}, one->keep_dims);
  if (std::holds_alternative<CumulativeAttributes>(node.attributes)) return of_cumulation(call);
  if (const auto* one = std::get_if<SoftmaxAttributes>(&node.attributes)) return along(call, {one->axis});
  if (const auto* one = std::get_if<MaskedSoftmaxAttributes>(&node.attributes)) return along(call, {one->axis});
  if (const auto* one = std::get_if<NormaliseAttributes>(&node.attributes)) return along(call, one->axes);
  if (std::holds_alternative<LocalResponseAttributes>(node.attributes)) return along(call, {1});
  return std::nullopt;
}

}  // namespace assay::explain
