// arg_max, arg_min, sort, arg_sort (top-k), take.
//
// Meaning.   The position of the greatest or least element along an axis, the first or the last of several; the first `count` elements in
//            order, or their positions, ties in the order in which they stand; elements at positions that are operands, counted from
//            either end (docs/ops). A NaN is greater than every number, so that each line has one order.
// Layout.    Extrema: one block per line. sort: one thread per element, which counts the elements before its own (its rank) and writes it
//            there: n^2 comparisons for a line of n. take: one thread per element of the result.
// Order.     Positions are exact and break ties, so no schedule changes a result: bit-reproducible.
// Error.     Exact.
// NaN, inf.  Are elements like others.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/find.h"

namespace assay::gpu {

template <class T>
ASSAY_BOTH bool stands_before(T a, T b) {
  return a < b || (is_nan(b) && !is_nan(a));
}

template <class T>
struct ArgKernel {
  static constexpr const char* kName = "arg_extremum";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<std::int64_t> y;
  Lines lines;
  bool greatest = true, last = false;

  // Returns true if position a wins over b, both of one line.
  [[nodiscard]] ASSAY_BOTH bool wins(std::size_t first, std::uint32_t a, std::uint32_t b) const {
    const T p = x[first + a * lines.stride], q = x[first + b * lines.stride];
    if (greatest ? stands_before(q, p) : stands_before(p, q)) return true;
    if (greatest ? stands_before(p, q) : stands_before(q, p)) return false;
    return last ? a > b : a < b;
  }

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = lines.start(t.block());
    std::uint32_t best = t.index() < lines.extent ? t.index() : 0;
    for (std::size_t i = best; i < lines.extent; i += t.count()) {
      const auto at = static_cast<std::uint32_t>(i);
      if (wins(first, at, best)) best = at;
    }
    t.put(t.index(), float_of(best));
    for (unsigned half = t.count() / 2; half > 0; half /= 2) {
      t.barrier();
      if (t.index() >= half) continue;
      const std::uint32_t other = bits_of(t.get(t.index() + half));
      if (wins(first, other, best)) best = other;
      t.put(t.index(), float_of(best));
    }
    if (t.index() == 0) y[t.block()] = best;
  }
};

template <class T>
struct SortKernel {
  static constexpr const char* kName = "sort";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> values;  // one of these two is empty
  View<std::int64_t> positions;
  Lines lines;
  std::size_t wanted = 0;
  bool falling = true;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, x.size)) {
      const std::size_t line = i / lines.extent, k = i % lines.extent, first = lines.start(line);
      const T own = x[first + k * lines.stride];
      std::size_t rank = 0;
      for (std::size_t j = 0; j < lines.extent; ++j) {
        const T other = x[first + j * lines.stride];
        const bool before = falling ? stands_before(own, other) : stands_before(other, own);
        const bool behind = falling ? stands_before(other, own) : stands_before(own, other);
        rank += before || (!behind && j < k) ? 1 : 0;
      }
      if (rank >= wanted) continue;
      const std::size_t to = line / lines.stride * (wanted * lines.stride) + line % lines.stride + rank * lines.stride;
      if (positions.size > 0) {
        positions[to] = static_cast<std::int64_t>(k);
      } else {
        values[to] = own;
      }
    }
  }
};

template <class T, class I>
struct TakeKernel {
  static constexpr const char* kName = "take";
  static constexpr unsigned kThreads = 128;

  View<const I> index;
  View<const T> x;
  View<T> y;
  std::size_t wanted = 1, extent = 1, stride = 1;  // elements along the axis of the result and of x

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const auto at = static_cast<std::int64_t>(index[i]);
      const auto position = static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(extent) : at);
      y[i] = x[i / (wanted * stride) * (extent * stride) + position * stride + i % stride];
    }
  }
};

template <class Queue>
Outcome<Done> run_position(Queue& queue, const Call& call) {
  return with_elements(call.op, call.dtype(), [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const auto& attributes = call.get<ArgAttributes>();
    if (call.result.size == 0) return Done{};
    ArgKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    kernel.y = call.result.template as<std::int64_t>();
    kernel.lines = lines_of(call.shape_of(), attributes.axis);
    if (kernel.lines.extent >= std::size_t{1} << 31) return refused(call.op, "2^31 elements along the axis");
    kernel.greatest = call.op == Op::arg_max;
    kernel.last = attributes.last;
    return queue.launch({kernel.kName, kernel.lines.count, kernel.kThreads, kernel.kThreads}, kernel);
  });
}

template <class Queue>
Outcome<Done> run_sort(Queue& queue, const Call& call) {
  return with_elements(call.op, call.dtype(), [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const auto& attributes = call.get<SortAttributes>();
    if (call.result.size == 0) return Done{};
    SortKernel<T> kernel{};
    kernel.x = call.operands[0].data.template as<T>();
    if (call.op == Op::arg_sort) kernel.positions = call.result.template as<std::int64_t>();
    if (call.op == Op::sort) kernel.values = call.result.template as<T>();
    kernel.lines = lines_of(call.shape_of(), attributes.axis);
    kernel.wanted = static_cast<std::size_t>(attributes.count);
    kernel.falling = attributes.descending;
    return queue.launch({kernel.kName, blocks_for(kernel.x.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

template <class T, class I, class Queue>
Outcome<Done> take_by(Queue& queue, const Call& call) {
  const Lines to = lines_of(call.shape, call.get<ConcatAttributes>().axis),
              from = lines_of(call.shape_of(1), call.get<ConcatAttributes>().axis);
  const auto extent = static_cast<std::int64_t>(from.extent);
  TakeKernel<T, I> kernel{};
  kernel.index = call.operands[0].data.template as<I>();
  if (auto fits = check_numbers(queue, call.op, "index", kernel.index, {-extent, extent - 1, false}); !fits) return fits;
  kernel.x = call.operands[1].data.template as<T>();
  kernel.y = call.result.template as<T>();
  kernel.wanted = to.extent;
  kernel.extent = from.extent;
  kernel.stride = from.stride;
  return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
}

template <class Queue>
Outcome<Done> run_take(Queue& queue, const Call& call) {
  if (call.dtype() != DType::int64 && call.dtype() != DType::int32) return refused(call.op, call.dtype());
  if (call.result.size == 0) return Done{};
  return with_width(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    if (call.dtype() == DType::int64) return take_by<T, std::int64_t>(queue, call);
    return take_by<T, std::int32_t>(queue, call);
  });
}

}  // namespace assay::gpu
