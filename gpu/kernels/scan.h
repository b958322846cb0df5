// cumsum and cumprod.
//
// Meaning.   Per line along an axis the sum or product of the elements up to each one; exclusive: of those before it; reverse: from the
//            other end (docs/ops).
// Layout.    Floats: one block per line, T elements at a time through shared memory, two halves of T words that are read and written in
//            turn (Hillis and Steele 1986). Integers: one thread per line.
// Order.     Element i of a chunk joins those at distances 1, 2, 4, ...; then the chunks before it. T depends on the extent alone:
//            bit-reproducible.
// Error.     That of sums and of products in any order. Integers wrap around.
// NaN, inf.  A NaN reaches the elements from its place on.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

template <class T>
ASSAY_BOTH T joined(bool product, T a, T b) {
  return product ? multiplied(a, b) : added(a, b);
}

struct ScanKernel {
  static constexpr const char* kName = "scan";

  View<const float> x;
  View<float> y;
  Lines lines;
  bool product = false, exclusive = false, reverse = false;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t first = lines.start(t.block());
    const float neutral = product ? 1.0F : 0.0F;
    float before = neutral;  // of all earlier chunks
    for (std::size_t chunk = 0; chunk < lines.extent; chunk += t.count()) {
      const std::size_t k = chunk + t.index(), at = first + (reverse ? lines.extent - 1 - k : k) * lines.stride;
      std::size_t from = 0, to = t.count();
      t.put(from + t.index(), k < lines.extent ? x[at] : neutral);
      for (unsigned distance = 1; distance < t.count(); distance *= 2) {
        t.barrier();
        const float own = t.get(from + t.index());
        t.put(to + t.index(), t.index() < distance ? own : joined(product, t.get(from + t.index() - distance), own));
        const std::size_t swapped = from;
        from = to;
        to = swapped;
      }
      t.barrier();
      if (k < lines.extent) {
        const bool none = exclusive && t.index() == 0;
        y[at] = none ? before : joined(product, before, t.get(from + t.index() - (exclusive ? 1 : 0)));
      }
      before = joined(product, before, t.get(from + t.count() - 1));
      t.barrier();
    }
  }
};

template <class T>
struct IntegerScanKernel {
  static constexpr const char* kName = "integer_scan";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  Lines lines;
  bool product = false, exclusive = false, reverse = false;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t line : grid_of(t, lines.count)) {
      T running = product ? 1 : 0;
      for (std::size_t k = 0; k < lines.extent; ++k) {
        const std::size_t at = lines.start(line) + (reverse ? lines.extent - 1 - k : k) * lines.stride;
        if (exclusive) y[at] = running;
        running = joined(product, running, x[at]);
        if (!exclusive) y[at] = running;
      }
    }
  }
};

template <class Queue>
Outcome<Done> run_scan(Queue& queue, const Call& call) {
  return with_elements(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    using Kernel = std::conditional_t<std::is_same_v<T, float>, ScanKernel, IntegerScanKernel<T>>;
    const auto& attributes = call.get<CumulativeAttributes>();
    if (call.result.size == 0) return Done{};
    const Lines lines = lines_of(call.shape, attributes.axis);
    const Kernel kernel{call.operands[0].data.template as<T>(),
                        call.result.template as<T>(),
                        lines,
                        call.op == Op::cumprod,
                        attributes.exclusive,
                        attributes.reverse};
    if constexpr (std::is_same_v<T, float>) {
      const unsigned threads = threads_for(lines.extent);
      return queue.launch({Kernel::kName, lines.count, threads, 2 * std::size_t{threads}}, kernel);
    } else {
      return queue.launch({Kernel::kName, blocks_for(lines.count, Kernel::kThreads), Kernel::kThreads, 0}, kernel);
    }
  });
}

}  // namespace assay::gpu
