// The kernels of this project, and what is wrong with their twins.
#pragma once

#include <cuda_runtime.h>

enum class Mistake {
  none,
  missing_barrier,
  no_maximum,
  one_pass_variance,
  tail_elements,
  half_accumulator,
  wrong_stride,
  race,
  unordered,
  not_zeroed,
  no_rescaling,
  no_inner_product,
  no_scale
};

// Row-major; x and y [rows, columns].
void softmax(Mistake mistake, const float* x, float* y, int rows, int columns, int threads, cudaStream_t stream);
void layer_norm(Mistake mistake, const float* x, const float* weight, const float* bias, float* y, int rows, int columns, int threads,
                cudaStream_t stream);
// a [rows, depth], b [depth, columns].
void product(Mistake mistake, const float* a, const float* b, float* c, int rows, int depth, int columns, cudaStream_t stream);
// y = 0 of `places` elements; y[index[i]] += x[i].
void scatter(Mistake mistake, const float* x, const long long* index, float* y, int count, int places, int threads, cudaStream_t stream);

// q [heads, queries, width], k [heads, keys, width], v [heads, keys, value_width]; no width beyond 16.
struct AttentionShape {
  int heads, queries, keys, width, value_width;
};
void attention(Mistake mistake, const AttentionShape& shape, const float* q, const float* k, const float* v, float* y, cudaStream_t stream);
void attention_backward(Mistake mistake, const AttentionShape& shape, const float* q, const float* k, const float* v, const float* dy,
                        float* dq, float* dk, float* dv, int threads, cudaStream_t stream);
