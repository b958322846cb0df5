// Denotations at 257 bits: a formula whose rounding errors at 53 bits would matter is computed on WideInterval, and
// rounded outward once at the end. Private to semantics/ops.
#pragma once

#include <algorithm>

#include "semantics/ops/families.h"

namespace assay::ops {

inline WideInterval widened(const Interval& x) { return WideInterval(x); }
inline Dual<WideInterval> widened(const Dual<Interval>& x) { return {WideInterval(x.value()), WideInterval(x.tangent())}; }
inline Interval narrowed(const WideInterval& x) { return x.to_interval(); }
inline Dual<Interval> narrowed(const Dual<WideInterval>& x) { return {x.value().to_interval(), x.tangent().to_interval()}; }

// f maps an array over WideInterval or Dual<WideInterval> to one of the same scalar.
template <class S, class F>
Array<S> at_257_bits(const Array<S>& x, const F& f) {
  Array<decltype(widened(std::declval<S>()))> wide{x.shape, {}};
  wide.values.reserve(x.values.size());
  for (const S& value : x.values) wide.values.push_back(widened(value));
  const auto result = f(wide);
  Array<S> y{result.shape, {}};
  y.values.reserve(result.values.size());
  for (const auto& value : result.values) y.values.push_back(narrowed(value));
  return y;
}

inline bool has_steps(const Array<Symbolic>& x) {
  return std::any_of(x.values.begin(), x.values.end(), [](const Symbolic& value) { return value.steps() != nullptr; });
}

// For variables with steps, the formula. Otherwise constants stay constants, and every other element of the result may
// depend on a variable.
template <class F>
Array<Symbolic> at_257_bits(const Array<Symbolic>& x, const F& f) {
  if (has_steps(x)) return f(x);
  Array<Interval> constants{x.shape, {}};
  for (const Symbolic& value : x.values) constants.values.push_back(value.is_constant() ? value.constant() : Interval::undefined());
  const Array<Interval> result = at_257_bits(constants, f);
  const bool constant = std::all_of(x.values.begin(), x.values.end(), [](const Symbolic& value) { return value.is_constant(); });
  Array<Symbolic> y{result.shape, {}};
  for (const Interval& value : result.values) y.values.push_back(constant ? Symbolic(value) : Symbolic::nonlinear());
  return y;
}

}  // namespace assay::ops
