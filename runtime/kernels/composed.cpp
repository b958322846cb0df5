#include "runtime/kernels/composed.h"

#include <algorithm>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/call.h"
#include "runtime/kernels/rows.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

// The place of the first of the greatest elements of a window; beside a NaN, of the first NaN.
template <class T>
std::int64_t greatest_place(const T* x, const std::int64_t* places, std::size_t taps) {
  std::int64_t at = places[0];
  for (std::size_t k = 1; k < taps; ++k) {
    const T value = x[places[k]];
    if (value > x[at] || (value != value && x[at] == x[at])) at = places[k];
  }
  return at;
}

template <class T>
bool all_finite(const T* x, std::size_t count) {
  T sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += x[i] - x[i];  // 0 or NaN
  return sum == 0;
}

template <class T>
void hand_planes(const Windows& windows, const Array& x, const Array& g, Array& result) {
  const auto planes = static_cast<std::size_t>(x.shape()[0]);
  const std::size_t size = x.size() / std::max<std::size_t>(planes, 1), count = windows.places.size() / windows.taps;
  const T *const from = x.data<T>().data(), *const bars = g.data<T>().data();
  T* const to = result.data<T>().data();
  std::vector<std::int32_t> by_tap(windows.places.size());
  for (std::size_t i = 0; i < by_tap.size(); ++i)
    by_tap[i % windows.taps * count + i / windows.taps] = static_cast<std::int32_t>(windows.places[i]);
  parallel_ranges(planes, std::max<std::size_t>((1 << 13) / std::max<std::size_t>(size, 1), 1), [&](std::size_t first, std::size_t last) {
    const Scratch<T> plane(size + 1), sums(size + 1);  // and what lies outside
    std::vector<T> most(count);
    std::vector<std::int32_t> at(count);
    for (std::size_t p = first; p < last; ++p) {
      std::copy(from + p * size, from + (p + 1) * size, plane.data());
      plane.data()[size] = static_cast<T>(windows.outside);
      std::fill(sums.data(), sums.data() + size + 1, T(0));
      const T* const g_plane = bars + p * count;
      if (all_finite(plane.data(), size + 1)) {
        row_kernels<T>().greatest_of(plane.data(), by_tap.data(), windows.taps, count, most.data(), at.data());
      } else {
        for (std::size_t window = 0; window < count; ++window)
          at[window] = static_cast<std::int32_t>(greatest_place(plane.data(), windows.places.data() + window * windows.taps, windows.taps));
      }
      for (std::size_t window = 0; window < count; ++window) sums.data()[at[window]] += g_plane[window];
      std::copy(sums.data(), sums.data() + size, to + p * size);
    }
  });
}

}  // namespace

void hand_to_greatest(const Windows& windows, const Array& x, const Array& g, Array& result) {
  with_float(x.dtype(), [&](auto type) { hand_planes<typename decltype(type)::type>(windows, x, g, result); });
}

std::optional<PadAttributes> pad_of(const SliceAttributes& slice, const Shape& whole) {
  PadAttributes pad{slice.starts, slice.starts, 0};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (slice.steps[i] != 1) return std::nullopt;
    pad.after[i] = whole[i] - slice.starts[i] - slice.extents[i];
  }
  return pad;
}

std::optional<Part> part_of(const PadAttributes& pad, const Shape& result) {
  std::optional<Part> part;
  if (pad.value != 0) return std::nullopt;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    if (pad.before[axis] < 0 || pad.after[axis] < 0) return std::nullopt;
    if (pad.before[axis] == 0 && pad.after[axis] == 0) continue;
    if (part) return std::nullopt;
    part = Part{axis, pad.before[axis], result[axis] - pad.before[axis] - pad.after[axis]};
  }
  return part;
}

bool are_apart(std::vector<Part> parts) {
  std::ranges::sort(parts, {}, &Part::start);
  for (std::size_t k = 1; k < parts.size(); ++k) {
    if (parts[k].axis != parts[0].axis || parts[k - 1].start + parts[k - 1].extent > parts[k].start) return false;
  }
  return parts.size() > 1;
}

namespace {

// Each element is added to 0 once, as in the sum: -0 becomes 0.
template <class T>
void put(std::span<const Part> parts, std::span<const Array* const> values, Array& result) {
  const Shape& shape = result.shape();
  const auto axis = static_cast<std::ptrdiff_t>(parts[0].axis);
  const std::size_t outer = element_count(Shape(shape.begin(), shape.begin() + axis)),
                    inner = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  const std::size_t line = static_cast<std::size_t>(shape[parts[0].axis]) * inner;
  std::int64_t covered = 0;
  for (const Part& part : parts) covered += part.extent;
  const bool gaps = covered < shape[parts[0].axis];
  T* const y = result.data<T>().data();
  if (gaps) {
    parallel_ranges(result.size(), 1 << 16, [&](std::size_t first, std::size_t last) { std::fill(y + first, y + last, T(0)); });
  }
  const std::size_t grain = std::max<std::size_t>((1 << 14) * parts.size() / std::max<std::size_t>(line, 1), 1);
  parallel_ranges(outer * parts.size(), grain, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t o = i / parts.size(), k = i % parts.size(), count = static_cast<std::size_t>(parts[k].extent) * inner;
      const T* const from = values[k]->data<T>().data() + o * count;
      T* const to = y + o * line + static_cast<std::size_t>(parts[k].start) * inner;
      for (std::size_t j = 0; j < count; ++j) to[j] = from[j] + T(0);
    }
  });
}

}  // namespace

void put_together(std::span<const Part> parts, std::span<const Array* const> values, Array& result) {
  with_float(result.dtype(), [&](auto type) { put<typename decltype(type)::type>(parts, values, result); });
}

}  // namespace assay::runtime
