// local_response: normalisation of each element by its neighbours along the channel axis. A defined op.
//
// Meaning.     y_c = x_c / (bias + alpha/size * s_c)^beta, s_c the sum of x_k^2 over the channels k with
//              c - floor((size-1)/2) <= k <= c + ceil((size-1)/2); alpha, beta, bias the exact numbers of the doubles.
// Shapes.      [N, C, ...] -> [N, C, ...]
// Domain.      All reals: the base is at least bias > 0. Over float and double large squares overflow. Scalars without powers have
//              none of these ("denote.scalar").
// Side conditions. S1 a batch and a channel axis. S2 1 <= size < 2^31. S3 alpha, beta, bias finite, alpha >= 0, beta >= 0, bias > 0.
// Derivative.  That of the formula (Dual).
// Rounding.    At 257 bits, then outward once. Over boxes y = g(t, r) with t = x_c, r = bias + a O, a = alpha/size, O the sum over the
//              others, g(t, r) = t (r + a t^2)^-beta. |g| falls with r, so the upper end takes the largest r for t < 0 and the
//              smallest for t > 0, the lower end the reverse. In t > 0 g rises as long as (2 beta - 1) a t^2 < r and falls
//              beyond (g is odd), so its extrema over an interval on one side of 0 are at the ends or at t^2 = r / ((2 beta - 1) a),
//              where it is enclosed; each variable enters once, so the image is exact up to rounding.
// Source.      ONNX LRN; Krizhevsky, Sutskever and Hinton 2012. The bounds are derived here.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"
#include "semantics/ops/wide.h"

namespace assay::ops::local_response {

// bias, a = alpha/size and beta on a scalar.
template <class S>
struct Constants {
  S bias, a;
  Rational beta;
  explicit Constants(const LocalResponseAttributes& attributes)
      : bias(ScalarTraits<S>::from_double(attributes.bias)),
        a(ScalarTraits<S>::from_double(attributes.alpha) / ScalarTraits<S>::from_rational(Rational(attributes.size))),
        beta(Rational::from_double(attributes.beta).value_or(Rational())) {}
  Constants(S base, S factor, Rational exponent) : bias(std::move(base)), a(std::move(factor)), beta(std::move(exponent)) {}
};

template <class S>
S response(const Constants<S>& constants, const S& t, const S& rest) {
  return t / pow(S(rest + constants.a * square(t)), constants.beta);
}

// g over t in [lo, hi], all of one sign, r fixed.
static inline WideInterval over_branch(const Constants<WideInterval>& constants, const WideInterval& lo, const WideInterval& hi,
                                       const WideInterval& r) {
  WideInterval image = hull(response(constants, lo, r), response(constants, hi, r));
  const WideInterval slope = WideInterval(Rational(2) * constants.beta - Rational(1)) * constants.a;
  if (!certainly_less(WideInterval(), slope)) return image;
  const WideInterval peak = sqrt(r / slope);
  const auto holds = [&](const WideInterval& at) { return !certainly_less(at, lo) && !certainly_less(hi, at); };
  for (const WideInterval& at : {peak, -peak}) {
    if (holds(at)) image = hull(image, response(constants, intersect(at, hull(lo, hi)), r));
  }
  return image;
}

// The part of t at or above 0 (below: of -t), with the smallest and the largest r.
static inline WideInterval image_of(const Constants<WideInterval>& constants, const WideInterval& t, const WideInterval& r) {
  const WideInterval zero;
  WideInterval image = WideInterval::undefined();
  const auto add = [&](const WideInterval& lo, const WideInterval& hi) {
    for (const WideInterval& end : {r.lower_end(), r.upper_end()}) {
      const WideInterval part = over_branch(constants, lo, hi, end);
      image = image.is_undefined() ? part : hull(image, part);
    }
  };
  if (!certainly_less(t.lower_end(), zero)) {
    add(t.lower_end(), t.upper_end());
  } else if (!certainly_less(zero, t.upper_end())) {
    add(t.lower_end(), t.upper_end());
  } else {
    add(t.lower_end(), zero);
    add(zero, t.upper_end());
  }
  return image;
}

template <class S>
S value_of(const Constants<S>& constants, const S& t, const S& others) {
  return response(constants, t, S(constants.bias + constants.a * others));
}
static inline WideInterval value_of(const Constants<WideInterval>& constants, const WideInterval& t, const WideInterval& others) {
  if (!t.is_bounded() || !others.is_bounded()) return WideInterval::undefined();
  return image_of(constants, t, constants.bias + constants.a * others);
}
static inline Dual<WideInterval> value_of(const Constants<Dual<WideInterval>>& constants, const Dual<WideInterval>& t,
                                          const Dual<WideInterval>& others) {
  const Dual<WideInterval> by_formula = response(constants, t, constants.bias + constants.a * others);
  const WideInterval r = (constants.bias + constants.a * others).value();
  const Constants<WideInterval> plain(constants.bias.value(), constants.a.value(), constants.beta);
  return {image_of(plain, t.value(), r), by_formula.tangent()};
}

template <class S>
Array<S> responses(const Node& node, const Array<S>& x) {
  const auto& attributes = std::get<LocalResponseAttributes>(node.attributes);
  const Constants<S> constants(attributes);
  const std::int64_t before = (attributes.size - 1) / 2, after = attributes.size - 1 - before, channels = x.shape[1];
  const std::int64_t stride = row_major_strides(x.shape)[1];
  Array<S> y{x.shape, {}};
  y.values.reserve(x.values.size());
  for (std::size_t at = 0; at < x.values.size(); ++at) {
    const std::int64_t c = static_cast<std::int64_t>(at) / stride % channels;
    S others{};
    for (std::int64_t k = std::max(c - before, std::int64_t{0}); k <= std::min(c + after, channels - 1); ++k) {
      if (k != c) others += square(x.values[static_cast<std::size_t>(static_cast<std::int64_t>(at) + (k - c) * stride)]);
    }
    y.values.push_back(value_of(constants, x.values[at], others));
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const Array<S>& x = *operands[0];
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else if constexpr (std::is_same_v<S, WideInterval> || std::is_floating_point_v<S>) {
    return responses(node, x);
  } else {
    return at_257_bits(x, [&](const auto& wide) { return responses(node, wide); });
  }
}

}  // namespace assay::ops::local_response
