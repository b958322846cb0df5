// softmax, log_softmax, log_sum_exp: defined ops; the formulas below are their definitions in primitives.
//
// Meaning.     softmax: y_i = 1 / sum_j exp(x_j - x_i), i and j along the axis; equal to exp(x_i) / sum_j exp(x_j).
//              log_softmax: y_i = -log1p(sum_{j != i} exp(x_j - x_i)); equal to log(softmax).
//              log_sum_exp: m + log(sum_j exp(x_j - m)) over the reduced axes, for any m; equal to log(sum_j exp(x_j)).
// Shapes.      softmax, log_softmax: S -> S; log_sum_exp: as reduce_sum
// Domain.      All reals. softmax has values in (0, 1], log_softmax in (-inf, 0]. Over float and double a large
//              x_j - x_i overflows (softmax 0, log_softmax -inf); m is the largest x_j. If another element is larger
//              than x_i, log_softmax subtracts the log_sum_exp of the others from x_i. NaN gives NaN. Scalars without
//              exp lack these ops ("denote.scalar").
// Side conditions. softmax, log_softmax: S1 0 <= axis < rank. log_sum_exp: S1 axes are distinct and in 0 .. rank-1, S2
//              at least one element per result.
// Derivative.  softmax: y_dot_i = y_i * (x_dot_i - sum_j y_j x_dot_j). log_softmax: x_dot_i - sum_j softmax_j x_dot_j.
//              log_sum_exp: sum_j softmax_j x_dot_j.
// Rounding.    Sums take j in order. Over intervals these forms are as tight as the box allows (up to rounding): each
//              x_j enters all its terms on one side only. All are computed at 257 bits, then rounded outward, so that a
//              difference of two large numbers loses no digits. m is then a double near the upper ends, the same for
//              all terms of one result, and not part of the meaning. Lines with finite ends are computed by
//              enclosures/softmax.cpp, with an m for each sum. Residues have no width, so over Opaque softmax is the
//              quotient exp(x_i - m) / sum_j exp(x_j - m) and log_softmax its logarithm, the same numbers, with one
//              exponential per element. Over Symbolic with steps they are x_i - L and its exponential, where L is the
//              one log_sum_exp of the line.
// Source.      ONNX Softmax, LogSoftmax (13 and later: one axis), ReduceLogSumExp; the form of softmax: Wei et al.
//              2023, "Convex bounds on the softmax function"
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "semantics/numbers/steps.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/wide.h"

