// Eight doubles at a time, in portable vector types, and one source for several instruction sets. Private to kernel/.
//
// Products and sums of lanes are elementwise IEEE operations, the same on every instruction set (no contraction), so a function
// marked ASSAY_TARGETS yields the same bits everywhere. Lanes never cross a function boundary that is not inlined, so no
// calling convention is involved.
#pragma once

#include <cstddef>

#ifdef __FAST_MATH__
#error "the kernel needs IEEE arithmetic as written: build without -ffast-math"
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ASSAY_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ASSAY_TARGETS
#endif
#define ASSAY_INLINE __attribute__((always_inline))
#define ASSAY_UNROLL _Pragma("GCC unroll 8")  // before a loop over registers: its array has to become registers at -O2 as well

namespace assay::rows {

constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(64)));
using Mask = long long __attribute__((vector_size(64)));  // -1 where true

// The eight doubles from an address on, which need not be a multiple of 64.
#ifdef __clang__
// For clang a reference to such a vector promises that the address is one, whatever its type says: here the bytes are copied.
ASSAY_INLINE inline Lanes lanes(const double* address) {
  Lanes value;
  __builtin_memcpy(&value, address, sizeof value);
  return value;
}
struct LanesAnywhere {
  double* address;
  ASSAY_INLINE operator Lanes() const { return lanes(static_cast<const double*>(address)); }
  ASSAY_INLINE void operator=(const Lanes& value) const { __builtin_memcpy(address, &value, sizeof value); }
};
ASSAY_INLINE inline LanesAnywhere lanes(double* address) { return {address}; }
#else
using LanesAnywhere = double __attribute__((vector_size(64), aligned(8), may_alias));
ASSAY_INLINE inline LanesAnywhere& lanes(double* address) { return *reinterpret_cast<LanesAnywhere*>(address); }
ASSAY_INLINE inline const LanesAnywhere& lanes(const double* address) { return *reinterpret_cast<const LanesAnywhere*>(address); }
#endif
// True from lane `first` on.
ASSAY_INLINE inline void from_lane(std::size_t first, Mask& mask) { mask = Mask{0, 1, 2, 3, 4, 5, 6, 7} >= static_cast<long long>(first); }

}  // namespace assay::rows
