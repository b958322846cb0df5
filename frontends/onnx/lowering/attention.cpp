// Attention: scaled products, what the masks let through, softmax, product with the values.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/lowering/masks.h"

namespace assay::onnx {
namespace {

struct Heads {
  std::int64_t query, key;
};

}  // namespace

Operand by_head(Call& call, const Operand& x, std::int64_t heads) {
  const Shape& shape = x->shape;
  if (shape.size() == 4 && (heads == 0 || heads == shape[1])) return x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) {
    call.malformed("onnx.shape", "[B, heads, S, D], or [B, S, heads * D] with the number of heads",
                   to_string(shape) + ", " + std::to_string(heads) + " heads");
  }
  return permute(call, call.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

namespace {

// Each key head is for query/key query heads in a row.
Operand repeated(Call& call, const Operand& x, const Heads& heads) {
  if (heads.query == heads.key) return x;
  const Shape s = x->shape;
  const std::int64_t times = heads.query / heads.key;
  const Operand copies = expand(call, call.reshape(x, {s[0], s[1], 1, s[2], s[3]}), {s[0], s[1], times, s[2], s[3]});
  return call.reshape(copies, {s[0], heads.query, s[2], s[3]});
}

// x * scale; without one x / sqrt(D), exactly.
Operand scaled(Call& call, const Operand& x, std::int64_t head_size) {
  if (call.find("scale", AttributeKind::real) != nullptr) {
    const auto scale = static_cast<double>(call.attribute("scale", 1.0F));
    if (!(scale > 0))
      call.unsupported("onnx.attribute", "scale > 0, whose square root multiplies both sides", std::to_string(scale), "give one");
    return call.emit(Op::scale, {x}, ScaleAttributes{scale});
  }
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(head_size)));
  const bool is_square = root * root == head_size;
  const Operand size = reals_like(call, x, {}, {static_cast<double>(is_square ? root : head_size)});
  return call.emit(Op::div, {x, is_square ? size : call.emit(Op::sqrt, {size})});
}

// cap * tanh(x / cap)
Operand capped(Call& call, const Operand& x) {
  const auto cap = static_cast<double>(call.attribute("softcap", 0.0F));
  if (cap == 0) return x;
  if (!(cap > 0)) call.malformed("onnx.attribute", "softcap >= 0", std::to_string(cap));
  const Operand inner = call.emit(Op::div, {x, reals_like(call, x, {}, {cap})});
  return call.emit(Op::scale, {call.emit(Op::tanh, {inner})}, ScaleAttributes{cap});
}

// Key j is let through for query i of batch b where allowed(b, i, j).
template <class F>
Operand table(Call& call, std::int64_t batches, std::int64_t queries, std::int64_t keys, const F& allowed) {
  const Shape shape = {batches, 1, queries, keys};
  call.limit_fold(shape, DType::int64);
  Ints values;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) values.push_back(allowed(b, i, j) ? 1 : 0);
    }
  }
  return call.make_ints(DType::boolean, shape, values);
}

// attn_mask: truth values, or numbers that are added, where -infinity (in a constant) shuts. From version 24 it may have fewer
// columns than there are keys: the missing ones are shut.
Masked given_mask(Call& call, std::int64_t keys) {
  if (!call.has(3)) return {};
  Operand mask = call.in(3);
  const std::int64_t columns = mask->shape.empty() ? 1 : mask->shape.back();
  const bool is_short = columns < keys && call.opset >= 24;
  if (is_short && columns == 1) {
    call.unsupported("onnx.shape", "a mask with a column per key", "one column, which is read as all keys or as the first one alone",
                     "expand the mask");
  }
  if (mask->dtype == DType::boolean) {
    if (!is_short) return {nullptr, mask};
    Shape missing = mask->shape;
    missing.back() = keys - columns;
    return {nullptr, concat(call, {mask, truths(call, 0, missing)}, missing.size() - 1)};
  }
  Masked masks = split_mask(call, mask);
  if (!is_short) return masks;
  Shape missing = mask->shape;
  missing.back() = keys - columns;
  const Operand before = masks.open ? masks.open : truths(call, 1, mask->shape);
  masks.open = concat(call, {before, truths(call, 0, missing)}, missing.size() - 1);
  masks.numbers = concat(call, {masks.numbers, expand(call, reals_like(call, mask, {}, {0}), missing)}, missing.size() - 1);
  return masks;
}

