#include "frontends/onnx/lowering/origins.h"

#include <numeric>

namespace assay::onnx {
namespace {

constexpr std::size_t kMostFollowed = std::size_t{1} << 16;  // of a value that is followed: starts and limits are short

// The operand's element that a layout node copies; false where it copies none, or is too large to ask.
bool follow_copy(const Graph& graph, NodeId& id, std::int64_t& element) {
  const Node& node = graph.node(id);
  if (op_row(node.op).op_class != OpClass::layout || node.op == Op::pad || graph.size(id) > kMostFollowed) return false;
  std::vector<Tensor> numbers;  // every operand element's own number
  std::int64_t next = 0;
  for (const NodeId operand : node.operands) {
    if (graph.size(operand) > kMostFollowed) return false;
    std::vector<std::int64_t> own(graph.size(operand));
    std::iota(own.begin(), own.end(), next);
    next += static_cast<std::int64_t>(own.size());
    numbers.push_back(Tensor::of_ints(graph.node(operand).shape, own));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& one : numbers) pointers.push_back(&one);
  element = fold_layout(node.op, pointers, node.attributes, node.shape).as_int(static_cast<std::size_t>(element));
  std::size_t which = 0;
  for (; element >= static_cast<std::int64_t>(numbers[which].size()); ++which) element -= static_cast<std::int64_t>(numbers[which].size());
  id = node.operands[which];
  return true;
}

// The element of an operand that meets element `element` of the broadcast result.
std::int64_t broadcast_element(const Shape& operand, const Shape& result, std::int64_t element) {
  std::int64_t at = 0, stride = 1;
  for (std::size_t axis = result.size(), k = operand.size(); k-- > 0;) {
    --axis;
    if (operand[k] != 1) at += element % result[axis] * stride;
    element /= result[axis];
    stride *= operand[k];
  }
  return at;
}

// x + c, c + x or x - c with a constant c: continues to x.
bool follow_sum(const Graph& graph, NodeId& id, std::int64_t& element, std::int64_t& plus) {
  const Node& node = graph.node(id);
  if ((node.op != Op::add && node.op != Op::sub) || !is_integer(node.dtype)) return false;
  const bool second = graph.node(node.operands[1]).op == Op::constant;
  if (!second && (node.op == Op::sub || graph.node(node.operands[0]).op != Op::constant)) return false;
  const Node &c = graph.node(node.operands[second ? 1 : 0]), &x = graph.node(node.operands[second ? 0 : 1]);
  const std::int64_t value = c.value.as_int(static_cast<std::size_t>(broadcast_element(c.shape, node.shape, element)));
  if (node.op == Op::sub ? __builtin_sub_overflow(plus, value, &plus) : __builtin_add_overflow(plus, value, &plus)) return false;
  element = broadcast_element(x.shape, node.shape, element);
  id = node.operands[second ? 0 : 1];
  return true;
}

Origin origin_of(const Graph& graph, NodeId id, std::int64_t element) {
  std::int64_t plus = 0;
  for (;;) {  // ids fall
    const Node& node = graph.node(id);
    if (node.op == Op::constant && is_integer(node.dtype)) {
      const std::int64_t value = node.value.as_int(static_cast<std::size_t>(element));
      std::int64_t sum = 0;
      if (__builtin_add_overflow(plus, value, &sum)) return {id, element, plus};
      return {std::nullopt, 0, sum};
    }
    const bool same_integer = node.op == Op::cast && is_integer(node.dtype) && is_integer(graph.node(node.operands[0]).dtype);
    if (same_integer)
      id = node.operands[0];
    else if (const std::int64_t before = plus; !follow_copy(graph, id, element) && !follow_sum(graph, id, element, plus))
      return {id, element, before};
  }
}

// One value: the same element, or the same function of one value.
bool is_same(const Graph& graph, Origin a, Origin b) {
  while (a.node && b.node && !(*a.node == *b.node && a.element == b.element)) {
    const Node &p = graph.node(*a.node), &q = graph.node(*b.node);
    const bool rounds = p.op == Op::cast || p.op == Op::floor || p.op == Op::ceil || p.op == Op::round;
    if (!rounds || p.op != q.op || p.dtype != q.dtype) return false;
    a = origin_of(graph, p.operands[0], a.element);
    b = origin_of(graph, q.operands[0], b.element);
    if (a.plus != b.plus) return false;
  }
  return a.node.has_value() == b.node.has_value();
}

}  // namespace

Origin origin_of(const Call& call, const Operand& value, std::int64_t element) {
  if (value->constant) return {std::nullopt, 0, value->constant->as_int(static_cast<std::size_t>(element))};
  return origin_of(call.lowering.graph, *value->id, element);
}

std::optional<std::int64_t> constant_difference(const Call& call, const Origin& a, const Origin& b) {
  std::int64_t difference = 0;
  if (!is_same(call.lowering.graph, a, b) || __builtin_sub_overflow(a.plus, b.plus, &difference)) return std::nullopt;
  return difference;
}

}  // namespace assay::onnx
