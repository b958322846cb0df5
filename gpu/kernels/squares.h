// The sum of the squares of many floats, in double.
//
// Meaning.   The sum over all elements of all arrays of x^2.
// Layout.    Each block adds up a share of the elements and writes one double, which the host adds up, block by block, array by array. The
//            threads of a block meet in a tree; a double is two words of shared memory.
// Order.     Each thread from first to last, then the tree: the same bits on any device for the same numbers of blocks and threads, which
//            follow from the number of elements.
// Error.     Squares of floats are exact in double; the rounding of the sum of n of them is at most (n - 1) 2^-53 of it.
// NaN, inf.  As the formula.
#pragma once

#include <span>
#include <vector>

#include "gpu/call.h"

namespace assay::gpu {

struct SquaresKernel {
  static constexpr const char* kName = "squares";
  static constexpr unsigned kThreads = 128;
  static constexpr std::size_t kShared = 2 * kThreads, kMostBlocks = 256;

  View<const float> x;
  View<double> sums;  // one per block

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    double sum = 0;
    for (const std::size_t i : grid_of(t, x.size)) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      if (t.index() >= half && t.index() < 2 * half) put(t, sum);
      t.barrier();
      if (t.index() < half) sum += get(t, t.index() + half);
    }
    if (t.index() == 0) sums[t.block()] = sum;
  }

 private:
  template <class Thread>
  ASSAY_BOTH static void put(Thread& t, double sum) {
    const Words words = words_of(sum);
    t.put(std::size_t{2} * t.index(), words.high);
    t.put(std::size_t{2} * t.index() + 1, words.low);
  }
  template <class Thread>
  ASSAY_BOTH static double get(Thread& t, unsigned of) {
    const float high = t.get(std::size_t{2} * of), low = t.get(std::size_t{2} * of + 1);
    return double_of({high, low});
  }
};

template <class Queue>
Outcome<double> run_squares(Queue& queue, std::span<const View<const float>> arrays) {
  std::size_t blocks = 0;
  const auto blocks_of = [](const View<const float>& x) { return blocks_for(x.size, SquaresKernel::kThreads, SquaresKernel::kMostBlocks); };
  for (const auto& x : arrays) blocks += blocks_of(x);
  if (blocks == 0) return 0.0;
  const auto sums = queue.template scratch<double>(blocks);
  if (!sums) return sums.rejection();
  std::size_t first = 0;
  for (const auto& x : arrays) {
    const std::size_t count = blocks_of(x);
    if (count == 0) continue;
    const SquaresKernel kernel{x, {sums.value().data + first, count}};
    if (auto done = queue.launch({SquaresKernel::kName, count, SquaresKernel::kThreads, SquaresKernel::kShared}, kernel); !done)
      return done.rejection();
    first += count;
  }
  const auto parts = queue.download(View<const double>{sums.value().data, blocks});
  if (!parts) return parts.rejection();
  double sum = 0;
  for (const double part : parts.value()) sum += part;
  return sum;
}

}  // namespace assay::gpu
