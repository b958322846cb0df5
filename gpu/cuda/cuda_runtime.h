// CUDA's words for a compiler that has none: a file of kernels includes this as <cuda_runtime.h> when it is compiled for the
// emulation.
//
// Ordinary source compiles unchanged: __global__, __shared__ (static and dynamic), threadIdx, __syncthreads, shuffles, votes,
// atomic operations, vector types, functions of the mathematical library, and the part of the host's interface that launchers
// use. No C++ compiler reads launches, kernel<<<...>>>(...), and extern __shared__ arrays: tools/cmake/emulate_cuda.cmake
// rewrites them first.
#pragma once
#define ASSAY_CUDA_EMULATION 1

#include <math.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gpu/cuda_emulation.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__ thread_local
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};
extern const uint3 threadIdx __asm__("assay_cuda_thread_index");
extern const uint3 blockIdx __asm__("assay_cuda_block_index");
extern const dim3 blockDim __asm__("assay_cuda_block_extent");
extern const dim3 gridDim __asm__("assay_cuda_grid_extent");
inline constexpr int warpSize = 32;

struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct CUevent_st;
using cudaEvent_t = CUevent_st*;
enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorLaunchFailure = 719
};
using cudaError_t = cudaError;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;

// The host's interface, as far as launchers use it.
inline cudaError_t cudaGetLastError() { return assay::gpu::cuda::has_fault() ? cudaErrorLaunchFailure : cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaGetLastError(); }
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaGetLastError(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaGetLastError(); }
inline const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "the emulation found a fault"; }
inline const char* cudaGetErrorName(cudaError_t error) { return error == cudaSuccess ? "cudaSuccess" : "cudaErrorLaunchFailure"; }
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  *memory = static_cast<T*>(assay::gpu::cuda::allocate(bytes));
  return cudaGetLastError();
}
template <class T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFree(void* memory) { return assay::gpu::cuda::release(memory) ? cudaGetLastError() : cudaErrorInvalidValue; }
inline cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return cudaFree(memory); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return assay::gpu::cuda::copy(to, from, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  return assay::gpu::cuda::fill(to, byte, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t = nullptr) { return cudaMemset(to, byte, bytes); }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static std::uintptr_t made = 0;
  *stream = std::bit_cast<cudaStream_t>(++made);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
template <class Function>
cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) assay::gpu::cuda::allow_shared(static_cast<std::size_t>(value));
  return cudaSuccess;
}

// The launch kernel<<<grid, block, shared, stream>>>(x, y) is rewritten as:
//   kernel % AssayConfiguration(grid, block, shared, stream) % AssayArguments(x, y)
struct AssayConfiguration {
  AssayConfiguration(dim3 grid_, dim3 block_, std::size_t shared_ = 0, cudaStream_t stream_ = nullptr)
      : grid(grid_), block(block_), shared(shared_), stream(stream_) {}
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
template <class... Parameters>
assay::gpu::cuda::Bound<Parameters...> operator%(void (*kernel)(Parameters...), const AssayConfiguration& how) {
  return {kernel,
          {how.grid.x, how.grid.y, how.grid.z},
          {how.block.x, how.block.y, how.block.z},
          how.shared,
          std::bit_cast<std::uintptr_t>(how.stream)};
}

template <class... Arguments>
struct AssayArgumentsOf {
  std::tuple<Arguments...> values;
};
template <class... Arguments>
AssayArgumentsOf<std::decay_t<Arguments>...> AssayArguments(Arguments&&... arguments) {
  return {std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)};
}
template <class... Parameters, class... Arguments>
void operator%(const assay::gpu::cuda::Bound<Parameters...>& bound, const AssayArgumentsOf<Arguments...>& arguments) {
  std::apply(bound, arguments.values);
}

// Barriers, fences, exchanges. The line is that of the call.
inline void __syncthreads(int line = __builtin_LINE()) { assay::gpu::cuda::barrier(0, line); }
inline int __syncthreads_count(int vote, int line = __builtin_LINE()) { return assay::gpu::cuda::barrier(vote, line); }
inline int __syncthreads_or(int vote, int line = __builtin_LINE()) { return assay::gpu::cuda::barrier(vote, line) > 0 ? 1 : 0; }
inline int __syncthreads_and(int vote, int line = __builtin_LINE()) {
  return assay::gpu::cuda::barrier(vote == 0 ? 1 : 0, line) == 0 ? 1 : 0;
}
inline void __threadfence() { assay::gpu::cuda::fence(); }
inline void __threadfence_block() {}
inline void __syncwarp(unsigned mask = 0xffffffffU, int line = __builtin_LINE()) { assay::gpu::cuda::exchange(mask, 0, 32, line); }
inline unsigned __ballot_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return assay::gpu::cuda::exchange(mask, vote != 0 ? 1 : 0, 32, line).ballot;
}
inline int __any_sync(unsigned mask, int vote, int line = __builtin_LINE()) { return __ballot_sync(mask, vote, line) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return __ballot_sync(mask, vote == 0 ? 1 : 0, line) == 0 ? 1 : 0;
}
inline unsigned __activemask() { return 1U << assay::gpu::cuda::lane(); }

