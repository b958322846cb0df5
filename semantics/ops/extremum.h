// Reductions by order and product, running sums and products, positions: reduce_max, reduce_min, reduce_prod, cumsum,
// cumprod, arg_max, arg_min.
//
// Meaning.     reduce_max, reduce_min, reduce_prod: the greatest, the least, the product of the x[j] over the j that
//              agree with the result's index on every axis that is not reduced.  cumsum: y[i] = sum of x[j] over j <= i
//              along the axis; exclusive: j < i; reverse: j >= i (j > i).  cumprod: the products of the same elements.
//              arg_max, arg_min: the first position of the greatest (least) element along the axis; last: the last one.
// Shapes.      reductions and positions: the reduced axes have extent 1 (keep_dims) or are dropped; cumsum, cumprod:
//              S -> S
// Domain.      All reals. An empty product is 1. NaN over float and double: reductions give NaN, positions are a domain
//              fault. Scalars without an order lack extrema and positions ("denote.scalar").
// Side conditions. S1 axes are distinct and in 0 .. rank-1. S2 at least one element per extremum or position.
// Derivative.  reduce_max, reduce_min: that of the chosen element, over sets at ties the Clarke hull. reduce_prod,
//              cumprod: the product rule. cumsum: linear. arg_*: 0 by convention, undefined over sets with a tie.
// Rounding.    Extrema: none. Sums and products in order, over intervals at 257 bits, then outward. Positions over
//              sets: i is possible iff x_i can be at least each later and more than each earlier element. Independent
//              elements can satisfy all these conditions together (x_i at its upper end, the others at their lower
//              ends). The result is the hull of the possible i.
// Source.      ONNX ReduceMax, ReduceMin, ReduceProd, CumSum, CumProd, ArgMax, ArgMin
#pragma once

#include <limits>
#include <optional>
#include <type_traits>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/wide.h"

