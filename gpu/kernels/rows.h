// Kernels that give one block to each row or group share this code: sums and maxima over the threads of a block.
//
// Order.   Each warp by a butterfly of shuffles (all its threads get the same bits), then the warps' results through shared memory from
//          first to last. Words 0 .. threads / 32 - 1 of shared memory are used; the caller may use them again after its next barrier.
#pragma once

#include "gpu/portable.h"

namespace assay::gpu {

struct Plus {
  ASSAY_BOTH static float of(float a, float b) { return a + b; }
};
struct Times {
  ASSAY_BOTH static float of(float a, float b) { return a * b; }
};
struct Greatest {
  ASSAY_BOTH static float of(float a, float b) { return greater_or_nan(a, b); }
};
struct Least {
  ASSAY_BOTH static float of(float a, float b) { return less_or_nan(a, b); }
};

template <class Join, class Thread>
ASSAY_BOTH float over_block(Thread& t, float value) {
  for (unsigned mask = kWarp / 2; mask > 0; mask /= 2) value = Join::of(value, t.shuffle_xor(value, mask));
  t.barrier();  // the words may hold an earlier result that is still read
  if (t.index() % kWarp == 0) t.put(t.index() / kWarp, value);
  t.barrier();
  value = t.get(0);
  for (unsigned warp = 1; warp < t.count() / kWarp; ++warp) value = Join::of(value, t.get(warp));
  return value;
}

}  // namespace assay::gpu