// The causal frontier, the window and the number of keys that are no padding, as far as they are asked for.
Operand structural_mask(Call& call, const Shape& scores, std::int64_t past) {
  const std::int64_t batches = scores[0], queries = scores[2], keys = scores[3];
  const bool is_causal = call.attribute("is_causal", std::int64_t{0}) != 0;
  Ints lengths;
  if (call.has(6)) {
    lengths = call.ints(6, "the number of keys");
    if (static_cast<std::int64_t>(lengths.size()) != batches)
      call.malformed("onnx.shape", "one number of keys per batch", to_string(lengths));
    if (std::ranges::any_of(lengths, [keys](std::int64_t length) { return length < 0 || length > keys; }))
      call.malformed("onnx.input", "numbers of keys from 0 to " + std::to_string(keys), to_string(lengths));
  }
  const auto window = [&](const char* name) {
    const std::int64_t size = call.attribute(name, std::int64_t{-1});
    if (size < -1) call.malformed("onnx.attribute", std::string(name) + " >= -1", std::to_string(size));
    return size < 0 || size > kLargestExtent ? kLargestExtent : size;
  };
  const std::int64_t left = window("left_window_size"), right = window("right_window_size");
  if (!is_causal && lengths.empty() && left == kLargestExtent && right == kLargestExtent) return nullptr;
  return table(call, lengths.empty() ? 1 : batches, queries, keys, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    const std::int64_t valid = lengths.empty() ? keys : lengths[static_cast<std::size_t>(b)];
    const std::int64_t offset = lengths.empty() ? past : valid - queries;
    const std::int64_t at = i + offset;
    return j < valid && (!is_causal || j <= at) && at - left <= j && j <= at + right;
  });
}

Operand probabilities(Call& call, const Operand& scores, const Operand& open) {
  if (!open) return call.emit(Op::softmax, {scores}, SoftmaxAttributes{3});
  return call.emit(Op::masked_softmax, {scores, open}, MaskedSoftmaxAttributes{3, true});
}

// Past keys (values) before those of this step.
Operand with_past(Call& call, std::size_t input, const Operand& x) { return call.has(input) ? concat(call, {call.in(input), x}, 2) : x; }

}  // namespace

// ONNX Runtime takes one query behind past keys for the newest token, before which all keys come.
void refuse_one_query(const Call& call, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  const bool is_causal = call.attribute("is_causal", std::int64_t{0}) != 0;
  if (call.opset > 24 || !is_causal || !call.has(4) || queries != 1 || keys <= past + 1) return;
  call.lowering.note(place_of(call.node) + ": is_causal shuts the keys behind the first new one; ONNX Runtime opens them");
  call.real_only(false, "one new key for one query behind past keys", std::to_string(keys - past) + ", which ONNX Runtime opens");
}

Results lower_attention(Call& call) {
  const bool by_rows = call.shape(0).size() == 3;
  const Operand q = by_head(call, call.in(0), call.attribute("q_num_heads", std::int64_t{0}));
  const std::int64_t key_heads = call.attribute("kv_num_heads", std::int64_t{0});
  const Operand k = with_past(call, 4, by_head(call, call.in(1), key_heads)), v = with_past(call, 5, by_head(call, call.in(2), key_heads));
  const Heads heads{q->shape[1], k->shape[1]};
  if (heads.key < 1 || heads.query % heads.key != 0 || v->shape[1] != heads.key) {
    call.malformed("onnx.shape", "as many key as value heads, which divide the query heads",
                   to_string(q->shape) + " and " + to_string(k->shape));
  }
  if (q->shape[0] != k->shape[0] || k->shape[0] != v->shape[0])
    call.malformed("onnx.shape", "queries, keys and values of as many batches", to_string(q->shape) + " and " + to_string(k->shape));
  const Operand keys = permute(call, repeated(call, k, heads), {0, 1, 3, 2});
  const Operand products = scaled(call, call.emit(Op::matmul, {q, keys}), q->shape[3]);
  const Operand softened = capped(call, products);
  const std::int64_t past = call.has(4) ? call.shape(4)[2] : 0;
  refuse_one_query(call, products->shape[2], products->shape[3], past);
  const Masked masks = given_mask(call, products->shape[3]);
  const Operand open = both_open(call, masks.open, structural_mask(call, products->shape, past));
  const Operand biased = masks.numbers ? call.emit(Op::add, {softened, masks.numbers}) : softened;
  const Operand weights = probabilities(call, biased, open);
  Operand y = call.emit(Op::matmul, {weights, repeated(call, v, heads)});
  if (by_rows) {
    y = permute(call, y, {0, 2, 1, 3});
    y = call.reshape(y, {y->shape[0], y->shape[1], y->shape[2] * y->shape[3]});
  }
  Results results = {y, k, v};
  if (call.node.outputs.size() < 4 || call.node.outputs[3].empty()) return results;
  const std::int64_t mode = call.attribute("qk_matmul_output_mode", std::int64_t{0});
  if (mode == 0 && softened != products) {
    call.unsupported("onnx.attribute", "qk_matmul_output_mode 1 to 3 beside softcap", "0, which is read as before or behind the cap",
                     "use mode 1");
  }
  if (mode < 0 || mode > 3) call.malformed("onnx.attribute", "qk_matmul_output_mode from 0 to 3", std::to_string(mode));
  if (mode == 2 && open) call.unsupported("onnx.nonfinite", "real scores", "masked ones, which are -infinity", "ask for another output");
  results.push_back(mode == 0 ? products : mode == 1 ? softened : mode == 2 ? biased : weights);
  return results;
}

}  // namespace assay::onnx
