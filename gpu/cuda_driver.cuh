// The driver of a CUDA device: the other half of gpu/emulation.h and gpu/emulated.h. One stream, memory from the pool that the device
// orders by its streams, pinned memory of the host for copies.
#pragma once

#include <cuda_runtime.h>
#if defined(ASSAY_CUBLAS)
#include <cublas_v2.h>
#endif

#include <cstdint>
#include <limits>
#include <string>

#include "gpu/stream.h"

namespace assay::gpu {

extern __shared__ float shared_words[];

// The interface of a kernel to its thread.
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

#if defined(ASSAY_CUBLAS)
// cuBLAS in a stream. Its compute types may round factors, which changes nothing, since the factors are rounded before. If cuBLAS
// cannot be opened, there is no library.
class CudaLibrary {
 public:
  explicit CudaLibrary(cudaStream_t stream) {
    if (cublasCreate(&handle_) != CUBLAS_STATUS_SUCCESS) {
      handle_ = nullptr;
    } else if (cudaMalloc(&workspace_, kWorkspace) != cudaSuccess || !use(stream)) {
      (void)cudaGetLastError();
      close();
    }
  }
  void close() {
    if (handle_ != nullptr) (void)cublasDestroy(handle_);
    if (workspace_ != nullptr) (void)cudaFree(workspace_);
    handle_ = nullptr;
    workspace_ = nullptr;
  }
  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  // Memory for it is ours: none is asked for while launches are recorded, and products are the same in both streams.
  [[nodiscard]] bool use(cudaStream_t stream) {
    return cublasSetStream(handle_, stream) == CUBLAS_STATUS_SUCCESS &&
           cublasSetWorkspace(handle_, workspace_, kWorkspace) == CUBLAS_STATUS_SUCCESS;
  }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct& p) {
    const float beta = 0;
    const auto turned = [](const LibraryFactor& factor) { return factor.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto whole = [](std::int64_t n) { return static_cast<int>(n); };
    const cublasStatus_t status = cublasGemmStridedBatchedEx(
        handle_, turned(p.left), turned(p.right), whole(p.rows), whole(p.columns), whole(p.depth), &p.alpha, p.left.data, CUDA_R_32F,
        whole(p.left.leading), p.left.distance, p.right.data, CUDA_R_32F, whole(p.right.leading), p.right.distance, &beta, p.y, CUDA_R_32F,
        whole(p.rows), p.rows * p.columns, whole(p.batches), compute_type(p.factors), CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS) return Done{};
    return Rejection{Rejection::Kind::rejected,     "gpu.launch",       "cuBLAS", "CUBLAS_STATUS_SUCCESS",
                     cublasGetStatusString(status), "see gpu/README.md"};
  }

 private:
  static cublasComputeType_t compute_type(Factors factors) {
    switch (factors) {
      case Factors::none:
        return CUBLAS_COMPUTE_32F_PEDANTIC;
      case Factors::tf32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
      case Factors::bfloat16:
        return CUBLAS_COMPUTE_32F_FAST_16BF;
      case Factors::binary16:
        return CUBLAS_COMPUTE_32F_FAST_16F;
    }
    return CUBLAS_COMPUTE_32F_PEDANTIC;
  }

  static constexpr std::size_t kWorkspace = std::size_t{32} << 20U;  // bytes: what it takes on Hopper by itself

  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
};
#else
class CudaLibrary {
 public:
  explicit CudaLibrary(cudaStream_t) {}
  void close() {}
  [[nodiscard]] bool is_open() const { return false; }
  [[nodiscard]] bool use(cudaStream_t) { return true; }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct&) { return Done{}; }
};
#endif

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

  struct Recording {
    cudaGraphExec_t launches = nullptr;
  };

  CudaDriver(int device, cudaStream_t stream) : device_(device), stream_(stream), launches_in_(stream), library_(stream) {}
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() {
    library_.close();
    if (recorder_ != nullptr) (void)cudaStreamDestroy(recorder_);
    (void)cudaStreamDestroy(stream_);
  }
  [[nodiscard]] bool has_library() const { return library_.is_open(); }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct& product) { return library_.product(product); }

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
  [[nodiscard]] Outcome<Done> copy(void* to, const void* from, std::size_t bytes) {
    return checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy on the device");
  }

  // Launches go to a stream of their own, which records them and runs nothing; memory and copies stay in the other one. The
  // recording becomes a graph, which runs in the other stream.
  [[nodiscard]] Outcome<Done> record() {
    if (recorder_ == nullptr) {
      if (auto done = checked(cudaStreamCreateWithFlags(&recorder_, cudaStreamNonBlocking), "a stream that records"); !done) return done;
    }
    if (auto done = checked(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeRelaxed), "beginning of a recording"); !done)
      return done;
    launches_in_ = recorder_;
    if (!library_.is_open() || library_.use(recorder_)) return Done{};
    (void)recorded();
    return Rejection{Rejection::Kind::rejected,           "gpu.launch", "recording",
                     "cuBLAS in the stream that records", "none",       "see gpu/README.md"};
  }
  [[nodiscard]] Outcome<Recording> recorded() {
    launches_in_ = stream_;
    const bool is_back = !library_.is_open() || library_.use(stream_);
    cudaGraph_t graph{};
    Recording recording;
    cudaError_t error = cudaStreamEndCapture(recorder_, &graph);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&recording.launches, graph, 0);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();  // launches continue one by one
    if (!is_back) library_.close();
    if (auto done = checked(error, "recording"); !done) return done.rejection();
    return recording;
  }
  [[nodiscard]] Outcome<Done> run(const Recording& recording) {
    return checked(cudaGraphLaunch(recording.launches, stream_), "launch of a graph");
  }
  // One that runs is let go when it is done.
  void forget(Recording& recording) {
    if (recording.launches != nullptr) (void)cudaGraphExecDestroy(recording.launches);
    recording.launches = nullptr;
  }

  // Reports an earlier fault of a kernel, too.
  [[nodiscard]] Outcome<Done> wait() { return checked(cudaStreamSynchronize(stream_), "kernels before a copy"); }
  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    run_kernel<<<static_cast<unsigned>(launch.blocks), launch.threads, launch.shared * sizeof(float), launches_in_>>>(kernel);
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return Done{};
    return checked(error, std::string("kernel ") + launch.kernel + ", " + std::to_string(launch.blocks) + " blocks of " +
                              std::to_string(launch.threads) + " threads");
  }

 private:
  int device_;
  cudaStream_t stream_, launches_in_;
  cudaStream_t recorder_ = nullptr;
  CudaLibrary library_;
};

}  // namespace assay::gpu
