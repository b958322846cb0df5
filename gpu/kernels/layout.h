// reshape, permute, expand, slice, pad, concat.
//
// Meaning.   Each element of the result is an element of an operand, or padding (docs/ops).
// Layout.    One thread per element of the result, in a loop over the grid; concat: one launch per operand, one thread per element of it.
// Order.     None.
// Error.     Exact: bits are moved. Padding of an integer type is the number cut to it.
// NaN, inf.  Are moved as they are.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

template <class T>
struct LayoutKernel {
  static constexpr const char* kName = "layout";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  T padding = 0;
  std::size_t axes = 0;
  // Per axis of the result: its extent; the operand's position is first + step * index, and it is padding outside 0 .. limit - 1.
  std::size_t extents[kMostAxes] = {};
  std::int64_t firsts[kMostAxes] = {}, steps[kMostAxes] = {}, limits[kMostAxes] = {}, strides[kMostAxes] = {};

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
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

// y[o, start + i, r] = x[o, i, r]: x in runs of its extent along the axis times what lies inside.
template <class T>
struct ConcatKernel {
  static constexpr const char* kName = "concat";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  std::size_t run = 1, pitch = 1, start = 0;  // elements: of a run in x, between runs in y, before the first one

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, x.size)) y[i / run * pitch + start + i % run] = x[i];
  }
};

template <class T, class Queue>
Outcome<Done> concat_of(Queue& queue, const Call& call) {
  const auto axis = static_cast<std::size_t>(call.get<ConcatAttributes>().axis);
  const std::size_t inner = dense_strides(call.shape)[axis];
  ConcatKernel<T> kernel{};
  kernel.y = call.result.template as<T>();
  kernel.pitch = inner * static_cast<std::size_t>(call.shape[axis]);
  for (const Operand& operand : call.operands) {
    kernel.x = operand.data.template as<T>();
    kernel.run = inner * static_cast<std::size_t>((*operand.shape)[axis]);
    if (kernel.x.size > 0) {
      const Launch launch{kernel.kName, blocks_for(kernel.x.size, kernel.kThreads), kernel.kThreads, 0};
      if (auto done = queue.launch(launch, kernel); !done) return done;
    }
    kernel.start += kernel.run;
  }
  return Done{};
}

template <class T>
T padding_of(double value) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(value));
  return static_cast<T>(value);
}

// The map of an op from positions of the result to those of the operand; false: too many axes.
template <class T>
bool map_positions(const Call& call, LayoutKernel<T>& kernel) {
  const Shape &from = call.shape_of(), &to = call.shape;
  if (call.op == Op::reshape) {  // one axis
    kernel.axes = 1;
    kernel.extents[0] = call.result.size;
    kernel.limits[0] = static_cast<std::int64_t>(call.result.size);
    kernel.steps[0] = kernel.strides[0] = 1;
  } else {
    if (to.size() > kMostAxes) return false;
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
        kernel.padding = padding_of<T>(call.get<PadAttributes>().value);
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
  return true;
}

template <class Queue>
Outcome<Done> run_layout(Queue& queue, const Call& call) {
  return with_width(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    if (call.op == Op::concat) return concat_of<T>(queue, call);
    LayoutKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    kernel.y = call.result.template as<T>();
    if (!map_positions(call, kernel)) return refused(call.op, "too many axes");
    if (call.result.size == 0) return Done{};
    return queue.launch({kernel.kName, blocks_for(call.result.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

}  // namespace assay::gpu
