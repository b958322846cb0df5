// softmax over the last axis, one block per row: the greatest element, the sum of the exponentials, the quotients.
//
// The kernel is a template over a mistake, so that its wrong twins differ from it in one line each.
#include <cuda_runtime.h>

#include <math.h>

#include "kernels.h"

namespace {

constexpr int kMostThreads = 256;

__device__ float joined(float a, float b, bool greatest) { return greatest ? fmaxf(a, b) : a + b; }

// Over the threads of the block, however many, by halves; every thread gets it.
template <Mistake mistake>
__device__ float over_block(float value, bool greatest) {
  __shared__ float parts[kMostThreads];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (unsigned count = blockDim.x; count > 1; count = (count + 1) / 2) {
    const unsigned half = (count + 1) / 2;
    if (threadIdx.x + half < count) parts[threadIdx.x] = joined(parts[threadIdx.x], parts[threadIdx.x + half], greatest);
    if (mistake != Mistake::missing_barrier) __syncthreads();
  }
  const float result = parts[0];
  __syncthreads();  // the parts are used again
  return result;
}

template <Mistake mistake>
__global__ void softmax_rows(const float* x, float* y, int columns) {
  x += static_cast<size_t>(blockIdx.x) * columns;
  y += static_cast<size_t>(blockIdx.x) * columns;
  float greatest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    if (isnan(x[i])) greatest = x[i];
    if (!isnan(greatest)) greatest = fmaxf(greatest, x[i]);
  }
  greatest = mistake == Mistake::no_maximum ? 0 : over_block<mistake>(greatest, true);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - greatest);
  sum = over_block<mistake>(sum, false);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = expf(x[i] - greatest) / sum;
}

template <Mistake mistake>
void launch(const float* x, float* y, int rows, int columns, int threads, cudaStream_t stream) {
  softmax_rows<mistake><<<rows, threads, 0, stream>>>(x, y, columns);
}

}  // namespace

void softmax(Mistake mistake, const float* x, float* y, int rows, int columns, int threads, cudaStream_t stream) {
  switch (mistake) {
    case Mistake::missing_barrier:
      return launch<Mistake::missing_barrier>(x, y, rows, columns, threads, stream);
    case Mistake::no_maximum:
      return launch<Mistake::no_maximum>(x, y, rows, columns, threads, stream);
    default:
      return launch<Mistake::none>(x, y, rows, columns, threads, stream);
  }
}
