// The loops around an element function, per instruction set. Included once per set by way of hwy/foreach_target.h.
#if defined(ASSAY_RUNTIME_LANE_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_RUNTIME_LANE_LOOPS
#undef ASSAY_RUNTIME_LANE_LOOPS
#else
#define ASSAY_RUNTIME_LANE_LOOPS
#endif

#include <cstddef>

#include <hwy/highway.h>
#include "runtime/kernels/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {

template <class T>
struct Parameters {
  T a, b;
};

// y[i] = F(x[i], parameters)
template <auto F, class T>
void unary_loop(const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
  const Parameters<T> p{static_cast<T>(numbers.a), static_cast<T>(numbers.b)};
  const T* const x = static_cast<const T*>(sources[0].data);
  T* const y = static_cast<T*>(result);
  if (sources[0].single) {
    const T value = F(x[0], p);
    for (std::size_t i = 0; i < count; ++i) y[i] = value;
    return;
  }
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = F(x[i], p);
}

// y[i] = F(a[i], b[i], parameters)
template <auto F, class T>
void binary_loop(const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
  const Parameters<T> p{static_cast<T>(numbers.a), static_cast<T>(numbers.b)};
  const T *const a = static_cast<const T*>(sources[0].data), *const b = static_cast<const T*>(sources[1].data);
  T* const y = static_cast<T*>(result);
  if (sources[0].single) {
    const T left = a[0];
    if (sources[1].single) {
      const T value = F(left, b[0], p);
      for (std::size_t i = 0; i < count; ++i) y[i] = value;
      return;
    }
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = F(left, b[i], p);
  } else if (sources[1].single) {
    const T right = b[0];
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = F(a[i], right, p);
  } else {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = F(a[i], b[i], p);
  }
}

template <auto F>
LaneKernel unary_of(DType dtype) {
  return dtype == DType::float32 ? &unary_loop<F, float> : &unary_loop<F, double>;
}
template <auto F>
LaneKernel binary_of(DType dtype) {
  return dtype == DType::float32 ? &binary_loop<F, float> : &binary_loop<F, double>;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#endif
