// normalise: the centre of layer, instance, group, mean-variance, RMS and Lp normalisation. A defined op.
//
// Meaning.     Over the n elements x_1 .. x_n of each group (the elements that agree on all other axes):
//              centered:       y_i = (x_i - m) / sqrt(v + epsilon),  m the mean, v the mean of (x_j - m)^2
//              deviation:      y_i = (x_i - m) / (sqrt(v) + epsilon)
//              root_mean:      y_i = x_i / sqrt(mean of x_j^2 + epsilon)
//              l2:             y_i = x_i / sqrt(sum of x_j^2 + epsilon)
//              l1:             y_i = x_i / (sum of |x_j| + epsilon)
//              epsilon is the exact number of the double.
// Shapes.      S -> S
// Domain.      The divisor is positive; otherwise undefined over intervals, and the IEEE 754 result over float and
//              double. Scalars without a square root lack this op ("denote.scalar").
// Side conditions. S1 axes are distinct and in 0 .. rank-1. S2 at least one element per group. S3 epsilon is finite and
//              at least 0.
// Derivative.  That of the formula (Dual).
// Rounding.    At 257 bits, then outward once; over boxes by enclosures/normalise.cpp. Over Symbolic with steps it is
//              the formula, with a second one of n v: sum_about_mean below.
// Source.      ONNX LayerNormalization, InstanceNormalization, GroupNormalization, RMSNormalization, LpNormalization,
//              MeanVarianceNormalization; Ba, Kiros and Hinton 2016; Zhang and Sennrich 2019. The bounds are
//              derived here.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "semantics/numbers/steps.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/wide.h"

namespace assay::ops::normalise {

using Form = NormaliseAttributes::Form;

static inline bool is_centered(Form form) { return form == Form::centered || form == Form::deviation; }

template <class S>
S count_of(std::size_t n) {
  return ScalarTraits<S>::from_rational(Rational(static_cast<std::int64_t>(n)));
}

// The divisor, from the sum of squares (l1: of magnitudes) over the group.
template <class S>
S divisor(const NormaliseAttributes& attributes, const S& sum, std::size_t n) {
  const S epsilon = ScalarTraits<S>::from_double(attributes.epsilon);
  switch (attributes.form) {
    case Form::centered:
    case Form::root_mean:
      return sqrt(S(sum / count_of<S>(n) + epsilon));
    case Form::deviation:
      return sqrt(S(sum / count_of<S>(n))) + epsilon;
    case Form::l2:
      return sqrt(S(sum + epsilon));
    case Form::l1:
      return sum + epsilon;
  }
  return S{};
}

// Over Symbolic: gives x a step of its own, so that nodes that read x often read one variable.
template <class S>
S named(const S& x) {
  return x;
}
static inline Symbolic named(const Symbolic& x) { return x.steps() != nullptr ? x.steps()->variable(x.steps()->named(x)) : x; }

// The sum of (x_j - mean)^2 is that of (x_j - k)^2 minus n (mean - k)^2, for any k; the latter squares narrower sets.
template <class S>
S sum_about_mean(const std::vector<S>&, const S&, const S& sum) {
  return sum;
}
static inline Symbolic sum_about_mean(const std::vector<Symbolic>& x, const Symbolic& mean, const Symbolic& sum) {
  if (mean.steps() == nullptr) return sum;
  const Symbolic k(mean.steps()->middle(mean));
  Symbolic about_k = -count_of<Symbolic>(x.size()) * square(mean - k);
  for (const Symbolic& value : x) about_k += square(value - k);
  return mean.steps()->either(sum, about_k);
}

// The definition, for scalars whose values are points.
template <class S>
std::vector<S> by_formula(const NormaliseAttributes& attributes, const std::vector<S>& x) {
  const std::size_t n = x.size();
  std::vector<S> y = x;
  S mean{};
  if (is_centered(attributes.form)) {
    for (const S& value : x) mean += value;
    mean = mean / count_of<S>(n);
    for (S& value : y) value = named(S(value - mean));
  }
  S sum{};
  for (const S& value : y) sum += attributes.form == Form::l1 ? S(abs(value)) : S(square(value));
  if (is_centered(attributes.form)) sum = sum_about_mean(x, mean, sum);
  const S by = divisor(attributes, sum, n);
  for (S& value : y) value = value / by;
  return y;
}

// The image over a box (enclosures/normalise.cpp).
[[nodiscard]] std::vector<WideInterval> enclosure(const NormaliseAttributes& attributes, const std::vector<WideInterval>& x);

template <class S>
std::vector<S> group_values(const NormaliseAttributes& attributes, const std::vector<S>& x) {
  if constexpr (std::is_same_v<S, WideInterval>) {
    return enclosure(attributes, x);
  } else if constexpr (std::is_same_v<S, Dual<WideInterval>>) {
    std::vector<WideInterval> points;
    for (const S& value : x) points.push_back(value.value());
    const std::vector<WideInterval> values = enclosure(attributes, points);
    std::vector<S> y = by_formula(attributes, x);  // for its tangents
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = S(values[i], y[i].tangent());
    return y;
  } else {
    return by_formula(attributes, x);
  }
}

template <class S>
Array<S> normalised(const Node& node, const Array<S>& x) {
  const auto& attributes = std::get<NormaliseAttributes>(node.attributes);
  Array<S> y{x.shape, std::vector<S>(x.values.size())};
  for (const std::vector<std::uint32_t>& group : reduction_groups(x.shape, attributes.axes)) {
    std::vector<S> values;
    for (const std::uint32_t j : group) values.push_back(x.values[j]);
    values = group_values(attributes, values);
    for (std::size_t k = 0; k < group.size(); ++k) y.values[group[k]] = values[k];
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else if constexpr (std::is_same_v<S, WideInterval> || std::is_floating_point_v<S>) {
    return normalised(node, x);
  } else {
    return at_257_bits(x, [&](const auto& wide) { return normalised(node, wide); });
  }
}

}  // namespace assay::ops::normalise
