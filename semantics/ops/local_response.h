// local_response: normalisation of each element by its neighbours along the channel axis. A defined op.
//
// Meaning.     y_c = x_c / (bias + alpha/size * s_c)^beta, s_c the sum of x_k^2 over the channels k with c -
//              floor((size-1)/2) <= k <= c + ceil((size-1)/2); alpha, beta, bias the exact numbers of the doubles.
// Shapes.      [N, C, ...] -> [N, C, ...]
// Domain.      All reals: the base is at least bias > 0. Over float and double large squares overflow. Scalars without
//              powers lack this op ("denote.scalar").
// Side conditions. S1 a batch and a channel axis. S2 1 <= size < 2^31. S3 alpha, beta, bias finite, alpha >= 0,
//              beta >= 0, bias > 0.
// Derivative.  That of the formula (Dual).
// Rounding.    At 257 bits, then outward once; over boxes by enclosures/local_response.cpp.
// Source.      ONNX LRN; Krizhevsky, Sutskever and Hinton 2012.
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

// The image over t and r = bias + a O, each in its set (enclosures/local_response.cpp).
[[nodiscard]] WideInterval enclosure(const Constants<WideInterval>& constants, const WideInterval& t, const WideInterval& r);

template <class S>
S value_of(const Constants<S>& constants, const S& t, const S& others) {
  return response(constants, t, S(constants.bias + constants.a * others));
}
static inline WideInterval value_of(const Constants<WideInterval>& constants, const WideInterval& t, const WideInterval& others) {
  if (!t.is_bounded() || !others.is_bounded()) return WideInterval::undefined();
  return enclosure(constants, t, constants.bias + constants.a * others);
}
static inline Dual<WideInterval> value_of(const Constants<Dual<WideInterval>>& constants, const Dual<WideInterval>& t,
                                          const Dual<WideInterval>& others) {
  const Dual<WideInterval> by_formula = response(constants, t, constants.bias + constants.a * others);
  const WideInterval r = (constants.bias + constants.a * others).value();
  const Constants<WideInterval> plain(constants.bias.value(), constants.a.value(), constants.beta);
  return {enclosure(plain, t.value(), r), by_formula.tangent()};
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
