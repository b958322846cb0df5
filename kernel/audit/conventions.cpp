// PyTorch's number at kinks, from the ops of a region.
//
// Claim. Let all ops of f be of the list below. D is their derivatives by the chain rule, with a step(z) for each slope
// that changes at z = 0, and weights of the elements that tie. C is D with one number for each step and weight. Then C
// is the gradient that torch.autograd gives for the same operations: it applies the chain rule to their numbers.
//   lower   1 for z > 0, otherwise 0. relu gives 0, leaky_relu and prelu the slope, elu alpha (times its factor),
//           hard_swish 0 at -3 and 1 at 3, thresholded_relu 0; clip (hardtanh, relu6), hard_sigmoid and shrink 0.
//   middle  1/2 for z = 0. abs gives 0 = 2/2 - 1; maximum and minimum of two give a half to either.
//   first   max_pool gives all to the first element that ties.
//   none    Smooth ops, and choices by a comparison: the branch that is taken.
// python/tests/test_torch_kinks.py compares each with PyTorch. For the ops after a semicolon PyTorch has others with the
// same meaning: clamp gives 1 at its ends, fmax all to the first. A product with another number than C is then undecided.
// Regions with two of these kinds are excluded: D does not show the op of a step.
#include "kernel/audit/conventions.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "kernel/audit/corners.h"
#include "kernel/audit/point.h"
#include "semantics/graph/family.h"

namespace assay::audit {

namespace {

enum class AtKink : std::uint8_t { none, lower, middle, first, unknown };

bool is_of(Op op, std::initializer_list<Op> ops) { return std::ranges::find(ops, op) != ops.end(); }

AtKink at_kink(const Node& node) {
  const OpKind kind = kind_of(node.op);
  const Smoothness smoothness = op_row(node.op).smoothness;
  if (is_of(node.op, {Op::normalise, Op::power})) return AtKink::unknown;  // a form with steps; 0 to the power of 0
  if (smoothness == Smoothness::smooth || smoothness == Smoothness::singular) return AtKink::none;
  if (is_of(node.op, {Op::where, Op::equal, Op::less, Op::less_equal})) return AtKink::none;
  if (kind == OpKind::activation || is_of(node.op, {Op::relu, Op::leaky_relu, Op::clip})) return AtKink::lower;
  if (node.op == Op::abs || (kind == OpKind::min_max && node.operands.size() == 2)) return AtKink::middle;
  return node.op == Op::max_pool ? AtKink::first : AtKink::unknown;
}

bool has_others(Op op) { return kind_of(op) == OpKind::min_max || is_of(op, {Op::clip, Op::hard_sigmoid, Op::shrink}); }

Array<Interval> step_numbers(Array<Interval> z, AtKink kind) {
  for (Interval& one : z.values) {
    const bool is_at_zero = one.is_point() && one.lo() == 0 && kind == AtKink::middle;
    one = one.is_undefined()                                         ? one
          : is_at_zero                                               ? Interval(0.5)
          : one.lo() > 0                                             ? Interval(1.0)
          : one.hi() < 0 || (one.hi() <= 0 && kind == AtKink::lower) ? Interval(0.0)
                                                                     : Interval::undefined();
  }
  return z;
}

// In each row of the last axis.
Array<Interval> first_weights(Array<Interval> x) {
  const auto columns = static_cast<std::size_t>(x.shape.back());
  for (auto row = x.values.begin(); row != x.values.end(); row += static_cast<std::ptrdiff_t>(columns)) {
    const std::vector<Interval> of(row, row + static_cast<std::ptrdiff_t>(columns));
    std::size_t first = 0;
    for (std::size_t k = 1; k < columns; ++k) first = of[k].lo() > of[first].lo() ? k : first;
    for (std::size_t k = 0; k < columns; ++k) {
      const bool is_sure = k == first || (k < first ? of[k].hi() < of[first].lo() : of[k].hi() <= of[first].lo());
      *(row + static_cast<std::ptrdiff_t>(k)) = is_sure ? Interval(k == first ? 1.0 : 0.0) : Interval::undefined();
    }
  }
  return x;
}

}  // namespace

std::optional<Convention> convention_at(const Graph& forward, const Graph& derivative, const std::vector<Array<Interval>>& point) {
  AtKink kind = AtKink::none;
  Convention found{{}, false};
  for (const Node& node : forward.nodes) {
    const AtKink one = op_row(node.op).op_class == OpClass::leaf ? AtKink::none : at_kink(node);
    if (one == AtKink::unknown || (one != AtKink::none && kind != AtKink::none && kind != one)) return std::nullopt;
    kind = one == AtKink::none ? kind : one;
    found.is_one_of_several = found.is_one_of_several || has_others(node.op);
  }
  const auto values = nodes_taken(derivative, point, [&](NodeId id, auto& known, const auto& by_op) {
    const Node& node = derivative.node(id);
    if (node.op != Op::step && node.op != Op::max_weight) return by_op();
    const Array<Interval>& operand = known[node.operands[0]];
    known[id] = node.op == Op::step ? step_numbers(operand, kind) : first_weights(operand);
    return true;
  });
  if (!values || Corners(derivative).is_any_open(*values)) return std::nullopt;
  for (const NodeId output : derivative.outputs) found.cotangents.push_back((*values)[output]);
  return found;
}

}  // namespace assay::audit
