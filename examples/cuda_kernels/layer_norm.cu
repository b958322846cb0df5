// Layer norm over the last axis with a weight and a bias: one warp per row, several rows per block; sums by shuffles.
#include <cuda_runtime.h>

#include <math.h>

#include "kernels.h"

namespace {

constexpr unsigned kEveryLane = 0xffffffffU;

__device__ float over_warp(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kEveryLane, value, offset);
  return value;
}

template <Mistake mistake>
__global__ void layer_norm_rows(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                                float* __restrict__ y, int rows, int columns, float epsilon) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // a whole warp at once: no barrier of the block follows
  x += static_cast<size_t>(row) * columns;
  y += static_cast<size_t>(row) * columns;
  const int lane = threadIdx.x;

  float sum = 0;
  for (int i = lane; i < columns; i += warpSize) sum += x[i];
  const float mean = over_warp(sum) / columns;

  float squares = 0;
  for (int i = lane; i < columns; i += warpSize) {
    // The wrong twin subtracts large squares from each other, where the mean is large beside the deviations.
    squares += mistake == Mistake::one_pass_variance ? x[i] * x[i] - mean * mean : (x[i] - mean) * (x[i] - mean);
  }
  const float scale = 1.0F / sqrtf(over_warp(squares) / columns + epsilon);

  // The wrong twin takes four elements at once, and forgets what is left over.
  const int end = mistake == Mistake::tail_elements ? columns / 4 * 4 : columns;
  for (int i = lane; i < end; i += warpSize) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

template <Mistake mistake>
void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int columns, int threads, cudaStream_t stream) {
  const dim3 block(32, threads / 32);
  const dim3 grid((rows + block.y - 1) / block.y);
  layer_norm_rows<mistake><<<grid, block, 0, stream>>>(x, weight, bias, y, rows, columns, 1e-5F);
}

}  // namespace

void layer_norm(Mistake mistake, const float* x, const float* weight, const float* bias, float* y, int rows, int columns, int threads,
                cudaStream_t stream) {
  switch (mistake) {
    case Mistake::one_pass_variance:
      return launch<Mistake::one_pass_variance>(x, weight, bias, y, rows, columns, threads, stream);
    case Mistake::tail_elements:
      return launch<Mistake::tail_elements>(x, weight, bias, y, rows, columns, threads, stream);
    default:
      return launch<Mistake::none>(x, weight, bias, y, rows, columns, threads, stream);
  }
}