namespace assay::ops::softmax {

// One line of elements along the axis, first element and stride; calls visit(element, line start) for each element.
struct Axis {
  std::size_t extent, stride;
  Axis(const Node& node, std::int64_t axis)
      : extent(static_cast<std::size_t>(node.shape[static_cast<std::size_t>(axis)])),
        stride(static_cast<std::size_t>(row_major_strides(node.shape)[static_cast<std::size_t>(axis)])) {}
  [[nodiscard]] std::size_t position(std::size_t at) const { return at / stride % extent; }
};

static inline double shift(const WideInterval& x) { return x.hi_up(); }
static inline double shift(const Dual<WideInterval>& x) { return x.value().hi_up(); }
static inline double shift(double x) { return x; }
static inline double shift(float x) { return static_cast<double>(x); }

// The greatest shift, or any finite number if it is not finite.
template <class S>
S common_shift(const std::vector<S>& terms) {
  double m = -std::numeric_limits<double>::infinity();
  for (const S& term : terms) m = std::fmax(m, shift(term));
  return ScalarTraits<S>::from_double(std::isfinite(m) ? m : 0);
}

// exp(x - m) per element, and its sum per line, stored at the line's first position. A float execution is one of many
// possible: lines longer than kLongLine are summed once, not once per element.
constexpr std::size_t kLongLine = 256;

template <class S>
struct Powers {
  S m;
  std::vector<S> values, sums;
  Powers(const Axis& axis, const Array<S>& x) : m(common_shift(x.values)), sums(x.values.size()) {
    for (std::size_t at = 0; at < x.values.size(); ++at) {
      values.push_back(S(exp(x.values[at] - m)));
      sums[line(axis, at)] += values[at];
    }
  }
  static std::size_t line(const Axis& axis, std::size_t at) { return at - axis.position(at) * axis.stride; }
};

static inline Symbolic log_of_sum(const std::vector<Symbolic>& terms) { return assay::log_sum_exp(terms); }

static inline Array<Symbolic> log_softmax(const Node& node, const Array<Symbolic>& x) {
  const Axis axis(node, std::get<SoftmaxAttributes>(node.attributes).axis);
  Array<Symbolic> y = x;
  for (std::size_t first = 0; first < x.values.size(); ++first) {
    if (axis.position(first) != 0) continue;
    std::vector<Symbolic> line;
    for (std::size_t j = 0; j < axis.extent; ++j) line.push_back(x.values[first + j * axis.stride]);
    const Symbolic total = log_of_sum(line);
    for (std::size_t j = 0; j < axis.extent; ++j) y.values[first + j * axis.stride] -= total;
  }
  return y;
}
static inline Array<Symbolic> softmax(const Node& node, const Array<Symbolic>& x) {
  return map(log_softmax(node, x), [](const Symbolic& value) { return exp(value); });
}

// For lines and sums with finite ends: each number is computed from one x_i at one end and all others at the other, in
// time linear in their length (enclosures/softmax.cpp). nullopt for other lines.
std::optional<std::vector<WideInterval>> softmax_line(const std::vector<WideInterval>& x);
std::optional<std::vector<WideInterval>> log_softmax_line(const std::vector<WideInterval>& x);
std::optional<WideInterval> log_sum(const std::vector<WideInterval>& x);

// Computes each line by `of_line`. False if it gives no result for some line.
static inline bool by_lines(const Axis& axis, const Array<WideInterval>& x,
                            std::optional<std::vector<WideInterval>> (*of_line)(const std::vector<WideInterval>&), Array<WideInterval>& y) {
  for (std::size_t first = 0; first < x.values.size(); ++first) {
    if (axis.position(first) != 0) continue;
    std::vector<WideInterval> line;
    for (std::size_t j = 0; j < axis.extent; ++j) line.push_back(x.values[first + j * axis.stride]);
    const auto values = of_line(line);
    if (!values) return false;
    for (std::size_t i = 0; i < axis.extent; ++i) y.values[first + i * axis.stride] = (*values)[i];
  }
  return true;
}

template <class S>
Array<S> softmax(const Node& node, const Array<S>& x) {
  const Axis axis(node, std::get<SoftmaxAttributes>(node.attributes).axis);
  const S one = ScalarTraits<S>::from_double(1);
  Array<S> y{node.shape, std::vector<S>(x.values.size())};
  if constexpr (std::is_same_v<S, WideInterval>)
    if (by_lines(axis, x, softmax_line, y)) return y;
  if constexpr (ScalarTraits<S>::has_residues || std::is_floating_point_v<S>) {
    if (ScalarTraits<S>::has_residues || axis.extent > kLongLine) {
      const Powers<S> powers(axis, x);
      for (std::size_t at = 0; at < x.values.size(); ++at) y.values[at] = powers.values[at] / powers.sums[powers.line(axis, at)];
      return y;
    }
  }
  for (std::size_t first = 0; first < x.values.size(); ++first) {
    if (axis.position(first) != 0) continue;
    std::vector<S> line;
    for (std::size_t j = 0; j < axis.extent; ++j) line.push_back(x.values[first + j * axis.stride]);
    for (std::size_t i = 0; i < axis.extent; ++i) {
      S sum{};
      for (std::size_t j = 0; j < axis.extent; ++j) sum += j == i ? one : S(exp(line[j] - line[i]));
      y.values[first + i * axis.stride] = one / sum;
    }
  }
  return y;
}

// log sum_k exp(terms[k]); -inf (or the undefined value of log 0) for no terms. m cancels, so any finite number serves.
template <class S>
S log_of_sum(const std::vector<S>& terms) {
  if constexpr (std::is_same_v<S, WideInterval>)
    if (const auto sum = log_sum(terms)) return *sum;
  const S shift_by = common_shift(terms);
  S sum{};
  for (const S& term : terms) sum += S(exp(term - shift_by));
  return shift_by + log(sum);
}

template <class S>
Array<S> log_softmax(const Node& node, const Array<S>& x) {
  const Axis axis(node, std::get<SoftmaxAttributes>(node.attributes).axis);
  Array<S> y{node.shape, std::vector<S>(x.values.size())};
  if constexpr (std::is_same_v<S, WideInterval>)
    if (by_lines(axis, x, log_softmax_line, y)) return y;
  if constexpr (ScalarTraits<S>::has_residues) {
    if (axis.extent == 1) return y;  // 0, which the residue of a logarithm of a power does not show
    const Powers<S> powers(axis, x);
    for (std::size_t at = 0; at < x.values.size(); ++at) y.values[at] = x.values[at] - powers.m - log(powers.sums[powers.line(axis, at)]);
    return y;
  }
  if constexpr (std::is_floating_point_v<S>) {
    if (axis.extent > kLongLine) {
      const Powers<S> powers(axis, x);
      // The sum of the other powers of the line: those before, then those after.
      std::vector<S> others(x.values.size());
      S before{}, behind{};
      for (std::size_t first = 0; first < x.values.size(); ++first) {
        if (axis.position(first) != 0) continue;
        const std::size_t last = first + (axis.extent - 1) * axis.stride;
        before = behind = S{};
        for (std::size_t at = first; at <= last; at += axis.stride) others[at] = std::exchange(before, before + powers.values[at]);
        for (std::size_t k = 0, at = last; k < axis.extent; ++k, at -= axis.stride)
          others[at] += std::exchange(behind, behind + powers.values[at]);
      }
      for (std::size_t at = 0; at < x.values.size(); ++at)
        y.values[at] = -apply(Function::softplus, S(log(others[at]) + (powers.m - x.values[at])));
      return y;
    }
  }
  for (std::size_t at = 0; at < x.values.size(); ++at) {
    const std::size_t i = axis.position(at), line = at - i * axis.stride;
    S others{};
    std::vector<S> differences;
    for (std::size_t j = 0; j < axis.extent; ++j) {
      if (j == i) continue;
      differences.push_back(x.values[line + j * axis.stride] - x.values[at]);
      others += S(exp(differences.back()));
    }
    // log1p is accurate for small sums, and softplus(log of the sum) has the range for large ones; both give the
    // same number.
    if constexpr (std::is_floating_point_v<S>) {
      y.values[at] =
          others < S(1) || others != others ? -apply(Function::log1p, others) : -apply(Function::softplus, log_of_sum(differences));
    } else {
      y.values[at] = -apply(Function::log1p, others);
    }
  }
  return y;
}

template <class S>
Array<S> log_sum_exp(const Node& node, const Array<S>& x) {
  const std::vector<std::int64_t>& axes = std::get<ReduceAttributes>(node.attributes).axes;
  std::vector<std::vector<S>> terms(element_count(node.shape));
  Walk to(x.shape, reduction_strides(x.shape, axes));
  for (std::size_t j = 0; j < x.values.size(); ++j, to.next()) terms[to.offset()].push_back(x.values[j]);
  Array<S> y{node.shape, {}};
  for (const std::vector<S>& group : terms) y.values.push_back(log_of_sum(group));
  return y;
}

template <class S>
Array<S> defined(const Node& node, const Array<S>& x) {
  if (node.op == Op::softmax) return softmax(node, x);
  return node.op == Op::log_softmax ? log_softmax(node, x) : log_sum_exp(node, x);
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const Array<S>& x = *operands[0];
    if constexpr (std::is_same_v<S, WideInterval> || std::is_floating_point_v<S>) {
      return defined(node, x);
    } else {
      return at_257_bits(x, [&](const auto& wide) { return defined(node, wide); });
    }
  }
}

}  // namespace assay::ops::softmax
