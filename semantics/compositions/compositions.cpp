// Defined operations, each as its formula.

#include "semantics/compositions/compositions.h"

#include <cmath>
#include <memory>
#include <numeric>

namespace assay::compositions {

namespace {

using gradients::derivatives::apply;
using gradients::derivatives::expanded;
using gradients::derivatives::permuted;
using gradients::derivatives::reshaped;
using gradients::derivatives::sigmoid;
using gradients::derivatives::sum_over;
using Ints = std::vector<std::int64_t>;

Value int_constant(Builder& builder, const Shape& shape, const Ints& values) { return builder.constant(Tensor::of_ints(shape, values)); }

Value matmul(const Value& a, const Value& b) { return apply(Op::matmul, a, b); }
Value tanh(const Value& x) { return apply(Op::tanh, x); }

Value turned(const Value& x) {
  Ints axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
  return permuted(x, std::move(axes));
}

// `count` elements of an axis from `first` on.
Value part(const Value& x, std::size_t axis, std::int64_t first, std::int64_t count) {
  const Shape shape = x.shape();
  SliceAttributes slice{Ints(shape.size(), 0), Ints(shape.size(), 1), shape};
  slice.starts[axis] = first;
  slice.extents[axis] = count;
  return apply(Op::slice, x, std::move(slice));
}

Value refused(const Value& x, const char* code, const char* required, const std::string& found) {
  x.builder().refuse({Rejection::Kind::malformed, code, "composition", required, found, "see semantics/compositions"});
  return x;
}

}  // namespace

Value safe_log(const Value& x, double floor) {
  if (!(floor > 0 && std::isfinite(floor))) return refused(x, "safe_log.S1", "0 < floor < infinity", std::to_string(floor));
  return apply(Op::log, apply(Op::clip, x, ClipAttributes{floor, INFINITY}));
}

Value smooth_max_pool(const Value& x, const WindowAttributes& window, double beta) {
  const Shape shape = x.shape();
  if (!(beta > 0 && std::isfinite(beta))) return refused(x, "smooth_max_pool.S1", "0 < beta < infinity", std::to_string(beta));
  // The shape rule of max_pool decides whether the window fits, and the number of results.
  WindowAttributes plain = window;
  for (std::int64_t& pad : plain.pads_begin) pad = 0;
  for (std::int64_t& pad : plain.pads_end) pad = 0;
  plain.ceil_mode = false;
  const Value pooled = apply(Op::max_pool, x, plain);
  const Shape result = pooled.shape();
  if (result.size() != shape.size() || shape.size() < 3) return pooled;
  const Shape extents(shape.begin() + 2, shape.end()), places(result.begin() + 2, result.end());
  const auto inner = static_cast<std::int64_t>(element_count(extents)), outputs = static_cast<std::int64_t>(element_count(places)),
             taps = static_cast<std::int64_t>(element_count(plain.kernel));
  Ints indices;
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t place = 0, rest_o = o, rest_t = t, stride = 1;
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        const std::int64_t at = rest_o % places[axis] * plain.strides[axis] + rest_t % plain.kernel[axis] * plain.dilations[axis];
        place += at * stride;
        stride *= extents[axis];
        rest_o /= places[axis];
        rest_t /= plain.kernel[axis];
      }
      indices.push_back(place);
    }
  }
  const Value rows = reshaped(x, {shape[0] * shape[1], inner});
  const Value windows = apply(Op::gather, rows, GatherAttributes{1, std::move(indices), {outputs, taps}});
  const Value sums = apply(Op::log_sum_exp, beta * windows, ReduceAttributes{{2}, false});
  const Value mean = sums - apply(Op::log, x.number(static_cast<double>(taps)));
  return reshaped(mean / x.number(beta), result);
}

