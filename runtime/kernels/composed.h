// Several ops in one kernel, for compiled programs: the bits are those of the ops one after the other. Private to the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/array.h"

namespace assay::runtime {

// Windows of x [planes, size]: `taps` places each, where `size` is the place of a number outside of x.
struct Windows {
  std::span<const std::int64_t> places;  // per window and tap
  std::size_t taps = 1;
  double outside = 0;
};
// Each window hands its g [planes, windows] to its greatest elements, equal shares to several: gather, max_weight, mul, and sums at the
// places, in their order. Result [planes, size].
void hand_to_greatest(const Windows& windows, const Array& x, const Array& g, Array& result);

}  // namespace assay::runtime
