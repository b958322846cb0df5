// masked_softmax: softmax over the elements whose mask is 1, as in attention. A defined op.
//
// Meaning.     y_i = exp(x_i) / (sum of exp(x_j) over the j along the axis with mask_j = 1) where mask_i = 1, otherwise
//              0: the softmax of x with -infinity in place of elements whose mask is 0. A line without any mask_j = 1
//              is 0 if empty_is_zero, else undefined.
// Shapes.      S, mask that broadcasts to S -> S
// Domain.      All reals where the mask is 1; elsewhere x does not matter, even if it is undefined. Over float and
//              double an undefined line is NaN. Scalars without exp lack this op ("denote.scalar").
// Side conditions. S1 0 <= axis < rank. S2 the mask broadcasts to x.
// Derivative.  y_dot_i = y_i * (x_dot_i - sum_j y_j x_dot_j); undefined over sets if some mask of the line
//              is undecided.
// Rounding.    As softmax: 1 / sum_j exp(x_j - x_i) at 257 bits, then outward once. With undecided masks the least sum
//              takes the j whose mask is certainly 1, and the greatest sum those whose mask may be 1; an undecided
//              mask_i adds the value 0. Over Opaque the quotient of softmax.h. Over Symbolic with steps exp(x_i - L),
//              with L the log_sum_exp of the elements whose mask is 1; a line with an undecided mask has no formula.
// Source.      ONNX Attention; Vaswani et al. 2017; softmax.cpp
#pragma once

#include <limits>
#include <optional>
#include <type_traits>

#include "semantics/numbers/selection.h"
#include "semantics/numbers/steps.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/softmax.h"
#include "semantics/ops/wide.h"

namespace assay::ops::masked_softmax {

// The possible values of a mask element; neither: undefined.
struct Gate {
  bool may_be_open = false, may_be_shut = false;
};

template <class S>
std::vector<Gate> gates(const Node& node, const Array<S>& mask) {
  std::vector<Gate> result;
  Walk at = Walk::over(mask.shape, node.shape);
  for (std::size_t i = 0; i < element_count(node.shape); ++i, at.next()) {
    const Order order = compare(ScalarTraits<S>::from_double(0), mask.values[at.offset()]);
    result.push_back({order.may_be_less, order.may_be_equal});
  }
  return result;
}

template <class S>
S nothing() {
  if constexpr (std::is_floating_point_v<S>) {
    return std::numeric_limits<S>::quiet_NaN();
  } else {
    return truth(false, false, static_cast<const S*>(nullptr));
  }
}

static inline WideInterval between(const WideInterval& a, const WideInterval& b) { return hull(a, b); }
static inline Dual<WideInterval> between(const Dual<WideInterval>& a, const Dual<WideInterval>& b) {
  return {hull(a.value(), b.value()), WideInterval::undefined()};
}
template <class S>
S between(const S& a, const S&) {  // the gates of points are decided
  return a;
}

// exp(x_i - m) over the sum of those whose gate is open.
template <class S>
std::vector<S> quotients(const std::vector<S>& x, const std::vector<Gate>& gate) {
  std::vector<S> through, powers, y(x.size());
  S sum{};
  for (std::size_t i = 0; i < x.size(); ++i)
    if (gate[i].may_be_open) through.push_back(x[i]);
  const S m = softmax::common_shift(through);
  for (const S& open : through) sum += powers.emplace_back(exp(S(open - m)));
  for (std::size_t i = 0, k = 0; i < x.size(); ++i)
    if (gate[i].may_be_open) y[i] = powers[k++] / sum;
  return y;
}

// One line along the axis.
template <class S>
std::vector<S> line_of(const std::vector<S>& x, const std::vector<Gate>& gate, bool empty_is_zero) {
  const std::size_t n = x.size();
  const S one = ScalarTraits<S>::from_double(1), zero{};
  bool defined = true, some_certain = false, some_possible = false;
  for (const Gate& g : gate) {
    defined = defined && (g.may_be_open || g.may_be_shut);
    some_certain = some_certain || !g.may_be_shut;
    some_possible = some_possible || g.may_be_open;
  }
  const bool is_whole = !defined || (!some_certain && !empty_is_zero);
  if (is_whole && ScalarTraits<S>::has_residues && defined) return std::vector<S>(n, zero / zero);  // no sum
  if (is_whole) return std::vector<S>(n, nothing<S>());
  std::vector<S> y(n, zero);
  if constexpr (ScalarTraits<S>::has_residues) return quotients(x, gate);
  if constexpr (std::is_same_v<S, WideInterval>) {
    std::vector<S> through;
    bool decided = some_possible;
    for (std::size_t i = 0; i < n; ++i) {
      decided = decided && gate[i].may_be_open != gate[i].may_be_shut;
      if (gate[i].may_be_open) through.push_back(x[i]);
    }
    const auto values = decided ? softmax::softmax_line(through) : std::nullopt;
    for (std::size_t i = 0, k = 0; values && i < n; ++i)
      if (gate[i].may_be_open) y[i] = (*values)[k++];
    if (values) return y;
  }
  for (std::size_t i = 0; some_possible && i < n; ++i) {
    if (!gate[i].may_be_open) continue;
    S least = one, greatest = one;
    bool fixed = true;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i || !gate[j].may_be_open) continue;
      const S term = exp(S(x[j] - x[i]));
      greatest += term;
      if (!gate[j].may_be_shut) least += term;
      fixed = fixed && !gate[j].may_be_shut;
    }
    y[i] = S(one / greatest);
    if (!fixed) y[i] = between(y[i], S(one / least));
    if (gate[i].may_be_shut) y[i] = between(y[i], zero);
  }
  return y;
}

