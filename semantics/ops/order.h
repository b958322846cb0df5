// take, sort, arg_sort: elements chosen by run-time indices, and by their order.
//
// Meaning.     take(index, x): y[i] = x[i with index[i] instead of i along axis]; index -1 is the last position, -2 the
//              one before.
//              sort: the first `count` elements along axis in descending (ascending) order. arg_sort: their positions,
//              of equal elements the one at the lower position first.
// Shapes.      take: index gives the shape; sort, arg_sort: S -> S with extent count along axis
// Domain.      take: -extent <= index < extent, else a domain fault; the elements may be of any type. sort, arg_sort:
//              all reals. Scalars without an order lack these ops ("denote.scalar").
// Side conditions. S1 0 <= axis < rank. take: S2 index has the shape of x except along the axis. sort, arg_sort: S2
//              0 <= count <= extent.
// Derivative.  take, sort: that of the element taken; undefined over sets if the choice is undecided. arg_sort: 0.
// Rounding.    None. Over sets: take gives the hull of the elements that the index may name. sort exchanges by min and
//              max, which is as tight as the box allows. arg_sort gives the hull of the positions i for which the rank
//              lies between the number of elements that surely come before i and the number that may.
// Source.      ONNX Gather, GatherElements, GatherND by run-time indices; TopK. Networks of min and max nodes would
//              need a squared logarithm of layers, and could not give positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops::order {

using Range = std::optional<std::pair<std::int64_t, std::int64_t>>;  // the integers first .. last

inline constexpr double kMostIndex = 0x1p40;  // larger than every extent

static inline Range integers_in(double lo, double hi) {
  const double first = std::ceil(lo), last = std::floor(hi);
  if (!(first >= -kMostIndex && last <= kMostIndex && first <= last)) return std::nullopt;
  return std::pair{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)};
}
static inline Range integers_of(const Rational& x) {
  const std::optional<std::int64_t> value = x.to_int64();
  return value ? Range(std::pair{*value, *value}) : std::nullopt;
}
static inline Range integers_of(double x) { return integers_in(x, x); }
static inline Range integers_of(float x) { return integers_in(static_cast<double>(x), static_cast<double>(x)); }
static inline Range integers_of(const Interval& x) { return x.is_undefined() ? std::nullopt : integers_in(x.lo(), x.hi()); }
static inline Range integers_of(const WideInterval& x) { return integers_of(x.to_interval()); }
static inline Range integers_of(const Symbolic& x) { return x.is_constant() ? integers_of(x.constant()) : std::nullopt; }
template <class S>
Range integers_of(const Dual<S>& x) {
  return integers_of(x.value());
}

template <class S>
S undefined() {
  return truth(false, false, static_cast<const S*>(nullptr));
}
// a, b, or anything between; exact scalars call it only with a == b.
template <class S>
S either(const S& a, const S& b) {
  return select(truth(true, true, static_cast<const S*>(nullptr)), a, b);
}

// Lines along the axis: element k of the line of element `at` is at start(at) + k * stride.
struct Lines {
  std::size_t extent, stride;
  Lines(const Shape& shape, std::int64_t axis)
      : extent(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)])),
        stride(static_cast<std::size_t>(row_major_strides(shape)[static_cast<std::size_t>(axis)])) {}
};

template <class S>
Outcome<Array<S>> take(const Node& node, const Array<S>& index, const Array<S>& x) {
  const Lines to(index.shape, std::get<ConcatAttributes>(node.attributes).axis),
      from(x.shape, std::get<ConcatAttributes>(node.attributes).axis);
  const auto extent = static_cast<std::int64_t>(from.extent);
  Array<S> y{node.shape, {}};
  y.values.reserve(index.values.size());
  for (std::size_t at = 0; at < index.values.size(); ++at) {
    const Range range = integers_of(index.values[at]);
    const bool inside = range && range->first >= -extent && range->second < extent;
    if (!inside) {
      if constexpr (!ScalarTraits<S>::is_enclosure) return domain_fault(node, at, "an index that lies in the axis", "another one");
      y.values.push_back(undefined<S>());
      continue;
    }
    const std::size_t line = at / (to.extent * to.stride) * (from.extent * from.stride) + at % to.stride;
    const auto element = [&](std::int64_t k) { return x.values[line + static_cast<std::size_t>(k < 0 ? k + extent : k) * from.stride]; };
    S value = element(range->first);
    for (std::int64_t k = range->first + 1; k <= range->second; ++k) value = either(value, S(element(k)));
    y.values.push_back(std::move(value));
  }
  return y;
}

// The first elements in order: each new element is exchanged down the list of those found so far.
template <class S>
std::vector<S> first_in_order(const std::vector<S>& line, std::size_t count, bool descending) {
  std::vector<S> found;
  for (S rest : line) {
    for (S& one : found) {
      const S low = min(one, rest), high = max(one, rest);
      one = descending ? high : low;
      rest = descending ? low : high;
    }
    if (found.size() < count) found.push_back(rest);
  }
  return found;
}

template <class S>
std::vector<S> positions_in_order(const std::vector<S>& line, std::size_t count, bool descending) {
  std::vector<std::size_t> surely(line.size(), 0), maybe(line.size(), 0);  // numbers of elements that come before
  bool known = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (i == j) continue;
      const Order order = descending ? compare(line[i], line[j]) : compare(line[j], line[i]);  // less: j comes before i
      known = known && (order.may_be_less || order.may_be_equal || order.may_be_greater);
      if (order.may_be_less || (order.may_be_equal && j < i)) ++maybe[i];
      if (!order.may_be_greater && !(order.may_be_equal && j > i)) ++surely[i];
    }
  }
  std::vector<S> positions;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::size_t first = line.size(), last = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (surely[i] > rank || maybe[i] < rank) continue;
      first = std::min(first, i);
      last = i;
    }
    const auto whole = [](std::size_t i) { return ScalarTraits<S>::from_double(static_cast<double>(i)); };
    if (!known || first > last)
      positions.push_back(undefined<S>());
    else
      positions.push_back(first == last ? whole(first) : either(whole(first), whole(last)));
  }
  return positions;
}

template <class S>
Array<S> in_order(const Node& node, const Array<S>& x) {
  const auto& [axis, count, descending] = std::get<SortAttributes>(node.attributes);
  const Lines from(x.shape, axis), to(node.shape, axis);
  Array<S> y{node.shape, std::vector<S>(element_count(node.shape))};
  const std::size_t lines = from.extent == 0 ? 0 : x.values.size() / from.extent;
  for (std::size_t at = 0; at < lines; ++at) {
    const std::size_t outer = at / from.stride, inner = at % from.stride;
    std::vector<S> line;
    for (std::size_t k = 0; k < from.extent; ++k) line.push_back(x.values[(outer * from.extent + k) * from.stride + inner]);
    const std::vector<S> result =
        node.op == Op::sort ? first_in_order(line, to.extent, descending) : positions_in_order(line, to.extent, descending);
    for (std::size_t k = 0; k < result.size(); ++k) y.values[(outer * to.extent + k) * to.stride + inner] = result[k];
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    if (node.op == Op::take) return take(node, *operands[0], *operands[1]);
    return in_order(node, *operands[0]);
  }
}

}  // namespace assay::ops::order
