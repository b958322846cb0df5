// Eight doubles at a time in portable vector types, so that one source serves several instruction sets. Private
// to kernel/.
//
// Products and sums of lanes are elementwise IEEE operations without contraction. They are the same on every
// instruction set, so a function marked ASSAY_TARGETS yields the same bits everywhere. Lanes cross no boundary of a
// function that is not inlined, so no calling convention matters. With ThreadSanitizer there is one instruction set: the
// loader would run instrumented code before the sanitizer has begun.
#pragma once

#include <cstddef>

#ifdef __FAST_MATH__
#error "the kernel needs IEEE arithmetic as written: build without -ffast-math"
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define ASSAY_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ASSAY_TARGETS
#endif
#define ASSAY_INLINE __attribute__((always_inline))
// Stands before a loop over registers: at -O2 the compiler keeps its array in registers only if it unrolls the loop.
#define ASSAY_UNROLL _Pragma("GCC unroll 8")

namespace assay::rows {

constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(64)));
using Mask = long long __attribute__((vector_size(64)));  // -1 where true

// Eight doubles from any address; it need not be a multiple of 64.
#ifdef __clang__
// clang assumes that a reference to a vector type is aligned, whatever the type says. Here the bytes are
// copied instead.
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
// Sets the mask true in lanes `first` and up.
ASSAY_INLINE inline void from_lane(std::size_t first, Mask& mask) { mask = Mask{0, 1, 2, 3, 4, 5, 6, 7} >= static_cast<long long>(first); }

}  // namespace assay::rows
