// batch_norm, inference form.
//
// Meaning.     y[n, c, ...] = (x[n, c, ...] - mean[c]) * (scale[c] / sqrt(var[c] + epsilon)) + bias[c], epsilon as the
//              exact number that the double denotes
// Shapes.      x [N, C, ...], scale, bias, mean, var [C] -> [N, C, ...]
// Domain.      var[c] + epsilon > 0; elsewhere intervals give the undefined value, float and double what IEEE 754 says.
//              Scalars without a square root have no batch_norm ("denote.scalar").
// Side conditions. S1 x has rank >= 2. S2 the four parameters are [C]. S3 epsilon is finite and >= 0.
// Derivative.  x_dot * (scale / sqrt(var + epsilon)) with constant parameters: linear in x.
// Rounding.    The factor is computed once per channel: sum, root, quotient; then difference, product, sum per element.
// Source.      ONNX BatchNormalization, training_mode = 0; Ioffe and Szegedy 2015, algorithm 2
#pragma once

#include "semantics/ops/families.h"

namespace assay::ops::batch_norm {

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const Array<S>&x = *operands[0], &scale = *operands[1], &bias = *operands[2], &mean = *operands[3], &var = *operands[4];
    const S epsilon = ScalarTraits<S>::from_double(std::get<BatchNormAttributes>(node.attributes).epsilon);
    const auto N = static_cast<std::size_t>(node.shape[0]), C = static_cast<std::size_t>(node.shape[1]);
    const std::size_t inner = element_count(Shape(node.shape.begin() + 2, node.shape.end()));
    Array<S> y{node.shape, std::vector<S>(x.values.size())};
    for (std::size_t c = 0; c < C; ++c) {
      const S factor = scale.values[c] / sqrt(var.values[c] + epsilon);
      for (std::size_t n = 0; n < N; ++n) {
        for (std::size_t i = (n * C + c) * inner; i < (n * C + c + 1) * inner; ++i) {
          y.values[i] = (x.values[i] - mean.values[c]) * factor + bias.values[c];
        }
      }
    }
    return y;
  }
}

}  // namespace assay::ops::batch_norm
