// Quantised operators of com.microsoft: the float operator between dequantised operands and a quantised result.
#include <cmath>

#include "frontends/onnx/lowering/microsoft/microsoft.h"
#include "frontends/onnx/lowering/quantise.h"

namespace assay::onnx {
namespace {

// Input i as reals of the scale's type; one number for all elements. Null where it is omitted.
Operand number(Call& call, std::size_t i, DType real) {
  if (!call.has(i)) return nullptr;
  if (element_count(call.shape(i)) != 1) call.malformed("onnx.shape", "one scale or zero point", to_string(call.shape(i)));
  return call.reshape(call.cast(call.in(i), real), {});
}

// Inputs i, i + 1 and i + 2: integers, their scale and their zero point, as the numbers that they stand for.
Operand dequantised(Call& call, std::size_t i) {
  const DType real = call.in(i + 1)->dtype;
  return call.emit(Op::mul, {centred(call, call.in(i), number(call, i + 2, real), real), number(call, i + 1, real)});
}

// On the grid of the inputs i and i + 1, as integers of the type of the operand `like`. Where the zero point is added before the
// rounding, an odd one sends halves to the other neighbour.
Operand quantised(Call& call, const Operand& y, std::size_t i, const Operand& like, bool adds_first = false) {
  if (call.has(i + 1) && call.in(i + 1)->dtype != like->dtype)
    call.malformed("onnx.element_type", std::string("a zero point of ") + to_string(like->dtype), to_string(call.in(i + 1)->dtype));
  const Operand scale = number(call, i, y->dtype), zero = number(call, i + 1, y->dtype);
  if (!adds_first || !zero) return saturated(call, y, {scale, zero}, like->dtype);
  return saturated(call, call.emit(Op::add, {call.emit(Op::div, {y, scale}), zero}), {call.make_real_like(y, 1), nullptr}, like->dtype);
}

// Scales or zero points of a matrix's columns, or one for all.
Operand of_columns(Call& call, std::size_t i, DType real) {
  if (!call.has(i)) return nullptr;
  const Operand values = call.cast(call.in(i), real);
  return element_count(values->shape) == 1 ? call.reshape(values, {}) : values;
}

Operand plus_bias(Call& call, const Operand& y, std::size_t i) {
  return call.has(i) ? call.emit(Op::add, {y, call.cast(call.in(i), y->dtype)}) : y;
}

Operand transposed(Call& call, const Operand& x, const char* attribute) {
  if (x->shape.size() != 2) call.malformed("onnx.shape", "a matrix", to_string(x->shape));
  return call.attribute(attribute, std::int64_t{0}) != 0 ? permute(call, x, {1, 0}) : x;
}

void refuse_channels_last(const Call& call) {
  if (call.attribute("channels_last", std::int64_t{0}) != 0)
    call.unsupported("onnx.attribute", "channels_last = 0", "1", "save the model at ORT_ENABLE_BASIC, which keeps the order of axes");
}

}  // namespace

Results lower_quantized_binary(Call& call) {
  const Operand a = dequantised(call, 0), b = dequantised(call, 3);
  return {quantised(call, call.emit(call.node.op_type == "QLinearAdd" ? Op::add : Op::mul, {a, b}), 6, call.in(0), true)};
}

Results lower_quantized_unary(Call& call) {
  const bool is_sigmoid = call.node.op_type == "QLinearSigmoid";
  const auto alpha = static_cast<double>(call.attribute("alpha", 0.01F));
  const Op op = is_sigmoid ? Op::sigmoid : Op::leaky_relu;
  return {quantised(call, call.emit(op, {dequantised(call, 0)}, numbers_of(op, alpha, 0)), 3, call.in(0))};
}

// The grid of the result, then each operand with its scale and zero point.
Results lower_quantized_concat(Call& call) {
  if (call.inputs.size() % 3 != 2) call.malformed("onnx.arity", "three inputs for each operand", std::to_string(call.inputs.size() - 2));
  std::vector<Operand> parts;
  for (std::size_t i = 2; i < call.inputs.size(); i += 3) parts.push_back(dequantised(call, i));
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{1}), call.shape(2).size());
  return {quantised(call, concat(call, parts, static_cast<std::size_t>(axis)), 0, call.in(2))};
}

Results lower_quantized_pool(Call& call) {
  refuse_channels_last(call);
  NodeProto node = call.node;
  const bool is_global = node.op_type == "QLinearGlobalAveragePool";
  const auto is_set = [&](const char* name) { return call.attribute(name, std::int64_t{0}) != 0; };
  if (!is_global && is_set("ceil_mode") && is_set("count_include_pad"))
    call.unsupported("onnx.attribute", "count_include_pad 0 beside ceil_mode", "1, for which ONNX Runtime divides by another count",
                     "quantise the float model to QDQ (onnxruntime.quantization, QuantFormat.QDQ)");
  node.op_type = is_global ? "GlobalAveragePool" : "AveragePool";
  Call pool(call.lowering, node, kFusedOpset, {dequantised(call, 0)});
  return {quantised(call, (is_global ? lower_global_average_pool(pool) : lower_pool(pool)).front(), 3, call.in(0), !is_global)};
}

