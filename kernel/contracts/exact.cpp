// Contracts of ops that copy values or compute exactly: layout, integers, positions, comparison, choice, extrema.
//
// Layout and choice pass bits on, so zeros keep their signs. An extremum that is a zero may have either sign. If one
// element is NaN, the extremum is NaN or the extremum of the numbers (the two conventions of IEEE 754). Comparisons
// with NaN are false.
#include <array>
#include <cmath>
#include <limits>

#include "kernel/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

double low(const FloatSet& x) { return x.minus_infinity ? -floats::kInfinity : x.has_finite() ? x.lo : floats::kInfinity; }
double high(const FloatSet& x) { return x.plus_infinity ? floats::kInfinity : x.has_finite() ? x.hi : -floats::kInfinity; }

FloatSet truth(bool may_hold, bool may_fail) {
  FloatSet set;
  if (may_fail) set.include(floats::Format::binary64, 0, 0);
  if (may_hold) set.include(floats::Format::binary64, 1, 1);
  return set;
}

// Puts anything in each element of an elementwise result that reads an undefined one.
void put_anything(const Call& call, const std::vector<std::vector<bool>>& undefined, Image& image) {
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    ops::Walk at = ops::Walk::over(call.operand(k).shape, call.node.shape);
    for (FloatSet& value : image.values) {
      if (undefined[k][at.offset()]) value = anything(call.arithmetic.format());
      at.next();
    }
  }
}

// Whether a set is one infinity. Positions are decided by comparisons, and intervals compare an infinity as a number.
bool is_infinity(const FloatSet& x) { return !x.has_finite() && !x.nan && x.minus_infinity != x.plus_infinity; }

// [[node]] over enclosures of finite sets, and of infinities for positions of extrema; anything if an operand element is
// another set, or the result undefined.
Image by_denotation(const Call& call) {
  const std::size_t count = element_count(call.node.shape);
  const floats::Format format = call.arithmetic.format();
  Image image{std::vector<FloatSet>(count, anything(format))};
  const OpKind kind = kind_of(call.node.op);
  const bool is_elementwise = kind == OpKind::arithmetic || kind == OpKind::logic || kind == OpKind::bitwise ||
                              kind == OpKind::comparison || kind == OpKind::min_max;
  std::vector<Array<Interval>> operands;
  std::vector<std::vector<bool>> undefined;
  for (const Sets* sets : call.operands) {
    operands.push_back({sets->shape, {}});
    undefined.emplace_back();
    for (const FloatSet& set : sets->values) {
      const bool is_compared = kind == OpKind::position && is_infinity(set), is_known = set.is_finite() || is_compared;
      operands.back().values.push_back(is_compared ? Interval(low(set)) : is_known ? enclosure(set) : Interval(1.0));
      undefined.back().push_back(!is_known);
      if (!is_known && !is_elementwise) return image;
    }
  }
  const Outcome<Array<Interval>> result = denote<Interval>(call.node, pointers_to(operands));
  if (!result) return image;
  for (std::size_t i = 0; i < count; ++i) {
    const Interval& value = result.value().values[i];
    if (value.is_undefined()) continue;
    image.values[i] = FloatSet();
    image.values[i].include(format, value.lo(), value.hi());
    image.values[i] = with_both_zeros(image.values[i]);
  }
  if (is_elementwise) put_anything(call, undefined, image);
  return image;
}

bool may_hold(Op op, const FloatSet& a, const FloatSet& b) {
  if (op == Op::equal) return low(a) <= high(b) && low(b) <= high(a);
  return op == Op::less ? low(a) < high(b) : low(a) <= high(b);
}
bool may_fail(Op op, const FloatSet& a, const FloatSet& b) {
  if (a.nan || b.nan) return true;
  if (op == Op::equal) return !(low(a) == high(a) && low(b) == high(b) && low(a) == low(b));
  return op == Op::less ? !(high(a) < low(b)) : !(high(a) <= low(b));
}

FloatSet converted(const FloatSet& x, DType to, const Interval& range) {
  if (is_float(to)) {
    const floats::Format format = format_of(to);
    FloatSet y;
    y.nan = x.nan;
    if (x.has_finite()) y.include(format, nearest(format, x.lo), nearest(format, x.hi));
    y.plus_infinity = y.plus_infinity || x.plus_infinity;
    y.minus_infinity = y.minus_infinity || x.minus_infinity;
    return y;
  }
  if (to == DType::boolean) return truth(x.nan || low(x) < 0 || high(x) > 0, x.contains_zero());
  if (!x.is_finite()) return anything(floats::Format::binary64);
  FloatSet y;
  y.include(floats::Format::binary64, std::trunc(x.lo) + 0.0, std::trunc(x.hi) + 0.0);
  // Out of range any value is admitted.
  return y.lo >= range.lo() && y.hi <= range.hi() ? y : anything(floats::Format::binary64);
}