Value gather_rows(const Value& x, const Value& index) {
  const Shape shape = x.shape(), count = index.shape();
  if (shape.empty() || count.size() != 1)
    return refused(x, "gather_rows.S1", "x [n, d...] and indices [k]", to_string(shape) + ", " + to_string(count));
  Shape column(shape.size(), 1), wide = shape;
  column[0] = wide[0] = count[0];
  return x.builder().append(Op::take, {expanded(reshaped(index, column), wide), x}, ConcatAttributes{0});
}

Value scatter_add_rows(const Value& x, const Value& index, const Value& updates) {
  const Shape shape = x.shape(), count = index.shape();
  Shape wanted = shape;
  if (!wanted.empty() && count.size() == 1) wanted[0] = count[0];
  if (shape.empty() || count.size() != 1 || updates.shape() != wanted)
    return refused(x, "scatter_add_rows.S1", "x [n, d...], indices [k] and updates [k, d...]", to_string(shape) + ", " + to_string(count));
  Builder& builder = x.builder();
  const std::int64_t n = shape[0], k = count[0], d = n == 0 ? 0 : static_cast<std::int64_t>(element_count(shape)) / n;
  Ints rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  const Value zero = int_constant(builder, {}, {0}), extent = int_constant(builder, {}, {n});
  const Value from_front = builder.append(Op::where, {apply(Op::less, index, zero), apply(Op::add, index, extent), index});
  const Value hit = apply(Op::equal, reshaped(from_front, {1, k}), int_constant(builder, {n, 1}, rows));  // [n, k]
  const Value weights = apply(Op::cast, hit, CastAttributes{static_cast<std::uint8_t>(x.dtype())});
  const Value sums = matmul(weights, reshaped(updates, {k, d}));
  // 0 if every index is valid, otherwise undefined.
  const Value fault = sum_over(gather_rows(builder.zeros({n}, x.dtype()), index), {0});
  return x + reshaped(sums, shape) + fault;
}

Value attention(const Value& q, const Value& k, const Value& v, const std::optional<Value>& open) {
  const std::size_t rank = q.shape().size();
  if (rank < 2 || k.shape().size() < 2) return refused(q, "attention.S1", "q [..., S, d] and k [..., T, d]", to_string(q.shape()));
  const Value size = q.number(static_cast<double>(q.shape().back()));
  const Value scores = matmul(q, turned(k)) / gradients::derivatives::sqrt(size);
  const auto axis = static_cast<std::int64_t>(scores.shape().size()) - 1;
  if (!open) return matmul(apply(Op::softmax, scores, SoftmaxAttributes{axis}), v);
  return matmul(q.builder().append(Op::masked_softmax, {scores, *open}, MaskedSoftmaxAttributes{axis, true}), v);
}

Value rnn_cell(const Value& x, const Value& h, const Value& w, const Value& r, const Value& b) {
  return tanh(matmul(x, w) + matmul(h, r) + b);
}

LstmState lstm_cell(const Value& x, const LstmState& state, const Value& w, const Value& r, const Value& b) {
  const Value gates = matmul(x, w) + matmul(state.h, r) + b;
  const std::int64_t n = state.h.shape().back();
  const auto gate = [&](std::int64_t i) { return part(gates, gates.shape().size() - 1, i * n, n); };
  const Value c = sigmoid(gate(1)) * state.c + sigmoid(gate(0)) * tanh(gate(2));
  return {sigmoid(gate(3)) * tanh(c), c};
}

Value gru_cell(const Value& x, const Value& h, const Value& w, const Value& r, const Value& b, const Value& r_b) {
  const Value from_x = matmul(x, w) + b, from_h = matmul(h, r) + r_b;
  const std::int64_t n = h.shape().back();
  const auto gate = [&](const Value& gates, std::int64_t i) { return part(gates, gates.shape().size() - 1, i * n, n); };
  const Value reset = sigmoid(gate(from_x, 0) + gate(from_h, 0)), update = sigmoid(gate(from_x, 1) + gate(from_h, 1));
  const Value news = tanh(gate(from_x, 2) + reset * gate(from_h, 2));
  return (1.0 - update) * news + update * h;
}

