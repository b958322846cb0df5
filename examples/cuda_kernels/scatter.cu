// Adds each element to the place that its index names, as histograms and gradients of embeddings do.
//
// Sums of floats depend on their order. The right kernel gives each place to one thread, which reads all indices and
// adds in their order; the quick one adds atomically, and its results differ from run to run.
#include <cuda_runtime.h>

#include "kernels.h"

namespace {

__global__ void scatter_in_order(const float* x, const long long* index, float* y, int count, int places) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= places) return;
  float sum = 0;
  for (int i = 0; i < count; ++i)
    if (index[i] == place) sum += x[i];
  y[place] = sum;
}

template <Mistake mistake>
__global__ void scatter_at_once(const float* x, const long long* index, float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if (mistake == Mistake::race) {
    y[index[i]] += x[i];  // two threads may have the same place
  } else {
    atomicAdd(&y[index[i]], x[i]);
  }
}

}  // namespace

void scatter(Mistake mistake, const float* x, const long long* index, float* y, int count, int places, int threads, cudaStream_t stream) {
  if (mistake == Mistake::none) {
    scatter_in_order<<<(places + threads - 1) / threads, threads, 0, stream>>>(x, index, y, count, places);
    return;
  }
  if (mistake != Mistake::not_zeroed) cudaMemsetAsync(y, 0, places * sizeof(float), stream);
  if (count == 0) return;
  const int blocks = (count + threads - 1) / threads;
  if (mistake == Mistake::race) {
    scatter_at_once<Mistake::race><<<blocks, threads, 0, stream>>>(x, index, y, count);
  } else {
    scatter_at_once<Mistake::none><<<blocks, threads, 0, stream>>>(x, index, y, count);
  }
}
