// What kernels are written in: the same source is compiled by nvcc for a device and by any C++20 compiler for the emulation.
//
// A kernel is a struct of plain numbers and views with a template operator()(Thread&), and the constant kName. Thread is
// emulation::Thread or CudaThread (gpu/cuda_queue.cuh): index(), count(), block(), blocks(), barrier(), shuffle_xor(), get(), put().
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gpu/emulation.h"

#if defined(__CUDACC__)
#define ASSAY_BOTH __host__ __device__  // the one macro: the language has no other word for it
#else
#define ASSAY_BOTH
#endif

namespace assay::gpu {

// Memory of the device and how much of it there is. Indices are checked except in device code.
template <class T>
struct View {
  T* data = nullptr;
  std::size_t size = 0;

  ASSAY_BOTH T& operator[](std::size_t i) const {
#if !defined(__CUDA_ARCH__)
    if (i >= size) emulation::fault("memory of the device", i, size);
#endif
    return data[i];
  }
};

inline constexpr std::size_t kMostAxes = 8;  // after neighbouring axes were merged

// An index in row-major order over `extents`, as the offset of the element in a tensor with these strides (0: repeated).
struct Strided {
  std::size_t axes = 0;
  std::size_t extents[kMostAxes] = {};
  std::size_t strides[kMostAxes] = {};

  ASSAY_BOTH std::size_t offset(std::size_t i) const {
    std::size_t sum = 0;
    for (std::size_t axis = axes; axis-- > 0;) {
      sum += i % extents[axis] * strides[axis];
      i /= extents[axis];
    }
    return sum;
  }
};

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

ASSAY_BOTH inline bool is_nan(float x) { return x != x; }
ASSAY_BOTH inline float greater_or_nan(float a, float b) { return (a > b || is_nan(a)) ? a : b; }
ASSAY_BOTH inline float less_or_nan(float a, float b) { return (a < b || is_nan(a)) ? a : b; }

// How many blocks of `threads` cover `count` elements; enough for a loop over the grid beyond `most`.
inline std::size_t blocks_for(std::size_t count, unsigned threads, std::size_t most = 65536) {
  const std::size_t blocks = (count + threads - 1) / threads;
  return blocks < most ? blocks : most;
}

}  // namespace assay::gpu
