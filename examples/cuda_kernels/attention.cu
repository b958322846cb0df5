// Attention without its matrix of scores: y = softmax(q k^T / sqrt(d)) v per head, keys in tiles, the softmax online;
// and its gradient, which computes the scores again.
//
// Forward: a block has kQueries queries of a head, a thread each; the keys and values of a tile lie in shared memory. Each thread keeps
// the greatest
// score so far, the sum of the exponentials below it, and its row of y, and scales both down where a greater score comes.
// Backward: with p the probabilities, o = sum_j p_j v_j and D = dy . o:  dv_j = sum_i p_ij dy_i,  ds_ij = p_ij (dy_i . v_j - D_i),
// dq_i = sum_j ds_ij k_j / sqrt(d),  dk_j = sum_i ds_ij q_i / sqrt(d).
#include <cuda_runtime.h>

#include <math.h>

#include "kernels.h"

namespace {

constexpr int kQueries = 32, kKeys = 32;  // of a tile
constexpr int kMostWidth = 16;            // of a query, a key or a value

template <Mistake mistake>
__global__ void attention_forward(const float* q, const float* k, const float* v, float* y, int queries, int keys, int width,
                                  int value_width) {
  extern __shared__ float tiles[];  // keys, then values
  float* const tile_k = tiles;
  float* const tile_v = tiles + kKeys * width;
  const int head = blockIdx.y, query = blockIdx.x * kQueries + threadIdx.x;
  const bool is_query = query < queries;
  q += (static_cast<size_t>(head) * queries + (is_query ? query : 0)) * width;
  k += static_cast<size_t>(head) * keys * width;
  v += static_cast<size_t>(head) * keys * value_width;
  const float scale = 1.0F / sqrtf(static_cast<float>(width));

  float greatest = -INFINITY, sum = 0, row[kMostWidth] = {};
  for (int first = 0; first < keys; first += kKeys) {
    const int count = min(kKeys, keys - first);
    for (int i = threadIdx.x; i < count * width; i += blockDim.x) tile_k[i] = k[first * width + i];
    for (int i = threadIdx.x; i < count * value_width; i += blockDim.x) tile_v[i] = v[first * value_width + i];
    __syncthreads();
    for (int j = 0; is_query && j < count; ++j) {
      float score = 0;
      for (int c = 0; c < width; ++c) score += q[c] * tile_k[j * width + c];
      score *= scale;
      const float above = fmaxf(greatest, score);
      // The wrong twin keeps what it has as it is, although it was computed below another maximum.
      const float down = mistake == Mistake::no_rescaling || greatest == above ? 1.0F : expf(greatest - above);
      const float weight = expf(score - above);
      sum = sum * down + weight;
      for (int c = 0; c < value_width; ++c) row[c] = row[c] * down + weight * tile_v[j * value_width + c];
      greatest = above;
    }
    if (mistake != Mistake::missing_barrier) __syncthreads();  // before the tiles are written again
  }
  y += (static_cast<size_t>(head) * queries + query) * value_width;
  for (int c = 0; is_query && c < value_width; ++c) y[c] = row[c] / sum;
}

// What a query needs for its gradient: the greatest score, the sum below it, and D.
struct Row {
  float greatest, sum, inner;
};

__device__ float dot(const float* a, const float* b, int width) {
  float sum = 0;
  for (int c = 0; c < width; ++c) sum += a[c] * b[c];
  return sum;
}

// A thread per query: its row, and dq.
template <Mistake mistake>
__global__ void attention_backward_queries(const float* q, const float* k, const float* v, const float* dy, Row* rows, float* dq,
                                           int queries, int keys, int width, int value_width) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
  if (query >= queries) return;
  const size_t at = static_cast<size_t>(head) * queries + query;
  q += at * width, dy += at * value_width, dq += at * width;
  k += static_cast<size_t>(head) * keys * width, v += static_cast<size_t>(head) * keys * value_width;
  const float scale = 1.0F / sqrtf(static_cast<float>(width));
  float greatest = -INFINITY, sum = 0, inner = 0;
  for (int j = 0; j < keys; ++j) greatest = fmaxf(greatest, dot(q, k + j * width, width) * scale);
  for (int j = 0; j < keys; ++j) sum += expf(dot(q, k + j * width, width) * scale - greatest);
  for (int j = 0; j < keys; ++j) {
    const float p = expf(dot(q, k + j * width, width) * scale - greatest) / sum;
    inner += p * dot(dy, v + j * value_width, value_width);
  }
  if (mistake == Mistake::no_inner_product) inner = 0;
  float gradient[kMostWidth] = {};
  for (int j = 0; j < keys; ++j) {
    const float p = expf(dot(q, k + j * width, width) * scale - greatest) / sum;
    const float ds = p * (dot(dy, v + j * value_width, value_width) - inner);
    for (int c = 0; c < width; ++c) gradient[c] += ds * k[j * width + c];
  }
  for (int c = 0; c < width; ++c) dq[c] = gradient[c] * scale;
  rows[at] = {greatest, sum, inner};
}

