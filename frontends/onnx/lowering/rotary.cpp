// RotaryEmbedding, lowered to its parts.
#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

// [B, L, H * D] as [B, H, L, D]; an operand of four axes stays.
Operand with_heads(Call& call, std::size_t input, const char* heads_name) {
  const Operand& x = call.in(input);
  if (x->shape.size() == 4) return x;
  const std::int64_t heads = call.attribute(heads_name, std::int64_t{0});
  if (x->shape.size() != 3 || heads < 1 || x->shape[2] % heads != 0)
    call.malformed("onnx.shape", std::string("[B, H, L, D], or [B, L, H D] with ") + heads_name, to_string(x->shape));
  return permute(call, call.reshape(x, {x->shape[0], x->shape[1], heads, x->shape[2] / heads}), {0, 2, 1, 3});
}

}  // namespace

// Rotates pairs (a, b) of the first elements of each head: (a cos - b sin, a sin + b cos).
Results lower_rotary_embedding(Call& call) {
  const Shape& given = call.shape(0);
  const Operand x = with_heads(call, 0, "num_heads");  // [B, H, L, D]
  const std::int64_t batch = x->shape[0], length = x->shape[2], size = x->shape[3];
  const std::int64_t wanted = call.attribute("rotary_embedding_dim", std::int64_t{0}), turned = wanted == 0 ? size : wanted;
  if (turned < 0 || turned > size || turned % 2 != 0)
    call.malformed("onnx.attribute", "an even rotary_embedding_dim up to " + std::to_string(size), std::to_string(turned));
  const bool interleaved = call.attribute("interleaved", std::int64_t{0}) != 0;
  const std::int64_t half = turned / 2;
  const auto cache = [&](std::size_t input) {
    Operand table = call.in(input);
    if (call.has(3)) {
      if (table->shape.size() != 2) call.malformed("onnx.shape", "a cache [positions, D / 2]", to_string(table->shape));
      Ints positions = whole_numbers(call, 3, "positions");
      for (std::int64_t& position : positions) position = resolved_index(call, position, table->shape[0]);
      table = call.emit(Op::gather, {table}, GatherAttributes{0, std::move(positions), call.shape(3)});
    }
    if (table->shape != Shape{batch, length, half})
      call.malformed("onnx.shape", "caches " + to_string(Shape{batch, length, half}), to_string(table->shape));
    return call.reshape(table, {batch, 1, length, half});
  };
  const Operand cosines = cache(1), sines = cache(2);
  const Operand a = slice_axis(call, x, 3, 0, half, interleaved ? 2 : 1);
  const Operand b = slice_axis(call, x, 3, interleaved ? 1 : half, half, interleaved ? 2 : 1);
  const auto times = [&](const Operand& u, const Operand& w) { return call.emit(Op::mul, {u, w}); };
  Operand real = call.emit(Op::sub, {times(cosines, a), times(sines, b)}),
          imaginary = call.emit(Op::add, {times(sines, a), times(cosines, b)});
  Shape part = real->shape;
  if (interleaved) {
    part.push_back(1);
    real = call.reshape(real, part);
    imaginary = call.reshape(imaginary, part);
  }
  Operand y = concat(call, {real, imaginary}, interleaved ? 4 : 3);
  y = call.reshape(y, {x->shape[0], x->shape[1], length, turned});
  if (turned < size) y = concat(call, {y, slice_axis(call, x, 3, turned, size - turned)}, 3);
  return {given.size() == 4 ? y : call.reshape(permute(call, y, {0, 2, 1, 3}), given)};
}

}  // namespace assay::onnx
