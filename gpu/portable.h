// The words that kernels are written in: nvcc compiles the same source for a device, and any C++20 compiler for the emulation.
//
// A kernel is a struct of plain numbers and views with a template operator()(Thread&), and the constant kName. Thread is
// emulation::Thread or CudaThread (gpu/cuda_driver.cuh): index(), count(), block(), blocks(), barrier(), shuffle_xor(), get(),
// put().
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

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

inline constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
template <class T>
inline constexpr T kLeast = std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T kMost = std::numeric_limits<T>::max();

// Of integers, too, which are never NaN.
template <class T>
ASSAY_BOTH inline bool is_nan(T x) {
  return x != x;
}
template <class T>
ASSAY_BOTH inline T greater_or_nan(T a, T b) {
  return (a > b || is_nan(a)) ? a : b;
}
template <class T>
ASSAY_BOTH inline T less_or_nan(T a, T b) {
  return (a < b || is_nan(a)) ? a : b;
}

template <class T>
ASSAY_BOTH inline bool is_negative(T x) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return x < 0;
  }
}

// Sums and products; of integers cut off to their type, as machines do.
template <class T>
ASSAY_BOTH inline T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
ASSAY_BOTH inline T multiplied(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

// Shared memory consists of floats: these hand other words through it. A float that is only moved keeps its bits.
ASSAY_BOTH inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}
ASSAY_BOTH inline std::uint32_t bits_of(float word) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(word);
#else
  return std::bit_cast<std::uint32_t>(word);
#endif
}

// A double as two of them.
struct Words {
  float high, low;
};
ASSAY_BOTH inline Words words_of(double x) {
#if defined(__CUDA_ARCH__)
  return {__int_as_float(__double2hiint(x)), __int_as_float(__double2loint(x))};
#else
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return {float_of(static_cast<std::uint32_t>(bits >> 32U)), float_of(static_cast<std::uint32_t>(bits))};
#endif
}
ASSAY_BOTH inline double double_of(Words words) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double(__float_as_int(words.high), __float_as_int(words.low));
#else
  return std::bit_cast<double>(std::uint64_t{bits_of(words.high)} << 32U | bits_of(words.low));
#endif
}

// Sums and products that are rounded each by itself, where nvcc would fuse them. Elsewhere the build says that nothing is fused.
ASSAY_BOTH inline double plus_rounded(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
ASSAY_BOTH inline double times_rounded(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
ASSAY_BOTH inline float plus_rounded(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
ASSAY_BOTH inline float times_rounded(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// The numbers below `count` that are this thread's when all threads of all blocks share them: for (const std::size_t i : grid_of(t, n)).
struct GridShare {
  struct Place {
    std::size_t at, step;
    ASSAY_BOTH std::size_t operator*() const { return at; }
    ASSAY_BOTH Place& operator++() {
      at += step;
      return *this;
    }
    ASSAY_BOTH bool operator!=(std::size_t end) const { return at < end; }
  };
  std::size_t first, step, count;
  [[nodiscard]] ASSAY_BOTH Place begin() const { return {first, step}; }
  [[nodiscard]] ASSAY_BOTH std::size_t end() const { return count; }
};
template <class Thread>
ASSAY_BOTH GridShare grid_of(const Thread& t, std::size_t count) {
  return {t.block() * t.count() + t.index(), t.blocks() * t.count(), count};
}

// The number of blocks of `threads` that cover `count` elements; enough for a loop over the grid beyond `most`.
inline std::size_t blocks_for(std::size_t count, unsigned threads, std::size_t most = 65536) {
  const std::size_t blocks = (count + threads - 1) / threads;
  return blocks < most ? blocks : most;
}

}  // namespace assay::gpu