// A thread per key: dk and dv, over all queries.
template <Mistake mistake>
__global__ void attention_backward_keys(const float* q, const float* k, const float* v, const float* dy, const Row* rows, float* dk,
                                        float* dv, int queries, int keys, int width, int value_width) {
  const int key = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
  if (key >= keys) return;
  const size_t at = static_cast<size_t>(head) * keys + key;
  k += at * width, v += at * value_width, dk += at * width, dv += at * value_width;
  q += static_cast<size_t>(head) * queries * width, dy += static_cast<size_t>(head) * queries * value_width;
  rows += static_cast<size_t>(head) * queries;
  const float scale = 1.0F / sqrtf(static_cast<float>(width));
  float key_gradient[kMostWidth] = {}, value_gradient[kMostWidth] = {};
  for (int i = 0; i < queries; ++i) {
    const float p = expf(dot(q + i * width, k, width) * scale - rows[i].greatest) / rows[i].sum;
    const float ds = p * (dot(dy + i * value_width, v, value_width) - rows[i].inner);
    for (int c = 0; c < value_width; ++c) value_gradient[c] += p * dy[i * value_width + c];
    for (int c = 0; c < width; ++c) key_gradient[c] += ds * q[i * width + c];
  }
  for (int c = 0; c < value_width; ++c) dv[c] = value_gradient[c];
  // The wrong twin forgets that the scores were scaled.
  for (int c = 0; c < width; ++c) dk[c] = mistake == Mistake::no_scale ? key_gradient[c] : key_gradient[c] * scale;
}

template <Mistake mistake>
void forward(const AttentionShape& s, const float* q, const float* k, const float* v, float* y, cudaStream_t stream) {
  const dim3 grid((s.queries + kQueries - 1) / kQueries, s.heads);
  const size_t shared = kKeys * (s.width + s.value_width) * sizeof(float);
  attention_forward<mistake><<<grid, kQueries, shared, stream>>>(q, k, v, y, s.queries, s.keys, s.width, s.value_width);
}

template <Mistake mistake>
void backward(const AttentionShape& s, const float* q, const float* k, const float* v, const float* dy, float* dq, float* dk, float* dv,
              int threads, cudaStream_t stream) {
  Row* rows = nullptr;
  cudaMallocAsync(&rows, static_cast<size_t>(s.heads) * s.queries * sizeof(Row), stream);
  const dim3 by_query((s.queries + threads - 1) / threads, s.heads), by_key((s.keys + threads - 1) / threads, s.heads);
  attention_backward_queries<mistake><<<by_query, threads, 0, stream>>>(q, k, v, dy, rows, dq, s.queries, s.keys, s.width, s.value_width);
  attention_backward_keys<mistake><<<by_key, threads, 0, stream>>>(q, k, v, dy, rows, dk, dv, s.queries, s.keys, s.width, s.value_width);
  cudaFreeAsync(rows, stream);
}

}  // namespace

void attention(Mistake mistake, const AttentionShape& shape, const float* q, const float* k, const float* v, float* y,
               cudaStream_t stream) {
  switch (mistake) {
    case Mistake::no_rescaling:
      return forward<Mistake::no_rescaling>(shape, q, k, v, y, stream);
    case Mistake::missing_barrier:
      return forward<Mistake::missing_barrier>(shape, q, k, v, y, stream);
    default:
      return forward<Mistake::none>(shape, q, k, v, y, stream);
  }
}

void attention_backward(Mistake mistake, const AttentionShape& shape, const float* q, const float* k, const float* v, const float* dy,
                        float* dq, float* dk, float* dv, int threads, cudaStream_t stream) {
  switch (mistake) {
    case Mistake::no_inner_product:
      return backward<Mistake::no_inner_product>(shape, q, k, v, dy, dq, dk, dv, threads, stream);
    case Mistake::no_scale:
      return backward<Mistake::no_scale>(shape, q, k, v, dy, dq, dk, dv, threads, stream);
    default:
      return backward<Mistake::none>(shape, q, k, v, dy, dq, dk, dv, threads, stream);
  }
}
