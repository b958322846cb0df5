// Attention as ONNX Runtime fuses it. Masks add a large negative number, so a shut key keeps a tiny weight.
#include <limits>
#include <numeric>

#include "frontends/onnx/lowering/microsoft/microsoft.h"

namespace assay::onnx {
namespace {

struct Sizes {
  std::int64_t batch, queries, keys, past;
};

// Of whole numbers that are above 0 where a key is open, the numbers that are added; the shape broadcasts to [B, N, S, T].
Operand shut(Call& call, const Operand& open, const Shape& shape, double filter) {
  if (open->constant) {
    std::vector<double> added;
    for (const std::int64_t one : open->constant->to_ints()) added.push_back(one > 0 ? 0 : filter);
    return reals_like(call, call.in(0), shape, added);
  }
  const Operand is_shut = call.emit(Op::less_equal, {call.reshape(open, shape), call.make_ints(open->dtype, {}, {0})});
  return choose(call, is_shut, call.make_real_like(call.in(0), filter), call.make_real_like(call.in(0), 0));
}

// The input `i`: [B] lengths, which are constants, or 0 and 1 as [B, T] or [B, S, T].
Operand padding(Call& call, std::size_t i, const Sizes& size, double filter) {
  if (!call.has(i)) return nullptr;
  const Operand& mask = call.in(i);
  if (is_float(mask->dtype)) call.malformed("onnx.element_type", "a mask of whole numbers", to_string(mask->dtype));
  const Shape& s = mask->shape;
  if (s == Shape{size.batch, size.keys}) return shut(call, mask, {size.batch, 1, 1, size.keys}, filter);
  if (s == Shape{size.batch, size.queries, size.keys}) return shut(call, mask, {size.batch, 1, size.queries, size.keys}, filter);
  if (s != Shape{size.batch})
    call.unsupported("onnx.shape", "a mask as [batch], [batch, keys] or [batch, queries, keys]", to_string(s), "expand the mask");
  Ints open;
  for (const std::int64_t length : call.ints(i, "lengths of the sequences")) {
    for (std::int64_t key = 0; key < size.keys; ++key) open.push_back(key < length ? 1 : 0);
  }
  return shut(call, call.make_ints(DType::int32, {size.batch, size.keys}, open), {size.batch, 1, 1, size.keys}, filter);
}

// Keys behind the query's place are shut.
Operand shut_behind(Call& call, const Sizes& size, double filter) {
  if (call.attribute("unidirectional", std::int64_t{0}) == 0) return nullptr;
  if (size.keys > size.past + size.queries)
    call.unsupported("onnx.attribute", "unidirectional 0, or a query for each new key", "keys that the last query alone sees", kUnfused);
  Ints open;
  for (std::int64_t query = 0; query < size.queries; ++query) {
    for (std::int64_t key = 0; key < size.keys; ++key) open.push_back(key <= size.past + query ? 1 : 0);
  }
  return shut(call, call.make_ints(DType::int32, {size.queries, size.keys}, open), {1, 1, size.queries, size.keys}, filter);
}

struct Attended {
  Operand q, k, v;  // [B, N, S or T, D]
};

// softmax(scale q k' + masks + bias) v, as [B, S, N D].
Operand attended(Call& call, const Attended& all, const Sizes& size, std::size_t mask, std::size_t bias) {
  const auto given = static_cast<double>(call.attribute("scale", 0.0F));
  const auto filter = static_cast<double>(call.attribute("mask_filter_value", -10000.0F));
  Operand scores = call.emit(Op::matmul, {all.q, permute(call, all.k, {0, 1, 3, 2})});
  if (given != 0)
    scores = scaled(call, scores, given);
  else
    scores = call.emit(Op::div, {scores, call.emit(Op::sqrt, {call.make_real_like(scores, static_cast<double>(all.q->shape[3]))})});
  if (call.has(bias)) scores = call.emit(Op::add, {scores, call.in(bias)});
  for (const Operand& added :
       {padding(call, mask, size, filter), shut_behind(call, size, static_cast<double>(std::numeric_limits<float>::lowest()))}) {
    if (added) scores = call.emit(Op::add, {scores, added});
  }
  Operand y = call.emit(Op::matmul, {call.emit(Op::softmax, {scores}, SoftmaxAttributes{3}), all.v});
  y = permute(call, y, {0, 2, 1, 3});
  return call.reshape(y, {size.batch, size.queries, y->shape[2] * y->shape[3]});
}

Operand behind(Call& call, const Operand& past, const Operand& x) { return past ? concat(call, {past, x}, 2) : x; }

// ONNX Runtime lays past keys before new ones in the memory of these results alone.
void require_present(const Call& call, std::size_t last) {
  bool is_named = call.node.outputs.size() > last;
  for (std::size_t i = 1; is_named && i <= last; ++i) is_named = !call.node.outputs[i].empty();
  if (!is_named)
    call.unsupported("onnx.output", "past keys beside the results that hold them and the new ones", "past keys alone",
                     "name these results in the node");
}

std::int64_t heads_of(const Call& call) {
  const std::int64_t heads = call.attribute("num_heads", std::int64_t{0});
  if (heads < 1) call.malformed("onnx.attribute", "num_heads", std::to_string(heads));
  return heads;
}

}  // namespace

// input [B, S, I] times weights [I, Q + K + V] plus bias, split into queries, keys and values; past [2, B, N, P, D].
Results lower_packed_attention(Call& call) {
  const Operand x = call.in(0);
  const std::int64_t heads = heads_of(call);
  if (x->shape.size() != 3 || call.shape(1).size() != 2)
    call.malformed("onnx.shape", "input [B, S, I] and weights [I, 3 H]", to_string(x->shape) + ", " + to_string(call.shape(1)));
  const std::int64_t width = call.shape(1)[1];
  const Ints parts = call.attribute_ints("qkv_hidden_sizes").value_or(Ints(3, width / 3));
  if (parts.size() != 3 || std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) != width || parts[0] != parts[1])
    call.malformed("onnx.attribute", "sizes of queries, keys and values, together " + std::to_string(width), to_string(parts));
  const bool is_quantised = call.node.op_type == "QAttention";
  const std::size_t mask = is_quantised ? 5 : 3, past = is_quantised ? 8 : 4, bias = is_quantised ? call.inputs.size() : 5;
  Operand all;
  if (is_quantised) {
    call.inputs.resize(9);  // null where they are omitted
    Call product(call.lowering, call.node, call.opset, {x, call.in(1), call.in(3), call.in(4), call.inputs[6], call.inputs[7], call.in(2)});
    all = lower_integer_product(product).front();
  } else {
    all = call.emit(Op::matmul, {x, call.in(1)});
    if (call.has(2)) all = call.emit(Op::add, {all, call.in(2)});
  }
  const auto part = [&](std::int64_t first, std::int64_t count) { return by_head(call, slice_axis(call, all, 2, first, count), heads); };
  Attended at{part(0, parts[0]), part(parts[0], parts[1]), part(parts[0] + parts[1], parts[2])};
  Operand past_k, past_v;
  if (call.has(past)) {
    const Shape& p = call.shape(past);
    require_present(call, 1);
    if (p.size() != 5 || p[0] != 2) call.malformed("onnx.shape", "past as [2, B, N, P, D]", to_string(p));
    const auto half = [&](std::int64_t i) { return call.reshape(slice_axis(call, call.in(past), 0, i, 1), {p[1], p[2], p[3], p[4]}); };
    past_k = half(0);
    past_v = half(1);
  }
  at.k = behind(call, past_k, at.k);
  at.v = behind(call, past_v, at.v);
  const Sizes size{x->shape[0], x->shape[1], at.k->shape[2], at.k->shape[2] - x->shape[1]};
  const Operand y = attended(call, at, size, mask, bias);
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty()) return {y};
  Shape one = at.k->shape;
  one.insert(one.begin(), 1);
  return {y, concat(call, {call.reshape(at.k, one), call.reshape(at.v, one)}, 0)};
}

