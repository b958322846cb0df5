// Elements by position and order: arg_max, arg_min, sort, arg_sort, take; running sums and products: cumsum, cumprod.
//
// NaN counts as greater than every number, so that each line has one order.
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "runtime/kernels/call.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

// Lines along an axis: element k of line i stands at start(i) + k * stride.
struct Lines {
  std::size_t count, extent, stride;
  Lines(const Shape& shape, std::int64_t axis)
      : count(element_count(shape)),
        extent(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)])),
        stride(element_count(Shape(shape.begin() + axis + 1, shape.end()))) {
    count = extent == 0 ? 0 : count / extent;
  }
  [[nodiscard]] std::size_t start(std::size_t line) const { return line / stride * extent * stride + line % stride; }
  [[nodiscard]] std::size_t grain() const { return std::max<std::size_t>((1 << 13) / std::max<std::size_t>(extent, 1), 1); }
};

template <class T>
bool before(T a, T b) {  // a strict weak order with the NaNs last
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return false;
    if (b != b) return true;
  }
  return a < b;
}

template <class T>
void find_positions(const Call& call) {
  const auto& [axis, keep_dims, last] = call.get<ArgAttributes>();
  const Lines lines(call.operand(0).shape(), axis);
  const auto x = call.operand(0).data<T>();
  const auto y = call.result.data<std::int64_t>();
  const bool want_max = call.op == Op::arg_max, want_last = last;
  parallel_ranges(lines.count, lines.grain(), [&](std::size_t first, std::size_t end) {
    for (std::size_t line = first; line < end; ++line) {
      const std::size_t start = lines.start(line);
      std::size_t best = 0;
      for (std::size_t k = 1; k < lines.extent; ++k) {
        const T candidate = x[start + k * lines.stride], champion = x[start + best * lines.stride];
        const bool better = want_max ? before(champion, candidate) : before(candidate, champion);
        const bool worse = want_max ? before(candidate, champion) : before(champion, candidate);
        if (better || (want_last && !worse)) best = k;
      }
      y[line] = static_cast<std::int64_t>(best);
    }
  });
}

template <class T>
void sort_lines(const Call& call) {
  const auto& [axis, count, descending] = call.get<SortAttributes>();
  const Lines lines(call.operand(0).shape(), axis);
  const auto wanted = static_cast<std::size_t>(count);
  const bool falling = descending, positions = call.op == Op::arg_sort;
  const T* const x = call.operand(0).data<T>().data();
  parallel_ranges(lines.count, std::max<std::size_t>(lines.grain() / 8, 1), [&](std::size_t first, std::size_t end) {
    std::vector<std::size_t> order(lines.extent);
    for (std::size_t line = first; line < end; ++line) {
      const std::size_t start = lines.start(line), to = line / lines.stride * wanted * lines.stride + line % lines.stride;
      const auto element = [&](std::size_t k) { return x[start + k * lines.stride]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(), [&](std::size_t a, std::size_t b) {
        const T p = element(a), q = element(b);
        if (falling ? before(q, p) : before(p, q)) return true;
        return (falling ? before(p, q) : before(q, p)) ? false : a < b;
      });
      for (std::size_t k = 0; k < wanted; ++k) {
        if (positions) {
          call.result.data<std::int64_t>()[to + k * lines.stride] = static_cast<std::int64_t>(order[k]);
        } else {
          call.result.data<T>()[to + k * lines.stride] = element(order[k]);
        }
      }
    }
  });
}

// Positions from the end made positive; the first index that lies outside.
template <class I>
Outcome<std::vector<std::size_t>> resolved(const Call& call, std::int64_t extent) {
  const auto index = call.operand(0).data<I>();
  std::vector<std::size_t> positions(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto at = static_cast<std::int64_t>(index[i]);
    if (at < -extent || at >= extent) {
      return failure(call, "index", "index, element " + std::to_string(i),
                     "-" + std::to_string(extent) + " <= index < " + std::to_string(extent), std::to_string(at));
    }
    positions[i] = static_cast<std::size_t>(at < 0 ? at + extent : at);
  }
  return positions;
}