// The range of the type, as far as doubles hold its integers.
Interval range_of(DType dtype) {
  if (!is_integer(dtype) || byte_size(dtype) == 8) return {is_unsigned(dtype) ? 0 : -0x1p53, 0x1p53};
  const int bits = static_cast<int>(8 * byte_size(dtype));
  return is_unsigned(dtype) ? Interval(0, std::ldexp(1.0, bits) - 1) : Interval(-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1);
}

// From the ends in order, since sorting is monotone in each element. Lines with a NaN may be anything.
Image image_of_sort(const Call& call) {
  const Sets& x = call.operand(0);
  Array<double> lower{x.shape, {}}, upper{x.shape, {}};
  bool ordered = true;
  for (const FloatSet& set : x.values) {
    lower.values.push_back(low(set));
    upper.values.push_back(high(set));
    ordered = ordered && !set.nan;
  }
  const floats::Format format = call.arithmetic.format();
  Image image{std::vector<FloatSet>(element_count(call.node.shape), ordered ? FloatSet() : anything(format))};
  if (!ordered) return image;
  const std::array<const Array<double>*, 1> lower_operand = {&lower}, upper_operand = {&upper};
  const Outcome<Array<double>> from = denote<double>(call.node, lower_operand), to = denote<double>(call.node, upper_operand);
  demand(from.ok() && to.ok(), "image_of_sort: numbers are ordered");
  for (std::size_t i = 0; i < image.values.size(); ++i) {
    image.values[i].include(format, from.value().values[i], to.value().values[i]);
    image.values[i] = with_both_zeros(image.values[i]);
  }
  return image;
}

// The elements at each position of a set of positions.
Image image_of_take(const Call& call) {
  const Sets &index = call.operand(0), &x = call.operand(1);
  const double last = static_cast<double>(x.shape[static_cast<std::size_t>(call.get<ConcatAttributes>().axis)]) - 1;
  Image image{std::vector<FloatSet>(element_count(call.node.shape), anything(call.arithmetic.format()))};
  std::vector<bool> inside;
  std::vector<Array<double>> from = {{index.shape, {}}, {x.shape, {}}};
  std::vector<double> ends;
  for (const FloatSet& set : index.values) {  // -1 is the last position; a set on both sides of 0 is undecided
    const double shift = set.hi < 0 ? last + 1 : 0;
    inside.push_back(set.is_finite() && set.lo + shift >= 0 && set.hi + shift <= last);
    from[0].values.push_back(inside.back() ? set.lo + shift : 0);
    ends.push_back(inside.back() ? set.hi + shift : 0);
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) from[1].values.push_back(static_cast<double>(i));
  std::vector<Array<double>> to = from;
  to[0].values = std::move(ends);
  Node on_positions = call.node;
  on_positions.dtype = DType::float64;
  const Outcome<Array<double>> first = denote<double>(on_positions, pointers_to(from)), end = denote<double>(on_positions, pointers_to(to));
  if (!first || !end) return image;  // the axis has no elements
  for (std::size_t i = 0; i < image.values.size(); ++i) {
    if (!inside[i]) continue;
    const double steps = to[0].values[i] - from[0].values[i], begin = first.value().values[i];
    const double stride = steps > 0 ? (end.value().values[i] - begin) / steps : 0;
    image.values[i] = x.values[static_cast<std::size_t>(begin)];
    for (double k = 1; k <= steps; ++k) image.values[i].include(x.values[static_cast<std::size_t>(begin + k * stride)]);
  }
  return image;
}

}  // namespace

std::vector<FloatSet> combined(const Call& call, const std::function<FloatSet(std::span<const FloatSet>)>& f) {
  std::vector<ops::Walk> walks;
  for (const Sets* sets : call.operands) walks.push_back(ops::Walk::over(sets->shape, call.node.shape));
  const std::size_t count = element_count(call.node.shape);
  std::vector<FloatSet> result, elements(call.operands.size());
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < walks.size(); ++k) {
      elements[k] = call.operand(k).values[walks[k].offset()];
      walks[k].next();
    }
    result.push_back(f(elements));
  }
  return result;
}