Value selective_scan(const Value& u, const Value& delta, const Value& a, const Value& b, const Value& c, const Value& d) {
  const Shape steps = u.shape(), states = a.shape();
  if (steps.size() != 2 || states.size() != 2 || delta.shape() != steps || states[0] != steps[1] ||
      b.shape() != Shape{steps[0], states[1]} || c.shape() != b.shape() || d.shape() != Shape{steps[1]} || steps[0] == 0)
    return refused(u, "selective_scan.S1", "u, delta [L, n], a [n, m], b, c [L, m], d [n] with L > 0",
                   to_string(steps) + ", " + to_string(states));
  const std::int64_t n = states[0], m = states[1];
  std::optional<Value> state;
  std::vector<Value> results;
  for (std::int64_t t = 0; t < steps[0]; ++t) {
    const Value u_t = reshaped(part(u, 0, t, 1), {n, 1}), delta_t = reshaped(part(delta, 0, t, 1), {n, 1});
    const Value b_t = part(b, 0, t, 1), c_t = reshaped(part(c, 0, t, 1), {m, 1});
    const Value news = (delta_t * u_t) * b_t;
    state = state ? gradients::derivatives::exp(delta_t * a) * *state + news : news;
    results.push_back(reshaped(matmul(*state, c_t), {1, n}));
  }
  const Value y = u.builder().append(Op::concat, results, ConcatAttributes{0});
  return y + d * u;
}

namespace {

// cos and sin of 2 pi m / n; 0, 1 and -1 where these are exact.
Complex circle(const Value& like, std::int64_t n) {
  Builder& builder = like.builder();
  Ints eighths, quarters;
  std::vector<std::int64_t> exact_cos, exact_sin;
  constexpr std::int64_t kCos[] = {1, 0, -1, 0}, kSin[] = {0, 1, 0, -1};
  auto known = std::make_shared<std::vector<std::byte>>();
  for (std::int64_t m = 0; m < n; ++m) {
    eighths.push_back(8 * m);
    const bool is_quarter = 4 * m % n == 0;
    known->push_back(static_cast<std::byte>(is_quarter ? 1 : 0));
    exact_cos.push_back(is_quarter ? kCos[4 * m / n] : 0);
    exact_sin.push_back(is_quarter ? kSin[4 * m / n] : 0);
  }
  const Value eighth = apply(Op::atan, like.number(1));  // pi / 4
  const Value angles = builder.counts({n}, eighths, like.dtype()) * eighth / static_cast<double>(n);
  const Value mask = builder.constant(Tensor(DType::boolean, {n}, known));
  const auto with = [&](Op function, const Ints& exact) {
    return builder.append(Op::where, {mask, builder.counts({n}, exact, like.dtype()), apply(function, angles)});
  };
  return {with(Op::cos, exact_cos), with(Op::sin, exact_sin)};
}

// [rows, columns] of the entry j k mod n.
Value powers(const Value& values, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  Ints indices;
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t k = 0; k < columns; ++k) indices.push_back(j * k % n);
  }
  return gradients::derivatives::picked(values, indices, {rows, columns});
}

}  // namespace

Complex dft(const Value& x, std::int64_t results) {
  const std::int64_t n = x.shape().empty() ? 0 : x.shape().back();
  if (n == 0 || results < 1 || results > n) {
    const Value same = refused(x, "dft.S1", "1 <= results <= extent", std::to_string(results));
    return {same, same};
  }
  const Complex unit = circle(x, n);
  return {matmul(x, powers(unit.re, n, n, results)), -matmul(x, powers(unit.im, n, n, results))};
}