static inline std::vector<Symbolic> line_of(const std::vector<Symbolic>& x, const std::vector<Gate>& gate, bool empty_is_zero) {
  std::vector<Symbolic> through, y(x.size());
  bool decided = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    decided = decided && gate[i].may_be_open != gate[i].may_be_shut;
    if (gate[i].may_be_open) through.push_back(x[i]);
  }
  if (!decided || (through.empty() && !empty_is_zero)) return std::vector<Symbolic>(x.size(), Symbolic::nonlinear());
  if (through.empty()) return y;
  const Symbolic total = log_sum_exp(through);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (gate[i].may_be_open) y[i] = exp(x[i] - total);
  }
  return y;
}

template <class S>
Array<S> masked(const Node& node, const Array<S>& x, const std::vector<Gate>& gate) {
  const auto& [axis, empty_is_zero] = std::get<MaskedSoftmaxAttributes>(node.attributes);
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  const auto stride = static_cast<std::size_t>(row_major_strides(x.shape)[static_cast<std::size_t>(axis)]);
  Array<S> y{x.shape, std::vector<S>(x.values.size())};
  for (std::size_t start = 0; start < x.values.size(); ++start) {
    if (start / stride % extent != 0) continue;
    std::vector<S> line;
    std::vector<Gate> line_gates;
    for (std::size_t k = 0; k < extent; ++k) {
      line.push_back(x.values[start + k * stride]);
      line_gates.push_back(gate[start + k * stride]);
    }
    line = line_of(line, line_gates, empty_is_zero);
    for (std::size_t k = 0; k < extent; ++k) y.values[start + k * stride] = line[k];
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const std::vector<Gate> gate = gates(node, *operands[1]);
    if constexpr (std::is_same_v<S, WideInterval> || std::is_floating_point_v<S>) {
      return masked(node, x, gate);
    } else {
      Array<S> y = at_257_bits(x, [&](const auto& wide) { return masked(node, wide, gate); });
      if constexpr (std::is_same_v<S, Symbolic>) {  // an undecided gate may depend on a variable
        for (std::size_t i = 0; i < gate.size() && !has_steps(x); ++i) {
          if (gate[i].may_be_open && gate[i].may_be_shut) return Array<S>{y.shape, std::vector<S>(y.values.size(), Symbolic::nonlinear())};
        }
      }
      return y;
    }
  }
}

}  // namespace assay::ops::masked_softmax
