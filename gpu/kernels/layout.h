// permute, expand, slice, pad, reshape, gather; and weighted_gather, the sum that turns a gather around.
//
// Meaning.   Each element of the result is an element of the operand, or padding; weighted_gather: a sum of weights times elements at
//            constant positions (docs/ops).
// Layout.    One thread per element of the result, in a loop over the grid. Positions and weights are tables in the device's memory.
// Order.     weighted_gather adds its terms from first to last: bit-reproducible.
// Error.     Exact; weighted_gather that of a sum of products with weights rounded once.
// NaN, inf.  Are moved as they are.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

struct LayoutKernel {
  static constexpr const char* kName = "layout";
  static constexpr unsigned kThreads = 128;

  View<const float> x;
  View<float> y;
  float padding = 0;
  std::size_t axes = 0;
  // Per axis of the result: its extent; the operand's position is first + step * index, and it is padding outside 0 .. limit - 1.
  std::size_t extents[kMostAxes] = {};
  std::int64_t firsts[kMostAxes] = {}, steps[kMostAxes] = {}, limits[kMostAxes] = {}, strides[kMostAxes] = {};

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (std::size_t i = t.block() * t.count() + t.index(); i < y.size; i += t.blocks() * t.count()) {
      std::size_t rest = i;
      std::int64_t offset = 0;
      bool inside = true;
      for (std::size_t axis = axes; axis-- > 0;) {
        const std::int64_t at = firsts[axis] + steps[axis] * static_cast<std::int64_t>(rest % extents[axis]);
        rest /= extents[axis];
        inside = inside && at >= 0 && at < limits[axis];
        offset += at * strides[axis];
      }
      y[i] = inside ? x[static_cast<std::size_t>(offset)] : padding;
    }
  }
};

// y[o, j, r] = sum over k in starts[j] .. starts[j + 1] of weights[k] x[o, indices[k], r]; without weights one term, x itself.
struct GatherKernel {
  static constexpr const char* kName = "gather";
  static constexpr unsigned kThreads = 128;

  View<const float> x;
  View<float> y;
  std::size_t extent = 1, positions = 1, inner = 1;
  View<const std::int64_t> starts, indices;
  View<const float> weights;
  bool weighted = false;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (std::size_t i = t.block() * t.count() + t.index(); i < y.size; i += t.blocks() * t.count()) {
      const std::size_t r = i % inner, j = i / inner % positions, o = i / inner / positions;
      if (!weighted) {
        y[i] = element(o, j, r);
        continue;
      }
      float sum = 0;
      const auto end = static_cast<std::size_t>(starts[j + 1]);
      for (auto k = static_cast<std::size_t>(starts[j]); k < end; ++k) sum += weights[k] * element(o, k, r);
      y[i] = sum;
    }
  }

 private:
  [[nodiscard]] ASSAY_BOTH float element(std::size_t o, std::size_t k, std::size_t r) const {
    return x[(o * extent + static_cast<std::size_t>(indices[k])) * inner + r];
  }
};

template <class Queue>
Outcome<Done> run_layout(Queue& queue, const Call& call) {
  const Shape &from = call.shape_of(), &to = call.shape;
  LayoutKernel kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  if (call.op == Op::reshape) {  // one axis
    kernel.axes = 1;
    kernel.extents[0] = call.result.size;
    kernel.limits[0] = static_cast<std::int64_t>(call.result.size);
    kernel.steps[0] = kernel.strides[0] = 1;
  } else {
    if (to.size() > kMostAxes) return refused(call.op, "too many axes");
    const std::vector<std::size_t> dense = dense_strides(from);
    kernel.axes = to.size();
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      std::size_t source = axis;
      kernel.extents[axis] = static_cast<std::size_t>(to[axis]);
      kernel.steps[axis] = 1;
      if (call.op == Op::permute) source = static_cast<std::size_t>(call.get<PermuteAttributes>().axes[axis]);
      if (call.op == Op::slice) {
        kernel.firsts[axis] = call.get<SliceAttributes>().starts[axis];
        kernel.steps[axis] = call.get<SliceAttributes>().steps[axis];
      }
      if (call.op == Op::pad) {
        kernel.firsts[axis] = -call.get<PadAttributes>().before[axis];
        kernel.padding = static_cast<float>(call.get<PadAttributes>().value);
      }
      if (call.op == Op::expand) {
        const std::size_t ahead = to.size() - from.size();
        kernel.limits[axis] = axis < ahead ? 1 : from[axis - ahead];
        kernel.strides[axis] = axis < ahead ? 0 : static_cast<std::int64_t>(dense[axis - ahead]);
        if (kernel.limits[axis] == 1) kernel.steps[axis] = 0;
        continue;
      }
      kernel.limits[axis] = from[source];
      kernel.strides[axis] = static_cast<std::int64_t>(dense[source]);
    }
  }
  if (call.result.size == 0) return Done{};
  return queue.launch({LayoutKernel::kName, blocks_for(call.result.size, LayoutKernel::kThreads), LayoutKernel::kThreads, 0}, kernel);
}

// The float nearest to a weight whose double is one; others are refused, as a double in between might round to the wrong neighbour.
[[nodiscard]] std::optional<std::vector<float>> floats_of(const std::vector<Rational>& weights);

template <class Queue>
Outcome<Done> run_gather(Queue& queue, const Call& call) {
  const bool weighted = call.op == Op::weighted_gather;
  const auto axis = static_cast<std::size_t>(weighted ? call.get<WeightedGatherAttributes>().axis : call.get<GatherAttributes>().axis);
  const std::vector<std::int64_t>& indices = weighted ? call.get<WeightedGatherAttributes>().indices : call.get<GatherAttributes>().indices;
  if (call.result.size == 0) return Done{};
  GatherKernel kernel{};
  kernel.x = call.data();
  kernel.y = call.result;
  kernel.extent = static_cast<std::size_t>(call.shape_of()[axis]);
  kernel.inner = dense_strides(call.shape_of())[axis];
  kernel.positions = weighted ? call.get<WeightedGatherAttributes>().starts.size() - 1 : indices.size();
  kernel.weighted = weighted;
  const auto table = queue.upload(std::span<const std::int64_t>(indices));
  if (!table) return table.rejection();
  kernel.indices = table.value();
  if (weighted) {
    const auto weights = floats_of(call.get<WeightedGatherAttributes>().weights);
    if (!weights) return refused(call.op, "a weight that is no double");
    const auto starts = queue.upload(std::span<const std::int64_t>(call.get<WeightedGatherAttributes>().starts));
    const auto factors = queue.upload(std::span<const float>(*weights));
    if (!starts) return starts.rejection();
    if (!factors) return factors.rejection();
    kernel.starts = starts.value();
    kernel.weights = factors.value();
  }
  return queue.launch({GatherKernel::kName, blocks_for(call.result.size, GatherKernel::kThreads), GatherKernel::kThreads, 0}, kernel);
}

}  // namespace assay::gpu