// query [B, S, N D], key and value [B, T, N D] or, behind a cross attention's cache, [B, N, T, D]; then bias, mask, bias of scores, past.
Results lower_multi_head_attention(Call& call) {
  const std::int64_t heads = heads_of(call);
  std::vector<Operand> x = {call.in(0), call.in(1), call.in(2)};
  if (call.has(3)) {
    std::int64_t first = 0;
    for (Operand& one : x) {
      if (one->shape.size() != 3)
        call.unsupported("onnx.shape", "keys and values [B, T, N D] beside a bias", to_string(one->shape), "add the bias before");
      const std::int64_t width = one->shape[2];
      if (call.shape(3).size() != 1 || first + width > call.shape(3)[0])
        call.malformed("onnx.shape", "a bias for queries, keys and values", to_string(call.shape(3)));
      one = call.emit(Op::add, {one, slice_axis(call, call.in(3), 0, first, width)});
      first += width;
    }
  }
  if (call.has(6)) require_present(call, 2);
  Attended at{by_head(call, x[0], heads), by_head(call, x[1], heads), by_head(call, x[2], heads)};
  at.k = behind(call, call.has(6) ? call.in(6) : nullptr, at.k);
  at.v = behind(call, call.has(7) ? call.in(7) : nullptr, at.v);
  const Sizes size{at.q->shape[0], at.q->shape[2], at.k->shape[2], call.has(6) ? call.shape(6)[2] : 0};
  return {attended(call, at, size, 4, 5), at.k, at.v};
}

namespace {

AttributeProto number(const char* name, std::int64_t value) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.kind = AttributeKind::integer;
  attribute.integer = value;
  return attribute;
}

// Queries or keys, turned by the tables' rows from that of the first new place on.
Operand turned(Call& call, const Operand& x, std::int64_t heads, std::int64_t first) {
  if (call.shape(7).size() != 2) call.malformed("onnx.shape", "a cache [positions, D / 2]", to_string(call.shape(7)));
  NodeProto node = call.node;
  node.attributes = {number("num_heads", heads), number("interleaved", call.attribute("rotary_interleaved", std::int64_t{0})),
                     number("rotary_embedding_dim", 2 * call.shape(7).back())};
  Ints places;
  for (std::int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) places.push_back(first + i % x->shape[1]);
  const Operand at = call.make_ints(DType::int64, {x->shape[0], x->shape[1]}, places);
  Call rotary(call.lowering, node, 23, {x, call.in(7), call.in(8), at});
  return lower_rotary_embedding(rotary).front();
}

}  // namespace

