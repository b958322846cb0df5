// Launches on a CUDA device: the other half of gpu/emulation.h.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/call.h"
#include "gpu/pool.h"

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

struct CudaSource {
  static void* take(std::size_t bytes) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
    (void)cudaGetLastError();  // out of memory is an answer, not a state
    return nullptr;
  }
  static void give(void* memory) { (void)cudaFree(memory); }
};

inline Outcome<Done> checked(cudaError_t error, const std::string& place) {
  if (error == cudaSuccess) return Done{};
  return Rejection{Rejection::Kind::rejected, "gpu.launch", place, "cudaSuccess", cudaGetErrorString(error), "see gpu/README.md"};
}

// Launches in the default stream; tables live until the queue is gone.
class CudaQueue {
 public:
  explicit CudaQueue(std::shared_ptr<Pool<CudaSource>> pool) : pool_(std::move(pool)) {}

  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    run_kernel<<<static_cast<unsigned>(launch.blocks), launch.threads, launch.shared * sizeof(float)>>>(kernel);
    return checked(cudaGetLastError(), std::string("kernel ") + launch.kernel + ", " + std::to_string(launch.blocks) + " blocks of " +
                                           std::to_string(launch.threads) + " threads");
  }
  template <class T>
  [[nodiscard]] Outcome<View<T>> scratch(std::size_t count) {
    std::shared_ptr<void> memory = pool_->take(count * sizeof(T));
    if (memory == nullptr) {
      return Rejection{Rejection::Kind::declined,
                       "gpu.memory",
                       "a table of constants",
                       std::to_string(count * sizeof(T)) + " bytes of device memory",
                       "less",
                       "use smaller tensors"};
    }
    tables_.push_back(memory);
    return View<T>{static_cast<T*>(memory.get()), count};
  }
  template <class T>
  [[nodiscard]] Outcome<View<const T>> upload(std::span<const T> table) {
    const auto memory = scratch<T>(table.size());
    if (!memory) return memory.rejection();
    T* const to = memory.value().data;
    if (auto done = checked(cudaMemcpy(to, table.data(), table.size_bytes(), cudaMemcpyHostToDevice), "copy of a table"); !done) {
      return done.rejection();
    }
    return View<const T>{to, table.size()};
  }
  // Waits for the kernels before it.
  template <class T>
  [[nodiscard]] Outcome<std::vector<T>> download(View<const T> view) {
    std::vector<T> copy(view.size);
    if (auto done = checked(cudaMemcpy(copy.data(), view.data, view.size * sizeof(T), cudaMemcpyDeviceToHost), "copy of a result"); !done) {
      return done.rejection();
    }
    return copy;
  }

 private:
  std::shared_ptr<Pool<CudaSource>> pool_;
  std::vector<std::shared_ptr<void>> tables_;
};

}  // namespace assay::gpu