Value inverse_dft(const Complex& y, std::int64_t n) {
  const std::int64_t m = y.re.shape().empty() ? 0 : y.re.shape().back();
  if (m < 1 || n < 1 || m > n / 2 + 1) return refused(y.re, "inverse_dft.S1", "1 <= m <= n / 2 + 1", std::to_string(m));
  const Complex unit = circle(y.re, n);
  // Frequencies that are their own conjugates count once, the others twice.
  Ints weights;
  for (std::int64_t k = 0; k < m; ++k) weights.push_back(k == 0 || 2 * k == n ? 1 : 2);
  const Value count = y.re.builder().counts({m}, weights, y.re.dtype());
  const Value sums = matmul(y.re * count, powers(unit.re, n, m, n)) - matmul(y.im * count, powers(unit.im, n, m, n));
  return sums / static_cast<double>(n);
}

Value spectral_convolution(const Value& x, const Complex& w) {
  const Shape shape = x.shape(), weights = w.re.shape();
  if (shape.size() != 2 || weights.size() != 3 || w.im.shape() != weights || weights[1] != shape[0] || weights[0] > shape[1] / 2 + 1)
    return refused(x, "spectral_convolution.S1", "x [c, n], w [m, c, e] with m <= n / 2 + 1", to_string(shape) + ", " + to_string(weights));
  const std::int64_t m = weights[0], c = shape[0], e = weights[2];
  const Complex spectrum = dft(x, m);
  const auto rows = [&](const Value& one) { return reshaped(turned(one), {m, 1, c}); };
  const Value re = rows(spectrum.re), im = rows(spectrum.im);
  const auto columns = [&](const Value& one) { return turned(reshaped(one, {m, e})); };
  const Complex mixed{columns(matmul(re, w.re) - matmul(im, w.im)), columns(matmul(re, w.im) + matmul(im, w.re))};
  return inverse_dft(mixed, shape[1]);
}

namespace {

std::uint64_t mixed_bits(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9E3779B97F4A7C15U + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// 24 bits for each index.
std::vector<std::int64_t> draws(std::uint64_t seed, std::uint64_t stream, std::size_t count) {
  const std::uint64_t key = mixed_bits(mixed_bits(seed) ^ stream);
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(mixed_bits(key ^ mixed_bits(i)) >> 40);
  return values;
}

}  // namespace

Value uniform(Builder& builder, std::uint64_t seed, std::uint64_t stream, const Shape& shape, DType dtype) {
  const Ints bits = draws(seed, stream, element_count(shape));
  std::vector<double> values;
  for (const std::int64_t k : bits) values.push_back(static_cast<double>(k) * 0x1p-24);  // exact in both float types
  if (dtype == DType::float64) return builder.constant(Tensor::of_doubles(shape, values));
  return builder.constant(Tensor::of_floats(shape, std::vector<float>(values.begin(), values.end())));
}

Value bernoulli(Builder& builder, std::uint64_t seed, std::uint64_t stream, double p, const Shape& shape, DType dtype) {
  Ints values;
  for (const std::int64_t k : draws(seed, stream, element_count(shape))) values.push_back(static_cast<double>(k) * 0x1p-24 < p ? 1 : 0);
  return builder.counts(shape, values, dtype);
}

Value normal(Builder& builder, std::uint64_t seed, std::uint64_t stream, const Shape& shape, DType dtype) {
  const Value u = uniform(builder, seed, stream, shape, dtype), v = uniform(builder, seed, ~stream, shape, dtype);
  const Value pi = 4.0 * apply(Op::atan, u.number(1));
  return gradients::derivatives::sqrt(-2.0 * apply(Op::log, 1.0 - u)) * apply(Op::cos, 2.0 * (pi * v));
}

Value dropout(const Value& x, const Value& mask, double p) {
  if (!(p >= 0 && p < 1)) return refused(x, "dropout.S1", "0 <= p < 1", std::to_string(p));
  return x * mask / x.number(1.0 - p);
}

}  // namespace assay::compositions
