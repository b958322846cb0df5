// The product of two matrices over square tiles in shared memory.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels.h"

namespace {

constexpr int kTile = 16;

template <Mistake mistake>
struct Accumulator {
  using Type = float;
};
template <>
struct Accumulator<Mistake::half_accumulator> {
  using Type = __half;
};

__device__ void add_product(float& sum, float a, float b) { sum += a * b; }
__device__ void add_product(__half& sum, float a, float b) { sum = __hadd(sum, __float2half(a * b)); }
__device__ float as_float(float sum) { return sum; }
__device__ float as_float(__half sum) { return __half2float(sum); }

template <Mistake mistake>
__global__ void product_tiles(const float* a, const float* b, float* c, int rows, int depth, int columns) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  typename Accumulator<mistake>::Type sum = 0.0F;
  const int stride = mistake == Mistake::wrong_stride ? rows : depth;  // of a, which is rows x depth
  for (int first = 0; first < depth; first += kTile) {
    const int k = first + threadIdx.x, l = first + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < rows && k < depth ? a[static_cast<size_t>(row) * stride + k] : 0.0F;
    tile_b[threadIdx.y][threadIdx.x] = l < depth && column < columns ? b[static_cast<size_t>(l) * columns + column] : 0.0F;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) add_product(sum, tile_a[threadIdx.y][i], tile_b[i][threadIdx.x]);
    if (mistake != Mistake::missing_barrier) __syncthreads();  // before the tiles are written again
  }
  if (row < rows && column < columns) c[static_cast<size_t>(row) * columns + column] = as_float(sum);
}

template <Mistake mistake>
void launch(const float* a, const float* b, float* c, int rows, int depth, int columns, cudaStream_t stream) {
  const dim3 block(kTile, kTile), grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  product_tiles<mistake><<<grid, block, 0, stream>>>(a, b, c, rows, depth, columns);
}

}  // namespace

void product(Mistake mistake, const float* a, const float* b, float* c, int rows, int depth, int columns, cudaStream_t stream) {
  switch (mistake) {
    case Mistake::missing_barrier:
      return launch<Mistake::missing_barrier>(a, b, c, rows, depth, columns, stream);
    case Mistake::half_accumulator:
      return launch<Mistake::half_accumulator>(a, b, c, rows, depth, columns, stream);
    case Mistake::wrong_stride:
      return launch<Mistake::wrong_stride>(a, b, c, rows, depth, columns, stream);
    default:
      return launch<Mistake::none>(a, b, c, rows, depth, columns, stream);
  }
}
