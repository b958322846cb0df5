// Operators of autoregressive decoding: states that are carried from call to call, unrolled step by step.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

Operand times(Call& call, const Operand& a, const Operand& b) { return call.emit(Op::mul, {a, b}); }

Operand zeros(Call& call, const Operand& like, const Shape& shape) { return expand(call, call.make_real_like(like, 0), shape); }

struct Sizes {
  std::int64_t batch, steps, query_heads, heads, key, value;
};

Sizes sizes_of(const Call& call) {
  const Shape &q = call.shape(0), &k = call.shape(1), &v = call.shape(2);
  const std::int64_t query_heads = call.attribute("q_num_heads", std::int64_t{0}), heads = call.attribute("kv_num_heads", std::int64_t{0});
  bool fits = q.size() == 3 && k.size() == 3 && v.size() == 3 && heads > 0 && query_heads > 0 && query_heads % heads == 0;
  fits = fits && q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[2] % query_heads == 0 && k[2] % heads == 0 &&
         v[2] % heads == 0 && q[2] / query_heads == k[2] / heads && q[2] > 0;
  const Sizes s = fits ? Sizes{q[0], q[1], query_heads, heads, k[2] / heads, v[2] / heads} : Sizes{};
  fits = fits && (!call.has(3) || call.shape(3) == Shape{s.batch, heads, s.key, s.value});
  if (!fits) {
    call.malformed("onnx.shape", "query, key and value [B, T, heads * D] and a state [B, heads, Dk, Dv]",
                   to_string(q) + ", " + to_string(k) + ", " + to_string(v));
  }
  return s;
}

// Step t of [B, T, n] as the given shape.
Operand step_of(Call& call, const Operand& x, std::int64_t t, Shape shape) {
  return call.reshape(slice_axis(call, x, 1, t, 1), std::move(shape));
}

// A gate or rate of step t: one per head and key element, one per head, or one for all heads.
Operand gate_of(Call& call, std::size_t i, std::int64_t t, const Sizes& s, bool by_element) {
  const Shape& shape = call.shape(i);
  const bool fits = shape.size() == 3 && shape[0] == s.batch && shape[1] == s.steps;
  const std::int64_t wide = fits ? shape[2] : 0;
  if (by_element && wide == s.heads * s.key) return step_of(call, call.in(i), t, {s.batch, s.heads, s.key, 1});
  if (wide == s.heads) return step_of(call, call.in(i), t, {s.batch, s.heads, 1, 1});
  if (by_element || wide != 1) call.malformed("onnx.shape", "decay and beta [B, T, heads]", to_string(shape));
  return step_of(call, call.in(i), t, {s.batch, 1, 1, 1});
}

}  // namespace

// S <- [exp(decay)] S + [beta] k (v [- k^T S])^T; o = scale S^T q.
Results lower_linear_attention(Call& call) {
  const std::string rule = call.attribute("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    call.malformed("onnx.attribute", "update_rule linear, gated, delta or gated_delta", printable(rule));
  const Sizes s = sizes_of(call);
  const auto given = static_cast<double>(call.attribute("scale", 0.0F));
  const Operand root = call.emit(Op::sqrt, {call.make_real_like(call.in(0), static_cast<double>(s.key))});
  Operand state = call.has(3) ? call.in(3) : zeros(call, call.in(0), {s.batch, s.heads, s.key, s.value});
  std::vector<Operand> outputs;
  for (std::int64_t t = 0; t < s.steps; ++t) {
    const Operand k = step_of(call, call.in(1), t, {s.batch, s.heads, s.key, 1}),
                  v = step_of(call, call.in(2), t, {s.batch, s.heads, 1, s.value});
    if (gated) state = times(call, state, call.emit(Op::exp, {gate_of(call, 4, t, s, true)}));
    Operand news = v;
    if (delta) {
      const Operand known = call.emit(Op::matmul, {permute(call, k, {0, 1, 3, 2}), state});
      news = times(call, call.emit(Op::sub, {v, known}), gate_of(call, 5, t, s, false));
    }
    state = call.emit(Op::add, {state, call.emit(Op::matmul, {k, news})});
    const std::int64_t sharers = s.query_heads / s.heads;
    const Operand q = step_of(call, call.in(0), t, {s.batch, s.heads, sharers, s.key});
    const Operand seen = call.emit(Op::matmul, {q, state});
    const Operand scaled = given != 0 ? call.emit(Op::scale, {seen}, ScaleAttributes{given}) : call.emit(Op::div, {seen, root});
    outputs.push_back(call.reshape(scaled, {s.batch, 1, s.query_heads * s.value}));
  }
  if (outputs.empty()) call.unsupported("onnx.shape", "at least one step", to_string(call.shape(0)), "drop the node");
  return {concat(call, outputs, 1), state};
}

// A depthwise convolution over what came before: the state stands before the input.
Results lower_causal_conv(Call& call) {
  const Shape &x = call.shape(0), &w = call.shape(1);
  const std::int64_t behind = w.size() == 3 ? w[2] - 1 : -1;
  const bool fits =
      x.size() == 3 && behind >= 0 && w[0] == x[1] && w[1] == 1 && (!call.has(3) || call.shape(3) == Shape{x[0], x[1], behind});
  if (!fits) call.malformed("onnx.shape", "x [B, C, L], a weight [C, 1, k] and a state [B, C, k - 1]", to_string(x) + ", " + to_string(w));
  const std::string activation = call.attribute("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    call.malformed("onnx.attribute", "activation none, silu or swish", printable(activation));
  Operand all = call.in(0);
  if (behind > 0) all = concat(call, {call.has(3) ? call.in(3) : zeros(call, call.in(0), {x[0], x[1], behind}), call.in(0)}, 2);
  WindowAttributes window;
  window.kernel = {behind + 1};
  window.strides = window.dilations = {1};
  window.pads_begin = window.pads_end = {0};
  window.groups = x[1];
  std::vector<Operand> operands = {all, call.in(1)};
  if (call.has(2)) operands.push_back(call.in(2));
  Operand y = call.emit(Op::conv, operands, std::move(window));
  if (activation != "none") y = call.emit(Op::silu, {y}, ActivationAttributes{1, 0});
  return {y, slice_axis(call, all, 2, x[2], behind)};
}

Results lower_swiglu(Call& call) {
  if (call.shape(0) != call.shape(1))
    call.malformed("onnx.shape", "operands of one shape", to_string(call.shape(0)) + ", " + to_string(call.shape(1)));
  const Operand gate = call.emit(Op::silu, {call.in(0)}, ActivationAttributes{static_cast<double>(call.attribute("alpha", 1.0F)), 0});
  return {times(call, gate, call.in(1))};
}

}  // namespace assay::onnx
