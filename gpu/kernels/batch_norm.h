// batch_norm with given moments, and local_response.
//
// Meaning.   (x - mean) scale / sqrt(var + e) + bias per channel (docs/ops/batch_norm.md); x_c / (bias + alpha / size s_c)^beta, s_c the
//            sum of the squares of the channels around c (docs/ops/local_response.md). With the moments of the batch itself batch
//            normalisation is gpu/kernels/normalise.h over all axes but the channel's.
// Layout.    [N, C, ...]. One thread per element, in a loop over the grid.
// Order.     s_c from the first channel to the last: bit-reproducible.
// Error.     The form (x - mean) r + bias, r = scale / sqrt(var + e); the form x / b^beta, the power in double
//            (docs/contracts/defined-ops.md).
// NaN, inf.  As the formulas.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

struct BatchNormKernel {
  static constexpr const char* kName = "batch_norm";
  static constexpr unsigned kThreads = 128;

  View<const float> x, scale, bias, mean, variance;
  View<float> y;
  std::size_t channels = 1, plane = 1;
  float epsilon = 0;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t c = i / plane % channels;
      const float factor = scale[c] / ::sqrtf(variance[c] + epsilon);
      y[i] = (x[i] - mean[c]) * factor + bias[c];
    }
  }
};

struct LocalResponseKernel {
  static constexpr const char* kName = "local_response";
  static constexpr unsigned kThreads = 128;

  View<const float> x;
  View<float> y;
  std::size_t channels = 1, plane = 1, before = 0, after = 0;  // neighbours on either side
  float share = 0, bias = 0;
  double beta = 0;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t c = i / plane % channels;
      const std::size_t first = c < before ? 0 : c - before, last = c + after < channels ? c + after : channels - 1;
      float sum = 0;
      for (std::size_t k = first; k <= last; ++k) {
        const float other = x[i + k * plane - c * plane];
        sum += other * other;
      }
      y[i] = x[i] / static_cast<float>(::pow(static_cast<double>(bias + share * sum), beta));
    }
  }
};

template <class Queue>
Outcome<Done> run_batch_norm(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  if (call.result.size == 0) return Done{};
  const BatchNormKernel kernel{call.data(0),
                               call.data(1),
                               call.data(2),
                               call.data(3),
                               call.data(4),
                               call.result,
                               static_cast<std::size_t>(call.shape[1]),
                               dense_strides(call.shape)[1],
                               static_cast<float>(call.get<BatchNormAttributes>().epsilon)};
  return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
}

template <class Queue>
Outcome<Done> run_local_response(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  if (call.result.size == 0) return Done{};
  const auto& [size, alpha, beta, bias] = call.get<LocalResponseAttributes>();
  LocalResponseKernel kernel{call.data(), call.result};
  kernel.channels = static_cast<std::size_t>(call.shape[1]);
  kernel.plane = dense_strides(call.shape)[1];
  kernel.before = static_cast<std::size_t>((size - 1) / 2);
  kernel.after = static_cast<std::size_t>(size / 2);
  kernel.share = static_cast<float>(alpha) / static_cast<float>(size);
  kernel.bias = static_cast<float>(bias);
  kernel.beta = beta;
  return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
}

}  // namespace assay::gpu
