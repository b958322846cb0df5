// Defined operations that are graphs. Each is its definition in ops of the vocabulary, and has no other meaning.
//
// The functions append nodes to the graph of their operands' builder and return the result. Enclosures, gradients,
// lines and contracts follow from the nodes. If shapes or element types do not fit, the builder keeps the first
// rejection. Shapes are written as [rows, columns].
#pragma once

#include <optional>
#include <utility>

#include "semantics/graph/value.h"

namespace assay::compositions {

using gradients::derivatives::Builder;
using gradients::derivatives::Value;

// log(max(x, floor)), floor > 0: finite everywhere; its derivative is 0 below the floor.
[[nodiscard]] Value safe_log(const Value& x, double floor);

// log(mean over the window of exp(beta x)) / beta with beta > 0: between the mean and the maximum, approaching the
// maximum as beta grows. x [N, C, d...]; the window has no padding and no ceil_mode. Source: the generalised mean;
// TorchLean's smooth max pool.
[[nodiscard]] Value smooth_max_pool(const Value& x, const WindowAttributes& window, double beta);

// Rows index[i] of x [n, d...], with run-time indices [k] (int64; negative ones count from the end): [k, d...]. An
// invalid index is a domain fault.
[[nodiscard]] Value gather_rows(const Value& x, const Value& index);

// x [n, d...] with updates [k, d...] added to the rows index[i]; several updates of one row add up. An invalid index is
// a domain fault.
[[nodiscard]] Value scatter_add_rows(const Value& x, const Value& index, const Value& updates);

// softmax(q k^T / sqrt(d)) v over the last two axes: q [..., S, d], k [..., T, d], v [..., T, e]. `open` (bool,
// broadcasts to [..., S, T]) says which keys a query attends to; a query without any key gives 0.
[[nodiscard]] Value attention(const Value& q, const Value& k, const Value& v, const std::optional<Value>& open);

// Cells: x [B, i], h [B, n], w [i, g n], r [n, g n], b [g n]. Gates: LSTM input, forget, cell, output; GRU reset,
// update, new, with the reset gate after the recurrent product (bias r_b of that product). Source: PyTorch's RNNCell,
// LSTMCell, GRUCell.
[[nodiscard]] Value rnn_cell(const Value& x, const Value& h, const Value& w, const Value& r, const Value& b);
struct LstmState {
  Value h, c;
};
[[nodiscard]] LstmState lstm_cell(const Value& x, const LstmState& state, const Value& w, const Value& r, const Value& b);
[[nodiscard]] Value gru_cell(const Value& x, const Value& h, const Value& w, const Value& r, const Value& b, const Value& r_b);

// The selective state space recurrence: S_t = exp(delta_t a) S_(t-1) + delta_t u_t b_t, y_t = S_t c_t + d u_t, S_0 = 0,
// with u, delta [L, n], a [n, m], b, c [L, m], d [n]; y [L, n]. Source: Gu and Dao 2023 (Mamba).
[[nodiscard]] Value selective_scan(const Value& u, const Value& delta, const Value& a, const Value& b, const Value& c, const Value& d);

// Real and imaginary parts.
struct Complex {
  Value re, im;
};
// sum over j of x_j exp(-2 pi i j k / n) along the last axis, k = 0 .. results - 1, n its extent.
[[nodiscard]] Complex dft(const Value& x, std::int64_t results);
// The n real numbers whose spectrum is y_0 .. y_(m-1), their conjugates, and 0 elsewhere: m <= n / 2 + 1.
[[nodiscard]] Value inverse_dft(const Complex& y, std::int64_t n);
// x [c, n] real; w [m, c, e] complex: the first m frequencies of each channel times w, summed over channels,
// transformed back: [e, n]. Source: Li et al. 2021, the Fourier layer.
[[nodiscard]] Value spectral_convolution(const Value& x, const Complex& w);

// Deterministic numbers from (seed, stream, index), as constants: the same on every machine. uniform: k 2^-24 with k
// below 2^24. bernoulli: 1 with probability p, otherwise 0 (uniform < p). normal: sqrt(-2 log(1 - u)) cos(2 pi v) as
// nodes on two uniform tensors. Bits: SplitMix64 (Steele, Lea, Flood 2014) of the counter.
[[nodiscard]] Value uniform(Builder& builder, std::uint64_t seed, std::uint64_t stream, const Shape& shape, DType dtype);
[[nodiscard]] Value bernoulli(Builder& builder, std::uint64_t seed, std::uint64_t stream, double p, const Shape& shape, DType dtype);
[[nodiscard]] Value normal(Builder& builder, std::uint64_t seed, std::uint64_t stream, const Shape& shape, DType dtype);
// x mask / (1 - p) with a mask of 0 and 1.
[[nodiscard]] Value dropout(const Value& x, const Value& mask, double p);

}  // namespace assay::compositions
