// Compares results of one rounding with the processor's, and results that only move.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernel/quick/quick.h"
#include "semantics/demand.h"

namespace assay::quick {

namespace {

// The elements for which certain(i) is 0. Usually there are none, which is checked first.
template <class Certain>
std::vector<std::size_t> left_open(std::size_t count, const Certain& certain) {
  std::uint32_t all = 1;
  for (std::size_t i = 0; i < count; ++i) all &= certain(i);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; all == 0 && i < count; ++i) {
    if (certain(i) == 0) open.push_back(i);
  }
  return open;
}

// The strides of an operand along the axes of a shape to which it broadcasts.
std::vector<std::size_t> strides_in(const Shape& from, const Shape& to) {
  std::vector<std::size_t> strides(to.size(), 0);
  std::size_t step = 1;
  for (std::size_t axis = from.size(); axis-- > 0;) {
    const std::size_t at = axis + to.size() - from.size();
    strides[at] = from[axis] == 1 ? 0 : step;
    step *= static_cast<std::size_t>(from[axis]);
  }
  return strides;
}

// Calls visit(element, offsets) over a shape in row-major order, with one offset per list of strides.
template <class Visit>
void walk(const Shape& shape, const std::vector<std::vector<std::size_t>>& strides, const Visit& visit) {
  const std::size_t count = element_count(shape);
  std::vector<std::size_t> index(shape.size(), 0), offset(strides.size(), 0);
  for (std::size_t element = 0; element < count; ++element) {
    visit(element, offset);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      for (std::size_t k = 0; k < strides.size(); ++k) offset[k] += strides[k][axis];
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
      for (std::size_t k = 0; k < strides.size(); ++k) offset[k] -= strides[k][axis] * index[axis];
      index[axis] = 0;
    }
  }
}

std::size_t offset_of(std::size_t element, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::size_t offset = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    offset += element % static_cast<std::size_t>(shape[axis]) * strides[axis];
    element /= static_cast<std::size_t>(shape[axis]);
  }
  return offset;
}

template <class F>
Judged judge_unary(const Problem& problem, const F& f) {
  Judged judged;
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  judged.open = left_open(y.size(), [&](std::size_t i) { return certainly(y[i], f(x[i])); });
  judged.single = [problem](std::size_t element) { return single_of(problem, element); };
  return judged;
}

template <class F>
Judged judge_binary(const Problem& problem, const F& f) {
  Judged judged;
  const std::span<const float> a = floats(problem.operands[0]), b = floats(problem.operands[1]), y = floats(problem.result);
  const Shape& shape = problem.result.shape();
  if (a.size() == y.size() && b.size() == y.size()) {
    judged.open = left_open(y.size(), [&](std::size_t i) { return certainly(y[i], f(a[i], b[i])); });
  } else {
    walk(shape, {strides_in(problem.operands[0].shape(), shape), strides_in(problem.operands[1].shape(), shape)},
         [&](std::size_t i, const std::vector<std::size_t>& at) {
           if (certainly(y[i], f(a[at[0]], b[at[1]])) == 0) judged.open.push_back(i);
         });
  }
  judged.single = [problem](std::size_t element) { return single_of(problem, element); };
  return judged;
}

// The strides of the operand's element for each result element; nullopt for layout ops without strides.
std::optional<std::vector<std::size_t>> layout_strides(const Node& node, const Shape& from) {
  const Shape& to = node.shape;
  if (node.op == Op::reshape) return strides_in(to, to);
  if (node.op == Op::expand) return strides_in(from, to);
  if (node.op != Op::permute) return std::nullopt;
  const std::vector<std::int64_t>& axes = std::get<PermuteAttributes>(node.attributes).axes;
  std::vector<std::size_t> own(from.size(), 1), strides;
  for (std::size_t axis = from.size(); axis-- > 1;) own[axis - 1] = own[axis] * static_cast<std::size_t>(from[axis]);
  for (const std::int64_t axis : axes) strides.push_back(own[static_cast<std::size_t>(axis)]);
  return strides;
}

}  // namespace

Tensor element_of(const Tensor& operand, const Shape& shape, std::size_t element) {
  const std::size_t at = offset_of(element, shape, strides_in(operand.shape(), shape));
  return Tensor::of_floats({1}, floats(operand).subspan(at, 1));
}

std::optional<std::vector<float>> moved_by_strides(const Node& node, const Tensor& operand) {
  const auto strides = layout_strides(node, operand.shape());
  if (!strides) return std::nullopt;
  std::vector<float> values(element_count(node.shape));
  const std::span<const float> from = floats(operand);
  walk(node.shape, {*strides}, [&](std::size_t i, const std::vector<std::size_t>& at) { values[i] = from[at[0]]; });
  return values;
}

std::vector<float> broadcast_to(const Tensor& operand, const Shape& shape) {
  std::vector<float> values(element_count(shape));
  const std::span<const float> from = floats(operand);
  walk(shape, {strides_in(operand.shape(), shape)}, [&](std::size_t i, const std::vector<std::size_t>& at) { values[i] = from[at[0]]; });
  return values;
}

Graph graph_of(Op op, const Attributes& attributes, std::span<const Tensor> operands) {
  Graph graph;
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), "x"));
  auto node = graph.append(op, std::move(ids), attributes);
  demand(node.ok(), "quick::graph_of: the op fits its operands");
  graph.mark_output(node.value(), "y");
  return graph;
}

Single single_of(const Problem& problem, std::size_t element) {
  Single single;
  for (const Tensor& operand : problem.operands) {
    single.operands.push_back(element_of(operand, problem.result.shape(), element));
  }
  single.graph = graph_of(problem.node.op, problem.node.attributes, single.operands);
  return single;
}

std::optional<Judged> judge_elementwise(const Problem& problem) {
  // Correctly rounded or selected: in the set of every model; zeros that the contract treats specially stay open.
  switch (problem.node.op) {
    case Op::add:
      return judge_binary(problem, [](float a, float b) { return a + b; });
    case Op::sub:
      return judge_binary(problem, [](float a, float b) { return a - b; });
    case Op::mul:
      return judge_binary(problem, [](float a, float b) { return a * b; });
    case Op::div:
      return judge_binary(problem, [](float a, float b) { return a / b; });
    case Op::relu:
      return judge_unary(problem, [](float a) { return relu_or_open(a); });
    case Op::step:
      return judge_unary(problem, [](float a) { return step_or_open(a); });
    case Op::neg:
      return judge_unary(problem, [](float a) { return -a; });
    case Op::abs:
      return judge_unary(problem, [](float a) { return std::fabs(a); });
    default:  // the contract judges other ops
      return std::nullopt;
  }
}

std::optional<Judged> judge_layout(const Problem& problem) {
  const auto strides = layout_strides(problem.node, problem.operands[0].shape());
  if (!strides) return std::nullopt;
  const auto *from = reinterpret_cast<const std::uint32_t*>(problem.operands[0].bytes().data()),
             *to = reinterpret_cast<const std::uint32_t*>(problem.result.bytes().data());
  bool same = true;
  if (problem.node.op == Op::reshape) {
    same = std::ranges::equal(problem.operands[0].bytes(), problem.result.bytes());
  } else {
    walk(problem.result.shape(), {*strides},
         [&](std::size_t i, const std::vector<std::size_t>& at) { same = same && from[at[0]] == to[i]; });
  }
  if (!same) return std::nullopt;  // the contract finds the element
  return Judged{};
}

}  // namespace assay::quick
