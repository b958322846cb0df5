// Kernels that audit_kernel is tried on.
#pragma once

#include <cuda_runtime.h>

namespace assay::test {

void relu(const float* x, float* y, int count, int threads, cudaStream_t stream);
void leaky(const float* x, float* y, int count, cudaStream_t stream);                      // x where it is negative, too
void relu_or_not(const float* x, float* y, int count, bool is_relu, cudaStream_t stream);  // another result in another run
void totals(const float* x, float* y, int rows, int columns, cudaStream_t stream);         // of rows, by atomic additions

}  // namespace assay::test
