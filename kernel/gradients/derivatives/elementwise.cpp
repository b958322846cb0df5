// Derivatives of elementwise primitives: x_bar = y_bar f'(x), with f' written in x and in y = f(x), whichever
// is shorter.
#include <cmath>

#include "kernel/gradients/derivatives/rules.h"
#include "semantics/demand.h"

namespace assay::gradients::derivatives {

namespace {

// r x^(r-1)
std::optional<Value> slope_of_power(const Value& y, const Value& x) {
  const Rational r = attributes_of<PowAttributes>(y).exponent;
  if (r.sign() == 0) return std::nullopt;
  const Rational less = r - Rational(1);
  if (less.sign() == 0) return x.number(1);
  const Value power = apply(Op::pow, x, PowAttributes{less});
  if (r.is_double()) return r.double_down() * power;
  const std::string text = r.to_string();  // as a quotient of two doubles
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<Rational> over = Rational::parse(text.substr(0, slash)),
                                under = Rational::parse(text.substr(std::min(slash + 1, text.size())));
  if (!over || !under || !over->is_double() || !under->is_double()) {
    y.builder().refuse({Rejection::Kind::declined, "derivative.exponent", "pow", "an exponent that is a quotient of doubles", text,
                        "write the power as exp(r log x)"});
    return std::nullopt;
  }
  return x.number(over->double_down()) / x.number(under->double_down()) * power;
}

// 1 between lo and hi, if they are finite.
Value slope_of_clip(const Value& y, const Value& x) {
  const auto [lo, hi] = attributes_of<ClipAttributes>(y);
  if (std::isinf(lo) && std::isinf(hi)) return x.number(1);
  if (std::isinf(lo)) return step(hi - x);
  if (std::isinf(hi)) return step(x - lo);
  return step(x - lo) * step(hi - x);
}

// f'(x); nullopt if it is 0 by convention.
std::optional<Value> slope(const Value& y, const Value& x) {
  switch (node_of(y).op) {
    case Op::relu:
      return step(x);
    case Op::leaky_relu: {
      const double a = attributes_of<LeakyReluAttributes>(y).slope;
      return x.number(a) + (1.0 - x.number(a)) * step(x);
    }
    case Op::sigmoid:
      return y * (1.0 - y);
    case Op::tanh:
      return 1.0 - square(y);
    case Op::abs:
      return 2.0 * step(x) - 1.0;
    case Op::clip:
      return slope_of_clip(y, x);
    case Op::sqrt:
      return 0.5 / y;
    case Op::pow:
      return slope_of_power(y, x);
    case Op::exp:
      return y;
    case Op::log:
      return 1.0 / x;
    case Op::sin:
      return apply(Op::cos, x);
    case Op::cos:
      return -apply(Op::sin, x);
    case Op::erf: {  // 2 / sqrt(pi) exp(-x^2), and pi = acos(-1)
      const Value pi = apply(Op::acos, x.number(-1));
      return 2.0 * (exp(-square(x)) / sqrt(pi));
    }
    case Op::tan:
      return square(y) + 1.0;
    case Op::asin:
      return 1.0 / sqrt(1.0 - square(x));
    case Op::acos:
      return -1.0 / sqrt(1.0 - square(x));
    case Op::atan:
      return 1.0 / (square(x) + 1.0);
    case Op::sinh:
      return apply(Op::cosh, x);
    case Op::cosh:
      return apply(Op::sinh, x);
    case Op::asinh:
      return 1.0 / sqrt(square(x) + 1.0);
    case Op::acosh:
      return 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0));
    case Op::atanh:
      return 1.0 / (1.0 - square(x));
    case Op::softplus:
      return sigmoid(x);
    // Constant except at their jumps.
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return std::nullopt;
    default:
      demand(false, "vjp_of_elementwise: not an elementwise primitive");
      return std::nullopt;
  }
}

// y = a - b q with q constant except at the jumps.
Cotangents of_mod(const Value& y, const Value& y_bar) {
  const Value a = operand(y, 0), b = operand(y, 1);
  const Value q = apply(Op::round, (a - y) / b);
  return {summed_to(y_bar, a.shape()), summed_to(-(y_bar * q), b.shape())};
}

// y = x^e: e x^(e-1) and y log x
Cotangents of_power(const Value& y, const Value& y_bar) {
  const Value x = operand(y, 0), e = operand(y, 1);
  return {summed_to(y_bar * (e * apply(Op::power, x, e - 1.0)), x.shape()), summed_to(y_bar * (y * apply(Op::log, x)), e.shape())};
}

}  // namespace

Cotangents vjp_of_elementwise(const Value& y, const Value& y_bar) {
  if (node_of(y).op == Op::mod) return of_mod(y, y_bar);
  if (node_of(y).op == Op::power) return of_power(y, y_bar);
  const Value x = operand(y, 0);
  if (node_of(y).op == Op::cast) {
    if (!is_float(x.dtype()) || !is_float(y.dtype())) return {std::nullopt};
    return {apply(Op::cast, y_bar, CastAttributes{static_cast<std::uint8_t>(x.dtype())})};
  }
  const std::optional<Value> derivative = slope(y, x);
  if (!derivative) return {std::nullopt};
  return {y_bar * *derivative};
}

}  // namespace assay::gradients::derivatives
