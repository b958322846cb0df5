// Common mistakes in CUDA, each beside a twin that is right. `wrong` is a constant of the compiler, so that kernels differ in one
// place.
#include <cuda_runtime.h>

#include "faults.h"

namespace assay::test {
namespace {

constexpr unsigned kAll = 0xffffffffU;

// Launches kernel<true> or kernel<false>.
#define LAUNCH(kernel, blocks, threads, shared)               \
  if (run.wrong) {                                            \
    kernel<true><<<blocks, threads, shared>>>(run.x, run.y);  \
  } else {                                                    \
    kernel<false><<<blocks, threads, shared>>>(run.x, run.y); \
  }

template <bool wrong>
__global__ void reversed(const float* x, float* y) {
  __shared__ float words[kCount];
  words[threadIdx.x] = x[threadIdx.x];
  if (!wrong) __syncthreads();
  y[threadIdx.x] = words[kCount - 1 - threadIdx.x];
}

template <bool wrong>
__global__ void in_loop(const float* x, float* y) {
  __shared__ float words[kCount];
  float sum = 0;
  for (int round = 0; round < 4; ++round) {
    words[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    sum += words[(threadIdx.x + 1) % kCount];
    if (!wrong) __syncthreads();
  }
  y[threadIdx.x] = sum;
}

template <bool wrong>
__global__ void in_warp(const float* x, float* y) {
  __shared__ float words[kCount];
  words[threadIdx.x] = x[threadIdx.x];
  if (!wrong) __syncwarp();
  y[threadIdx.x] = words[threadIdx.x ^ 1];
}

template <bool wrong>
__global__ void total(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (wrong) {
    y[0] = y[0] + x[i];
  } else {
    atomicAdd(y, x[i]);
  }
}

// The block that comes last adds up what the others have left.
template <bool wrong>
__global__ void handed_over(const float* x, float* y) {
  __shared__ bool is_last;
  float* const parts = y + 2;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += x[blockIdx.x * blockDim.x + i];
    parts[blockIdx.x] = sum;
    if (!wrong) __threadfence();
    is_last = atomicAdd(y + 1, 1.0F) == static_cast<float>(gridDim.x - 1);
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
  y[0] = sum;
}

template <bool wrong>
__global__ void returns_early(const float* x, float* y) {
  __shared__ float words[kCount];
  if (wrong && threadIdx.x >= 100) return;
  words[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 100) y[threadIdx.x] = words[threadIdx.x];
}

template <bool wrong>
__global__ void in_branch(const float* x, float* y) {
  __shared__ float words[kCount];
  words[threadIdx.x] = x[threadIdx.x];
  if (!wrong || threadIdx.x < 64) __syncthreads();
  y[threadIdx.x] = words[threadIdx.x];
}

template <bool wrong>
__global__ void two_barriers(const float* x, float* y) {
  if (wrong && threadIdx.x < 64) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}

template <bool wrong>
__global__ void from_ended(const float* x, float* y) {
  const float own = x[threadIdx.x];
  if (wrong && threadIdx.x % 32 == 7) {
    y[threadIdx.x] = own;
    return;
  }
  y[threadIdx.x] = __shfl_down_sync(kAll, own, 1);
}

template <bool wrong>
__global__ void reads_beyond(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + (wrong ? x[threadIdx.x + 1] * 0.0F : 0.0F);
}

template <bool wrong>
__global__ void reads_before(const float* x, float* y) {
  y[threadIdx.x] = !wrong && threadIdx.x == 0 ? 0.0F : x[static_cast<int>(threadIdx.x) - 1];
}

template <bool wrong>
__global__ void stores_beyond(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (wrong || i < kCount) y[i] = i < kCount ? x[i] : 0.0F;
}

template <bool wrong>
__global__ void rows(const float* x, float* y) {
  __shared__ float words[kCount / 8][8];
  words[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = wrong ? words[0][threadIdx.x] : words[threadIdx.x / 8][threadIdx.x % 8];
}

template <bool wrong>
__global__ void dynamic(const float* x, float* y) {
  extern __shared__ float words[];
  words[threadIdx.x + (wrong ? 1 : 0)] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = words[threadIdx.x + (wrong ? 1 : 0)];
}

template <bool wrong>
__global__ void half_written(const float* x, float* y) {
  __shared__ float words[kCount];
  if (!wrong || threadIdx.x < 64) words[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = words[threadIdx.x];
}

template <bool wrong>
__global__ void adds(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];
}

template <bool wrong>
__global__ void changes_x(const float* x, float* y) {
  if (wrong && threadIdx.x == 3) const_cast<float*>(x)[3] = 3.0F;
  y[threadIdx.x] = x[threadIdx.x];
}

template <bool wrong>
__global__ void shares_local(const float* x, float* y) {
  __shared__ const float* places[kCount];
  float own[2] = {x[threadIdx.x], 0};
  places[threadIdx.x] = wrong ? own + 0 : x + threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = *places[threadIdx.x / 2 * 2] + static_cast<float>(threadIdx.x % 2);
}

__device__ float number(float i, bool is_right, float what) { return is_right ? i : what; }

__global__ void words_of_all_kinds(const float* x, float* y) {
  const int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int lane = i % warpSize;
  float result = x[i];
  result = number(result, __ballot_sync(kAll, lane % 2) == 0xaaaaaaaaU, -1);
  result = number(result, __any_sync(kAll, lane == 5) == 1 && __any_sync(kAll, lane == 99) == 0, -2);
  result = number(result, __all_sync(kAll, lane < 32) == 1 && __all_sync(kAll, lane < 31) == 0, -3);
  result = number(result, __shfl_sync(kAll, lane, 3) == 3 && __shfl_sync(kAll, lane, 1, 8) == lane / 8 * 8 + 1, -4);
  result = number(result, __shfl_up_sync(kAll, lane, 2) == (lane < 2 ? lane : lane - 2), -5);
  result = number(result, __shfl_down_sync(kAll, 1.5 * lane, 4, 16) == 1.5 * (lane % 16 < 12 ? lane + 4 : lane), -6);
  result = number(result, __shfl_xor_sync(kAll, lane, 16) == (lane ^ 16), -7);
  result = number(result, __syncthreads_count(lane == 0) == kCount / warpSize, -8);
  result = number(result, __syncthreads_or(i == 77) == 1 && __syncthreads_and(i >= 0) == 1 && __syncthreads_and(i > 0) == 0, -9);
  result = number(result, gridDim.x == 1 && blockDim.y == 4 && blockIdx.x == 0 && threadIdx.z < 2, -10);
  const float4 four = *reinterpret_cast<const float4*>(x + i / 4 * 4);
  result = number(result, four.x + four.w == static_cast<float>(i / 4 * 8 + 3), -11);
  y[i] = number(result, min(3, 4) == 3 && max(2.5F, 1.0F) == 2.5F && rsqrtf(4.0F) == 0.5F && __popc(7) == 3, -12);
}

__global__ void total_of_many_sizes(const float* x, float* y) { atomicAdd(y, x[threadIdx.x] * (threadIdx.x % 3 == 0 ? 1e6F : 1e-3F)); }

__global__ void copies(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

}  // namespace

void missing_barrier(const Run& run) { LAUNCH(reversed, 1, kCount, 0) }
void missing_barrier_in_loop(const Run& run) { LAUNCH(in_loop, 1, kCount, 0) }
void missing_warp_barrier(const Run& run) { LAUNCH(in_warp, 1, kCount, 0) }
void race_of_blocks(const Run& run) {
  cudaMemset(run.y, 0, kCount * sizeof(float));
  LAUNCH(total, 4, kCount / 4, 0)
}
void unfenced_hand_over(const Run& run) {
  cudaMemset(run.y, 0, kCount * sizeof(float));
  LAUNCH(handed_over, 4, kCount / 4, 0)
}
void early_return(const Run& run) { LAUNCH(returns_early, 1, kCount, 0) }
void barrier_in_branch(const Run& run) { LAUNCH(in_branch, 1, kCount, 0) }
void different_barriers(const Run& run) { LAUNCH(two_barriers, 1, kCount, 0) }
void shuffle_from_ended_lane(const Run& run) { LAUNCH(from_ended, 1, kCount, 0) }
void beyond_the_end(const Run& run) { LAUNCH(reads_beyond, 1, kCount, 0) }
void before_the_beginning(const Run& run) { LAUNCH(reads_before, 1, kCount, 0) }
void writes_beyond(const Run& run) { LAUNCH(stores_beyond, 3, 50, 0) }
void beyond_a_row(const Run& run) { LAUNCH(rows, 1, kCount, 0) }
void beyond_dynamic(const Run& run) { LAUNCH(dynamic, 1, kCount, kCount * sizeof(float)) }
void unwritten_shared(const Run& run) { LAUNCH(half_written, 1, kCount, 0) }
void unwritten_buffer(const Run& run) {
  if (!run.wrong) cudaMemset(run.y, 0, kCount * sizeof(float));
  LAUNCH(adds, 1, kCount, 0)
}
void writes_operand(const Run& run) { LAUNCH(changes_x, 1, kCount, 0) }
void local_of_another(const Run& run) { LAUNCH(shares_local, 1, kCount, 0) }
void words_of_cuda(const Run& run) { words_of_all_kinds<<<1, dim3(16, 4, 2)>>>(run.x, run.y); }
void order_of_sums(const Run& run) {
  cudaMemset(run.y, 0, kCount * sizeof(float));
  total_of_many_sizes<<<1, kCount>>>(run.x, run.y);
}
void too_many_threads(const Run& run) { copies<<<1, run.wrong ? 1025 : kCount>>>(run.x, run.y); }
void too_much_shared(const Run& run) { copies<<<1, kCount, run.wrong ? 48 * 1024 + 4 : 48 * 1024>>>(run.x, run.y); }
void without_stream(const Run& run, cudaStream_t stream) { copies<<<1, kCount, 0, run.wrong ? nullptr : stream>>>(run.x, run.y); }
void host_reads_device(const Run& run) {
  copies<<<1, kCount>>>(run.x, run.y);
  if (run.wrong && run.y[0] != 0.0F) copies<<<1, kCount>>>(run.x, run.y);
}
void copy_beyond(const Run& run) { cudaMemcpy(run.y, run.x, (run.wrong ? kCount + 1 : kCount) * sizeof(float), cudaMemcpyDeviceToDevice); }

}  // namespace assay::test