// Attention of ai.onnx, causal: queries, keys and values, apart or side by side, then past keys and values, and the numbers of all keys.
Results lower_group_query_attention(Call& call) {
  const std::int64_t heads = heads_of(call), key_heads = call.attribute("kv_num_heads", std::int64_t{0});
  bool is_plain = call.attribute("local_window_size", std::int64_t{-1}) == -1 && call.attribute("smooth_softmax", std::int64_t{0}) <= 0;
  for (std::size_t i = 9; i < call.inputs.size(); ++i) is_plain = is_plain && (i == 10 || !call.has(i));
  if (!is_plain || call.has(1) != call.has(2) || call.has(3) != call.has(4))
    call.unsupported("onnx.attribute", "no window, smooth softmax, positions, sinks, scales or norms, keys beside values", "one of them",
                     kUnfused);
  Operand q = call.in(0), k = call.has(1) ? call.in(1) : q, v = call.has(2) ? call.in(2) : q;
  for (const Operand& one : {q, k, v}) {
    if (one->shape.size() != 3 || one->shape[1] != q->shape[1] || key_heads < 1)
      call.malformed("onnx.shape", "queries, keys and values as [B, S, width]", to_string(one->shape));
  }
  if (!call.has(1)) {
    const std::int64_t size = q->shape[2] / (heads + 2 * key_heads), all = heads * size, part = key_heads * size;
    if (all + 2 * part != q->shape[2]) call.malformed("onnx.shape", "heads of queries, keys and values", to_string(q->shape));
    k = slice_axis(call, q, 2, all, part);
    v = slice_axis(call, q, 2, all + part, part);
    q = slice_axis(call, q, 2, 0, all);
  }
  const std::int64_t past = call.has(3) && call.shape(3).size() == 4 ? call.shape(3)[2] : 0, total = past + q->shape[1];
  Ints lengths = whole_numbers(call, 5, "lengths of the sequences");
  const Ints most = whole_numbers(call, 6, "the longest length");
  for (std::int64_t& length : lengths) ++length;
  if (lengths != Ints(static_cast<std::size_t>(q->shape[0]), total) || most != Ints{total})
    call.unsupported("onnx.input", "sequences of " + std::to_string(total) + " keys each, past and new", to_string(lengths),
                     "fix the lengths with --set, without padding");
  if (call.has(3)) require_present(call, 2);
  if (call.attribute("do_rotary", std::int64_t{0}) != 0) {
    q = turned(call, q, heads, past);
    k = turned(call, k, key_heads, past);
  }
  NodeProto node = call.node;
  std::erase_if(node.attributes, [](const AttributeProto& one) { return one.name == "scale" && one.real << 1 == 0; });
  node.attributes.insert(node.attributes.end(), {number("is_causal", 1), number("q_num_heads", heads)});
  call.inputs.resize(11);
  Call attention(call.lowering, node, 25, {q, k, v, call.inputs[10], call.inputs[3], call.inputs[4]});
  return lower_attention(attention);
}

// The operator of ai.onnx with operands in another order: x, positions, cosines, sines.
Results lower_old_rotary_embedding(Call& call) {
  const Operand& x = call.in(0);
  const auto scale = static_cast<double>(call.attribute("scale", 1.0F));
  if (scale != 1 || call.attribute("is_packed_batching", std::int64_t{0}) != 0)
    call.unsupported("onnx.attribute", "scale 1, batches not packed", "scale " + std::to_string(scale) + ", or packed batches", kUnfused);
  const bool has_heads = x->shape.size() == 4;
  const std::int64_t batch = x->shape[0], length = x->shape[has_heads ? 2 : 1];
  Ints places = whole_numbers(call, 1, "positions");
  if (places.size() == 1) {  // of the first element of each row
    const std::int64_t first = places[0];
    places.clear();
    for (std::int64_t i = 0; i < batch * length; ++i) places.push_back(first + i % length);
  }
  if (static_cast<std::int64_t>(places.size()) != batch * length)
    call.malformed("onnx.shape", "one position for all, or one for each element", to_string(call.shape(1)));
  NodeProto node = call.node;
  std::erase_if(node.attributes, [](const AttributeProto& one) { return one.name == "scale" || one.name == "is_packed_batching"; });
  if (!has_heads && call.attribute("num_heads", std::int64_t{0}) == 0) {
    std::erase_if(node.attributes, [](const AttributeProto& one) { return one.name == "num_heads"; });
    node.attributes.push_back(number("num_heads", x->shape[2] / (2 * call.shape(2)[1])));
  }
  Call rotary(call.lowering, node, 23, {x, call.in(2), call.in(3), call.make_ints(DType::int64, {batch, length}, places)});
  return lower_rotary_embedding(rotary);
}

}  // namespace assay::onnx
