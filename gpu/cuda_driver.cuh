// The driver of a CUDA device: the other half of gpu/emulation.h and gpu/emulated.h. One stream, memory from the pool that the device
// orders by its streams, pinned memory of the host for copies.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <string>

#include "gpu/stream.h"

namespace assay::gpu {

extern __shared__ float shared_words[];

// What a kernel sees of its thread.
class CudaThread {
 public:
  __device__ unsigned index() const { return threadIdx.x; }
  __device__ unsigned count() const { return blockDim.x; }
  __device__ std::size_t block() const { return blockIdx.x; }
  __device__ std::size_t blocks() const { return gridDim.x; }
  __device__ void barrier() { __syncthreads(); }
  __device__ float shuffle_xor(float value, unsigned mask) { return __shfl_xor_sync(0xffffffffU, value, static_cast<int>(mask)); }
  __device__ float get(std::size_t word) const { return shared_words[word]; }
  __device__ void put(std::size_t word, float value) { shared_words[word] = value; }
};

template <class Kernel>
__global__ void run_kernel(const Kernel kernel) {
  CudaThread thread;
  kernel(thread);
}

inline Outcome<Done> checked(cudaError_t error, const std::string& place) {
  if (error == cudaSuccess) return Done{};
  return Rejection{Rejection::Kind::rejected, "gpu.launch", place, "cudaSuccess", cudaGetErrorString(error), "see gpu/README.md"};
}

class CudaDriver {
 public:
  struct Pinned {
    static void* take(std::size_t bytes) {
      void* memory = nullptr;
      if (cudaMallocHost(&memory, bytes) == cudaSuccess) return memory;
      (void)cudaGetLastError();  // out of memory is an answer, not a state
      return nullptr;
    }
    static void give(void* memory) { (void)cudaFreeHost(memory); }
  };

  CudaDriver(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() { (void)cudaStreamDestroy(stream_); }

  // Where the pool has no more: what it keeps goes back to the device first.
  [[nodiscard]] void* take(std::size_t bytes) {
    const std::size_t size = bytes == 0 ? 1 : bytes;
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, size, stream_) == cudaSuccess) return memory;
    (void)cudaGetLastError();
    cudaMemPool_t pool{};
    if (cudaStreamSynchronize(stream_) == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, device_) == cudaSuccess &&
        cudaMemPoolTrimTo(pool, 0) == cudaSuccess && cudaMallocAsync(&memory, size, stream_) == cudaSuccess) {
      return memory;
    }
    (void)cudaGetLastError();
    return nullptr;
  }
  void give(void* memory, std::size_t) { (void)cudaFreeAsync(memory, stream_); }
  [[nodiscard]] Outcome<Done> copy_in(void* to, const void* from, std::size_t bytes) {
    return checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
  }
  [[nodiscard]] Outcome<Done> copy_out(void* to, const void* from, std::size_t bytes) {
    return checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the device");
  }
  // What went wrong in a kernel before is said here.
  [[nodiscard]] Outcome<Done> wait() { return checked(cudaStreamSynchronize(stream_), "kernels before a copy"); }
  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    run_kernel<<<static_cast<unsigned>(launch.blocks), launch.threads, launch.shared * sizeof(float), stream_>>>(kernel);
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return Done{};
    return checked(error, std::string("kernel ") + launch.kernel + ", " + std::to_string(launch.blocks) + " blocks of " +
                              std::to_string(launch.threads) + " threads");
  }

 private:
  int device_;
  cudaStream_t stream_;
};

}  // namespace assay::gpu
