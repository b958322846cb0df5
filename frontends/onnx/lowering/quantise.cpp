// Quantised operators. Everything between quantised values is real arithmetic on exact integers, so a result is what exact arithmetic on
// the stored scales gives.
#include "frontends/onnx/lowering/quantise.h"

#include <algorithm>

namespace assay::onnx {
namespace {

struct Range {
  double least, most;
};

Range range_of(const Call& call, DType dtype) {
  if (!is_integer(dtype) || byte_size(dtype) > 4)
    call.unsupported("onnx.element_type", "integers of 8 to 32 bits", to_string(dtype), "quantise to 8 bits");
  const auto bits = static_cast<double>(std::int64_t{1} << 8 * byte_size(dtype));
  return is_unsigned(dtype) ? Range{0, bits - 1} : Range{-bits / 2, bits / 2 - 1};
}

}  // namespace

Operand spread(Call& call, const Operand& parameter, const Shape& x, std::int64_t axis, std::int64_t block) {
  if (element_count(parameter->shape) == 1) return call.reshape(parameter, {});
  const auto at = static_cast<std::size_t>(call.axis(axis, x.size()));
  if (block == 0 && parameter->shape.size() == 1 && parameter->shape[0] == x[at]) {
    Shape shape(x.size(), 1);
    shape[at] = x[at];
    return call.reshape(parameter, std::move(shape));
  }
  Shape blocks = x;
  blocks[at] = block > 0 ? (x[at] + block - 1) / block : x[at];
  if (block <= 0 || parameter->shape != blocks)
    call.malformed("onnx.shape", "one number, one per element of the axis, or one per block", to_string(parameter->shape));
  Ints of_element;
  for (std::int64_t i = 0; i < x[at]; ++i) of_element.push_back(i / block);
  return gather_axis(call, parameter, static_cast<std::int64_t>(at), std::move(of_element));
}

Operand centred(Call& call, const Operand& x, const Operand& zero, DType real) {
  if (!is_integer(x->dtype)) call.malformed("onnx.element_type", "quantised values: an integer type", to_string(x->dtype));
  const Operand value = call.cast(x, real);
  return zero ? call.emit(Op::sub, {value, zero}) : value;
}

Operand saturated(Call& call, const Operand& x, const Grid& grid, DType to) {
  Operand y = call.emit(Op::round, {call.emit(Op::div, {x, grid.scale})});
  if (grid.zero) y = call.emit(Op::add, {y, grid.zero});
  const Range range = range_of(call, to);
  return call.cast(call.emit(Op::clip, {y}, ClipAttributes{range.least, range.most}), to);
}

Grid dynamic_grid(Call& call, const Operand& x) {
  Ints axes;
  for (std::size_t i = 0; i < x->shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const Operand none = call.make_real_like(x, 0);
  const Operand most = call.emit(Op::max, {call.emit(Op::reduce_max, {x}, ReduceAttributes{axes, false}), none});
  const Operand least = call.emit(Op::min, {call.emit(Op::reduce_min, {x}, ReduceAttributes{axes, false}), none});
  const Operand range = call.emit(Op::sub, {most, least});
  const Operand scale = call.emit(Op::where, {call.emit(Op::equal, {range, none}), call.make_real_like(x, 1),
                                              call.emit(Op::div, {range, call.make_real_like(x, 255)})});  // 1 for zeros alone
  const Operand place = call.emit(Op::neg, {call.emit(Op::div, {least, scale})});
  return {scale, call.emit(Op::round, {call.emit(Op::clip, {place}, ClipAttributes{0, 255})})};
}

Operand dynamic_product(Call& call, const Operand& x, const Quantised& w) {
  const Grid grid = dynamic_grid(call, x);
  const Operand zero = call.cast(grid.zero, DType::float64);
  const Operand steps = centred(call, saturated(call, x, grid, DType::uint8), zero, DType::float64);
  const Operand sums = call.cast(call.emit(Op::matmul, {steps, w.values}), x->dtype);
  return call.emit(Op::mul, {sums, call.emit(Op::mul, {grid.scale, w.scale})});
}

namespace {

// A scale and a zero point have one shape.
void check_shapes_agree(const Call& call, std::size_t scale, std::size_t zero) {
  if (!call.has(zero) || call.shape(zero) == call.shape(scale)) return;
  if (element_count(call.shape(zero)) == 1 && element_count(call.shape(scale)) == 1) return;
  call.malformed("onnx.shape", "a zero point of the shape of its scale, " + to_string(call.shape(scale)), to_string(call.shape(zero)));
}

// Input i as reals, spread against x; null where it is omitted.
Operand real_parameter(Call& call, std::size_t i, const Shape& x, std::int64_t axis, DType real) {
  return call.has(i) ? spread(call, call.cast(call.in(i), real), x, axis, 0) : nullptr;
}

DType declared_type(const Call& call, DType otherwise) {
  const std::int64_t code = call.attribute("output_dtype", std::int64_t{0});
  DType dtype = otherwise;
  if (code != 0 && (!dtype_of(code, dtype) || code == kFloat16 || code == kBfloat16))
    call.unsupported("onnx.element_type", "a result of float, double or an integer type of 8 to 32 bits", element_type_name(code),
                     "choose another output_dtype");
  return dtype;
}

// A zero point of a product's left operand holds for rows: it takes an axis at the end.
Operand row_zero(Call& call, std::size_t i, const Shape& a) {
  if (!call.has(i)) return nullptr;
  const Operand zero = call.cast(call.in(i), DType::float64);
  const bool by_row = zero->shape.size() == 1 && zero->shape[0] > 1 && a.size() > 1;
  return by_row ? call.reshape(zero, {zero->shape[0], 1}) : element_count(zero->shape) == 1 ? call.reshape(zero, {}) : zero;
}

Operand column_zero(Call& call, std::size_t i) {
  if (!call.has(i)) return nullptr;
  const Operand zero = call.cast(call.in(i), DType::float64);
  return element_count(zero->shape) == 1 ? call.reshape(zero, {}) : zero;
}

// The convolution of the centred operands, with the attributes of this node.
Operand centred_conv(Call& call, std::size_t x, std::size_t w, const Operand& bias, DType real) {
  const std::size_t step = w - x;  // 1: x, w, zero points; 3: each with its scale and zero point
  const std::size_t x_zero = step == 1 ? 2 : x + 2, w_zero = step == 1 ? 3 : w + 2;
  const Operand cx = centred(call, call.in(x), real_parameter(call, x_zero, call.shape(x), 1, real), real);
  const Operand cw = centred(call, call.in(w), real_parameter(call, w_zero, call.shape(w), 0, real), real);
  std::vector<Operand> operands = {cx, cw};
  if (bias) operands.push_back(call.cast(bias, real));
  Call conv(call.lowering, call.node, call.opset, std::move(operands));
  return lower_conv(conv).front();
}

}  // namespace

Results lower_quantize(Call& call) {
  const std::int64_t axis = call.attribute("axis", std::int64_t{1}), block = call.attribute("block_size", std::int64_t{0});
  check_shapes_agree(call, 1, 2);
  const DType to = call.has(2) ? call.in(2)->dtype : declared_type(call, DType::uint8), real = call.in(1)->dtype;
  if (declared_type(call, to) != to) call.malformed("onnx.attribute", "output_dtype as the type of the zero point", to_string(to));
  const Operand x = call.cast(call.in(0), real);
  Grid grid{spread(call, call.in(1), x->shape, axis, block), nullptr};
  if (call.has(2)) grid.zero = spread(call, call.cast(call.in(2), real), x->shape, axis, block);
  return {saturated(call, x, grid, to)};
}

Results lower_dequantize(Call& call) {
  const std::int64_t axis = call.attribute("axis", std::int64_t{1}), block = call.attribute("block_size", std::int64_t{0});
  check_shapes_agree(call, 1, 2);
  const DType real = call.in(1)->dtype;
  const Shape& x = call.shape(0);
  const Operand zero = call.has(2) ? spread(call, call.cast(call.in(2), real), x, axis, block) : nullptr;
  const Operand y = call.emit(Op::mul, {centred(call, call.in(0), zero, real), spread(call, call.in(1), x, axis, block)});
  return {call.cast(y, declared_type(call, real))};
}

Results lower_dynamic_quantize(Call& call) {
  const Grid grid = dynamic_grid(call, call.in(0));
  return {saturated(call, call.in(0), grid, DType::uint8), grid.scale, call.cast(grid.zero, DType::uint8)};
}

Results lower_matmul_integer(Call& call) {
  const Operand a = centred(call, call.in(0), row_zero(call, 2, call.shape(0)), DType::float64);
  const Operand b = centred(call, call.in(1), column_zero(call, 3), DType::float64);
  return {call.cast(call.emit(Op::matmul, {a, b}), DType::int32)};
}

Results lower_conv_integer(Call& call) { return {call.cast(centred_conv(call, 0, 1, nullptr, DType::float64), DType::int32)}; }

// a, its scale and zero point, b, its scale and zero point, those of the result.
Results lower_quantized_matmul(Call& call) {
  const Operand a = centred(call, call.in(0), row_zero(call, 2, call.shape(0)), DType::float64);
  const Operand b = centred(call, call.in(3), column_zero(call, 5), DType::float64);
  const auto scale = [&](std::size_t i, bool by_row) {
    const Operand s = call.cast(call.in(i), DType::float64);
    if (element_count(s->shape) == 1) return call.reshape(s, {});
    return by_row && s->shape.size() == 1 ? call.reshape(s, {s->shape[0], 1}) : s;
  };
  const Operand product = call.emit(Op::mul, {call.emit(Op::matmul, {a, b}), call.emit(Op::mul, {scale(1, true), scale(4, false)})});
  return {saturated(call, product, {scale(6, true), row_zero(call, 7, call.shape(0))}, call.in(7)->dtype)};
}

// x, w and y as above with their scales and zero points, then integer biases on the scale of x times w.
Results lower_quantized_conv(Call& call) {
  const Operand sums = centred_conv(call, 0, 3, call.has(8) ? call.in(8) : nullptr, DType::float64);
  const Operand x_scale = real_parameter(call, 1, call.shape(0), 1, DType::float64);
  const Operand w_scale = real_parameter(call, 4, sums->shape, 1, DType::float64);
  const Grid grid{real_parameter(call, 6, sums->shape, 1, DType::float64), real_parameter(call, 7, sums->shape, 1, DType::float64)};
  const Operand y = call.emit(Op::mul, {sums, call.emit(Op::mul, {x_scale, w_scale})});
  return {saturated(call, y, grid, call.in(7)->dtype)};
}

}  // namespace assay::onnx
