// Pools over any number of spatial axes: max_pool and avg_pool.
//
// Meaning.     max_pool: y[n, c, o] = max of x[n, c, i] over the window of o.
//              avg_pool: y[n, c, o] = (sum of x[n, c, i] over the window of o) / count; count = the number of window
//              positions inside x, or with count_include_pad inside x and its padding. The window of o: the
//              i = o*stride - pad_begin + k*dilation, 0 <= k < K, that lie inside x, per spatial axis. Padding is no
//              element: it counts as -inf for max_pool and adds 0 for avg_pool.
// Shapes.      [N, C, I...] -> [N, C, O...], O = floor((I + pads - (dilation*(K-1) + 1)) / stride) + 1; with ceil_mode
//              rounded up, and the last window dropped if it starts after the last element of x.
// Domain.      All reals. max of sets is the enclosure of all maxima; NaN over float and double makes the maximum NaN.
// Side conditions. S1 x has rank >= 3. S2 per spatial axis K, stride, dilation >= 1, pads >= 0; no groups, no output
//              padding. S3 every O >= 1 and the result is possible. S4 every window holds an element of x.
// Derivative.  max_pool: x_dot at the largest element; at a tie any mean of the tied ones (Clarke).
//              avg_pool: the pool of x_dot.
// Rounding.    avg_pool: the sum starts at 0 and takes the window in row-major order; then one division by the count.
// Source.      ONNX MaxPool, AveragePool (19 and later for dilations, for the last window in ceil_mode and its count)
#pragma once

#include "semantics/demand.h"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops::pool {

template <class S>
S largest(const S* x, const std::vector<Tap>& taps) {
  S result = x[taps.front().operand];
  for (const Tap& tap : taps) result = max(result, x[tap.operand]);
  return result;
}

template <class S>
S mean(const S* x, const std::vector<Tap>& taps, const S& count) {
  S sum{};
  for (const Tap& tap : taps) sum += x[tap.operand];
  return sum / count;
}

// f(x[n, c], o, taps of o) for every element of the result.
template <class S, class F>
Array<S> pool(const Node& node, const Array<S>& x, Window& window, const F& f) {
  const auto planes = static_cast<std::size_t>(node.shape[0] * node.shape[1]);  // n and c together
  Array<S> y{node.shape, std::vector<S>(planes * window.result_size())};
  for (std::size_t o = 0; o < window.result_size(); ++o) {
    const std::vector<Tap>& taps = window.taps(o);
    demand(!taps.empty(), "pool: S4");
    for (std::size_t plane = 0; plane < planes; ++plane) {
      y.values[plane * window.result_size() + o] = f(x.values.data() + plane * window.operand_size(), o, taps);
    }
  }
  return y;
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  const auto& attributes = std::get<WindowAttributes>(node.attributes);
  Window window(attributes, operands[0]->shape, node.shape);
  if (node.op == Op::max_pool) {
    if constexpr (ScalarTraits<S>::has_piecewise) {
      return pool(node, *operands[0], window, [](const S* x, std::size_t, const std::vector<Tap>& taps) { return largest(x, taps); });
    } else {
      return no_function(node, ScalarTraits<S>::name);
    }
  }
  return pool(node, *operands[0], window, [&](const S* x, std::size_t o, const std::vector<Tap>& taps) {
    const std::size_t count = attributes.count_include_pad ? window.taps_with_padding(o) : taps.size();
    return mean(x, taps, ScalarTraits<S>::from_double(static_cast<double>(count)));  // below 2^53: exact
  });
}

}  // namespace assay::ops::pool
