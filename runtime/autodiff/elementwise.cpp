// Gradients of elementwise ops and choices.
#include <cmath>

#include "runtime/autodiff/families.h"
#include "semantics/demand.h"

namespace assay::runtime::autodiff {

namespace {

// d x^r = r x^(r-1)
Cotangents pow_bars(const Applied& a) {
  const Rational& r = a.get<PowAttributes>().exponent;
  if (r.sign() == 0) return {kNone};
  if (r == Rational(1)) return one(a.g());
  const Term slope = power(a.x(), r - Rational(1));
  return one(a.g() * (r.is_double() ? slope * r.double_down() : slope * a.x().exact(r)));
}

// d x^y = y x^(y-1) dx + x^y log x dy
Cotangents power_bars(const Applied& a) {
  return two(
      a, [&] { return a.g() * (a.x(1) * a.x(0).apply(Op::power, a.x(1) - 1)); }, [&] { return a.g() * (a.y() * a.x(0).apply(Op::log)); });
}

// z = x - y q with the quotient q rounded to a whole number, a constant; q from z, so that it is the q that z was made with.
Cotangents mod_bars(const Applied& a) {
  return two(
      a, [&] { return a.g(); }, [&] { return -(a.g() * ((a.x(0) - a.y()) / a.x(1)).apply(Op::round)); });
}

// d up to 0, 1 above.
Term leaky_relu_bar(const Applied& a) {
  const Term d = a.x().exact(a.get<LeakyReluAttributes>().slope);
  return a.g() * (d + (1 - d) * above_zero(a.x()));
}

// Nothing at the bounds, as hardtanh and relu6 have it, and as relu has it at 0.
Term clip_bar(const Applied& a) {
  const auto& [lo, hi] = a.get<ClipAttributes>();
  Term bar = a.g();
  if (std::isfinite(lo)) bar = bar * sign(a.y() - lo);
  if (std::isfinite(hi)) bar = bar * sign(hi - a.y());
  return bar;
}

// Of two operands the greater; half to either at a tie.
Cotangents greater_of_two(const Applied& a) {
  const Term lead = sign(a.x(0) - a.x(1)) * (a.op == Op::min ? -0.5 : 0.5);
  return two(
      a, [&] { return a.g() * (lead + 0.5); }, [&] { return a.g() * (0.5 - lead); });
}

}  // namespace

Cotangents arithmetic_bars(const Applied& a) {
  const auto y = [&] { return a.y(); };
  const auto g = [&] { return a.g(); };
  switch (a.op) {
    case Op::add:
      return two(a, g, g);
    case Op::sub:
      return two(a, g, [&] { return -g(); });
    case Op::mul:
      return two(
          a, [&] { return g() * a.x(1); }, [&] { return g() * a.x(0); });
    case Op::div:
      return two(
          a, [&] { return g() / a.x(1); }, [&] { return -(g() * y() / a.x(1)); });
    case Op::neg:
      return one(-g());
    case Op::scale:
      return one(g() * a.get<ScaleAttributes>().factor);
    case Op::reciprocal:
      return one(-(g() * square(y())));
    default:
      demand(false, "arithmetic_bars: not one of these ops");
      return {};
  }
}

Cotangents elementwise_bars(const Applied& a) {
  const auto x = [&] { return a.x(); };
  const auto y = [&] { return a.y(); };
  const auto g = [&] { return a.g(); };
  switch (a.op) {
    // Constant off their jumps.
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return {kNone};
    case Op::relu:
      return one(g() * sign(y()));
    case Op::leaky_relu:
      return one(leaky_relu_bar(a));
    case Op::abs:
      return one(g() * sign(x()));
    case Op::clip:
      return one(clip_bar(a));
    case Op::sigmoid:
      return one(g() * (y() * (1 - y())));
    case Op::tanh:
      return one(g() * (1 - square(y())));
    case Op::sqrt:
      return one(g() / (y() * 2));
    case Op::pow:
      return pow_bars(a);
    case Op::exp:
      return one(g() * y());
    case Op::log:
      return one(g() / x());
    case Op::sin:
      return one(g() * x().apply(Op::cos));
    case Op::cos:
      return one(-(g() * x().apply(Op::sin)));
    case Op::erf:
      return one(g() * (x().fixed(Fixed::two_over_root_pi) * exp(-square(x()))));
    case Op::tan:
      return one(g() * (square(y()) + 1));
    case Op::asin:
      return one(g() / sqrt((1 - x()) * (x() + 1)));
    case Op::acos:
      return one(-(g() / sqrt((1 - x()) * (x() + 1))));
    case Op::atan:
      return one(g() / (square(x()) + 1));
    case Op::sinh:
      return one(g() * x().apply(Op::cosh));
    case Op::cosh:
      return one(g() * x().apply(Op::sinh));
    case Op::asinh:
      return one(g() / sqrt(square(x()) + 1));
    case Op::acosh:
      return one(g() / (sqrt(x() - 1) * sqrt(x() + 1)));
    case Op::atanh:
      return one(g() / ((1 - x()) * (x() + 1)));
    case Op::softplus:
      return one(g() * sigmoid(x()));
    case Op::power:
      return power_bars(a);
    case Op::mod:
      return mod_bars(a);
    default:
      demand(false, "elementwise_bars: not an elementwise primitive");
      return {};
  }
}

Cotangents min_max_bars(const Applied& a) {
  const std::size_t count = a.operands.size();
  if (count == 1) return {a.cotangent};
  if (count == 2) return greater_of_two(a);
  const Shape shape = a.g().shape();
  Shape layer = shape;
  layer.insert(layer.begin(), 1);
  std::vector<Term> layers;
  for (std::size_t i = 0; i < count; ++i) layers.push_back(reshape(expand(a.x(i), shape), layer));
  const Term stack = concat(layers, 0);
  const Term share = (a.op == Op::min ? -stack : stack).apply(Op::max_weight, ReduceAttributes{{0}, true});
  Cotangents bars(count, kNone);
  for (std::size_t i = 0; i < count; ++i) {
    if (!a.wanted[i]) continue;
    SliceAttributes ith{Shape(layer.size(), 0), Shape(layer.size(), 1), layer};
    ith.starts[0] = static_cast<std::int64_t>(i);
    bars[i] = sum_to(a.g() * reshape(share.apply(Op::slice, ith), shape), Shape(a.x(i).shape())).ref();
  }
  return bars;
}

Cotangents where_bars(const Applied& a) {
  const Term zero = a.g().number(0);
  Cotangents bars(3, kNone);
  if (a.wanted[1]) bars[1] = sum_to(choose(a.x(0), a.g(), zero), Shape(a.x(1).shape())).ref();
  if (a.wanted[2]) bars[2] = sum_to(choose(a.x(0), zero, a.g()), Shape(a.x(2).shape())).ref();
  return bars;
}

Cotangents cast_bars(const Applied& a) {
  if (!is_float(a.x().dtype())) return {kNone};
  return one(a.g().apply(Op::cast, CastAttributes{static_cast<std::uint8_t>(a.x().dtype())}));
}

}  // namespace assay::runtime::autodiff
