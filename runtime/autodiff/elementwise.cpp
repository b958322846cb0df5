// Gradients of elementwise ops and choices.
#include <cmath>

#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

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

Term clip_bar(const Applied& a) {
  const auto& [lo, hi] = a.get<ClipAttributes>();
  Term bar = a.g();
  if (std::isfinite(lo)) bar = bar * step(a.x() - lo);
  if (std::isfinite(hi)) bar = bar * step(hi - a.x());
  return bar;
}

namespace {

// Of two operands the greater; both shares are hulls at a tie.
Cotangents greater_of_two(const Applied& a) {
  const bool least = a.op == Op::min;
  const Term lead = least ? a.x(1) - a.x(0) : a.x(0) - a.x(1);
  return two(
      a, [&] { return a.g() * step(lead); }, [&] { return a.g() * step(-lead); });
}

}  // namespace

Cotangents extremum_bars(const Applied& a) {
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
