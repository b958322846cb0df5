// Function: the transcendental functions of one variable, by name. Every scalar with transcendental functions has all
// of them.
//
// apply(f, x) encloses the image (interval types), is correctly rounded (double, float), or carries the tangent (Dual).
// Arguments outside f's domain give the scalar's undefined value:
//   log x > 0; log1p x > -1; asin, acos -1 <= x <= 1; acosh x >= 1; atanh -1 < x < 1; tan: no pole in the set.
#pragma once

#include <cstdint>

namespace assay {

class Interval;
class WideInterval;
class Symbolic;
template <class S>
class Dual;

enum class Function : std::uint8_t {
  exp,
  log,
  tanh,
  sigmoid,
  erf,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  expm1,     // exp(x) - 1
  log1p,     // log(1 + x)
  erfc,      // 1 - erf(x)
  softplus,  // log(1 + exp(x))
};

[[nodiscard]] double apply(Function f, double x);
[[nodiscard]] float apply(Function f, float x);
[[nodiscard]] Interval apply(Function f, const Interval& x);
[[nodiscard]] WideInterval apply(Function f, const WideInterval& x);
[[nodiscard]] Symbolic apply(Function f, const Symbolic& x);  // of constants; otherwise nonlinear()
template <class S>
[[nodiscard]] Dual<S> apply(Function f, const Dual<S>& x);

}  // namespace assay