template <class T>
T AssayHeard(unsigned mask, T value, unsigned source, int line) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = assay::gpu::cuda::exchange(mask, word, source, line).received;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  const unsigned own = assay::gpu::cuda::lane(), within = static_cast<unsigned>(width) - 1;
  return AssayHeard(mask, value, (own & ~within) | (static_cast<unsigned>(source) & within), line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE()) {
  const unsigned own = assay::gpu::cuda::lane(), first = own & ~(static_cast<unsigned>(width) - 1);
  return AssayHeard(mask, value, own < first + by ? own : own - by, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE()) {
  const unsigned own = assay::gpu::cuda::lane(), end = (own & ~(static_cast<unsigned>(width) - 1)) + static_cast<unsigned>(width);
  return AssayHeard(mask, value, own + by >= end ? own : own + by, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, int line = __builtin_LINE()) {
  const unsigned own = assay::gpu::cuda::lane(), end = (own & ~(static_cast<unsigned>(width) - 1)) + static_cast<unsigned>(width);
  const unsigned other = own ^ static_cast<unsigned>(by);
  return AssayHeard(mask, value, other >= end ? own : other, line);
}

// Atomic operations: one thread of the program runs all of them, so that to read and to write is one step.
template <class T>
__attribute__((noinline, no_sanitize("thread"))) T AssayUpdate(T* address, T operand, T (*change)(T, T), const void* pc) {
  assay::gpu::cuda::touch_atomically(address, sizeof(T), pc);
  const T before = *address;
  *address = change(before, operand);
  return before;
}
#define ASSAY_ATOMIC(name, T, after)                                                                                \
  __attribute__((noinline)) inline T name(T* address, T operand) {                                                  \
    return AssayUpdate<T>(                                                                                          \
        address, operand, []([[maybe_unused]] T before, T by) -> T { return after; }, __builtin_return_address(0)); \
  }
ASSAY_ATOMIC(atomicAdd, int, before + by)
ASSAY_ATOMIC(atomicAdd, unsigned, before + by)
ASSAY_ATOMIC(atomicAdd, unsigned long long, before + by)
ASSAY_ATOMIC(atomicAdd, float, before + by)
ASSAY_ATOMIC(atomicAdd, double, before + by)
ASSAY_ATOMIC(atomicSub, int, before - by)
ASSAY_ATOMIC(atomicSub, unsigned, before - by)
ASSAY_ATOMIC(atomicExch, int, by)
ASSAY_ATOMIC(atomicExch, unsigned, by)
ASSAY_ATOMIC(atomicExch, unsigned long long, by)
ASSAY_ATOMIC(atomicExch, float, by)
ASSAY_ATOMIC(atomicMin, int, by < before ? by : before)
ASSAY_ATOMIC(atomicMin, unsigned, by < before ? by : before)
ASSAY_ATOMIC(atomicMax, int, before < by ? by : before)
ASSAY_ATOMIC(atomicMax, unsigned, before < by ? by : before)
ASSAY_ATOMIC(atomicAnd, int, (before & by))
ASSAY_ATOMIC(atomicAnd, unsigned, (before & by))
ASSAY_ATOMIC(atomicOr, int, before | by)
ASSAY_ATOMIC(atomicOr, unsigned, before | by)
ASSAY_ATOMIC(atomicInc, unsigned, before >= by ? 0U : before + 1)
#undef ASSAY_ATOMIC
template <class T>
__attribute__((noinline, no_sanitize("thread"))) T atomicCAS(T* address, T expected, T value) {
  assay::gpu::cuda::touch_atomically(address, sizeof(T), __builtin_return_address(0));
  const T before = *address;
  if (std::memcmp(&before, &expected, sizeof(T)) == 0) *address = value;
  return before;
}

// Vectors.
struct alignas(8) float2 {
  float x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
struct float3 {
  float x, y, z;
};
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct alignas(16) double2 {
  double x, y;
};
inline double2 make_double2(double x, double y) { return {x, y}; }
struct alignas(8) int2 {
  int x, y;
};
inline int2 make_int2(int x, int y) { return {x, y}; }
struct int3 {
  int x, y, z;
};
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
struct alignas(16) int4 {
  int x, y, z, w;
};
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
struct alignas(8) uint2 {
  unsigned x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// Functions. Those with two underscores are as exact as the others here; the math table of a device has the errors of its fast
// ones.
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
  }
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
  }
}
inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
template <class T>
T __ldg(const T* address) {
  return *address;
}
