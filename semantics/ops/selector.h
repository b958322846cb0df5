// step and max_weight: the derivatives of relu, abs, clip, of max and of its reductions.
//
// Meaning.     step: 1 for x > 0, 0 for x < 0, 1/2 at 0.  max_weight: over the elements that agree off the axes, 1/k
//              for each of the k greatest ones and 0 for the others. Over sets, at 0 and wherever the greatest element
//              is not known, it is the whole of [0, 1], which contains each weight of the Clarke derivative, even at a
//              single point.
// Shapes.      S -> S
// Domain.      All reals. NaN over float and double gives NaN. Scalars without an order lack both
//              ops ("denote.scalar").
// Side conditions. max_weight: S1 axes are distinct and in 0 .. rank-1.
// Derivative.  0 by convention, undefined over sets with a jump.
// Rounding.    None, except that of 1/k.
// Segments.    step: 0, a jump at 0, 1.
// Source.      Clarke 1983, the generalised gradient of a maximum; the values at ties are conventions.
#pragma once

#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/segments.h"

namespace assay::ops::selector {

template <class S>
constexpr const S* kNoValue = nullptr;

template <class S>
S share_of(std::size_t winners) {
  return ScalarTraits<S>::from_rational(Rational(1, static_cast<std::int64_t>(winners)));
}

template <class S>
S step(const S& x) {
  const Order order = compare(x, ScalarTraits<S>::from_double(0));
  const bool may_be_one = order.may_be_greater || order.may_be_equal, may_be_zero = order.may_be_less || order.may_be_equal;
  if constexpr (!ScalarTraits<S>::is_enclosure) {
    if (order.may_be_equal) return share_of<S>(2);
  }
  return truth(may_be_one, may_be_zero, kNoValue<S>);
}

// Sets: an element that is certainly the only greatest one has weight 1; one that is certainly less than another has 0.
template <class S>
void set_weights(const std::vector<const S*>& line, const std::vector<S*>& weights) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    bool may_win = true, must_win = true, defined = true;
    for (std::size_t j = 0; j < line.size() && may_win; ++j) {
      if (i == j) continue;
      const Order order = compare(*line[i], *line[j]);
      defined = defined && (order.may_be_less || order.may_be_equal || order.may_be_greater);
      may_win = order.may_be_greater || order.may_be_equal || !defined;
      must_win = must_win && order.may_be_greater && !order.may_be_equal && !order.may_be_less;
    }
    *weights[i] = truth(defined && may_win, defined && !must_win, kNoValue<S>);
  }
}

// Points: finds the greatest elements in one pass.
template <class S>
void point_weights(const std::vector<const S*>& line, const std::vector<S*>& weights) {
  std::vector<std::size_t> winners;
  bool comparable = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Order order = winners.empty() ? compare(*line[i], *line[i]) : compare(*line[i], *line[winners[0]]);
    comparable = comparable && (order.may_be_less || order.may_be_equal || order.may_be_greater);
    if (order.may_be_greater) winners.clear();
    if (order.may_be_greater || order.may_be_equal) winners.push_back(i);
  }
  for (S* weight : weights) *weight = comparable ? S{} : truth(false, false, kNoValue<S>);
  for (const std::size_t i : winners) {
    if (comparable) *weights[i] = share_of<S>(winners.size());
  }
}

template <class S>
Array<S> max_weight(const Node& node, const Array<S>& x) {
  const std::vector<std::int64_t>& axes = std::get<ReduceAttributes>(node.attributes).axes;
  Shape kept = x.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  std::vector<std::vector<const S*>> lines(element_count(kept));
  std::vector<std::vector<S*>> weights(lines.size());
  Array<S> y{x.shape, std::vector<S>(x.values.size())};
  Walk to(x.shape, reduction_strides(x.shape, axes));
  for (std::size_t i = 0; i < x.values.size(); ++i, to.next()) {
    lines[to.offset()].push_back(&x.values[i]);
    weights[to.offset()].push_back(&y.values[i]);
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if constexpr (ScalarTraits<S>::is_enclosure) {
      set_weights(lines[k], weights[k]);
    } else {
      point_weights(lines[k], weights[k]);
    }
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const Array<S>& x = *operands[0];
    if (node.op == Op::max_weight) return max_weight(node, x);
    return map(x, [](const S& value) { return step(value); });
  }
}

static inline Segments segments_of_step() {
  return {{-kEverywhere, 0, Curve::affine, true, 0, 0.0}, {0, kEverywhere, Curve::affine, false, 0, 1.0}};
}

}  // namespace assay::ops::selector