Results lower_quantized_where(Call& call) {
  return {quantised(call, choose(call, call.in(0), dequantised(call, 1), dequantised(call, 4)), 7, call.in(1))};
}

// alpha * scales * (A B + C): C is on the scale of the product.
Results lower_quantized_gemm(Call& call) {
  if (call.has(7) != call.has(8))
    call.unsupported("onnx.input", "a scale and a zero point of the result", "one without the other", "give both, or none for floats");
  const DType real = call.in(1)->dtype;
  const Operand a = centred(call, call.in(0), number(call, 2, DType::float64), DType::float64);
  const Operand b = centred(call, call.in(3), nullptr, DType::float64);
  const Operand rows = transposed(call, a, "transA");
  Operand columns = transposed(call, b, "transB");
  if (const Operand zero = of_columns(call, 5, DType::float64)) columns = call.emit(Op::sub, {columns, zero});
  const Operand sums = plus_bias(call, call.emit(Op::matmul, {rows, columns}), 6);
  const Operand scales = call.emit(Op::mul, {number(call, 1, real), of_columns(call, 4, real)});
  const Operand y = call.emit(Op::mul, {scaled(call, call.cast(sums, real), static_cast<double>(call.attribute("alpha", 1.0F))), scales});
  return {call.has(7) ? quantised(call, y, 7, call.in(0)) : y};
}

Results lower_integer_product(Call& call) {
  const DType real = call.in(2)->dtype;
  const Operand a = centred(call, call.in(0), number(call, 4, DType::float64), DType::float64);
  const Operand b = centred(call, call.in(1), of_columns(call, 5, DType::float64), DType::float64);
  const Operand scales = call.emit(Op::mul, {number(call, 2, real), of_columns(call, 3, real)});
  return {plus_bias(call, call.emit(Op::mul, {call.cast(call.emit(Op::matmul, {a, b}), real), scales}), 6)};
}

namespace {

// The numbers of so many bits in rows of bytes, the lower bits first; a row has `count` numbers.
Operand unpacked(Call& call, std::size_t i, std::int64_t bits, const Shape& shape) {
  const Tensor& given = call.constant(i, "packed numbers");
  const std::int64_t each = 8 / bits, count = shape[1], width = (count + each - 1) / each;
  call.limit_fold(shape, DType::int64);
  if (given.dtype() != DType::uint8 || static_cast<std::int64_t>(given.size()) != shape[0] * width)
    call.malformed("onnx.shape", std::to_string(shape[0] * width) + " bytes of packed numbers", to_string(given.shape()));
  Ints numbers;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t k = 0; k < count; ++k)
      numbers.push_back(given.as_int(static_cast<std::size_t>(row * width + k / each)) >> (k % each * bits) & ((1 << bits) - 1));
  }
  return call.make_ints(DType::uint8, shape, numbers);
}

}  // namespace

// A times (q - zero point) * scale, with packed numbers q in N rows of blocks, whose scales and zero points are their own.
Results lower_packed_product(Call& call) {
  const auto size = [&](const char* name, std::int64_t otherwise) { return call.attribute(name, otherwise); };
  const std::int64_t k = size("K", 0), n = size("N", 0), bits = size("bits", 4), block = size("block_size", 0);
  const auto is_extent = [](std::int64_t one) { return one > 0 && one <= kLargestExtent; };
  if (!is_extent(k) || !is_extent(n) || (bits != 2 && bits != 4 && bits != 8) || block < 16 || !is_extent(block) ||
      (block & (block - 1)) != 0)
    call.malformed("onnx.attribute", "K, N, bits of 2, 4 or 8, and a block_size of 16, 32, ...", to_string(Ints{k, n, bits, block}));
  if (size("accuracy_level", 0) > 1 || call.has(4))
    call.unsupported("onnx.attribute", "accuracy_level 0 or 1 and no g_idx", "another level, at which programs round A, or g_idx",
                     "set accuracy_level to 1");
  const std::int64_t blocks = (k + block - 1) / block;
  const DType real = call.in(0)->dtype;
  Operand zero = call.make_real_like(call.in(0), std::exp2(static_cast<double>(bits - 1)));
  if (call.has(3)) zero = is_float(call.in(3)->dtype) ? call.in(3) : call.cast(unpacked(call, 3, bits, {n, blocks}), real);
  if (call.has(3)) zero = call.reshape(zero, {n * blocks, 1});
  Operand weights = call.emit(Op::sub, {call.cast(unpacked(call, 1, bits, {n * blocks, block}), real), zero});
  weights = call.reshape(call.emit(Op::mul, {weights, call.reshape(call.in(2), {n * blocks, 1})}), {n, blocks * block});
  if (blocks * block != k) weights = slice_axis(call, weights, 1, 0, k);
  return {plus_bias(call, call.emit(Op::matmul, {call.in(0), permute(call, weights, {1, 0})}), 5)};
}

// A is quantised to 256 steps of its own range first.
Results lower_dynamic_product(Call& call) {
  const Operand& a = call.in(0);
  const Operand b = centred(call, call.in(1), of_columns(call, 3, DType::float64), DType::float64);
  return {plus_bias(call, dynamic_product(call, a, {b, of_columns(call, 2, a->dtype)}), 4)};
}

}  // namespace assay::onnx
