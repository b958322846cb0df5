#include "audited.h"

#include <cuda_runtime.h>

namespace assay::test {
namespace {

__global__ void rectify(const float* x, float* y, int count, float below) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] < 0 ? (below == 0 ? 0.0F : below * x[i]) : x[i];
}

__global__ void add_all(const float* x, float* y, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(y + i / columns, x[i]);
}

}  // namespace

void relu(const float* x, float* y, int count, int threads, cudaStream_t stream) {
  if (count > 0) rectify<<<(count + threads - 1) / threads, threads, 0, stream>>>(x, y, count, 0.0F);
}
void leaky(const float* x, float* y, int count, cudaStream_t stream) { rectify<<<(count + 63) / 64, 64, 0, stream>>>(x, y, count, 1.0F); }
void relu_or_not(const float* x, float* y, int count, bool is_relu, cudaStream_t stream) {
  rectify<<<(count + 63) / 64, 64, 0, stream>>>(x, y, count, is_relu ? 0.0F : 1.0F);
}
void totals(const float* x, float* y, int rows, int columns, cudaStream_t stream) {
  if (rows > 0) cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
  if (rows * columns > 0) add_all<<<(rows * columns + 31) / 32, 32, 0, stream>>>(x, y, rows * columns, columns);
}

}  // namespace assay::test