std::vector<std::vector<std::size_t>> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::size_t members = 1;
  for (const std::int64_t axis : axes) members *= static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const std::size_t count = element_count(shape);
  std::vector<std::vector<std::size_t>> groups(members == 0 ? 0 : count / members);
  ops::Walk to(shape, ops::reduction_strides(shape, axes));
  for (std::size_t i = 0; i < count; ++i, to.next()) groups[to.offset()].push_back(i);
  return groups;
}

Image image_of_layout(const Call& call) {
  Node on_positions = call.node;
  on_positions.dtype = DType::float64;
  FloatSet fill = point(floats::Format::real, 0);
  if (auto* pad = std::get_if<PadAttributes>(&on_positions.attributes)) {
    fill = call.arithmetic.number(pad->value);
    pad->value = -1;
  }
  std::vector<Array<double>> positions;
  std::vector<const FloatSet*> elements;
  for (const Sets* sets : call.operands) {
    positions.push_back({sets->shape, {}});
    for (const FloatSet& set : sets->values) {
      positions.back().values.push_back(static_cast<double>(elements.size()));
      elements.push_back(&set);
    }
  }
  const Outcome<Array<double>> moved = denote<double>(on_positions, pointers_to(positions));
  demand(moved.ok(), "image_of_layout: layout ops are defined on positions");
  Image image;
  for (const double position : moved.value().values)
    image.values.push_back(position < 0 ? fill : *elements[static_cast<std::size_t>(position)]);
  return image;
}

Image image_of_integers(const Call& call) { return by_denotation(call); }
Image image_of_positions(const Call& call) { return by_denotation(call); }

Image image_of_comparison(const Call& call) {
  const Op op = call.node.op;
  return {combined(call, [&](std::span<const FloatSet> x) {
    if (op == Op::is_nan) return truth(x[0].nan, x[0].has_finite() || x[0].plus_infinity || x[0].minus_infinity);
    if (op == Op::is_inf) {
      const auto& [positive, negative] = call.get<IsInfAttributes>();
      return truth((positive && x[0].plus_infinity) || (negative && x[0].minus_infinity),
                   x[0].has_finite() || x[0].nan || (!positive && x[0].plus_infinity) || (!negative && x[0].minus_infinity));
    }
    return truth(may_hold(op, x[0], x[1]), may_fail(op, x[0], x[1]));
  })};
}

Image image_of_choice(const Call& call) {
  if (call.node.op == Op::cast) {
    const Interval range = range_of(call.node.dtype);
    return {combined(call, [&](std::span<const FloatSet> x) { return converted(x[0], call.node.dtype, range); })};
  }
  if (call.node.op == Op::take) return image_of_take(call);
  if (call.node.op == Op::sort) return image_of_sort(call);
  demand(call.node.op == Op::where, "image_of_choice: where, cast, take, sort");
  return {combined(call, [](std::span<const FloatSet> x) {
    FloatSet y;
    if (!x[0].has_finite() || x[0].hi > 0) y.include(x[1]);
    if (!x[0].has_finite() || x[0].lo <= 0) y.include(x[2]);
    return y;
  })};
}

Image image_of_extremum(const Call& call) {
  const Sets& x = call.operand(0);
  const bool is_min = call.node.op == Op::reduce_min;
  const auto better = [&](const FloatSet& a, const FloatSet& b) { return is_min ? call.arithmetic.min(a, b) : call.arithmetic.max(a, b); };
  Image image;
  if (call.node.op != Op::max_pool) {
    for (const std::vector<std::size_t>& group : groups_of(x.shape, call.get<ReduceAttributes>().axes)) {
      FloatSet best = x.values[group[0]];
      for (const std::size_t i : group) best = better(best, x.values[i]);
      image.values.push_back(best);
    }
    return image;
  }
  ops::Window window(call.get<WindowAttributes>(), x.shape, call.node.shape);
  const std::size_t positions = window.result_size(), planes = element_count(call.node.shape) / std::max<std::size_t>(positions, 1);
  image.values.resize(planes * positions);
  for (std::size_t o = 0; o < positions; ++o) {
    const std::vector<ops::Tap>& taps = window.taps(o);
    for (std::size_t plane = 0; plane < planes; ++plane) {
      const std::size_t start = plane * window.operand_size();
      FloatSet best = x.values[start + taps.front().operand];
      for (const ops::Tap& tap : taps) best = better(best, x.values[start + tap.operand]);
      image.values[plane * positions + o] = best;
    }
  }
  return image;
}

}  // namespace assay::contracts