template <class T>
void take_elements(const Lines& to, const Lines& from, const std::vector<std::size_t>& positions, const std::byte* x, std::byte* y) {
  const T* const source = reinterpret_cast<const T*>(x);
  T* const target = reinterpret_cast<T*>(y);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::size_t line = i / (to.extent * to.stride) * (from.extent * from.stride) + i % to.stride;
    target[i] = source[line + positions[i] * from.stride];
  }
}

Outcome<Done> run_take(const Call& call) {
  const std::int64_t axis = call.get<ConcatAttributes>().axis;
  const Array &index = call.operand(0), &x = call.operand(1);
  const Lines to(index.shape(), axis), from(x.shape(), axis);
  const auto extent = static_cast<std::int64_t>(from.extent);
  const Outcome<std::vector<std::size_t>> positions =
      index.dtype() == DType::int64 ? resolved<std::int64_t>(call, extent) : resolved<std::int32_t>(call, extent);
  if (!positions) return positions.rejection();
  switch (byte_size(x.dtype())) {
    case 1:
      take_elements<std::uint8_t>(to, from, positions.value(), x.raw(), call.result.raw());
      break;
    case 2:
      take_elements<std::uint16_t>(to, from, positions.value(), x.raw(), call.result.raw());
      break;
    case 4:
      take_elements<std::uint32_t>(to, from, positions.value(), x.raw(), call.result.raw());
      break;
    default:
      take_elements<std::uint64_t>(to, from, positions.value(), x.raw(), call.result.raw());
  }
  return Done{};
}

template <class T>
T combined(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // The last bits of a sum or product modulo 2^64 are those modulo 2 to the bits of T: the sign has to be extended.
    const auto p = static_cast<std::uint64_t>(a), q = static_cast<std::uint64_t>(b);  // NOLINT(bugprone-signed-char-misuse)
    return static_cast<T>(op == Op::cumsum ? p + q : p * q);
  } else {
    return op == Op::cumsum ? a + b : a * b;
  }
}

template <class T>
void accumulate(const Call& call) {
  const auto& [axis, exclusive_running, reversed] = call.get<CumulativeAttributes>();
  const bool exclusive = exclusive_running, reverse = reversed;
  const Lines lines(call.operand(0).shape(), axis);
  const auto x = call.operand(0).data<T>();
  const auto y = call.result.data<T>();
  parallel_ranges(lines.count, lines.grain(), [&](std::size_t first, std::size_t end) {
    for (std::size_t line = first; line < end; ++line) {
      const std::size_t start = lines.start(line);
      T running = call.op == Op::cumsum ? T(0) : T(1);
      for (std::size_t k = 0; k < lines.extent; ++k) {
        const std::size_t at = start + (reverse ? lines.extent - 1 - k : k) * lines.stride;
        if (exclusive) y[at] = running;
        running = k == 0 ? x[at] : combined(call.op, running, x[at]);
        if (!exclusive) y[at] = running;
      }
    }
  });
}

}  // namespace

Outcome<Done> run_position(const Call& call) {
  with_real(call.operand(0).dtype(), [&](auto type) { find_positions<typename decltype(type)::type>(call); });
  return Done{};
}

Outcome<Done> run_order(const Call& call) {
  if (call.op == Op::take) return run_take(call);
  with_real(call.operand(0).dtype(), [&](auto type) { sort_lines<typename decltype(type)::type>(call); });
  return Done{};
}

Outcome<Done> run_cumulative(const Call& call) {
  with_real(call.operand(0).dtype(), [&](auto type) { accumulate<typename decltype(type)::type>(call); });
  return Done{};
}

}  // namespace assay::runtime
