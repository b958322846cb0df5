// gather, and the sums at constant positions: weighted_gather, place (scatter-add).
//
// Meaning.   gather: elements at constant positions of an axis. weighted_gather: sums of weights times such elements. place: zeros, plus
//            each element of x at its constant position, y[p[i]] += x[i] (docs/ops).
// Layout.    One thread per element of the result, in a loop over the grid. Positions and weights are tables in the device's memory. A
//            scatter-add is turned around on the host: for each position of the result the list of the elements that go there.
// Order.     The terms of a sum from first to last, those of place in the order in which they stand in x. No atomics: bit-reproducible.
// Error.     gather is exact; sums as in docs/contracts/sums.md, weights rounded once to the nearest float. Integers wrap around.
// NaN, inf.  As the sums; gather moves them as they are.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

// y[o, j, r] = x[o, indices[j], r]
template <class T>
struct GatherKernel {
  static constexpr const char* kName = "gather";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  std::size_t extent = 1, positions = 1, inner = 1;
  View<const std::int64_t> indices;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t r = i % inner, j = i / inner % positions, o = i / inner / positions;
      y[i] = x[(o * extent + static_cast<std::size_t>(indices[j])) * inner + r];
    }
  }
};

// y[o, j, r] = sum over k in starts[j] .. starts[j + 1] of weights[k] x[o, indices[k], r]; without weights they are 1.
template <class T>
struct GatherSumKernel {
  static constexpr const char* kName = "gather_sum";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  std::size_t extent = 1, positions = 1, inner = 1;
  View<const std::int64_t> starts, indices;
  View<const float> weights;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t r = i % inner, j = i / inner % positions, o = i / inner / positions;
      T sum = 0;
      const auto end = static_cast<std::size_t>(starts[j + 1]);
      for (auto k = static_cast<std::size_t>(starts[j]); k < end; ++k) {
        const T value = x[(o * extent + static_cast<std::size_t>(indices[k])) * inner + r];
        sum = added(sum, weights.size == 0 ? value : static_cast<T>(weights[k] * static_cast<float>(value)));
      }
      y[i] = sum;
    }
  }
};

template <class Queue>
Outcome<Done> run_gather(Queue& queue, const Call& call) {
  return with_width(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const auto& [axis, indices, index_shape] = call.get<GatherAttributes>();
    if (call.result.size == 0) return Done{};
    const auto table = queue.upload(std::span<const std::int64_t>(indices));
    if (!table) return table.rejection();
    GatherKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    kernel.y = call.result.template as<T>();
    kernel.extent = static_cast<std::size_t>(call.shape_of()[static_cast<std::size_t>(axis)]);
    kernel.inner = dense_strides(call.shape_of())[static_cast<std::size_t>(axis)];
    kernel.positions = indices.size();
    kernel.indices = table.value();
    return queue.launch({kernel.kName, blocks_for(call.result.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

template <class Queue, class T>
Outcome<Done> launch_gather_sum(Queue& queue, GatherSumKernel<T> kernel, std::span<const std::int64_t> starts,
                                std::span<const std::int64_t> indices) {
  const auto bounds = queue.upload(starts), table = queue.upload(indices);
  if (!bounds) return bounds.rejection();
  if (!table) return table.rejection();
  kernel.starts = bounds.value();
  kernel.indices = table.value();
  return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
}

template <class Queue>
Outcome<Done> run_weighted_gather(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  if (call.result.size == 0) return Done{};
  const auto& [axis, starts, indices, weights] = call.get<WeightedGatherAttributes>();
  const std::vector<float> rounded = floats_of(weights);
  const auto factors = queue.upload(std::span<const float>(rounded));
  if (!factors) return factors.rejection();
  GatherSumKernel<float> kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  kernel.extent = static_cast<std::size_t>(call.shape_of()[static_cast<std::size_t>(axis)]);
  kernel.inner = dense_strides(call.shape_of())[static_cast<std::size_t>(axis)];
  kernel.positions = starts.size() - 1;
  kernel.weights = factors.value();
  return launch_gather_sum(queue, kernel, starts, indices);
}

template <class Queue>
Outcome<Done> run_place(Queue& queue, const Call& call) {
  return with_elements(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    if (call.result.size == 0) return Done{};
    const auto [starts, elements] = elements_by_position(call.get<PlaceAttributes>().indices, call.result.size);
    GatherSumKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    kernel.y = call.result.template as<T>();
    kernel.extent = kernel.x.size;
    kernel.positions = call.result.size;
    return launch_gather_sum(queue, kernel, starts, elements);
  });
}

}  // namespace assay::gpu