namespace assay::ops::extremum {

// Combines the elements of each result in row-major order, starting with the first one, or with `empty` if
// there is none.
template <class S, class F>
Array<S> reduced(const Node& node, const Array<S>& x, const S& empty, const F& f) {
  Array<S> y{node.shape, std::vector<S>(element_count(node.shape), empty)};
  std::vector<bool> started(y.values.size(), false);
  Walk to(x.shape, reduction_strides(x.shape, std::get<ReduceAttributes>(node.attributes).axes));
  for (std::size_t j = 0; j < x.values.size(); ++j, to.next()) {
    S& value = y.values[to.offset()];
    value = started[to.offset()] ? f(value, x.values[j]) : x.values[j];
    started[to.offset()] = true;
  }
  return y;
}

// Along the axis, from the front or (reverse) from the back: f of all elements before, or up to, each one.
template <class S, class F>
Array<S> running(const Node& node, const Array<S>& x, const S& empty, const F& f) {
  const auto& [axis, exclusive, reverse] = std::get<CumulativeAttributes>(node.attributes);
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  const auto stride = static_cast<std::size_t>(row_major_strides(x.shape)[static_cast<std::size_t>(axis)]);
  Array<S> y{x.shape, std::vector<S>(x.values.size())};
  for (std::size_t first = 0; first < x.values.size(); ++first) {
    if (first / stride % extent != 0) continue;  // once per line along the axis, at its first element
    S total = empty;
    for (std::size_t k = 0; k < extent; ++k) {
      const std::size_t at = first + (reverse ? extent - 1 - k : k) * stride;
      if (exclusive) y.values[at] = total;
      total = f(total, x.values[at]);
      if (!exclusive) y.values[at] = total;
    }
  }
  return y;
}

template <class S>
Array<S> accumulated(const Node& node, const Array<S>& x) {
  const S one = ScalarTraits<S>::from_double(1);
  const auto times = [](const S& a, const S& b) { return S(a * b); };
  if (node.op == Op::reduce_prod) return reduced(node, x, one, times);
  if (node.op == Op::cumprod) return running(node, x, one, times);
  return running(node, x, S{}, [](const S& a, const S& b) { return S(a + b); });
}

static inline Interval position_set(double first, double last, const Interval*) { return {first, last}; }
static inline WideInterval position_set(double first, double last, const WideInterval*) { return {first, last}; }
static inline Symbolic position_set(double, double, const Symbolic*) { return Symbolic::nonlinear(); }
static inline Dual<Interval> position_set(double first, double last, const Dual<Interval>*) {
  return {Interval(first, last), Interval::undefined()};
}

// The position, or the hull of the possible ones; nullopt if there is none (NaN, undefined sets).
template <class S>
std::optional<S> position(const std::vector<const S*>& line, bool is_max, bool prefers_last) {
  std::optional<std::size_t> first, last;
  for (std::size_t i = 0; i < line.size(); ++i) {
    bool possible = compare(*line[i], *line[i]).may_be_equal;  // false for NaN
    for (std::size_t j = 0; j < line.size() && possible; ++j) {
      if (i == j) continue;
      const Order order = is_max ? compare(*line[i], *line[j]) : compare(*line[j], *line[i]);
      const bool wins_ties = (i < j) != prefers_last;
      possible = order.may_be_greater || (wins_ties && order.may_be_equal);
    }
    if (!possible) continue;
    if (!first) first = i;
    last = i;
  }
  if (!first) return std::nullopt;
  if (first == last) return ScalarTraits<S>::from_double(static_cast<double>(*first));
  if constexpr (ScalarTraits<S>::is_enclosure) {
    return position_set(static_cast<double>(*first), static_cast<double>(*last), static_cast<const S*>(nullptr));
  } else {
    return std::nullopt;
  }
}

template <class S>
Outcome<Array<S>> positions(const Node& node, const Array<S>& x) {
  const auto& [axis, keep_dims, last] = std::get<ArgAttributes>(node.attributes);
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  const auto stride = static_cast<std::size_t>(row_major_strides(x.shape)[static_cast<std::size_t>(axis)]);
  Array<S> y{node.shape, {}};
  for (std::size_t start = 0; start < x.values.size(); ++start) {
    if (start / stride % extent != 0) continue;
    std::vector<const S*> line;
    for (std::size_t k = 0; k < extent; ++k) line.push_back(&x.values[start + k * stride]);
    const std::optional<S> found = position(line, node.op == Op::arg_max, last);
    if (!found && !ScalarTraits<S>::is_enclosure) return domain_fault(node, y.values.size(), "elements that can be compared", "NaN");
    // An undefined element, if none is found.
    y.values.push_back(found ? *found : truth(false, false, static_cast<const S*>(nullptr)));
  }
  return y;
}

template <class S>
Outcome<Array<S>> ordered(const Node& node, const Array<S>& x) {
  const S zero{};
  if (node.op == Op::reduce_max) return reduced(node, x, zero, [](const S& a, const S& b) { return S(max(a, b)); });
  if (node.op == Op::reduce_min) return reduced(node, x, zero, [](const S& a, const S& b) { return S(min(a, b)); });
  demand(node.op == Op::arg_max || node.op == Op::arg_min, "denote_extremum: not an extremum, product, running sum or position");
  return positions(node, x);
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  if (node.op == Op::cumsum || node.op == Op::cumprod || node.op == Op::reduce_prod) {
    if constexpr (std::is_same_v<S, Interval> || std::is_same_v<S, Dual<Interval>>) {
      return at_257_bits(x, [&](const auto& wide) { return accumulated(node, wide); });
    } else {
      return accumulated(node, x);
    }
  }
  if constexpr (ScalarTraits<S>::has_piecewise) {
    return ordered(node, x);
  } else {
    return no_function(node, ScalarTraits<S>::name);
  }
}

}  // namespace assay::ops::extremum
