// max_pool and avg_pool, one spatial axis after the other: maxima, sums and counts of a window are those of its lines.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/call.h"
#include "runtime/kernels/window.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

template <class T>
T joined(bool max, T a, T b) {
  return max ? ((a > b || a != a) ? a : b) : static_cast<T>(a + b);
}

// y[o, r] = maximum or sum over the taps of o of x[i, r], r < inner
template <class T, bool kMax>
void pool_line(const WindowAxis& axis, std::size_t inner, const T* x, T* y) {
  for (std::int64_t o = 0; o < axis.result; ++o) {
    T* const to = y + static_cast<std::size_t>(o) * inner;
    const std::int64_t first = axis.first_tap(o), end = axis.end_tap(o, axis.operand);
    for (std::int64_t k = first; k < end; ++k) {
      const T* const from = x + static_cast<std::size_t>(axis.start(o) + k * axis.dilation) * inner;
      if (k == first) {
        std::copy(from, from + inner, to);
      } else {
        for (std::size_t r = 0; r < inner; ++r) to[r] = joined(kMax, to[r], from[r]);
      }
    }
    if (first >= end) std::fill(to, to + inner, T(0));
  }
}

// The same for the innermost axis, kernel position by kernel position.
template <class T, bool kMax>
void pool_innermost(const WindowAxis& axis, const T* x, T* y) {
  const std::int64_t inside_first = axis.first_result(-axis.pad),
                     inside_end = axis.end_result((axis.kernel - 1) * axis.dilation - axis.pad);
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const T* const from = x + (k * axis.dilation - axis.pad);
    for (std::int64_t o = inside_first; o < inside_end; ++o) {
      const T value = from[o * axis.stride];
      y[o] = k == 0 ? value : joined(kMax, y[o], value);
    }
  }
  for (std::int64_t o = 0; o < axis.result; ++o) {
    if (o >= inside_first && o < inside_end) continue;
    const std::int64_t first = axis.first_tap(o), end = axis.end_tap(o, axis.operand);
    T value = first < end ? x[axis.start(o) + first * axis.dilation] : T(0);
    for (std::int64_t k = first + 1; k < end; ++k) value = joined(kMax, value, x[axis.start(o) + k * axis.dilation]);
    y[o] = value;
  }
}

template <class T, bool kMax>
void pool_axis(const WindowAxis& axis, std::size_t inner, const T* x, T* y) {
  if (inner == 1) return pool_innermost<T, kMax>(axis, x, y);
  pool_line<T, kMax>(axis, inner, x, y);
}

struct Pooling {
  std::vector<WindowAxis> axes;
  std::size_t operand_plane = 1, result_plane = 1, largest = 1;  // elements; of what lies between, too
};

Pooling pooling_of(const Call& call) {
  const auto& w = call.get<WindowAttributes>();
  const Shape &from = call.operand(0).shape(), &to = call.result.shape();
  Pooling pooling;
  for (std::size_t axis = 0; axis + 2 < from.size(); ++axis) {
    pooling.axes.emplace_back(w, axis, from[axis + 2], to[axis + 2]);
    pooling.operand_plane *= static_cast<std::size_t>(from[axis + 2]);
    pooling.result_plane *= static_cast<std::size_t>(to[axis + 2]);
  }
  std::size_t size = pooling.operand_plane;
  for (std::size_t axis = pooling.axes.size(); axis-- > 0;) {
    size = size / static_cast<std::size_t>(pooling.axes[axis].operand) * static_cast<std::size_t>(pooling.axes[axis].result);
    pooling.largest = std::max(pooling.largest, size);
  }
  return pooling;
}

// One plane: from the innermost axis outwards.
template <class T, bool kMax>
void pool_plane(const Pooling& pooling, const T* x, T* y, T* scratch) {
  std::size_t outer = pooling.operand_plane, inner = 1;
  for (std::size_t axis = pooling.axes.size(); axis-- > 0;) {
    const WindowAxis& along = pooling.axes[axis];
    outer /= static_cast<std::size_t>(along.operand);
    T* const to = axis == 0 ? y : scratch + (axis % 2) * pooling.largest;
    for (std::size_t line = 0; line < outer; ++line) {
      pool_axis<T, kMax>(along, inner, x + line * static_cast<std::size_t>(along.operand) * inner,
                         to + line * static_cast<std::size_t>(along.result) * inner);
    }
    inner *= static_cast<std::size_t>(along.result);
    x = to;
  }
}

// Positions of each window: inside x, or inside x and its padding. The product over the axes.
template <class T>
std::vector<T> counts_of(const Pooling& pooling, const WindowAttributes& w) {
  std::vector<T> counts(1, T(1));
  for (std::size_t axis = 0; axis < pooling.axes.size(); ++axis) {
    const WindowAxis& along = pooling.axes[axis];
    std::vector<T> next;
    for (const T count : counts) {
      for (std::int64_t o = 0; o < along.result; ++o) {
        const std::int64_t taps =
            w.count_include_pad ? along.end_tap(o, along.operand + w.pads_end[axis]) : along.end_tap(o, along.operand) - along.first_tap(o);
        next.push_back(count * static_cast<T>(taps));
      }
    }
    counts = std::move(next);
  }
  return counts;
}

template <class T, bool kMax>
void run_planes(const Call& call) {
  const Pooling pooling = pooling_of(call);
  const std::size_t planes = pooling.result_plane == 0 ? 0 : call.result.size() / pooling.result_plane;
  const T* const x = call.operand(0).data<T>().data();
  T* const y = call.result.data<T>().data();
  std::vector<T> counts;
  if constexpr (!kMax) counts = counts_of<T>(pooling, call.get<WindowAttributes>());
  parallel_ranges(planes, std::max<std::size_t>((1 << 14) / std::max<std::size_t>(pooling.operand_plane, 1), 1),
                  [&](std::size_t first, std::size_t last) {
                    const Scratch<T> scratch(2 * pooling.largest);
                    for (std::size_t plane = first; plane < last; ++plane) {
                      T* const to = y + plane * pooling.result_plane;
                      pool_plane<T, kMax>(pooling, x + plane * pooling.operand_plane, to, scratch.data());
                      if constexpr (!kMax) {
                        for (std::size_t o = 0; o < pooling.result_plane; ++o) to[o] /= counts[o];
                      }
                    }
                  });
}

}  // namespace

Outcome<Done> run_pool(const Call& call) {
  if (call.op == Op::avg_pool) {
    with_float(call.result.dtype(), [&](auto type) { run_planes<typename decltype(type)::type, false>(call); });
  } else {
    with_real(call.result.dtype(), [&](auto type) { run_planes<typename decltype(type)::type, true>(call); });
  }
  return Done{};
}

}  // namespace assay::runtime
